import { Effect, Stream } from "effect"
import { assert, describe, it } from "vitest"
import { Frame, textsOf } from "../../src/ws/Frame.ts"
import { InProcessTransport } from "../../src/ws/InProcessTransport.ts"
import type { Session } from "../../src/ws/Session.ts"

const texts = ["", "short", "é".repeat(100), "x".repeat(70_000)]

describe("a line without a socket", () => {
  it("reads back every text that was framed, of all lengths", () => {
    assert.deepStrictEqual(textsOf(Buffer.concat(texts.map((text) => new Frame(text).plain))), texts)
  })

  it("keeps frames that are not read, as a slow socket does, and reports when they are read", async () => {
    const line = await Effect.runPromise(InProcessTransport.make)
    let taken = 0
    const bytes = new Frame("one").plain
    line.write(bytes)
    line.whenTaken(() => taken++)
    assert.strictEqual(line.pending(), bytes.length)
    assert.strictEqual(taken, 0)
    assert.deepStrictEqual(await Effect.runPromise(Stream.runCollect(Stream.take(line.messages, 1))), ["one"])
    assert.strictEqual(line.pending(), 0)
    assert.strictEqual(taken, 1)
    line.write(new Frame("two").plain)
    assert.deepStrictEqual(await Effect.runPromise(Stream.runCollect(Stream.take(line.messages, 1))), ["two"])
    assert.strictEqual(taken, 1, "each callback runs once")
  })

  it("is alive whenever it is pinged, because its reader is in the same process", async () => {
    const line = await Effect.runPromise(InProcessTransport.make)
    let heard = 0
    line.begin({ heard: () => heard++, text: () => {}, closed: () => {} } as unknown as Session, [])
    line.ping()
    assert.strictEqual(heard, 1)
    line.terminate()
    line.ping()
    assert.strictEqual(heard, 1)
  })

  it("delivers what was written before it was closed, then the reason", async () => {
    const line = await Effect.runPromise(InProcessTransport.make)
    line.write(new Frame("last words").plain)
    line.close("GoingAway")
    const heard: Array<string> = []
    const ended = await Effect.runPromise(
      Effect.flip(Stream.runForEach(line.messages, (text) => Effect.sync(() => heard.push(text))))
    )
    assert.deepStrictEqual(heard, ["last words"])
    assert.strictEqual(ended.code, 1001)
  })

  it("Amendment 18: delivers nothing of a credential that has ended, not even what was queued", async () => {
    const line = await Effect.runPromise(InProcessTransport.make)
    line.write(new Frame("too late").plain)
    line.close("CredentialEnded")
    const delivered: Array<string> = []
    const ended = await Effect.runPromise(
      Effect.flip(Stream.runForEach(line.messages, (text) => Effect.sync(() => delivered.push(text))))
    )
    assert.deepStrictEqual(delivered, [])
    assert.strictEqual(ended.code, 4010)
  })
})

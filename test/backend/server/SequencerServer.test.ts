import type { ServerDuplexStream } from "@grpc/grpc-js"
import { PassThrough } from "node:stream"
import { assert, describe, it } from "vitest"
import { make } from "../../../src/backend/server/SequencerServer.ts"
import type { Caller } from "../../../src/backend/server/Writer.ts"

describe("a stream of commands whose client does not read its results", () => {
  it("is paused until it does, with one listener however many results wait", () => {
    let caller: Caller | undefined
    const server = make({
      writer: { submit: (from) => void (caller = from) },
      log: {} as never,
      events: {} as never,
      now: () => 0,
      firstSeq: () => 1
    })
    let isRead = false
    const call = Object.assign(new PassThrough({ objectMode: true }), { write: () => isRead })
    server.handlers.submitStream(call as unknown as ServerDuplexStream<never, never>)
    call.emit("data", [{ command: { not_after_ms: undefined }, bytes: new Uint8Array() }])
    const listeners = call.listenerCount("drain")
    for (let turn = 0; turn < 20; turn++) {
      caller!.results.push(new Uint8Array())
      caller!.flush()
    }
    assert.strictEqual(call.listenerCount("drain"), listeners)
    assert.isTrue(call.isPaused())
    isRead = true
    call.emit("drain")
    assert.isFalse(call.isPaused())
    call.emit("close")
  })
})

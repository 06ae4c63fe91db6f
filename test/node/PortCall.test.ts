/** Calls over MessagePorts: both ends behave as those of grpc-js, and no side of a stream gets more than a window ahead of the other. */
import { once } from "node:events"
import { setImmediate as nextTurn } from "node:timers/promises"
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads"
import { Metadata, type ServiceError, status } from "@grpc/grpc-js"
import { afterEach, assert, describe, it } from "vitest"
import { ClientCall, type Codec, reply, ServerCall, unary, WINDOW_BYTES } from "../../src/node/PortCall.ts"
import { eventually } from "../../verification/harness/Wait.ts"

const text: Codec<string, string> = { encode: (value) => Buffer.from(value), decode: (bytes) => bytes.toString() }

const opened: Array<{ readonly destroy: () => void }> = []
afterEach(() => opened.splice(0).forEach((call) => call.destroy()))

const pair = (codec = text) => {
  const { port1, port2 } = new MessageChannel()
  const client = ClientCall.over(port1, codec)
  const server = new ServerCall(port2, codec, "the request")
  opened.push(client, server)
  const failures: Array<ServiceError> = []
  client.on("error", (error: ServiceError) => failures.push(error))
  return { client, server, port: port2, failures }
}
/** Enough turns of the event loop for every message that was posted to arrive. */
const delivered = async () => {
  for (let turn = 0; turn < 100; turn++) await nextTurn()
}
/** Everything that a side receives. */
const received = (side: ClientCall<string, string> | ServerCall<string, string, string>): ReadonlyArray<string> => {
  const all: Array<string> = []
  side.on("data", (value: string) => all.push(value))
  return all
}
const failed = async (client: ClientCall<string, string>): Promise<ServiceError> =>
  (await once(client, "error").catch((error: unknown) => [error]))[0] as ServiceError

describe("a call over a port", () => {
  it("carries the request and the messages of both sides in order, and ends when both have ended", async () => {
    const { client, failures, server } = pair()
    const [asked, answered] = [received(server), received(client)]
    for (const each of ["a", "b", "c"]) client.write(each)
    await eventually(
      "the requests",
      async () => asked.length,
      (count) => count === 3
    )
    for (const each of ["A", "B"]) server.write(each)
    client.end()
    await once(server, "end")
    server.end("C")
    await Promise.all([once(client, "close"), once(server, "close")])
    assert.deepStrictEqual(
      [server.request, asked, answered, failures],
      ["the request", ["a", "b", "c"], ["A", "B", "C"], []]
    )
  })

  it("leaves the bytes of the encoder as they are", async () => {
    const kept = Buffer.from(new TextEncoder().encode("kept").buffer)
    const { client, server } = pair({ ...text, encode: () => kept })
    const answered = received(client)
    server.write("first")
    server.write("second")
    await eventually(
      "both messages",
      async () => answered.length,
      (count) => count === 2
    )
    assert.deepStrictEqual([answered, kept.toString()], [["kept", "kept"], "kept"])
  })

  it("stops a side that is a window ahead until the other side reads, and loses nothing", async () => {
    const { client, port, server } = pair()
    const message = "x".repeat(WINDOW_BYTES / 8)
    let posted = 0
    const post = port.postMessage.bind(port) as (...args: ReadonlyArray<unknown>) => void
    port.postMessage = (value: unknown, ...rest: ReadonlyArray<unknown>) => {
      if (value instanceof Uint8Array) posted += value.byteLength
      post(value, ...rest)
    }
    let isWritable = true
    let written = 0
    while (isWritable && written < 1_000) {
      isWritable = server.write(message)
      written++
    }
    // nobody reads: what was posted stays within the window, the rest waits on this side
    await delivered()
    assert.isFalse(isWritable)
    assert.strictEqual(posted, WINDOW_BYTES)
    assert.isBelow(written, 32)
    const drained = once(server, "drain")
    const all = received(client)
    await drained
    await eventually(
      "all messages",
      async () => all.length,
      (count) => count === written
    )
    assert.strictEqual(posted, written * message.length)
    // the window opens again and again
    for (let i = 0; i < 200; i++) if (!server.write(`${i}`.padEnd(message.length, "y"))) await once(server, "drain")
    await eventually(
      "all messages",
      async () => all.length,
      (count) => count === written + 200
    )
    assert.strictEqual(all.at(-1)!.slice(0, 4), "199y")
  })

  it("keeps a reader that pauses within the window, and goes on when it resumes", async () => {
    const { client, server } = pair()
    const all = received(client)
    client.pause()
    const message = "z".repeat(WINDOW_BYTES / 4)
    let written = 0
    while (server.write(message) && written < 1_000) written++
    written++
    await delivered()
    assert.strictEqual(all.length, 0)
    client.resume()
    await eventually(
      "all messages",
      async () => all.length,
      (count) => count === written
    )
  })

  it("reads at most a window in a turn of the event loop, however fast the other side is", async () => {
    const { port1, port2 } = new MessageChannel()
    const client = ClientCall.over(port1, text)
    opened.push(client)
    const message = Buffer.alloc(WINDOW_BYTES / 8, "x")
    const send = (bytes: number) => {
      for (let i = 0; i < bytes; i += message.length) port2.postMessage(message)
    }
    const replace = (report: { readonly read: number }) => send(report.read)
    port2.on("message", replace)
    const readBy = { turn: 0, all: 0 }
    client.on("data", () => {
      readBy.turn++
      readBy.all++
      // a thread on another core replaces at once what was reported as read
      const report = receiveMessageOnPort(port2)
      if (report !== undefined) replace(report.message as { readonly read: number })
    })
    send(WINDOW_BYTES)
    for (let turn = 0; turn < 10_000 && readBy.all < 80; turn++) {
      readBy.turn = 0
      await nextTurn()
      assert.isAtMost(readBy.turn, 8)
    }
    assert.isAtLeast(readBy.all, 80)
  })

  it("reports nothing that a reader has not read, where it pauses before the report", async () => {
    const { port1, port2 } = new MessageChannel()
    const client = ClientCall.over(port1, text)
    opened.push(client)
    const message = Buffer.alloc(WINDOW_BYTES / 8, "x")
    let [read, reported] = [0, 0]
    port2.on("message", (report: { readonly read: number }) => (reported += report.read))
    client.on("data", () => {
      if (++read === 4) client.pause()
    })
    for (let i = 0; i < 8; i++) port2.postMessage(message)
    await delivered()
    assert.strictEqual(read, 4)
    assert.isAtMost(reported, 4 * message.length)
    client.resume()
    await delivered()
    assert.deepStrictEqual([read, reported], [8, WINDOW_BYTES])
  })

  it("fails with the status and the metadata of the server, after the messages before it", async () => {
    const { client, server } = pair()
    const all = received(client)
    const metadata = new Metadata()
    metadata.set("error-reason", "Forked")
    server.write("last")
    server.emit("error", { code: status.FAILED_PRECONDITION, details: "another history", metadata })
    const error = await failed(client)
    assert.deepStrictEqual(
      [all, error.code, error.details, error.metadata.get("error-reason")],
      [["last"], status.FAILED_PRECONDITION, "another history", ["Forked"]]
    )
    assert.isTrue(server.destroyed)
  })

  it("is canceled by the client, and the server learns it", async () => {
    const { client, failures, server } = pair()
    const learned = Promise.all([once(server, "cancelled"), once(server, "close")])
    client.cancel()
    await learned
    assert.deepStrictEqual(
      failures.map(({ code }) => code),
      [status.CANCELLED]
    )
  })

  it("fails where a message cannot be read", async () => {
    const { client, server } = pair({
      ...text,
      decode: () => {
        throw new Error("not a message")
      }
    })
    server.write("?")
    const { code, details } = await failed(client)
    assert.deepStrictEqual([code, details], [status.INTERNAL, "a message cannot be read: Error: not a message"])
  })

  it("is unavailable where the other thread does not run, and when it ends", async () => {
    const absent = ClientCall.over(undefined, text)
    assert.strictEqual((await failed(absent)).code, status.UNAVAILABLE)

    const { port1, port2 } = new MessageChannel()
    const source = `require("node:worker_threads").parentPort.once("message", (port) => port.postMessage(Buffer.from("alive")))`
    const worker = new Worker(source, { eval: true })
    worker.postMessage(port2, [port2 as MessagePort])
    const client = ClientCall.over(port1, text)
    opened.push(client)
    await once(client, "data")
    const lost = failed(client)
    await worker.terminate()
    assert.strictEqual((await lost).code, status.UNAVAILABLE)
  })
})

describe("a call with one response over a port", () => {
  /** Calls `done` with the code of the error, or the response. */
  const ask = (port: MessagePort | undefined, done: (answer: unknown) => void) =>
    unary(port, text.decode, (error, response) => done(error?.code ?? response))
  const answerOf = (answer: (port: MessagePort) => void) =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel()
      ask(port1, resolve)
      answer(port2)
    })

  it("is answered, failed, or unavailable where the other side closes its port", async () => {
    assert.strictEqual(await answerOf((port) => reply(port, Buffer.from("yes"))), "yes")
    const refusal = { code: status.NOT_FOUND, details: "nothing" }
    assert.strictEqual(await answerOf((port) => reply(port, refusal)), status.NOT_FOUND)
    // a failure without a status says nothing
    assert.strictEqual(await answerOf((port) => reply(port, new Error("secret"))), status.INTERNAL)
    assert.strictEqual(await answerOf((port) => port.close()), status.UNAVAILABLE)
    assert.strictEqual(await new Promise((resolve) => ask(undefined, resolve)), status.UNAVAILABLE)
  })

  it("fails where the response cannot be read", async () => {
    const { port1, port2 } = new MessageChannel()
    const failed = new Promise<ServiceError | null>((resolve) =>
      unary(
        port1,
        () => {
          throw new Error("not a response")
        },
        resolve
      )
    )
    reply(port2, Buffer.from("?"))
    const { code, details } = (await failed)!
    assert.deepStrictEqual([code, details], [status.INTERNAL, "a message cannot be read: Error: not a response"])
  })

  it("calls back once, and not after it was canceled", async () => {
    const answers: Array<unknown> = []
    const { port1, port2 } = new MessageChannel()
    const cancel = ask(port1, (answer) => answers.push(answer))
    const closed = once(port2, "close")
    cancel()
    await closed
    ask(undefined, (answer) => answers.push(answer))()
    const twice = new MessageChannel()
    const answered = new Promise((resolve) => ask(twice.port1, resolve)).then((answer) => answers.push(answer))
    twice.port2.postMessage(Buffer.from("first"))
    twice.port2.postMessage(Buffer.from("second"))
    await answered
    await once(twice.port2, "close")
    assert.deepStrictEqual(answers, ["first"])
  })
})

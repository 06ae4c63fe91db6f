/** The calls of one connection, without a transport: which are in flight, and what their clients receive. */
import { Deferred, Effect, Fiber, Queue } from "effect"
import type { RpcMessage } from "effect/rpc"
import { assert, describe, it } from "vitest"
import { transportLimits } from "../../src/domain/TransportLimits.ts"
import * as CallServer from "../../src/rpc/CallServer.ts"
import { answersOf, callOf, refusalOf } from "./RawCalls.ts"

const inFlight = transportLimits.calls_in_flight.figure

/** A connection whose calls the test ends, and what it sent. */
const opened = (headers: ReadonlyArray<readonly [string, string]> = []) => {
  const load = { inFlight: 0 }
  const did = { sent: "", begun: [] as Array<RpcMessage.FromClientEncoded>, answered: 0 }
  const room: { free: Effect.Effect<void> } = { free: Effect.void }
  const connection = new CallServer.Connection(
    7,
    (clientId, message) =>
      Effect.sync(() => {
        assert.strictEqual(clientId, 7)
        did.begun.push(message)
      }),
    {
      peer: { address: undefined, forwarded: undefined },
      headers,
      load,
      send: (text) => Effect.andThen(room.free, () => Effect.sync(() => void (did.sent += text))),
      ended: Effect.void,
      answered: () => did.answered++
    }
  )
  const run = (...lines: ReadonlyArray<string>) => Effect.runPromise(connection.run(lines.join("")))
  const exit = (requestId: string | number, value: unknown = null): RpcMessage.FromServerEncoded => ({
    _tag: "Exit",
    requestId: requestId as never,
    exit: { _tag: "Success", value }
  })
  return { connection, did, exit, load, room, run }
}
const answers = (did: { readonly sent: string }) => answersOf(did.sent)

describe("a call", () => {
  it("is in flight until its response is sent, also where the client does not read", async () => {
    const { connection, did, exit, load, room, run } = opened()
    await run(callOf("a", "market.time"))
    const gate = Deferred.makeUnsafe<void>()
    room.free = Deferred.await(gate)
    const response = Effect.runFork(connection.respond(exit("a")))
    assert.deepStrictEqual([load.inFlight, connection.isBusy, did.answered], [1, true, 0])
    Effect.runSync(Deferred.succeed(gate, undefined))
    await Effect.runPromise(Fiber.join(response))
    assert.deepStrictEqual([load.inFlight, connection.isBusy, did.answered], [0, false, 1])
    assert.deepStrictEqual(
      answers(did).map(({ requestId }) => requestId),
      ["a"]
    )
  })

  it("leaves its place once, where the client disconnects before the response is sent", async () => {
    const { connection, did, exit, load, room, run } = opened()
    await run(callOf("a", "market.time"), callOf("b", "market.time"))
    room.free = Effect.never
    const response = Effect.runFork(connection.respond(exit("a")))
    connection.close()
    assert.deepStrictEqual([load.inFlight, connection.isBusy], [0, false])
    await Effect.runPromise(Fiber.interrupt(response))
    assert.deepStrictEqual([load.inFlight, did.answered], [0, 0])
  })

  it(`is refused beyond ${inFlight} in flight, and runs once one of them has its response`, async () => {
    const { connection, did, exit, load, run } = opened()
    await run(...Array.from({ length: inFlight + 1 }, (_, id) => callOf(id, "market.time")))
    assert.lengthOf(did.begun, inFlight)
    assert.strictEqual(refusalOf(answers(did)[0])?.code, "RateLimitExceeded")
    await Effect.runPromise(connection.respond(exit("0")))
    await run(callOf("again", "market.time"), callOf("beyond", "market.time"))
    assert.lengthOf(did.begun, inFlight + 1)
    assert.deepStrictEqual([answers(did).at(-1)?.requestId, load.inFlight], ["beyond", inFlight])
  })

  it("may have a number as its id, and no headers", async () => {
    const { connection, did, exit, run } = opened()
    await run('{"_tag":"Request","id":7,"tag":"market.time","payload":null}\n')
    const [begun] = did.begun
    assert(begun?._tag === "Request")
    assert.deepStrictEqual<unknown>([begun.id, begun.headers], [7, []])
    await Effect.runPromise(connection.respond(exit(7)))
    assert.strictEqual(answers(did)[0].requestId, 7)
  })

  it("of an unknown procedure gets at most 64 characters of its name back", async () => {
    const { did, run } = opened()
    await run(callOf("a", "n".repeat(1_000)))
    assert.deepInclude(refusalOf(answers(did)[0])?.details, { reason: "NoSuchRoute", given: "n".repeat(64) })
  })

  it("carries the headers of its connection in front of its own", async () => {
    const { did, run } = opened([["x-forwarded-for", "203.0.113.1"]])
    await run(callOf("a", "market.time", null, [["authorization", "Bearer x"]]))
    const [begun] = did.begun
    assert(begun?._tag === "Request")
    assert.deepStrictEqual(begun.headers, [
      ["x-forwarded-for", "203.0.113.1"],
      ["authorization", "Bearer x"]
    ])
  })

  it("that is a notification has no response, and its id may repeat", async () => {
    const { connection, did, exit, load, run } = opened()
    const notification = callOf("a", "market.time").replace("{", '{"isNotification":true,')
    await run(notification)
    await run(notification.replace('"id":"a"', '"id":"b"'), callOf("a", "market.time"))
    assert.strictEqual(load.inFlight, 3)
    const ids = did.begun.map((message) => (message._tag === "Request" ? message.id : undefined))
    assert.lengthOf(new Set(ids), 3)
    for (const id of ids.slice(0, 2)) await Effect.runPromise(connection.respond(exit(id!)))
    assert.deepStrictEqual([did.sent, load.inFlight, did.answered], ["", 1, 2])
  })

  it("that discards its result has a response without the value", async () => {
    const { connection, did, exit, run } = opened()
    await run(callOf("a", "market.time").replace("{", '{"discard":true,'), callOf("b", "market.time"))
    for (const id of ["a", "b"]) await Effect.runPromise(connection.respond(exit(id, 5)))
    assert.deepStrictEqual(
      answers(did).map(({ exit }) => exit),
      [{ _tag: "Success" }, { _tag: "Success", value: 5 }]
    )
  })

  it("does not begin on a connection that has closed, and other work runs between many", async () => {
    const { connection, did, load, run } = opened()
    const running = run(...Array.from({ length: inFlight }, (_, id) => callOf(id, "market.time")))
    const begun = did.begun.length
    assert.isAbove(begun, 0)
    assert.isBelow(begun, inFlight)
    connection.close()
    await running
    assert.deepStrictEqual([did.begun.length, load.inFlight], [begun, 0])
  })
})

describe("lines that are no calls", () => {
  it("are answered up to 17 in a message, whose rest is not read", async () => {
    const { did, run } = opened()
    await run(...Array.from({ length: 30 }, () => "null\n"), callOf("a", "market.time"))
    assert.deepStrictEqual([answers(did).length, did.begun.length], [17, 0])
  })

  it("reach the server up to 256 in a message, and none ends the connection", async () => {
    const { did, run } = opened()
    const ack = '{"_tag":"Ack","requestId":"a"}\n'
    await run('{"_tag":"Eof"}\n', ...Array.from({ length: 257 }, () => ack), callOf("a", "market.time"))
    assert.deepStrictEqual([...new Set(did.begun.map(({ _tag }) => _tag))], ["Ack"])
    assert.lengthOf(did.begun, 256)
    assert.deepStrictEqual(
      answers(did).map(({ _tag }) => _tag),
      ["Defect"]
    )
  })
})

describe("the server of a transport", () => {
  it("interrupts the calls of a connection once, when it closes", async () => {
    const server = await Effect.runPromise(CallServer.make(true))
    const carrier = {
      peer: { address: undefined, forwarded: undefined },
      headers: [],
      load: { inFlight: 0 },
      send: () => Effect.void,
      ended: Effect.void,
      answered: () => {}
    }
    const connections = [server.open(carrier), server.open(carrier)]
    for (const connection of [...connections, connections[0]!]) server.close(connection)
    assert.deepStrictEqual(await Effect.runPromise(Queue.takeAll(server.protocol.disconnects)), [0, 1])
    assert.deepStrictEqual(await Effect.runPromise(server.protocol.clientIds), new Set())
  })
})

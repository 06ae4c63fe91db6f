/** The calls of one connection, without a transport: which are in flight, and what their clients receive. */
import { Deferred, Effect, Fiber } from "effect"
import type { RpcMessage } from "effect/rpc"
import { assert, describe, it } from "vitest"
import { transportLimits } from "../../src/domain/TransportLimits.ts"
import { Connection } from "../../src/rpc/CallServer.ts"
import { answersOf, callOf, refusalOf } from "./RawCalls.ts"

const inFlight = transportLimits.calls_in_flight.figure

/** A connection whose calls the test ends, and what it sent. */
const opened = (headers: ReadonlyArray<readonly [string, string]> = []) => {
  const load = { inFlight: 0 }
  const did = { sent: "", begun: [] as Array<RpcMessage.FromClientEncoded>, answered: 0 }
  const room: { free: Effect.Effect<void> } = { free: Effect.void }
  const connection = new Connection(
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
})

/** Peers that break off as soon as they are let in, or half close and stay: their places are free again. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { RawSocket, upgrade } from "./RawSocket.ts"
import { start, World } from "../../verification/harness/WebSocketWorld.ts"

/** Places of one address, and how often each is taken and broken. */
const PLACES = 5
const ROUNDS = Number(process.env["RESETS"] ?? 200) / PLACES

/** Connects until it is admitted: a place is free again as soon as the gateway has seen the reset. */
const admitted = async (world: World): Promise<RawSocket> => {
  for (const deadline = Date.now() + 25_000; ;) {
    const raw = await RawSocket.open(world.url, "/ws/public")
    if (raw.status === 101) return raw
    assert.strictEqual(raw.status, 429)
    raw.socket.destroy()
    if (Date.now() > deadline) throw new Error("no place became free")
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
const fill = (world: World) => Promise.all(Array.from({ length: PLACES }, () => admitted(world)))

describe("a peer that breaks off", () => {
  it.live("by a reset, before or after its upgrade is answered, leaves its place to another", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world, { connections_per_ip: PLACES })
      for (let round = 0; round < ROUNDS; round++) {
        for (const raw of yield* Effect.promise(() => fill(world))) raw.socket.resetAndDestroy()
        // not waited for: the reset may overtake the answer
        const early = new RawSocket(world.url, upgrade("/ws/public"))
        early.socket.once("connect", () => early.socket.resetAndDestroy())
      }
      const held = yield* Effect.promise(() => fill(world))
      const beyond = yield* Effect.promise(() => RawSocket.open(world.url, "/ws/public"))
      assert.strictEqual(beyond.status, 429, "each is counted once")
      assert.include(beyond.head!, "\r\nRetry-After: 1\r\n")
      for (const { socket } of [...held, beyond]) socket.destroy()
    })
  )

  it.live("by half closing is closed, and forgotten", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world, { connections_per_ip: PLACES })
      for (let round = 0; round < 3; round++) {
        const raws = yield* Effect.promise(() => fill(world))
        for (const raw of raws) raw.socket.end()
        for (const raw of raws) yield* Effect.promise(() => raw.over())
      }
      const peer = yield* Effect.promise(() => admitted(world))
      peer.socket.destroy()
    })
  )
})

/** The upgrades of a server that has others than the gateway's. */
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { connect, type AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { start, World } from "../../verification/harness/WebSocketWorld.ts"
import { RawSocket, upgrade } from "./RawSocket.ts"

/** The first line of the response to an upgrade. */
const statusLine = ({ server }: World, path: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
    socket.write(upgrade(path))
    const [bytes] = (await once(socket, "data")) as [Buffer]
    socket.destroy()
    return bytes.toString().split("\r\n", 1)[0]!
  })

describe("a server with upgrades of its own", () => {
  const own = (_: IncomingMessage, socket: Duplex): void => void socket.end("HTTP/1.1 299 Own\r\n\r\n")

  it.live("keeps them on all other paths, and has them back afterwards", () =>
    Effect.gen(function* () {
      const world = new World()
      world.server.on("upgrade", own)
      const gateway = yield* Scope.make()
      yield* Scope.provide(start(world), gateway)
      assert.strictEqual(yield* statusLine(world, "/own"), "HTTP/1.1 299 Own")
      assert.strictEqual(yield* statusLine(world, "/ws/public"), "HTTP/1.1 101 Switching Protocols")
      yield* Scope.close(gateway, Exit.void)
      assert.deepStrictEqual(world.server.listeners("upgrade"), [own])
    })
  )

  it.live("and one without them responds to other paths with 404", () =>
    Effect.gen(function* () {
      const world = new World()
      yield* start(world)
      assert.strictEqual(yield* statusLine(world, "/own"), "HTTP/1.1 404 Not Found")
    })
  )

  it.live(
    "cuts off a peer that keeps its side open after a refusal",
    () =>
      Effect.gen(function* () {
        const world = new World()
        yield* start(world)
        const closed = Promise.withResolvers<void>()
        world.server.once("connection", (socket) => socket.once("close", () => closed.resolve()))
        const raw = new RawSocket(world.url, upgrade("/own"), { halfOpen: true })
        yield* Effect.promise(() => raw.until("response", () => raw.head))
        assert.strictEqual(raw.status, 404)
        yield* Effect.promise(() => closed.promise)
        raw.socket.destroy()
      }),
    15_000
  )
})

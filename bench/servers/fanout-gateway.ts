/**
 * The subject: the gateway's WebSocket code as shipped, from the upgrade to the socket, on a market with trades as the
 * projector publishes them: all of one commit in one call. Left out: the commits, and dependencies of private topics.
 */
import { Effect } from "effect"
import type { AddressInfo } from "node:net"
import { start, World } from "../../verification/harness/WebSocketWorld.ts"
import { tradeOf } from "../fanout/Events.ts"
import { trigger } from "./trigger.ts"
import { serve } from "./usage.ts"

const world = new World()
let published = 0
const control = await trigger((events) =>
  world.market.tell({ prints: Array.from({ length: events }, () => [tradeOf(published++)]) })
)
Effect.runFork(
  Effect.scoped(
    Effect.gen(function* () {
      yield* start(world, { connections_per_ip: 0, connections_per_user: 0 })
      serve((world.server.address() as AddressInfo).port, { control })
      return yield* Effect.never
    })
  )
)

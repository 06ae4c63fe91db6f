/**
 * The subject: the gateway's WebSocket room as it ships, upgrade to socket, on a market whose trades are told as the
 * projector tells them: those of one commit in one call. What commits them, and what only private topics ask, is left out.
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

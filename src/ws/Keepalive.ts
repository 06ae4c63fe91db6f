/**
 * One fiber that looks after all sockets: pings, silence, deadlines and full buffers. Each socket keeps its own times, so
 * that pings are spread as connections were. Source: docs/contract/websocket.md#keepalive,
 * docs/contract/boundary.md#lagging.
 */
import { Clock, Effect, type Scope } from "effect"
import type { LinkState } from "../services/operations/BackendHealth.ts"
import type { Limits } from "./Limits.ts"

/** A socket that is looked after. */
export interface KeepaliveSession {
  readonly tick: (now: number, lost: { readonly private: boolean; readonly public: boolean }) => void
}

/** Least and longest time between two rounds, in ms. */
const ROUND_MIN_MS = 5
const ROUND_MAX_MS = 1_000
/** Rounds per shortest deadline: how late a deadline may be noticed. */
const ROUNDS = 10

/** Whether sockets must end because what they are told can no longer be true. */
export const lostFor = (
  limits: Limits,
  sequencer: LinkState,
  referee: LinkState
): { readonly private: boolean; readonly public: boolean } => {
  const { backend_lost_private_ms, backend_lost_public_ms } = limits
  return {
    private: Math.max(sequencer.ill_for_ms, referee.ill_for_ms) > backend_lost_private_ms,
    // books, trades and prices come from the sequencer alone
    public: sequencer.ill_for_ms > backend_lost_public_ms
  }
}

/** Visits all sockets for ever. */
export const run = (
  sockets: () => Iterable<KeepaliveSession>,
  limits: Limits,
  health: { readonly sequencer: () => LinkState; readonly referee: () => LinkState }
): Effect.Effect<void, never, Scope.Scope> => {
  const shortest = Math.min(limits.ping_interval_ms, limits.silence_ms, limits.auth_deadline_ms, limits.outbound_age_ms)
  const round = Math.max(ROUND_MIN_MS, Math.min(ROUND_MAX_MS, shortest / ROUNDS))
  return Effect.asVoid(
    Effect.forkScoped(
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        while (true) {
          yield* Effect.sleep(round)
          const now = clock.currentTimeMillisUnsafe()
          const lost = lostFor(limits, health.sequencer(), health.referee())
          for (const socket of sockets()) socket.tick(now, lost)
        }
      })
    )
  )
}

/**
 * One fiber checks all connections: pings, silence, deadlines and full buffers. Each connection has its own times, so pings
 * are spread like the connections. Source: docs/contract/websocket.md#keepalive,
 * docs/contract/boundary.md#lagging.
 */
import { Effect, type Scope } from "effect"
import type { LimitedLease } from "../services/identity/CredentialLease.ts"
import type { LinkState } from "../services/operations/BackendHealth.ts"
import * as Daemon from "../services/operations/Daemon.ts"
import { monotonicMillis } from "../services/operations/Monotonic.ts"
import type { CheckTime } from "./Connection.ts"
import type { Limits } from "./Limits.ts"

/** A connection that is checked. */
export interface KeepaliveSession {
  readonly tick: (now: CheckTime, lost: { readonly private: boolean; readonly public: boolean }) => void
}

/** Least and longest time between two rounds, in ms. */
const ROUND_MIN_MS = 5
const ROUND_MAX_MS = 1_000
/** Rounds per shortest deadline, which bounds how late a deadline is detected. */
const ROUNDS = 10

/** What the data of feeds depends on. */
export interface Sources {
  readonly health: { readonly sequencer: () => LinkState; readonly referee: () => LinkState }
  readonly lease: Pick<LimitedLease, "overdue_ms">
}

/**
 * Whether feeds must close: the backend was unavailable too long and their data may be wrong, or private events were held
 * too long because changes of credentials cannot be read.
 */
export const lostFor = (
  limits: Limits,
  { health, lease }: Sources
): { readonly private: boolean; readonly public: boolean } => {
  const { backend_lost_private_ms, backend_lost_public_ms } = limits
  const sequencer = health.sequencer()
  const unhealthy_ms = Math.max(sequencer.unhealthy_for_ms, health.referee().unhealthy_for_ms)
  // while the gateway reads the stream from far back, the last event that it shows is as old as one of a lost backend
  const stale_ms = sequencer.connected && sequencer.unhealthy ? sequencer.age_ms : 0
  return {
    private: Math.max(unhealthy_ms, lease.overdue_ms()) > backend_lost_private_ms,
    // books, trades and prices depend only on the sequencer
    public: Math.max(sequencer.unhealthy_for_ms, stale_ms) > backend_lost_public_ms
  }
}

/** Checks all connections until the scope closes. */
export const run = (
  sockets: () => Iterable<KeepaliveSession>,
  limits: Limits,
  sources: Sources
): Effect.Effect<void, never, Scope.Scope> => {
  const shortest = Math.min(limits.ping_interval_ms, limits.silence_ms, limits.auth_deadline_ms, limits.outbound_age_ms)
  const round = Math.max(ROUND_MIN_MS, Math.min(ROUND_MAX_MS, shortest / ROUNDS))
  const tick = Effect.clockWith((clock) =>
    Effect.sync(() => {
      const now = { monotonic_ms: monotonicMillis(clock), wall_ms: clock.currentTimeMillisUnsafe() }
      const lost = lostFor(limits, sources)
      for (const socket of sockets()) socket.tick(now, lost)
    })
  )
  return tick.pipe(Effect.delay(round), Daemon.repeat("keepalive"))
}

/**
 * Policy: applies the changes of credentials by all gateways to this one, and renews its lease on them.
 *
 * A gateway by itself reads the changes once, at its start. A gateway of a fleet reads them every {@link EVERY}, and at once
 * when another gateway announces a change. Its {@link CredentialLease} lasts from the begin of a read that is complete
 * and applied.
 * Source: docs/contract/authentication.md#fresh-gateways.
 */
import { Clock, Effect, Layer, Semaphore } from "effect"
import { CLOCKS_APART_MS } from "../../domain/Time.ts"
import * as Daemon from "../operations/Daemon.ts"
import { InvalidationBus } from "../operations/InvalidationBus.ts"
import { monotonicMillis } from "../operations/Monotonic.ts"
import type { AccountsUnavailable } from "./Accounts.ts"
import { ApiKeys } from "./ApiKeys.ts"
import { BanList } from "./BanList.ts"
import { CredentialChangeStore } from "./CredentialChangeStore.ts"
import { CredentialLease, isLimited } from "./CredentialLease.ts"
import { Tokens } from "./Tokens.ts"

/** Pause between two reads. */
export const EVERY = "200 millis"

/**
 * Changes of this time before a read, in ms, are read again: the clock of their gateway may have been behind, and their
 * write slow to commit. PostgreSQL ends a statement earlier.
 */
const LATE_MS = CLOCKS_APART_MS + 10_000

const make = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const store = yield* CredentialChangeStore
  const lease = yield* CredentialLease
  const invalidations = yield* InvalidationBus
  const apiKeys = yield* ApiKeys
  const bans = yield* BanList
  const tokens = yield* Tokens

  /** Changes before this time are known, Unix ms. */
  let known_ms: number | undefined
  // one at a time: of two, the one that began first may complete last, with an older state
  const alone = Semaphore.makeUnsafe(1).withPermits(1)
  const read = Effect.gen(function* () {
    const began_ms = monotonicMillis(clock)
    const changed = yield* store.changes(known_ms)
    for (const token of changed.tokens) tokens.apply(token)
    for (const key of changed.keys) apiKeys.apply(key)
    for (const ban of changed.bans) bans.apply(ban)
    tokens.distrust(changed.untrusted_until_ms)
    known_ms = changed.read_ms - LATE_MS
    lease.renew(began_ms)
  }).pipe(alone)
  yield* read
  if (!isLimited(lease)) return

  let isLost = false
  const again = Effect.matchEffect(read, {
    onFailure: (error) => {
      if (isLost) return Effect.void
      isLost = true
      return Effect.logWarning("changed credentials not read; requests with credentials are refused", error)
    },
    onSuccess: () => {
      if (!isLost) return Effect.void
      isLost = false
      return Effect.logInfo("changed credentials are read again")
    }
  })
  yield* again.pipe(Effect.delay(EVERY), Daemon.repeat("changes of credentials"))
  yield* invalidations.listen(() => again)
})

export const layer: Layer.Layer<never, AccountsUnavailable, ApiKeys | BanList | CredentialChangeStore | Tokens> =
  Layer.effectDiscard(make)

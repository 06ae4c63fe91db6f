import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { userIdOf } from "../../../src/domain/Address.ts"
import { Accounts } from "../../../src/services/identity/Accounts.ts"
import { ApiKeys } from "../../../src/services/identity/ApiKeys.ts"
import { BanList } from "../../../src/services/identity/BanList.ts"
import { BanStore } from "../../../src/services/identity/BanStore.ts"
import { Grants } from "../../../src/services/identity/Grants.ts"
import { Bans, LAST_ORDER_AFTER } from "../../../src/services/rewards/Bans.ts"
import { CompetitionScoring } from "../../../src/services/rewards/CompetitionScoring.ts"
import { type Command, Sequencer } from "../../../src/services/Sequencer.ts"
import { type Invalidation, InvalidationBus } from "../../../src/services/operations/InvalidationBus.ts"
import * as Ids from "../../doubles/Ids.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"

const root = `0x${"12".repeat(32)}`
const user_id = userIdOf(root)
const vault = (index: number) => ({
  sub_account_address: `0x${String(index).repeat(64)}`,
  user_id,
  root_address: root,
  index,
  frozen: false,
  deleted: false,
  created_time: 0
})

/** A sequencer that records its commands, of a user whose sub-accounts are `vaults`. */
const world = (vaults: ReadonlyArray<ReturnType<typeof vault>>) => {
  const commands: Array<Command> = []
  const judged: Array<string> = []
  const layer = Layer.fresh(Bans.layer).pipe(
    Layer.provideMerge(BanList.layer),
    Layer.provideMerge(Grants.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        SqliteStores.accounts,
        SqliteStores.bans,
        Ids.layer,
        Layer.mock(ApiKeys)({ list: () => Effect.succeed([]), touch: () => undefined, apply: () => undefined }),
        Layer.mock(CompetitionScoring)({ judge: (user_id) => Effect.sync(() => void judged.push(user_id)) }),
        Layer.mock(Sequencer)({
          commands_down_ms: () => 0,
          subAccounts: () => Effect.succeed(vaults),
          submit: (command) =>
            Effect.sync(() => {
              commands.push(command)
              return {
                seq: commands.length,
                accepted_at_ms: 1,
                orders: [],
                duplicate: false,
                version: undefined,
                result: undefined
              }
            })
        })
      )
    )
  )
  const canceled = () => commands.splice(0).map(({ sub_account_address }) => sub_account_address)
  return { commands, canceled, judged, layer }
}
const known = Effect.flatMap(Accounts, (accounts) =>
  accounts.ensureUser({ user_id, root_address: root, rail: "address", party_id: undefined })
)

describe("a ban", () => {
  it.effect("cancels again orders accepted earlier by any gateway and still in progress", () => {
    const vaults = [vault(0)]
    const { canceled, commands, layer } = world(vaults)
    return Effect.gen(function* () {
      yield* known
      const bans = yield* Bans
      yield* bans.ban(root, "stolen keys")
      assert.deepInclude(commands[0]?.body, {
        type: "cancel_all",
        cancel_all: {
          symbol: undefined,
          side: undefined,
          order_filter: "All",
          reduce_only: undefined,
          cancel_type: "CancelByAdmin"
        }
      })
      assert.deepStrictEqual(canceled(), [vault(0).sub_account_address])
      // opened by a request that was on its way as well
      vaults.push(vault(1))
      yield* TestClock.adjust(Duration.subtract(LAST_ORDER_AFTER, Duration.millis(1)))
      assert.deepStrictEqual(canceled(), [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(
        canceled(),
        vaults.map(({ sub_account_address }) => sub_account_address)
      )
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(canceled(), [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("that is lifted at once leaves later orders", () => {
    const { canceled, layer } = world([vault(0)])
    return Effect.gen(function* () {
      yield* known
      const bans = yield* Bans
      yield* bans.ban(root, "")
      canceled()
      yield* TestClock.adjust("1 second")
      yield* bans.lift(root)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(canceled(), [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is announced to the other gateways, as is its end", () => {
    const { layer } = world([])
    const announced: Array<Invalidation> = []
    const bus = Layer.succeed(InvalidationBus, {
      publish: (invalidation) => Effect.sync(() => void announced.push(invalidation)),
      listen: () => Effect.void
    })
    return Effect.gen(function* () {
      yield* known
      const bans = yield* Bans
      const ended = { type: "ban", user_id } as const
      yield* bans.ban(root, "")
      assert.deepStrictEqual(announced, [ended])
      yield* TestClock.adjust("1 second")
      yield* bans.lift(root)
      assert.deepStrictEqual(announced, [ended, ended])
    }).pipe(Effect.provide(Layer.provide(layer, bus)))
  })

  it.effect("is lifted by a gateway that has not read it yet", () => {
    const { layer } = world([])
    return Effect.gen(function* () {
      yield* known
      const store = yield* BanStore
      // another gateway, whose clock is ahead
      const there = { root_address: root, user_id, banned: true, reason: "stolen keys", changed_time: 5_000 }
      yield* store.put(there)
      yield* (yield* Bans).lift(root)
      // later than the ban, so that no gateway takes it for an outdated read
      assert.strictEqual((yield* BanList).refusedThrough(user_id), 5_001)
      assert.deepStrictEqual(yield* store.get(root), { ...there, banned: false, changed_time: 5_001 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("evaluates scores again once no gateway counts without it, and so does its end", () => {
    const { judged, layer } = world([vault(0)])
    return Effect.gen(function* () {
      yield* known
      const bans = yield* Bans
      for (const change of [bans.ban(root, ""), bans.lift(root)]) {
        yield* change
        assert.deepStrictEqual(judged.splice(0), [user_id])
        yield* TestClock.adjust(Duration.subtract(LAST_ORDER_AFTER, Duration.millis(1)))
        assert.deepStrictEqual(judged, [])
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(judged.splice(0), [user_id])
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("needs a wallet that has logged in", () => {
    const { canceled, layer } = world([])
    return Effect.gen(function* () {
      const bans = yield* Bans
      assert.deepInclude(yield* Effect.flip(bans.ban(root, "")), { reason: "WalletNotFound" })
      assert.deepStrictEqual(canceled(), [])
    }).pipe(Effect.provide(layer))
  })
})

import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { userIdOf } from "../../../src/domain/Address.ts"
import type { Reason } from "../../../src/domain/Reason.ts"
import type { ApiKey } from "../../../src/domain/User.ts"
import { Accounts } from "../../../src/services/identity/Accounts.ts"
import { refuse } from "../../../src/services/identity/ApiKeyRules.ts"
import { ApiKeys } from "../../../src/services/identity/ApiKeys.ts"
import { BanList } from "../../../src/services/identity/BanList.ts"
import { BanStore } from "../../../src/services/identity/BanStore.ts"
import { Grants } from "../../../src/services/identity/Grants.ts"
import { Bans, LAST_ORDER_AFTER } from "../../../src/services/rewards/Bans.ts"
import { CompetitionScoring } from "../../../src/services/rewards/CompetitionScoring.ts"
import {
  type Command,
  CommandRefused,
  Sequencer,
  SequencerUnavailable,
  type SubmitError
} from "../../../src/services/Sequencer.ts"
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

/** A sequencer that records its commands, of a user whose sub-accounts are `vaults`, and whose API keys `keys` names. */
const world = (
  vaults: ReadonlyArray<ReturnType<typeof vault>>,
  {
    keys = new Set<string>(),
    answer = () => Effect.void
  }: { readonly keys?: Set<string>; readonly answer?: (command: Command) => Effect.Effect<void, SubmitError> } = {}
) => {
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
        Layer.mock(ApiKeys)({
          list: () => Effect.sync(() => [...keys].map((api_key_id) => ({ api_key_id }) as ApiKey)),
          revoke: (_, api_key_id) =>
            Effect.suspend(() => (keys.delete(api_key_id) ? Effect.void : refuse("ApiKeyNotFound"))),
          touch: () => undefined,
          apply: () => undefined
        }),
        Layer.mock(CompetitionScoring)({ judge: (user_id) => Effect.sync(() => void judged.push(user_id)) }),
        Layer.mock(Sequencer)({
          commands_down_ms: () => 0,
          subAccounts: () => Effect.succeed(vaults),
          submit: (command) =>
            Effect.suspend(() => {
              commands.push(command)
              return Effect.as(answer(command), {
                seq: commands.length,
                accepted_at_ms: 1,
                orders: [],
                duplicate: false,
                version: undefined,
                result: undefined
              })
            })
        })
      )
    )
  )
  const canceled = () => commands.splice(0).map(({ sub_account_address }) => sub_account_address)
  return { commands, canceled, judged, layer }
}
const refusedWith = (reason: Reason) => Effect.fail(new CommandRefused({ reason, message: "", details: {} }))
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

  it.effect("cancels again as soon as a backend that is away then is back", () => {
    let isAway = false
    const { canceled, layer } = world([vault(0)], {
      answer: () => (isAway ? Effect.fail(new SequencerUnavailable({})) : Effect.void)
    })
    return Effect.gen(function* () {
      yield* known
      yield* (yield* Bans).ban(root, "")
      canceled()
      isAway = true
      yield* TestClock.adjust(LAST_ORDER_AFTER)
      assert.lengthOf(canceled(), 1)
      yield* TestClock.adjust("1 minute")
      assert.isNotEmpty(canceled())
      isAway = false
      yield* TestClock.adjust("10 seconds")
      assert.lengthOf(canceled(), 1)
      yield* TestClock.adjust("1 hour")
      assert.isEmpty(canceled())
    }).pipe(Effect.provide(layer))
  })

  it.effect("logs a defect of the second cancellation, and evaluates scores without it", () => {
    const logged: Array<unknown> = []
    let isBroken = false
    const { judged, layer } = world([vault(0)], { answer: () => (isBroken ? Effect.die("broken") : Effect.void) })
    return Effect.gen(function* () {
      yield* known
      yield* (yield* Bans).ban(root, "")
      judged.length = 0
      isBroken = true
      yield* TestClock.adjust(LAST_ORDER_AFTER)
      assert.deepStrictEqual(judged, [user_id])
      assert.deepStrictEqual(logged, [["orders of a banned user not canceled again: given up"]])
    }).pipe(Effect.provide([layer, Logger.layer([Logger.make(({ message }) => void logged.push(message))])]))
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

  it.effect("revokes every key of the wallet, and so does its end, with the keys that another gateway created", () => {
    const keys = new Set(["trading", "reading"])
    const { layer } = world([], { keys })
    return Effect.gen(function* () {
      yield* known
      const bans = yield* Bans
      yield* bans.ban(root, "stolen keys")
      assert.deepStrictEqual([...keys], [])
      keys.add("created meanwhile")
      yield* bans.lift(root)
      assert.deepStrictEqual([...keys], [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("revokes a key, and cancels an order, whose request was in progress", () => {
    const keys = new Set<string>()
    const { canceled, layer } = world([vault(0)], { keys })
    return Effect.gen(function* () {
      yield* known
      const request = (yield* Grants).issue("token", user_id)
      request.hold()
      const banning = yield* Effect.forkChild((yield* Bans).ban(root, "stolen keys"))
      for (let turn = 0; turn < 200; turn++) yield* Effect.yieldNow
      // the ban is set, and waits for the request
      assert.strictEqual(request.ended, "banned")
      assert.deepStrictEqual(canceled(), [])
      keys.add("created by the request")
      request.release()
      yield* Fiber.join(banning)
      assert.deepStrictEqual([...keys], [])
      assert.deepStrictEqual(canceled(), [vault(0).sub_account_address])
    }).pipe(Effect.provide(layer))
  })

  it.effect("revokes the other keys where one is revoked while they are listed", () => {
    /** The user revokes the second key as soon as the first one is revoked. */
    class Keys extends Set<string> {
      override delete(key: string): boolean {
        if (key === "first") super.delete("second")
        return super.delete(key)
      }
    }
    const keys = new Keys(["first", "second", "third"])
    const { layer } = world([], { keys })
    return Effect.gen(function* () {
      yield* known
      yield* (yield* Bans).ban(root, "stolen keys")
      assert.deepStrictEqual([...keys], [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("cancels in no deleted sub-account, and goes on where one is deleted meanwhile", () => {
    const { canceled, layer } = world([{ ...vault(0), deleted: true }, vault(1), vault(2)], {
      answer: ({ sub_account_address }) =>
        sub_account_address === vault(1).sub_account_address ? refusedWith("SubAccountNotFound") : Effect.void
    })
    return Effect.gen(function* () {
      yield* known
      yield* (yield* Bans).ban(root, "")
      assert.deepStrictEqual(
        canceled(),
        [vault(1), vault(2)].map(({ sub_account_address }) => sub_account_address)
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("fails where a cancel is refused for another reason, and the user stays banned", () => {
    const { layer } = world([vault(0)], { answer: () => refusedWith("InternalError") })
    return Effect.gen(function* () {
      yield* known
      const error = yield* Effect.flip((yield* Bans).ban(root, ""))
      assert.strictEqual(error._tag, "SequencerFault")
      assert.isTrue((yield* BanList).isBanned(user_id))
    }).pipe(Effect.provide(layer))
  })

  it.effect("that is not set is not lifted", () => {
    const { layer } = world([])
    return Effect.gen(function* () {
      yield* known
      yield* (yield* Bans).lift(root)
      assert.strictEqual((yield* BanList).refusedThrough(user_id), 0)
      assert.isUndefined(yield* (yield* BanStore).get(root))
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

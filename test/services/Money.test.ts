import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Caller } from "../../src/domain/User.ts"
import { Funds } from "../../src/services/trading/Funds.ts"
import { type Command, CommandRefused } from "../../src/services/Sequencer.ts"
import { AccountsUnavailable } from "../../src/services/identity/Accounts.ts"
import { SubAccounts } from "../../src/services/identity/SubAccounts.ts"
import { type Doubles, foreign, orderId, policies, root, tokenCaller, userId, v0, v1, well } from "../http/Fixture.ts"

const bound: Caller = { ...tokenCaller, bound_to: new Set([v1]) }
const state = (address: string, index: number, frozen = false) => ({
  sub_account_address: address,
  user_id: userId,
  root_address: root,
  index,
  frozen,
  deleted: false,
  created_time: 1
})
const reasonOf = (failure: unknown) => {
  const { details, reason } = failure as { readonly reason: string; readonly details: Record<string, unknown> }
  return [reason, details["field"]]
}

/** A sequencer that records commands and acknowledges each with its record. */
const world = (more: Doubles = {}) => {
  const commands: Array<Command> = []
  const layer = policies({
    ...more,
    sequencer: {
      submit: (command) => {
        commands.push(command)
        const { body } = command
        return Effect.succeed({
          seq: 1,
          accepted_at_ms: 1,
          orders: [],
          duplicate: false,
          version: undefined,
          result:
            body.type === "deposit" || body.type === "transfer" || body.type === "withdraw"
              ? {
                  type: "movement",
                  movement: {
                    transfer_id: orderId,
                    user_id: userId,
                    kind: body.type === "withdraw" ? "withdrawal" : body.type,
                    from_sub_account_address: undefined,
                    to_sub_account_address: v1,
                    asset: "USDC",
                    amount: body.amount,
                    status: "completed",
                    reference: "",
                    created_time: 1,
                    updated_time: 2
                  }
                }
              : { type: "sub_account", sub_account: state(v1, 1, body.type === "set_sub_account" && body.frozen) }
        })
      },
      subAccounts: () => Effect.succeed([state(v0, 0), state(v1, 1)]),
      ...more.sequencer
    }
  })
  return { commands, layer }
}

describe("the faucet", () => {
  const ask = { sub_account_address: v1, asset: "USDC", amount: "100.50" }
  it.effect("deposits the requested amount, in canonical form", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const funds = yield* Funds
      const deposit = yield* funds.faucet(tokenCaller, ask)
      assert.deepInclude(deposit, { amount: "100.5", source: "faucet", status: "completed", sub_account_address: v1 })
      const body = commands[0]?.body
      assert.strictEqual(body?.type === "deposit" ? body.deposit_id : "", deposit.deposit_id)
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(funds.faucet(tokenCaller, { ...ask, amount: "0.0" }))), [
        "OutOfRange",
        "amount"
      ])
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(funds.faucet(tokenCaller, { ...ask, asset: "BTC" }))), [
        "InvalidField",
        "asset"
      ])
      const unseen = yield* Effect.flip(funds.faucet(bound, { ...ask, sub_account_address: v0 }))
      assert.strictEqual(reasonOf(unseen)[0], "SubAccountNotFound")
      assert.lengthOf(commands, 1)
    }).pipe(Effect.provide(layer))
  })
  it.effect("is switched off in production", () =>
    Effect.gen(function* () {
      const funds = yield* Funds
      assert.strictEqual(reasonOf(yield* Effect.flip(funds.faucet(tokenCaller, ask)))[0], "ModuleDisabled")
    }).pipe(Effect.provide(world({ faucet: false }).layer))
  )
})

describe("a withdrawal", () => {
  const ask = {
    withdrawal_id: orderId,
    sub_account_address: v1,
    asset: "USDC",
    amount: "1.0",
    destination: `0x${"AB".repeat(32)}`
  }
  const party = `alice::1220${"ab".repeat(32)}`
  it.effect("is one command for its user and id, and goes to an address in canonical form", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const funds = yield* Funds
      const destination = `0x${"ab".repeat(32)}`
      const record = yield* funds.withdraw(tokenCaller, ask)
      assert.deepInclude(record, { withdrawal_id: orderId, destination, amount: "1", sub_account_address: v1 })
      assert.deepInclude(record, { created_time: 1, updated_time: 2 })
      yield* funds.withdraw(tokenCaller, { ...ask, amount: "1", destination })
      yield* funds.withdraw({ ...tokenCaller, user_id: "other" }, ask)
      assert.deepStrictEqual(commands[0], commands[1])
      assert.notStrictEqual(commands[0]?.command_id, commands[2]?.command_id)
    }).pipe(Effect.provide(layer))
  })
  it.effect("is on the user's own rail", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const funds = yield* Funds
      const refused = (caller: Caller, destination: string) =>
        Effect.map(Effect.flip(funds.withdraw(caller, { ...ask, destination })), reasonOf)
      const onParty: Caller = { ...tokenCaller, rail: "party" }
      for (const destination of [party, "0x", "nowhere"])
        assert.deepStrictEqual(yield* refused(tokenCaller, destination), ["InvalidField", "destination"])
      for (const destination of ["0xb", "alice::1220", "alice"])
        assert.deepStrictEqual(yield* refused(onParty, destination), ["InvalidField", "destination"])
      assert.deepStrictEqual(commands, [])
      assert.strictEqual((yield* funds.withdraw(onParty, { ...ask, destination: party })).destination, party)
      assert.strictEqual(
        reasonOf(yield* Effect.flip(funds.withdraw(bound, { ...ask, sub_account_address: v0 })))[0],
        "SubAccountNotFound"
      )
    }).pipe(Effect.provide(layer))
  })
})

it.effect("a withdrawal goes to a full address only", () => {
  const { commands, layer } = world()
  return Effect.gen(function* () {
    const funds = yield* Funds
    const ask = { withdrawal_id: orderId, sub_account_address: v1, asset: "USDC", amount: "1" }
    for (const destination of ["dad", "0xdad", "1", "ab".repeat(31), `0x${"a".repeat(63)}`, `0X${"ab".repeat(32)}`])
      assert.deepStrictEqual(
        reasonOf(yield* Effect.flip(funds.withdraw(tokenCaller, { ...ask, destination }))),
        ["InvalidField", "destination"],
        destination
      )
    assert.deepStrictEqual(commands, [])
    const canonical = `0x${"ab".repeat(32)}`
    for (const destination of ["ab".repeat(32), canonical, "AB".repeat(32)])
      assert.strictEqual((yield* funds.withdraw(tokenCaller, { ...ask, destination })).destination, canonical)
  }).pipe(Effect.provide(layer))
})

it.effect("a withdrawal is of an amount above 0 of the only asset", () => {
  const { commands, layer } = world()
  return Effect.gen(function* () {
    const funds = yield* Funds
    const ask = { withdrawal_id: orderId, sub_account_address: v1, destination: "ab".repeat(32) }
    for (const [asset, amount, ...refusal] of [
      ["USDC", "0.0", "OutOfRange", "amount"],
      ["BTC", "1", "InvalidField", "asset"]
    ] as const)
      assert.deepStrictEqual(
        reasonOf(yield* Effect.flip(funds.withdraw(tokenCaller, { ...ask, asset, amount }))),
        refusal
      )
    assert.deepStrictEqual(commands, [])
  }).pipe(Effect.provide(layer))
})

it.effect("no money moves while the sequencer is late", () => {
  const { commands, layer } = world({ health: { sequencer: () => ({ ...well, unhealthy: true, lag_ms: 9 }) } })
  return Effect.gen(function* () {
    const funds = yield* Funds
    const money = { asset: "USDC", amount: "1", sub_account_address: v1 }
    const between = { from_sub_account_address: v0, to_sub_account_address: v1 }
    for (const refused of [
      funds.faucet(tokenCaller, money),
      funds.transfer(tokenCaller, { ...money, ...between, transfer_id: orderId }),
      funds.withdraw(tokenCaller, { ...money, withdrawal_id: orderId, destination: "ab".repeat(32) })
    ] as ReadonlyArray<Effect.Effect<unknown, unknown>>)
      assert.strictEqual(reasonOf(yield* Effect.flip(refused))[0], "BackendLagging")
    assert.deepStrictEqual(commands, [])
  }).pipe(Effect.provide(layer))
})

describe("a transfer", () => {
  const ask = {
    transfer_id: orderId,
    from_sub_account_address: v0,
    to_sub_account_address: v1,
    asset: "USDC",
    amount: "1.0"
  }
  it.effect("is one command for its user and id, whatever its text", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const funds = yield* Funds
      const receipt = { transfer_id: orderId, status: "completed" as const }
      assert.deepStrictEqual(yield* funds.transfer(tokenCaller, ask), receipt)
      assert.deepStrictEqual(yield* funds.transfer(tokenCaller, { ...ask, amount: "1" }), receipt)
      yield* funds.transfer({ ...tokenCaller, user_id: "other" }, ask)
      assert.deepStrictEqual(commands[0], commands[1])
      assert.notStrictEqual(commands[0]?.command_id, commands[2]?.command_id)
      assert.strictEqual(commands[0]?.sub_account_address, v0)
    }).pipe(Effect.provide(layer))
  })
  it.effect("moves money between two sub-accounts that the credential may access", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const funds = yield* Funds
      const same = yield* Effect.flip(funds.transfer(tokenCaller, { ...ask, to_sub_account_address: v0 }))
      assert.deepStrictEqual(reasonOf(same), ["InvalidField", "to_sub_account_address"])
      const from = yield* Effect.flip(funds.transfer(bound, ask))
      assert.deepStrictEqual(reasonOf(from), ["SubAccountNotFound", "from_sub_account_address"])
      const back = { ...ask, from_sub_account_address: v1, to_sub_account_address: v0 }
      const to = yield* Effect.flip(funds.transfer(bound, back))
      assert.deepStrictEqual(reasonOf(to), ["SubAccountNotFound", "to_sub_account_address"])
      assert.deepStrictEqual(commands, [])
    }).pipe(Effect.provide(layer))
  })
  for (const [details, text] of [
    [{}, /^from_\S+ and to_\S+: expected /u],
    [{ field: "to_sub_account_address" }, /^none$/u]
  ] as const)
    it.effect(
      `names both sub-accounts unless the backend says which one it misses: ${"field" in details ? "it does" : "it does not"}`,
      () => {
        const refused = new CommandRefused({ reason: "SubAccountNotFound", message: "none", details })
        return Effect.gen(function* () {
          const funds = yield* Funds
          const error: object = yield* Effect.flip(funds.transfer(tokenCaller, ask))
          assert.deepStrictEqual(reasonOf(error), [
            "SubAccountNotFound",
            "field" in details ? details.field : undefined
          ])
          assert.match("message" in error ? String(error.message) : "", text)
        }).pipe(Effect.provide(world({ sequencer: { submit: () => Effect.fail(refused) } }).layer))
      }
    )
})

describe("sub-accounts", () => {
  it.effect("are listed by index with their labels, as far as the credential sees", () =>
    Effect.gen(function* () {
      const subAccounts = yield* SubAccounts
      const list = yield* subAccounts.list(tokenCaller)
      assert.deepStrictEqual(
        list.map(({ index, label }) => [index, label]),
        [
          [0, ""],
          [1, "alpha"]
        ]
      )
      assert.lengthOf(yield* subAccounts.list(bound), 1)
    }).pipe(
      Effect.provide(
        world({
          accounts: { labels: () => Effect.succeed(new Map([[v1, "alpha"]])) },
          history: { subAccounts: () => Effect.succeed([state(v1, 1), state(v0, 0)]) }
        }).layer
      )
    )
  )
  it.effect("are created by credentials that are not bound to sub-accounts", () => {
    const labels: Array<string> = []
    const { commands, layer } = world({
      accounts: { setLabel: (_user, _address, label) => Effect.sync(() => void labels.push(label)) }
    })
    return Effect.gen(function* () {
      const subAccounts = yield* SubAccounts
      assert.deepInclude(yield* subAccounts.create(tokenCaller, "alpha"), { index: 1, label: "alpha", frozen: false })
      yield* subAccounts.create(tokenCaller, undefined)
      assert.deepStrictEqual(labels, ["alpha"])
      assert.strictEqual(reasonOf(yield* Effect.flip(subAccounts.create(bound, undefined)))[0], "InsufficientScope")
      assert.deepStrictEqual(commands[0]?.body, { type: "create_sub_account", root_address: root, index: undefined })
      assert.lengthOf(commands, 2)
    }).pipe(Effect.provide(layer))
  })
  it.effect("are created without their label where it cannot be stored: a repetition would create another one", () => {
    const { layer } = world({ accounts: { setLabel: () => Effect.fail(new AccountsUnavailable({})) } })
    return Effect.gen(function* () {
      const subAccounts = yield* SubAccounts
      assert.deepInclude(yield* subAccounts.create(tokenCaller, "alpha"), { index: 1, label: "" })
    }).pipe(Effect.provide(layer))
  })
  it.effect("are found before the read model contains them, and never if another user owns them", () => {
    const { commands, layer } = world({ history: { subAccounts: () => Effect.succeed([]) } })
    return Effect.gen(function* () {
      const subAccounts = yield* SubAccounts
      assert.deepInclude(yield* subAccounts.change(tokenCaller, v1, { frozen: true }), { frozen: true })
      assert.deepStrictEqual(yield* subAccounts.resolve(tokenCaller, v1), [v1])
      for (const change of [{ frozen: true }, { label: "mine" }]) {
        const refused = yield* Effect.flip(subAccounts.change(tokenCaller, foreign, change))
        assert.strictEqual(reasonOf(refused)[0], "SubAccountNotFound")
      }
      const empty = yield* Effect.flip(subAccounts.change(tokenCaller, v1, {}))
      assert.strictEqual(reasonOf(empty)[0], "MissingField")
      assert.lengthOf(commands, 1)
    }).pipe(Effect.provide(layer))
  })
  it.effect("that are deleted are neither listed nor found, in the read model and in the sequencer", () => {
    const gone = { ...state(v1, 1), deleted: true }
    const both = () => Effect.succeed([state(v0, 0), gone])
    const { commands, layer } = world({ history: { subAccounts: both }, sequencer: { subAccounts: both } })
    return Effect.gen(function* () {
      const subAccounts = yield* SubAccounts
      assert.deepStrictEqual(
        (yield* subAccounts.list(tokenCaller)).map(({ sub_account_address }) => sub_account_address),
        [v0]
      )
      assert.deepStrictEqual(yield* subAccounts.resolve(tokenCaller, undefined), [v0])
      for (const refused of [
        subAccounts.resolve(tokenCaller, v1),
        subAccounts.change(tokenCaller, v1, { frozen: false }),
        subAccounts.change(tokenCaller, v1, { label: "again" }),
        subAccounts.remove(tokenCaller, v1)
      ] as ReadonlyArray<Effect.Effect<unknown, unknown>>)
        assert.strictEqual(reasonOf(yield* Effect.flip(refused))[0], "SubAccountNotFound")
      assert.deepStrictEqual(commands, [])
      // their records stay
      assert.deepStrictEqual(yield* subAccounts.resolveWithDeleted(tokenCaller, undefined), [v0, v1])
      assert.deepStrictEqual(yield* subAccounts.resolveWithDeleted(tokenCaller, v1), [v1])
      assert.deepStrictEqual(yield* subAccounts.resolveWithDeleted(bound, undefined), [v1])
      for (const [caller, address] of [
        [bound, v0],
        [tokenCaller, foreign]
      ] as const)
        assert.strictEqual(
          reasonOf(yield* Effect.flip(subAccounts.resolveWithDeleted(caller, address)))[0],
          "SubAccountNotFound"
        )
    }).pipe(Effect.provide(layer))
  })
  it.effect("of the same user are hidden from a key that is bound to others", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const subAccounts = yield* SubAccounts
      assert.deepStrictEqual(yield* subAccounts.resolve(bound, undefined), [v1])
      assert.deepStrictEqual(yield* subAccounts.resolve(bound, v1), [v1])
      for (const refused of [
        subAccounts.resolve(bound, v0),
        subAccounts.change(bound, v0, { frozen: true }),
        subAccounts.remove(bound, v0)
      ] as ReadonlyArray<Effect.Effect<unknown, unknown>>)
        assert.strictEqual(reasonOf(yield* Effect.flip(refused))[0], "SubAccountNotFound")
      assert.deepStrictEqual(commands, [])
    }).pipe(Effect.provide(layer))
  })
  it.effect("are deleted, frozen and released by one command each; the first one is never deleted", () => {
    const { commands, layer } = world()
    return Effect.gen(function* () {
      const subAccounts = yield* SubAccounts
      assert.deepInclude(yield* Effect.flip(subAccounts.remove(tokenCaller, v0)), { reason: "NotEmpty" })
      assert.deepStrictEqual(commands, [])
      yield* subAccounts.remove(tokenCaller, v1)
      yield* subAccounts.change(tokenCaller, v1, { frozen: true })
      yield* subAccounts.change(tokenCaller, v1, { frozen: false })
      assert.deepStrictEqual(
        commands.map(({ body, sub_account_address, user_id }) => [user_id, sub_account_address, body]),
        [
          [userId, v1, { type: "delete_sub_account" }],
          [userId, v1, { type: "set_sub_account", frozen: true }],
          [userId, v1, { type: "set_sub_account", frozen: false }]
        ]
      )
    }).pipe(Effect.provide(layer))
  })
  it.effect("get a label without a command, and keep it while they are frozen", () => {
    const labels = new Map<string, string>()
    const { commands, layer } = world({
      accounts: {
        labels: () => Effect.succeed(labels),
        setLabel: (_user, address, label) => Effect.sync(() => void labels.set(address, label))
      }
    })
    return Effect.gen(function* () {
      const subAccounts = yield* SubAccounts
      assert.deepInclude(yield* subAccounts.change(tokenCaller, v1, { label: "alpha" }), { label: "alpha" })
      assert.deepStrictEqual(commands, [])
      assert.deepInclude(yield* subAccounts.change(tokenCaller, v1, { frozen: true }), { label: "alpha", frozen: true })
      assert.deepStrictEqual([...labels], [[v1, "alpha"]])
    }).pipe(Effect.provide(layer))
  })
  it.effect("are not changed and not listed while the sequencer is ill, but labelled and resolved", () => {
    const { commands, layer } = world({
      accounts: { labels: () => Effect.succeed(new Map([[v1, "alpha"]])), setLabel: () => Effect.void },
      health: { sequencer: () => ({ ...well, unhealthy: true, lag_ms: 9 }) }
    })
    return Effect.gen(function* () {
      const subAccounts = yield* SubAccounts
      for (const refused of [
        subAccounts.list(tokenCaller),
        subAccounts.create(tokenCaller, undefined),
        subAccounts.change(tokenCaller, v1, { frozen: true }),
        subAccounts.remove(tokenCaller, v1)
      ] as ReadonlyArray<Effect.Effect<unknown, unknown>>)
        assert.strictEqual(reasonOf(yield* Effect.flip(refused))[0], "BackendLagging")
      assert.deepStrictEqual(commands, [])
      assert.deepInclude(yield* subAccounts.change(tokenCaller, v1, { label: "alpha" }), { label: "alpha" })
      assert.deepStrictEqual(yield* subAccounts.resolve(tokenCaller, v1), [v1])
    }).pipe(Effect.provide(layer))
  })
})

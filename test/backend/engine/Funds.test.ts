import { assert, describe, it } from "@effect/vitest"
import * as Reads from "../../../src/backend/engine/Reads.ts"
import { subAccountAddress } from "../../../src/domain/Address.ts"
import * as Decimal from "../../../src/domain/Decimal.ts"
import { BalanceReason, TransferStatus } from "../../../src/proto/gateway/v1/types.ts"
import { ackOf, Bench, BTC, BUY, kinds, SELL, statusOf, type Trader, trader } from "../Bench.ts"

const alice = trader("alice")
const second = trader("alice", 1)
const bob = trader("bob")

const create = (bench: Bench, root: string, index?: number, user = alice.user_id) =>
  bench.send(
    { ...alice, user_id: user, address: "" },
    {
      $case: "create_sub_account",
      value: { root_address: root, index }
    }
  )

describe("sub-accounts", () => {
  it("are created in order; an existing index returns the existing one", () => {
    const bench = new Bench()
    const first = create(bench, alice.root, 0)
    assert.deepStrictEqual(kinds(first), ["sub_account_changed"])
    const again = create(bench, alice.root, 0)
    assert.strictEqual(again.events.length, 0)
    assert.deepStrictEqual(ackOf(again).result, ackOf(first).result)
    const next = ackOf(create(bench, alice.root)).result!
    assert.isTrue(next.$case === "sub_account" && next.value.index === 1)
    assert.deepInclude(Reads.subAccounts(bench.state, alice.user_id)[1], {
      sub_account_address: subAccountAddress(alice.root, 1),
      user_id: alice.user_id,
      root_address: alice.root,
      frozen: false
    })
    assert.deepInclude(statusOf(create(bench, alice.root, 5)), { reason: "InvalidField", metadata: { field: "index" } })
  })

  it("belong to one user and one root", () => {
    const bench = new Bench()
    create(bench, alice.root, 0)
    assert.strictEqual(statusOf(create(bench, alice.root, 0, bob.user_id)).reason, "InvalidField")
    assert.strictEqual(statusOf(create(bench, bob.root)).reason, "InvalidField")
    assert.strictEqual(statusOf(create(bench, "0x1")).reason, "InvalidField")
  })

  it("disappear from every read once they are deleted", () => {
    const bench = new Bench()
    for (const _ of [0, 1]) create(bench, alice.root)
    // used in a market once: a flat position exists
    ackOf(bench.send(second, { $case: "set_leverage", value: { symbol: BTC, leverage: "5" } }))
    const user_id = alice.user_id
    const seen = () => ({
      flat: Reads.positions(bench.state, { user_id, symbol: BTC }).length,
      one: Reads.positions(bench.state, { user_id, symbol: BTC, sub_account_address: second.address }).length,
      vaults: Reads.portfolio(bench.state, user_id).summary!.total_vaults,
      balances: Reads.portfolio(bench.state, user_id).vault_balances.length,
      account: Reads.account(bench.state, second.address) !== undefined
    })
    assert.deepStrictEqual(seen(), { flat: 2, one: 1, vaults: 2, balances: 2, account: true })
    ackOf(bench.send(second, { $case: "delete_sub_account", value: {} }))
    assert.deepStrictEqual(seen(), { flat: 1, one: 0, vaults: 1, balances: 1, account: false })
  })

  it("are limited to 20 per user", () => {
    const bench = new Bench()
    for (let i = 0; i < 20; i++) ackOf(create(bench, alice.root))
    assert.deepInclude(statusOf(create(bench, alice.root)), {
      code: 9,
      reason: "LimitReached",
      metadata: { max: "20" }
    })
  })
})

describe("deposits", () => {
  it("of the faucet are limited by UTC day and user, over all sub-accounts", () => {
    const bench = new Bench()
    bench.open(alice)
    bench.open(second, undefined, 1)
    ackOf(bench.deposit(alice, "99999.5", "faucet"))
    assert.deepInclude(statusOf(bench.deposit(second, "0.500000000000000001", "faucet")), {
      code: 9,
      reason: "FaucetLimit",
      metadata: { max: "100000", remaining: "0.5" }
    })
    ackOf(bench.deposit(second, "0.5", "faucet"))
    ackOf(bench.deposit(alice, "1000000", "rail"))
    bench.now += 86_400_000
    ackOf(bench.deposit(alice, "100000", "faucet"))
  })

  it("are emitted with their transfer, and happen once per id", () => {
    const bench = new Bench()
    bench.open(alice)
    const send = (amount: string) =>
      bench.send(alice, {
        $case: "deposit_funds",
        value: { deposit_id: "d", asset: "USDC", amount, source: "faucet" }
      })
    const first = send("10")
    assert.deepStrictEqual(kinds(first), ["transfer_changed", "balance_changed"])
    const balance = first.events[1]!.event!
    assert.isTrue(
      balance.$case === "balance_changed" &&
        balance.value.amount === "10" &&
        balance.value.transfer_id === "d" &&
        balance.value.reason === BalanceReason.BALANCE_REASON_DEPOSIT
    )
    const again = send("10.0")
    assert.strictEqual(again.events.length, 0)
    assert.deepStrictEqual(ackOf(again).result, ackOf(first).result)
    assert.deepInclude(statusOf(send("11")), { code: 6, reason: "DuplicateRequestId" })
  })

  it("with the id of another one are refused: to another sub-account, from another source, of another kind", () => {
    const bench = new Bench()
    bench.open(alice)
    bench.open(second, undefined, 1)
    const deposit = (who: Trader, source: string) =>
      bench.send(who, { $case: "deposit_funds", value: { deposit_id: "d", asset: "USDC", amount: "10", source } })
    ackOf(deposit(alice, "rail"))
    const reward = { $case: "credit_reward", value: { reward_id: "d", asset: "USDC", amount: "10" } } as const
    for (const again of [
      () => deposit(second, "rail"),
      () => deposit(alice, "faucet"),
      () => bench.send(alice, reward)
    ])
      assert.deepInclude(statusOf(again()), { code: 6, reason: "DuplicateRequestId" })
    // ids of another user are others
    bench.open(bob)
    ackOf(deposit(bob, "rail"))
    assert.deepStrictEqual(
      [alice, second, bob].map(({ address }) => Reads.account(bench.state, address)!.balances[0]!.wallet_balance),
      ["10", "0", "10"]
    )
  })

  it("need a positive amount of a known asset", () => {
    const bench = new Bench()
    bench.open(alice)
    assert.strictEqual(statusOf(bench.deposit(alice, "0")).reason, "OutOfRange")
    for (const amount of ["1e5", "-1", "01", "0.0000000000000000001", `1${"0".repeat(20)}`])
      assert.strictEqual(statusOf(bench.deposit(alice, amount)).reason, "InvalidDecimal", amount)
    ackOf(bench.deposit(alice, "0.000000000000000001"))
    assert.strictEqual(statusOf(bench.deposit(bob, "1")).reason, "SubAccountNotFound")
    const euro = { deposit_id: "e", asset: "EUR", amount: "1", source: "faucet" }
    assert.strictEqual(statusOf(bench.send(alice, { $case: "deposit_funds", value: euro })).reason, "InvalidField")
  })
})

describe("withdrawals", () => {
  const withdraw = (bench: Bench, amount: string, who = alice, withdrawal_id = "w", destination = "0xab") =>
    bench.send(who, { $case: "withdraw_funds", value: { withdrawal_id, asset: "USDC", amount, destination } })
  const transfers = (step: ReturnType<typeof withdraw>) =>
    step.events.flatMap(({ event }) => (event?.$case === "transfer_changed" ? [event.value.transfer!] : []))

  it("are emitted as pending with their debit, and complete after 5 s", () => {
    const bench = new Bench()
    bench.tick()
    bench.open(alice, "1000")
    const step = withdraw(bench, "400")
    assert.deepStrictEqual(kinds(step), ["transfer_changed", "balance_changed"])
    assert.deepInclude(transfers(step)[0], {
      transfer_id: "w",
      kind: BalanceReason.BALANCE_REASON_WITHDRAWAL,
      amount: "400",
      reference: "0xab",
      status: TransferStatus.TRANSFER_STATUS_PENDING
    })
    assert.strictEqual(Reads.account(bench.state, alice.address)!.balances[0]!.wallet_balance, "600")
    assert.strictEqual(withdraw(bench, "400").events.length, 0, "once per id")
    assert.deepStrictEqual(transfers(bench.tick(4_998)), [])
    const [completed, ...more] = transfers(bench.tick(1))
    assert.deepStrictEqual(more, [])
    assert.deepInclude(completed, {
      transfer_id: "w",
      status: TransferStatus.TRANSFER_STATUS_COMPLETED,
      updated_time_ms: bench.now
    })
    assert.strictEqual(completed!.created_time_ms, bench.now - 5_000)
    const again = ackOf(withdraw(bench, "400")).result
    assert.deepStrictEqual(again, { $case: "transfer", value: completed! })
  })

  it("complete in one Tick where several are due, in the order of their commands", () => {
    const bench = new Bench()
    bench.tick()
    for (const who of [alice, bob]) bench.open(who, "1000")
    for (const [who, id] of [
      [alice, "z"],
      [bob, "b"],
      [alice, "a"]
    ] as const)
      ackOf(withdraw(bench, "1", who, id))
    assert.deepStrictEqual(
      transfers(bench.tick(6_000)).map(({ status, transfer_id }) => [transfer_id, status]),
      ["z", "b", "a"].map((id) => [id, TransferStatus.TRANSFER_STATUS_COMPLETED])
    )
    assert.lengthOf(bench.state.withdrawals, 0)
  })

  it("with the id of another one are refused: from another sub-account, or to another destination", () => {
    const bench = new Bench()
    bench.open(alice, "1000")
    bench.open(second, "1000", 1)
    ackOf(withdraw(bench, "400"))
    for (const again of [() => withdraw(bench, "400", second), () => withdraw(bench, "400", alice, "w", "0xcd")])
      assert.deepInclude(statusOf(again()), { code: 6, reason: "DuplicateRequestId" })
    assert.strictEqual(Reads.account(bench.state, second.address)!.balances[0]!.wallet_balance, "1000")
  })
})

describe("rewards", () => {
  it("are emitted with their transfer, and are paid by the fee account", () => {
    const bench = new Bench()
    bench.open(alice)
    const before = bench.state.fees
    const step = bench.send(alice, {
      $case: "credit_reward",
      value: { reward_id: "r", asset: "USDC", amount: "10" }
    })
    assert.deepStrictEqual(kinds(step), ["transfer_changed", "balance_changed"])
    assert.strictEqual(bench.state.fees, before - Decimal.parse("10"))
    assert.strictEqual(Reads.account(bench.state, alice.address)!.balances[0]!.wallet_balance, "10")
  })
})

describe("transfers", () => {
  const move = (bench: Bench, amount: string, id = "t", to = second.address, from = alice) =>
    bench.send(from, {
      $case: "transfer_funds",
      value: { transfer_id: id, to_sub_account_address: to, asset: "USDC", amount }
    })
  const opened = () => {
    const bench = new Bench()
    bench.tick()
    bench.index(BTC, "60000")
    bench.open(alice, "1000")
    bench.open(second, undefined, 1)
    bench.open(bob, "100000")
    return bench
  }
  const wallet = (bench: Bench, address: string) => Reads.account(bench.state, address)!.balances[0]!.wallet_balance

  it("move money between the sub-accounts of one user, once per id", () => {
    const bench = opened()
    const step = move(bench, "400")
    assert.deepStrictEqual(kinds(step), ["transfer_changed", "balance_changed", "balance_changed"])
    assert.deepStrictEqual(
      step.events.map(({ event, sub_account_address }) => [
        sub_account_address,
        ...(event?.$case === "balance_changed" ? [event.value.reason, event.value.amount, event.value.transfer_id] : [])
      ]),
      [
        [alice.address],
        [alice.address, BalanceReason.BALANCE_REASON_TRANSFER_OUT, "-400", "t"],
        [second.address, BalanceReason.BALANCE_REASON_TRANSFER_IN, "400", "t"]
      ]
    )
    assert.deepStrictEqual([wallet(bench, alice.address), wallet(bench, second.address)], ["600", "400"])
    const result = ackOf(step).result!
    assert.isTrue(result.$case === "transfer" && result.value.status === TransferStatus.TRANSFER_STATUS_COMPLETED)
    assert.strictEqual(move(bench, "400").events.length, 0)
    assert.strictEqual(statusOf(move(bench, "401")).reason, "DuplicateRequestId")
    assert.strictEqual(statusOf(move(bench, "400", "t", alice.address, second)).reason, "DuplicateRequestId")
    assert.strictEqual(statusOf(move(bench, "1", "u", bob.address)).reason, "SubAccountNotFound")
    assert.strictEqual(statusOf(move(bench, "1", "u", alice.address)).reason, "InvalidField")
    const nobody = trader("nobody")
    assert.strictEqual(statusOf(move(bench, "1", "u", nobody.address)).reason, "SubAccountNotFound")
    const unknown = { ...alice, address: nobody.address }
    assert.strictEqual(statusOf(move(bench, "1", "u", second.address, unknown)).reason, "SubAccountNotFound")
  })

  it("cannot use reserved margin or unrealised profit", () => {
    const bench = opened()
    bench.place(bob, { side: SELL, qty: "0.1", price: "60000" })
    bench.place(alice, { side: BUY, qty: "0.1" })
    // wallet 996.7, margin 600
    assert.deepInclude(statusOf(move(bench, "396.700000000000000001")), {
      code: 9,
      reason: "InsufficientBalance",
      metadata: { max: "396.7" }
    })
    bench.index(BTC, "63000")
    // equity 1296.7, margin 630: available 666.7
    ackOf(move(bench, "666.7"))
    bench.index(BTC, "69000")
    // wallet 330, available 516.7 or more: the wallet is the limit
    assert.strictEqual(statusOf(move(bench, "330.01", "v")).metadata["max"], "330")
  })
})

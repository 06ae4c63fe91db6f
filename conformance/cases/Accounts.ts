/** Transfers, withdrawals, and frozen or deleted sub-accounts. */
import { status } from "@grpc/grpc-js"
import { Effect } from "effect"
import { RefereeService } from "../../src/proto/gateway/v1/referee.ts"
import { BalanceReason, Side, TransferStatus } from "../../src/proto/gateway/v1/types.ts"
import { type Case } from "../Case.ts"
import { cancel, limit, place } from "../Orders.ts"
import { pick } from "../Record.ts"
import { World } from "../World.ts"
import { broken, expect, expectEqual } from "../Expect.ts"

const NONE = { user_id: "", sub_account_address: "" }

const transfers: Case = {
  name: "transfer",
  level: "full",
  clause: "docs/contract/boundary.md#commands-and-events (Transfer), docs/contract/boundary.md#ground-rules",
  claim:
    "a transfer debits one sub-account and credits the other by the same amount, once per transfer_id, within the available balance",
  run: Effect.gen(function* () {
    const { deposit, done, instrument, open, refused, stranger, uuid } = yield* World
    const from = yield* open(yield* stranger, 0)
    const to = yield* open(from, undefined)
    yield* deposit(from, "10")
    const value = {
      transfer_id: yield* uuid,
      to_sub_account_address: to.sub_account_address,
      asset: instrument.settle_asset,
      amount: "4.5"
    }
    const asked = { $case: "transfer_funds", value } as const
    const { events } = yield* done(from, asked)
    yield* expectEqual(
      "the changes of the balances (reason, amount, wallet)",
      pick(events, "balance_changed").map(({ amount, balance, reason }) => [reason, amount, balance?.wallet_balance]),
      [
        [BalanceReason.BALANCE_REASON_TRANSFER_OUT, "-4.5", "5.5"],
        [BalanceReason.BALANCE_REASON_TRANSFER_IN, "4.5", "4.5"]
      ]
    )
    yield* expectEqual("events of the repeated transfer_id", (yield* done(from, asked)).events.length, 0)
    const other = { ...value, amount: "4" }
    yield* refused(
      from,
      { $case: "transfer_funds", value: other },
      { code: status.ALREADY_EXISTS, reason: "DuplicateRequestId" }
    )
    yield* refused(
      from,
      { $case: "transfer_funds", value: { ...value, transfer_id: yield* uuid, amount: "5.51" } },
      { code: status.FAILED_PRECONDITION, reason: "InsufficientBalance", fact: ["max", "5.5"] }
    )
    yield* refused(
      from,
      { $case: "transfer_funds", value: { ...value, to_sub_account_address: `0x${"f".repeat(64)}` } },
      { code: status.NOT_FOUND, reason: "SubAccountNotFound" }
    )
  })
}

const withdrawal: Case = {
  name: "withdrawal",
  level: "full",
  clause:
    "docs/contract/boundary.md#commands-and-events (Withdraw), docs/contract/exchange.md#deposits-and-withdrawals",
  claim: "a withdrawal is debited at acceptance and published as pending",
  run: Effect.gen(function* () {
    const { deposit, done, instrument, open, stranger, uuid } = yield* World
    const owner = yield* open(yield* stranger, 0)
    yield* deposit(owner, "10")
    const { ack, events } = yield* done(owner, {
      $case: "withdraw_funds",
      value: {
        withdrawal_id: yield* uuid,
        asset: instrument.settle_asset,
        amount: "3",
        destination: owner.root_address
      }
    })
    if (ack.result?.$case !== "transfer") return yield* broken("the ack has no transfer")
    const { reference, status: stands } = ack.result.value
    yield* expectEqual(
      "the transfer",
      [stands, reference],
      [TransferStatus.TRANSFER_STATUS_PENDING, owner.root_address]
    )
    yield* expectEqual(
      "the changes of the balance (reason, amount, wallet)",
      pick(events, "balance_changed").map(({ amount, balance, reason }) => [reason, amount, balance?.wallet_balance]),
      [[BalanceReason.BALANCE_REASON_WITHDRAWAL, "-3", "7"]]
    )
  })
}

const frozen: Case = {
  name: "freeze",
  level: "full",
  clause: "docs/contract/boundary.md#commands-and-events (SetSubAccount), docs/contract/boundary.md#errors",
  claim: "a frozen sub-account can cancel orders, and cannot place any until it is unfrozen",
  run: Effect.gen(function* () {
    const { done, refused, trader } = yield* World
    const owner = yield* trader
    const asked = { side: Side.SIDE_BUY, lots: 1, ticks: -5 }
    const { order_id } = yield* place(owner, asked)
    const { events } = yield* done(owner, { $case: "set_sub_account", value: { frozen: true } })
    yield* expectEqual("frozen", pick(events, "sub_account_changed")[0]?.sub_account?.frozen, true)
    yield* refused(owner, yield* limit(asked), { code: status.FAILED_PRECONDITION, reason: "SubAccountFrozen" })
    yield* cancel(owner, order_id)
    yield* done(owner, { $case: "set_sub_account", value: { frozen: false } })
    yield* place(owner, asked)
  })
}

const deletion: Case = {
  name: "delete-sub-account",
  level: "full",
  clause: "docs/contract/boundary.md#commands-and-events (DeleteSubAccount)",
  claim: "only an empty sub-account can be deleted; then its commands are refused",
  run: Effect.gen(function* () {
    const { deposit, done, open, refused, stranger } = yield* World
    const first = yield* open(yield* stranger, 0)
    const [full, empty] = [yield* open(first, undefined), yield* open(first, undefined)]
    yield* deposit(full, "1")
    const asked = { $case: "delete_sub_account", value: {} } as const
    yield* refused(full, asked, { code: status.FAILED_PRECONDITION, reason: "NotEmpty" })
    const { events } = yield* done(empty, asked)
    yield* expectEqual("deleted", pick(events, "sub_account_changed")[0]?.sub_account?.deleted, true)
    yield* refused(empty, asked, { code: status.NOT_FOUND, reason: "SubAccountNotFound" })
  })
}

const portfolio: Case = {
  name: "portfolio",
  level: "full",
  clause: "docs/contract/boundary.md#referee (GetPortfolio, ListPositions)",
  claim: "a user's portfolio and positions are exactly those of its sub-accounts",
  run: Effect.gen(function* () {
    const { ask, rules, symbol, trader } = yield* World
    const [seller, buyer] = [yield* trader, yield* trader]
    yield* place(seller, { side: Side.SIDE_SELL, lots: 2, ticks: 1 })
    yield* place(buyer, { side: Side.SIDE_BUY, lots: 2, ticks: 1 })
    const { user_id } = seller
    const whole = yield* ask.referee(RefereeService.getPortfolio, { user_id })
    yield* expectEqual(
      "the positions of GetPortfolio",
      whole.positions.map(({ size, sub_account_address, symbol }) => [sub_account_address, symbol, size]),
      [[seller.sub_account_address, symbol, `-${rules.qty(2)}`]]
    )
    yield* expectEqual(
      "the summary (positions, vaults)",
      [whole.summary?.total_positions, whole.summary?.total_vaults],
      [1, 1]
    )
    const listed = yield* ask.referee(RefereeService.listPositions, { user_id, page_token: "" })
    yield* expectEqual(
      "ListPositions",
      listed.positions.map(({ side, size, sub_account_address }) => [sub_account_address, side, size]),
      [[seller.sub_account_address, Side.SIDE_SELL, rules.qty(2)]]
    )
    const nobody = yield* ask.referee(RefereeService.listPositions, { ...NONE, user_id: "nobody", page_token: "" })
    yield* expect(nobody.positions.length === 0, "ListPositions of a user that does not exist lists positions")
  })
}

export const cases: ReadonlyArray<Case> = [transfers, withdrawal, frozen, deletion, portfolio]

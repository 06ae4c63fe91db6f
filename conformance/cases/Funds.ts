/** Sub-accounts and deposits. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { RefereeService } from "../../src/proto/gateway/v1/referee.ts"
import { SequencerService } from "../../src/proto/gateway/v1/sequencer.ts"
import { BalanceReason, TransferStatus } from "../../src/proto/gateway/v1/types.ts"
import { type Case } from "../Case.ts"
import { pick } from "../Record.ts"
import { World } from "../World.ts"
import { broken, expect, expectEqual, present } from "../Expect.ts"

/** The address derived by docs/contract/conventions.md#derivations. */
const subAccountAddress = (root_address: string, index: number): string => {
  const number = Buffer.alloc(4)
  number.writeUInt32BE(index)
  const hash = createHash("sha3-256")
    .update(Buffer.from(root_address.slice(2), "hex"))
    .update("trading_vault")
    .update(number)
    .update(Buffer.from([0xfe]))
  return `0x${hash.digest("hex")}`
}

const firstSubAccount: Case = {
  name: "first-sub-account",
  level: "core",
  clause: "docs/contract/boundary.md#commands-and-events (CreateSubAccount), docs/contract/conventions.md#identifiers",
  claim: "index 0 opens the sub-account of the derived address with an event, and later returns the existing one",
  run: Effect.gen(function* () {
    const { ask, done, stranger } = yield* World
    const user = yield* stranger
    const asked = { $case: "create_sub_account", value: { root_address: user.root_address, index: 0 } } as const
    const { ack, events } = yield* done(user, asked)
    const address = subAccountAddress(user.root_address, 0)
    if (ack.result?.$case !== "sub_account") return yield* broken("the ack has no sub_account")
    const opened = ack.result.value
    yield* expectEqual(
      "the sub-account",
      [opened.sub_account_address, opened.user_id, opened.root_address, opened.index, opened.frozen, opened.deleted],
      [address, user.user_id, user.root_address, 0, false, false]
    )
    const announced = pick(events, "sub_account_changed").map(({ sub_account }) => sub_account)
    yield* expectEqual("the sub_account_changed events", announced, [opened])
    const again = yield* done(user, asked)
    yield* expectEqual("the sub-account of the second answer", again.ack.result, ack.result)
    yield* expectEqual("events of the second command", again.events.length, 0)
    const listed = yield* ask.sequencer(SequencerService.listSubAccounts, { user_id: user.user_id, page_token: "" })
    yield* expectEqual("ListSubAccounts of the user", listed.sub_accounts, [opened])
  })
}

const nextSubAccount: Case = {
  name: "next-sub-account",
  level: "core",
  clause: "docs/contract/boundary.md#commands-and-events (CreateSubAccount)",
  claim: "without an index the sub-account of the next index is opened",
  run: Effect.gen(function* () {
    const { open, stranger } = yield* World
    const user = yield* stranger
    yield* open(user, 0)
    for (const index of [1, 2]) {
      const next = yield* open(user, undefined)
      yield* expectEqual(`address ${index}`, next.sub_account_address, subAccountAddress(user.root_address, index))
    }
  })
}

const deposits: Case = {
  name: "deposit",
  level: "core",
  clause: "docs/contract/boundary.md#commands-and-events (Deposit, TransferChanged, BalanceChanged)",
  claim: "a deposit has a transfer event and a balance event, and the referee has it",
  run: Effect.gen(function* () {
    const { ask, deposit, instrument, open, stranger } = yield* World
    const owner = yield* open(yield* stranger, 0)
    yield* deposit(owner, "12.5")
    const { ack, events } = yield* deposit(owner, "0.000000000000000001")
    if (ack.result?.$case !== "transfer") return yield* broken("the ack has no transfer")
    const transfer = ack.result.value
    yield* expectEqual(
      "the transfer",
      [transfer.kind, transfer.to_sub_account_address, transfer.from_sub_account_address, transfer.asset],
      [BalanceReason.BALANCE_REASON_DEPOSIT, owner.sub_account_address, undefined, instrument.settle_asset]
    )
    yield* expectEqual("its amount", transfer.amount, "0.000000000000000001")
    yield* expectEqual("its status", transfer.status, TransferStatus.TRANSFER_STATUS_COMPLETED)
    const announced = pick(events, "transfer_changed").map(({ transfer }) => transfer)
    yield* expectEqual("the transfer_changed events", announced, [transfer])
    const [changed, ...more] = pick(events, "balance_changed")
    yield* expectEqual("balance_changed events beside the first", more.length, 0)
    const { amount, balance, reason, transfer_id } = yield* present("balance_changed", changed)
    yield* expectEqual(
      "the change of the balance",
      [reason, amount, transfer_id, balance?.wallet_balance],
      [BalanceReason.BALANCE_REASON_DEPOSIT, "0.000000000000000001", transfer.transfer_id, "12.500000000000000001"]
    )
    const account = yield* ask.referee(RefereeService.getAccount, { sub_account_address: owner.sub_account_address })
    yield* expect(account.as_of_seq >= ack.seq, `GetAccount is as of ${account.as_of_seq}, the deposit was ${ack.seq}`)
    yield* expectEqual("the balances of GetAccount", account.balances, [balance])
  })
}

export const cases: ReadonlyArray<Case> = [firstSubAccount, nextSubAccount, deposits]

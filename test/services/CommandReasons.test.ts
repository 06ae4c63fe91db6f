/** The reasons of commands, docs/contract/boundary.md#reasons-of-commands. */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { reasons } from "../../src/domain/Reason.ts"
import { type CommandType, failureOf } from "../../src/services/CommandReasons.ts"
import { CommandRefused, SequencerFault } from "../../src/services/Sequencer.ts"

/** Commands of the contract's table. */
const commands: Readonly<Record<string, CommandType>> = {
  PlaceOrder: "place",
  AmendOrder: "amend",
  CancelOrder: "cancel",
  CancelAll: "cancel_all",
  CreateSubAccount: "create_sub_account",
  SetSubAccount: "set_sub_account",
  DeleteSubAccount: "delete_sub_account",
  SetLeverage: "set_leverage",
  SetMarginMode: "set_margin_mode",
  AddMargin: "add_margin",
  SetTradingStop: "set_trading_stop",
  Transfer: "transfer",
  Withdraw: "withdraw",
  Deposit: "deposit",
  Credit: "credit",
  SetIndexPrice: "set_index_price"
}
/** Reasons of every command, of those with decimals, and of a credential that has ended. */
const common = ["MissingField", "InvalidField", "OutOfRange", "InvalidDecimal", "TooManyDecimals", "RevokedToken"]

const page = readFileSync(new URL("../../docs/contract/boundary.md", import.meta.url), "utf8")
const section = page.slice(page.indexOf("### Reasons of commands"), page.indexOf("## Lagging"))
const rows = [...section.matchAll(/^\| ([A-Za-z, ]+?) +\| (`.+`) +\|$/gmu)].flatMap(([, names, cells]) =>
  names!.split(", ").map((name) => ({ name, listed: [...cells!.matchAll(/`(\w+)`/gu)].map(([, reason]) => reason!) }))
)

const isListed = (type: CommandType, reason: (typeof reasons)[number]): boolean => {
  const refused = new CommandRefused({ reason, message: "", details: {} })
  const failure = failureOf(type, refused)
  if (failure === refused) return true
  assert.instanceOf(failure, SequencerFault)
  return false
}

describe("the reasons of commands", () => {
  it("are those of the contract", () => {
    assert.sameMembers(
      rows.map(({ name }) => name),
      Object.keys(commands)
    )
    for (const { listed, name } of rows) {
      const accepted = reasons.filter((reason) => isListed(commands[name]!, reason) && !common.includes(reason))
      assert.sameMembers(accepted, listed, name)
    }
  })

  it("turn any other one into a fault of the sequencer", () => {
    assert.isFalse(isListed("cancel", "LeverageUnchanged"))
    assert.strictEqual(
      failureOf("cancel", new CommandRefused({ reason: "NotEmpty", message: "", details: {} })).reason,
      "InternalError"
    )
  })
})

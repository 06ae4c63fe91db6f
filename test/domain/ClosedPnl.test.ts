import { assert, describe, it } from "vitest"
import { add, closedBy } from "../../src/domain/ClosedPnl.ts"
import { format } from "../../src/domain/Decimal.ts"
import type { Closing, Execution } from "../../src/domain/Execution.ts"
import { execution, START } from "../../verification/harness/Records.ts"

const fill = (fields: Partial<Execution>): Execution =>
  execution({ side: "Sell", exec_price: "60100", exec_qty: "0.3", base_fee: "9.9165", closed_size: "0.1", ...fields })
const closing = (fields: Partial<Closing> = {}): Closing => ({
  entry_value: "6000",
  open_fee: "3.3",
  realised_pnl: "10",
  leverage: "10.0",
  ...fields
})

describe("closed profit and loss", () => {
  it("takes the share of the fee of a fill that also opens the other side, rounded up", () => {
    const shown = (fields: Partial<Execution>) => {
      const { closeFee, exitValue, pnl, size } = closedBy(fill(fields), closing())
      return [size, exitValue, closeFee, pnl].map(format)
    }
    assert.deepStrictEqual(shown({}), ["0.1", "6010", "3.3055", "3.3945"])
    assert.deepStrictEqual(shown({ exec_qty: "0.1" }), ["0.1", "6010", "9.9165", "-3.2165"])
    // a third of a fee of 1, and of a rebate of 1
    assert.deepStrictEqual(shown({ base_fee: "1" })[2], "0.333333333333333334")
    assert.deepStrictEqual(shown({ base_fee: "-1" })[2], "-0.333333333333333333")
  })

  it("adds the fills of an order; averages are by size, and the time is that of the first fill", () => {
    const first = add(undefined, fill({ exec_qty: "0.1", base_fee: "3", exec_time: String(START) }), closing())
    assert.deepInclude(first, {
      qty: "0.5",
      closed_size: "0.1",
      avg_entry_price: "60000",
      avg_exit_price: "60100",
      closed_pnl: "3.7",
      liquidation_fee: "0",
      fill_count: 1,
      leverage: "10"
    })
    const next = fill({
      exec_price: "59900",
      exec_qty: "0.2",
      closed_size: "0.2",
      base_fee: "6",
      exec_time: String(START + 9)
    })
    const both = add({ ...first, liquidation_fee: "2" }, next, closing({ entry_value: "12001", realised_pnl: "-21" }))
    assert.deepInclude(both, {
      closed_size: "0.3",
      cum_entry_value: "18001",
      avg_entry_price: "60003.333333333333333333",
      cum_exit_value: "17990",
      avg_exit_price: "59966.666666666666666666",
      closed_pnl: "-26.6",
      open_fee: "6.6",
      close_fee: "9",
      liquidation_fee: "2",
      fill_count: 2,
      created_time: START,
      updated_time: START + 9
    })
  })
})

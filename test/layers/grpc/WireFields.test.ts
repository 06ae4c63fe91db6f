/** Every field of a record, an event and a command crosses the gRPC boundary into the field of the same meaning. */
import { assert, describe, it } from "vitest"
import { fromCommand, toAck } from "../../../src/layers/grpc/WireCommands.ts"
import { toEvent, toHeartbeat } from "../../../src/layers/grpc/WireEvents.ts"
import * as Records from "../../../src/layers/grpc/WireRecords.ts"
import * as Referee from "../../../src/proto/gateway/v1/referee.ts"
import * as Sequencer from "../../../src/proto/gateway/v1/sequencer.ts"
import * as Types from "../../../src/proto/gateway/v1/types.ts"
import type { Command } from "../../../src/services/Sequencer.ts"

const NOTHING = new Uint8Array()

/** A message with another value in each field: texts and numbers count. Fields that are `given` have that value. */
const filled = <A extends object>(
  message: { readonly decode: (bytes: Uint8Array) => A },
  given: Partial<A> = {},
  optionalTexts: ReadonlyArray<keyof A & string> = []
): A => {
  const empty: Record<string, unknown> = Object.fromEntries(Object.entries(message.decode(NOTHING)))
  for (const name of optionalTexts) empty[name] = ""
  let number = 1_767_225_600_000
  for (const [name, value] of Object.entries(empty)) {
    if (typeof value === "string") empty[name] = String(++number)
    else if (typeof value === "number") empty[name] = ++number
  }
  return { ...empty, ...given } as A
}

/** Compares each field with that of the same name, or with the one that `renamed` states; `others` are tested elsewhere. */
const agree = (
  to: object,
  from: object,
  renamed: Readonly<Record<string, string>> = {},
  others: ReadonlyArray<string> = []
): void => {
  const source = from as Record<string, unknown>
  for (const [name, value] of Object.entries(to)) {
    if (others.includes(name)) continue
    const expected = source[renamed[name] ?? name]
    assert.isDefined(expected, `${name} has a source`)
    // the API writes the times of orders and executions as digits
    assert.strictEqual(
      typeof value === "string" ? value : Number(value),
      typeof value === "string" ? String(expected) : Number(expected),
      name
    )
  }
}

/** Each boolean field alone is true, in both forms. */
const flagsAgree = <A extends object>(
  from: A,
  names: ReadonlyArray<keyof A & string>,
  convert: (from: A) => object
): void => {
  for (const name of names) {
    const to = convert({ ...from, [name]: true }) as Record<string, unknown>
    for (const other of names) assert.strictEqual(to[other], other === name, `${other} where ${name} is set`)
  }
}

const times = { created_time: "created_time_ms", updated_time: "updated_time_ms" }
const cross = { margin_mode: Types.MarginMode.MARGIN_MODE_CROSS }
const buying = { side: Types.Side.SIDE_BUY }
const limit = { order_type: Types.OrderType.ORDER_TYPE_LIMIT }
const pool = {
  adl_mode: Types.AdlMode.ADL_MODE_ACTIVE,
  adl_trigger_reason: Types.AdlTriggerReason.ADL_TRIGGER_REASON_PNL_DRAWDOWN
}
const enums = Object.keys({ ...cross, ...buying, ...limit, ...pool })

describe("a record", () => {
  it("of an order has the amounts, texts, times and flags of its message", () => {
    const order = filled(
      Types.Order,
      {
        ...cross,
        ...buying,
        ...limit,
        time_in_force: Types.TimeInForce.TIME_IN_FORCE_GTC,
        order_status: Types.OrderStatus.ORDER_STATUS_NEW,
        expire_time_ms: 5,
        cancel_type: 0,
        create_type: 0,
        reject_reason: 0,
        stop_order_type: 0,
        smp_type: 0
      },
      ["order_link_id", "closed_pnl", "parent_order_id", "reject_message"]
    )
    const to = Records.toOrder(order)
    const flags = ["post_only", "reduce_only", "close_on_trigger"] as const
    agree(to, order, { ...times, expire_time: "expire_time_ms" }, [...enums, ...flags, "order_status", "time_in_force"])
    // all fields of the message, without the user and the enumerations that are unspecified here
    assert.lengthOf(Object.keys(to), 28)
    flagsAgree(order, flags, Records.toOrder)
  })

  it("of an execution has the amounts of its message, and the result of the part that it closes", () => {
    const execution = filled(
      Types.Execution,
      { ...buying, ...limit, exec_type: Types.ExecType.EXEC_TYPE_TRADE, create_type: 0, stop_order_type: 0 },
      ["closed_size", "closed_entry_value", "closed_open_fee", "realised_pnl", "order_link_id"]
    )
    const to = Records.toExecution(execution)
    agree(to, execution, { exec_time: "exec_time_ms", seq: "market_seq" }, [...enums, "exec_type", "is_maker"])
    assert.containsAllKeys(to, ["base_fee", "exec_price", "exec_value", "fee_rate", "mark_price", "closed_size"])
    flagsAgree(execution, ["is_maker"], Records.toExecution)
    assert.deepStrictEqual(Records.toClosing(execution), {
      entry_value: execution.closed_entry_value,
      open_fee: execution.closed_open_fee,
      realised_pnl: execution.realised_pnl,
      leverage: execution.leverage
    })
  })

  it("of a position has the amounts of its message", () => {
    const position = filled(
      Types.Position,
      {
        ...cross,
        ...buying,
        position_mode: Types.PositionMode.POSITION_MODE_ONE_WAY,
        position_status: Types.PositionStatus.POSITION_STATUS_NORMAL,
        tpsl_mode: Types.TpslMode.TPSL_MODE_FULL
      },
      ["isolated_margin"]
    )
    const to = Records.toPosition(position)
    agree(to, position, times, [...enums, "position_mode", "position_status", "tpsl_mode"])
    assert.containsAllKeys(to, ["position_im", "position_mm", "liq_price", "bust_price", "cum_realised_pnl"])
  })

  it("of a balance, of prices and of a sub-account has the values of its message", () => {
    const balance = filled(Types.Balance)
    agree(Records.toBalance(balance), balance, times, ["asset_addr"])
    const prices = filled(Types.Prices, {}, ["last_price"])
    agree(Records.toPrices(prices), prices)
    const account = filled(Types.SubAccount)
    agree(Records.toSubAccount(account), account, times, ["frozen", "deleted"])
    flagsAgree(account, ["frozen", "deleted"], Records.toSubAccount)
  })

  it("of a movement of funds leaves and reaches the accounts of its message", () => {
    const transfer = filled(
      Types.Transfer,
      { kind: Types.BalanceReason.BALANCE_REASON_TRANSFER_OUT, status: Types.TransferStatus.TRANSFER_STATUS_COMPLETED },
      ["from_sub_account_address", "to_sub_account_address"]
    )
    agree(Records.toMovement(transfer), transfer, times, ["kind", "status"])
  })

  it("of an instrument has the limits and fees of its message", () => {
    const instrument = filled(Types.Instrument, { status: Types.InstrumentStatus.INSTRUMENT_STATUS_TRADING })
    const { leverage_filter, lot_size_filter, price_filter, ...rest } = Records.toInstrument(instrument)
    const to = { ...rest, ...leverage_filter, ...lot_size_filter, ...price_filter }
    agree(to, instrument, { launch_time: "launch_time_ms" }, ["status", "market_addr"])
    // all fields of the message, and the address
    assert.lengthOf(Object.keys(to), Object.keys(instrument).length + 1)
  })

  it("of an insurance pool and of its alerts has the amounts of its message", () => {
    const held = filled(Types.PoolInventory, buying)
    const from = filled(Types.InsurancePool, { ...pool, inventory: [held] })
    const { inventory, ...to } = Records.toInsurancePool(from)
    agree(to, from, times, enums)
    agree(inventory[0]!, held, {}, enums)
    const alert = filled(Types.AdlAlert, pool)
    agree(Records.toAdlAlert(alert), alert, times, enums)
  })

  it("of a funding rate, a candle and a portfolio has the values of its message", () => {
    const funding = filled(Types.FundingRate)
    agree(Records.toFundingRate(funding), funding, {}, ["funding_time"])
    assert.strictEqual(
      Records.toFundingRate({ ...funding, funding_time_ms: 1 }).funding_time,
      "1970-01-01T00:00:00.001Z"
    )
    const candle = filled(Referee.IndexCandle, { start_ms: 1_767_225_600_000 })
    const { close, end_time, high, low, open, start_time } = Records.toIndexCandle("5", candle)
    agree({ close, high, low, open, start_time }, candle, { start_time: "start_ms" })
    assert.strictEqual(end_time - start_time, 300_000)
    const position = filled(Referee.PortfolioPosition)
    const vault = filled(Referee.VaultBalance)
    const summary = filled(Referee.PortfolioSummary)
    const portfolio = Records.toPortfolio({ positions: [position], summary, vault_balances: [vault], as_of_seq: 1 })
    const renamed = { timestamp: "timestamp_ms", sid: "sub_account_address", id: "sub_account_address" }
    agree(portfolio.positions[0]!, position, renamed, ["market_addr"])
    agree(portfolio.summary, summary)
    agree(portfolio.vault_balances[0]!, vault, renamed, ["asset_addr"])
  })
})

/** Fields with a text that is no decimal. */
const TEXTS = new Set(
  (
    "order_id order_link_id parent_order_id exec_id trade_id transfer_id pool_id pool_group_id user_id sub_account_address " +
    "from_sub_account_address to_sub_account_address root_address symbol base_asset quote_asset settle_asset asset " +
    "reject_message reference"
  ).split(" ")
)
/** Fields that are not read, and whose text is therefore not checked. */
const UNREAD = new Set(["entry_value", "funding_index"])
/** Decimals that may be empty. */
const EMPTY = new Set([
  "liq_price",
  "bust_price",
  "take_profit",
  "stop_loss",
  "liquidation_fee",
  "amount",
  "fee",
  "realised_pnl"
])

describe("a text that is no decimal", () => {
  const wrong = [
    "NaN",
    "Infinity",
    "1e5",
    "0x10",
    " 1",
    "1,5",
    ".5",
    "5.",
    "+1",
    "007",
    "-0",
    "--1",
    "1".repeat(41),
    `0.${"1".repeat(19)}`
  ]
  /** Each decimal of a message is refused in turn. */
  const refuses = <A extends object>(message: A, convert: (message: A) => unknown, unread = UNREAD): void => {
    for (const [name, value] of Object.entries(message)) {
      if (typeof value !== "string" || TEXTS.has(name) || unread.has(name)) continue
      for (const text of EMPTY.has(name) ? wrong : ["", ...wrong])
        assert.throws(
          () => convert({ ...message, [name]: text }),
          `${name}: ${JSON.stringify(text.slice(0, 40))} is not a decimal`
        )
      for (const text of ["0", "0.50", "60000", "1".repeat(40)]) convert({ ...message, [name]: text })
    }
  }
  const execution = filled(
    Types.Execution,
    { ...buying, ...limit, exec_type: Types.ExecType.EXEC_TYPE_TRADE, create_type: 0, stop_order_type: 0 },
    ["closed_size", "closed_entry_value", "closed_open_fee"]
  )
  const level: Types.PriceLevel = { price: "1", qty: "0" }
  const nothing = new Set<string>()

  it("is refused in every record, with the name of its field", () => {
    const order = filled(
      Types.Order,
      {
        ...cross,
        ...buying,
        ...limit,
        time_in_force: Types.TimeInForce.TIME_IN_FORCE_GTC,
        order_status: Types.OrderStatus.ORDER_STATUS_NEW,
        cancel_type: 0,
        create_type: 0,
        reject_reason: 0,
        stop_order_type: 0,
        smp_type: 0
      },
      ["closed_pnl"]
    )
    refuses(order, Records.toOrder)
    const by = { trigger_by: Types.TriggerBy.TRIGGER_BY_LAST_PRICE }
    refuses({ trigger_price: "1" }, (leg) =>
      Records.toOrder({
        ...order,
        trigger: { ...by, trigger_direction: Types.TriggerDirection.TRIGGER_DIRECTION_UP, ...leg }
      })
    )
    for (const name of ["take_profit", "stop_loss"] as const)
      refuses({ trigger_price: "1" }, (leg) =>
        Records.toOrder({
          ...order,
          tpsl: {
            mode: Types.TpslMode.TPSL_MODE_FULL,
            take_profit: undefined,
            stop_loss: undefined,
            [name]: { ...by, ...leg }
          }
        })
      )
    refuses({ ...execution, realised_pnl: undefined }, (from) => {
      Records.toExecution(from)
      Records.toClosing({ ...from, realised_pnl: "1" })
    })
    const position = filled(
      Types.Position,
      {
        ...cross,
        ...buying,
        position_mode: Types.PositionMode.POSITION_MODE_ONE_WAY,
        position_status: Types.PositionStatus.POSITION_STATUS_NORMAL,
        tpsl_mode: Types.TpslMode.TPSL_MODE_FULL
      },
      ["isolated_margin"]
    )
    refuses(position, Records.toPosition)
    refuses(filled(Types.Balance), Records.toBalance)
    refuses(filled(Types.Prices, {}, ["last_price"]), Records.toPrices)
    refuses(
      filled(Types.Instrument, { status: Types.InstrumentStatus.INSTRUMENT_STATUS_TRADING }),
      Records.toInstrument
    )
    refuses(filled(Types.RiskTier), Records.toRiskTier)
    refuses(filled(Types.FeeRate), Records.toFeeRate)
    refuses(filled(Types.FundingRate), Records.toFundingRate)
    const held = filled(Types.PoolInventory, buying)
    refuses(filled(Types.InsurancePool, pool), Records.toInsurancePool)
    refuses(held, (each) => Records.toInsurancePool({ ...filled(Types.InsurancePool, pool), inventory: [each] }))
    refuses(filled(Types.AdlAlert, pool), Records.toAdlAlert)
    refuses(filled(Referee.IndexCandle), (candle) => Records.toIndexCandle("5", candle))
    const summary = filled(Referee.PortfolioSummary)
    const portfolio = { positions: [], vault_balances: [], summary, as_of_seq: 1 }
    refuses(summary, (each) => Records.toPortfolio({ ...portfolio, summary: each }))
    refuses(filled(Referee.VaultBalance), (each) => Records.toPortfolio({ ...portfolio, vault_balances: [each] }))
    // the API writes these without quotes
    refuses(
      filled(Referee.PortfolioPosition),
      (each) => Records.toPortfolio({ ...portfolio, positions: [each] }),
      nothing
    )
  })

  it("is refused in every event, with the seq of the event; levels and trades have no sign", () => {
    refuses(level, (each) =>
      eventOf({ $case: "book_changed", value: { symbol: "B", book_seq: 1, bids: [each], asks: [] } })
    )
    refuses(level, (each) =>
      eventOf({ $case: "book_changed", value: { symbol: "B", book_seq: 1, bids: [], asks: [each] } })
    )
    const minus = { ...level, qty: "-5" }
    assert.throws(
      () => eventOf({ $case: "book_changed", value: { symbol: "B", book_seq: 1, bids: [minus], asks: [] } }),
      'event 9: qty: "-5" is not a decimal'
    )
    const trade = filled(Types.Trade, buying)
    refuses(trade, (each) => eventOf({ $case: "trade_printed", value: { trades: [each] } }))
    refuses({ open_interest: "1" }, (each) => eventOf({ $case: "trade_printed", value: { trades: [trade], ...each } }))
    const change = { balance: filled(Types.Balance), reason: Types.BalanceReason.BALANCE_REASON_MARK }
    refuses({ amount: "1", fee: "1", realised_pnl: "1" }, (each) =>
      eventOf({ $case: "balance_changed", value: { ...change, ...each } })
    )
    const transfer = {
      kind: Types.BalanceReason.BALANCE_REASON_DEPOSIT,
      status: Types.TransferStatus.TRANSFER_STATUS_PENDING
    }
    assert.throws(
      () =>
        eventOf({
          $case: "transfer_changed",
          value: { transfer: filled(Types.Transfer, { ...transfer, amount: "" }) }
        }),
      'event 9: amount: "" is not a decimal'
    )
  })
})

const eventOf = (event: Sequencer.Event["event"]) => toEvent({ seq: 9, ts_ms: 10, step: 11, symbol: "BTC-USDC", event })

describe("a heartbeat", () => {
  it("passes at most eight words of each list on, and nothing but words: they are shown to everybody", () => {
    const words = Array.from({ length: 10 }, (_, i) => "Word".padEnd(5 + i, "x"))
    const given = { head_seq: 1, server_ts_ms: 2, checksum: undefined }
    const odd = ["", "two words", "<b>", "x".repeat(41)]
    const { refusing, warnings } = toHeartbeat("e", "f", { ...given, refusing: [...odd, ...words], warnings: odd })
    assert.deepStrictEqual([refusing, warnings], [words.slice(0, 8), []])
  })
})

describe("an event", () => {
  it("of a balance has the amount, the fee and the result of its message", () => {
    const change = filled(
      Sequencer.BalanceChanged,
      { balance: filled(Types.Balance), reason: Types.BalanceReason.BALANCE_REASON_TRADE },
      ["order_id", "exec_id", "transfer_id"]
    )
    const { body, seq, step, ts_ms } = eventOf({ $case: "balance_changed", value: change })
    assert.deepStrictEqual([seq, ts_ms, step], [9, 10, 11])
    agree(body, { ...change, symbol: "BTC-USDC" }, {}, ["type", "balance", "reason"])
    assert.containsAllKeys(body, ["amount", "fee", "realised_pnl", "order_id", "exec_id", "transfer_id"])
  })

  it("of a book names its predecessor, and has bids and asks on their sides", () => {
    const level = (price: string): Types.PriceLevel => ({ price, qty: "2" })
    const value = { symbol: "BTC-USDC", book_seq: 7, prev_book_seq: 4, bids: [level("10")], asks: [level("11")] }
    assert.deepStrictEqual(eventOf({ $case: "book_changed", value }).body, {
      type: "book",
      symbol: "BTC-USDC",
      book_seq: 7,
      prev_book_seq: 4,
      bids: [["10", "2"]],
      asks: [["11", "2"]]
    })
  })

  it("of trades gives one aggregate to all fills of a taker at a price", () => {
    const trade = (market_seq: number) =>
      filled(Types.Trade, { ...buying, market_seq, timestamp_ms: 1_767_225_600_000 })
    const { body } = eventOf({
      $case: "trade_printed",
      value: { trades: [trade(5), trade(6)], open_interest: "7" }
    })
    if (body.type !== "trades") return assert.fail(body.type)
    assert.strictEqual(body.open_interest, "7")
    assert.deepStrictEqual(
      body.trades.map(({ seq }) => seq),
      [5, 6]
    )
    assert.strictEqual(body.trades[0]!.agg_id, body.trades[1]!.agg_id)
    agree(body.trades[1]!, trade(6), { seq: "market_seq", timestamp: "timestamp_ms" }, [
      "agg_id",
      "side",
      "is_liquidation"
    ])
    flagsAgree(trade(5), ["is_liquidation"], (from) => Records.toTrades([from])[0]!)
  })
})

/** The command as the backend decodes it. */
const across = (body: Command["body"]): Sequencer.Command["command"] => {
  const command = fromCommand({ command_id: "c", user_id: "u", sub_account_address: "0xa", body }, 5)
  const decoded = Sequencer.Command.decode(Sequencer.Command.encode(command).finish())
  assert.deepInclude(decoded, { command_id: "c", user_id: "u", sub_account_address: "0xa", issued_at_ms: 5 })
  return decoded.command
}

describe("a command", () => {
  it.each<readonly [string, Command["body"], Sequencer.Command["command"]]>([
    [
      "an amendment of the price, the quantity, the version and the exits",
      {
        type: "amend",
        amend: {
          symbol: "BTC-USDC",
          order: { order_id: "o", order_link_id: undefined },
          price: "60001",
          qty: "0.7",
          trigger_price: undefined,
          tpsl: {
            mode: undefined,
            take_profit: { trigger_price: "62000", trigger_by: "MarkPrice" },
            stop_loss: { trigger_price: "59000", trigger_by: undefined }
          },
          order_iv: 3
        }
      },
      {
        $case: "amend_order",
        value: {
          symbol: "BTC-USDC",
          order: { order_id: "o", order_link_id: undefined },
          price: "60001",
          qty: "0.7",
          trigger_price: undefined,
          tpsl: {
            mode: 0,
            take_profit: { trigger_by: 3, trigger_price: "62000" },
            stop_loss: { trigger_by: 0, trigger_price: "59000" }
          },
          expected_version: 3
        }
      }
    ],
    [
      "a cancellation of all reducing sell orders of a market",
      {
        type: "cancel_all",
        cancel_all: {
          symbol: "BTC-USDC",
          side: "Sell",
          order_filter: "Conditional",
          reduce_only: true,
          cancel_type: "CancelAllBeforeLiq"
        }
      },
      {
        $case: "cancel_all",
        value: {
          symbol: "BTC-USDC",
          side: Types.Side.SIDE_SELL,
          order_filter: Types.OrderFilter.ORDER_FILTER_CONDITIONAL,
          reduce_only: true,
          cancel_type: Types.CancelType.CANCEL_TYPE_CANCEL_ALL_BEFORE_LIQ
        }
      }
    ],
    [
      "a cancellation of all orders",
      {
        type: "cancel_all",
        cancel_all: {
          symbol: undefined,
          side: undefined,
          order_filter: "Active",
          reduce_only: undefined,
          cancel_type: "CancelByUser"
        }
      },
      {
        $case: "cancel_all",
        value: {
          symbol: undefined,
          side: Types.Side.SIDE_UNSPECIFIED,
          order_filter: Types.OrderFilter.ORDER_FILTER_ACTIVE,
          reduce_only: undefined,
          cancel_type: Types.CancelType.CANCEL_TYPE_CANCEL_BY_USER
        }
      }
    ],
    [
      "the creation of a sub-account",
      { type: "create_sub_account", root_address: "0xb", index: 4 },
      { $case: "create_sub_account", value: { root_address: "0xb", index: 4 } }
    ],
    [
      "the freeze of a sub-account",
      { type: "set_sub_account", frozen: true },
      { $case: "set_sub_account", value: { frozen: true } }
    ],
    [
      "the release of a sub-account",
      { type: "set_sub_account", frozen: false },
      { $case: "set_sub_account", value: { frozen: false } }
    ],
    [
      "a transfer",
      { type: "transfer", transfer_id: "t", to_sub_account_address: "0xb", asset: "USDC", amount: "1.5" },
      {
        $case: "transfer_funds",
        value: { transfer_id: "t", to_sub_account_address: "0xb", asset: "USDC", amount: "1.5" }
      }
    ],
    [
      "a deposit",
      { type: "deposit", deposit_id: "d", asset: "USDC", amount: "2.5", source: "rail" },
      { $case: "deposit_funds", value: { deposit_id: "d", asset: "USDC", amount: "2.5", source: "rail" } }
    ],
    [
      "an index price",
      { type: "set_index_price", symbol: "BTC-USDC", price: "60000.5" },
      { $case: "set_index_price", value: { symbol: "BTC-USDC", price: "60000.5" } }
    ]
  ])("has every field of %s", (_, body, expected) => {
    assert.deepStrictEqual(across(body), expected)
  })

  it("is acknowledged with the version, the orders and the result of its message", () => {
    const account = filled(Types.SubAccount)
    const ack = toAck({
      command_id: "c",
      seq: 7,
      accepted_at_ms: 8,
      orders: [
        { order_id: "o1", order_link_id: undefined },
        { order_id: "o2", order_link_id: "mine" }
      ],
      duplicate: true,
      version: 3,
      refusal: undefined,
      result: { $case: "sub_account", value: account }
    })
    assert.deepStrictEqual(ack, {
      seq: 7,
      accepted_at_ms: 8,
      orders: [
        { order_id: "o1", order_link_id: "" },
        { order_id: "o2", order_link_id: "mine" }
      ],
      duplicate: true,
      version: 3,
      result: { type: "sub_account", sub_account: Records.toSubAccount(account) }
    })
  })
})

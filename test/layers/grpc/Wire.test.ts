import { assert, describe, it } from "vitest"
import { aggregatedTradeId, marketAddress } from "../../../src/domain/Address.ts"
import { enumTable, enumTables } from "../../../src/layers/grpc/Enums.ts"
import { fromCommand } from "../../../src/layers/grpc/WireCommands.ts"
import { toEvent } from "../../../src/layers/grpc/WireEvents.ts"
import { toExecution, toMovement, toOrder, toPosition } from "../../../src/layers/grpc/WireRecords.ts"
import { Command } from "../../../src/proto/gateway/v1/sequencer.ts"
import * as Types from "../../../src/proto/gateway/v1/types.ts"
import type { Command as Domain } from "../../../src/services/Sequencer.ts"

describe("the tables of enumerations", () => {
  it("pair every protobuf value but UNSPECIFIED with one domain value", () => {
    const enums = {
      side: Types.Side,
      orderType: Types.OrderType,
      timeInForce: Types.TimeInForce,
      marginMode: Types.MarginMode,
      positionMode: Types.PositionMode,
      positionStatus: Types.PositionStatus,
      orderStatus: Types.OrderStatus,
      createType: Types.CreateType,
      cancelType: Types.CancelType,
      rejectReason: Types.RejectReason,
      stopOrderType: Types.StopOrderType,
      tpslMode: Types.TpslMode,
      triggerBy: Types.TriggerBy,
      triggerDirection: Types.TriggerDirection,
      execType: Types.ExecType,
      smpType: Types.SmpType,
      instrumentStatus: Types.InstrumentStatus,
      orderFilter: Types.OrderFilter,
      balanceReason: Types.BalanceReason,
      transferStatus: Types.TransferStatus,
      adlMode: Types.AdlMode,
      adlTriggerReason: Types.AdlTriggerReason
    }
    for (const [name, table] of Object.entries(enumTables)) {
      const numbers = Object.values(enums[name as keyof typeof enums]).filter((number) => number > 0)
      assert.strictEqual(table.text.filter((text) => text !== undefined).length, numbers.length, name)
      for (const number of numbers) assert.isString(table.text[number], `${name} ${number}`)
    }
  })

  it("decode to the names of the contract", () => {
    const { rejectReason, cancelType, timeInForce, balanceReason } = enumTables
    assert.strictEqual(rejectReason.text[Types.RejectReason.REJECT_REASON_EC_NO_ERROR], "EcNoError")
    assert.strictEqual(cancelType.text[Types.CancelType.CANCEL_TYPE_CANCEL_BY_TP_SL_TS_CLEAR], "CancelByTpSlTsClear")
    assert.strictEqual(timeInForce.number.FOK, Types.TimeInForce.TIME_IN_FORCE_FOK)
    assert.strictEqual(balanceReason.number.transfer_in, Types.BalanceReason.BALANCE_REASON_TRANSFER_IN)
  })

  it("throw at start if a name has no counterpart", () => {
    assert.throws(() => enumTable("side", Types.Side, ["Buy", "Hold"]), /the protobuf enum has no Hold/)
  })
})

const order: Types.Order = {
  order_id: "018f3f1e-5d5b-7a00-8000-000000000001",
  user_id: "u",
  sub_account_address: "0xa",
  symbol: "BTC-USDC",
  side: Types.Side.SIDE_BUY,
  order_type: Types.OrderType.ORDER_TYPE_LIMIT,
  time_in_force: Types.TimeInForce.TIME_IN_FORCE_GTC,
  order_status: Types.OrderStatus.ORDER_STATUS_NEW,
  price: "60000",
  qty: "1",
  avg_price: "0",
  cum_exec_qty: "0",
  cum_exec_value: "0",
  cum_exec_fee: "0",
  leaves_qty: "1",
  leaves_value: "60000",
  last_price_on_created: "60000",
  margin_mode: Types.MarginMode.MARGIN_MODE_CROSS,
  post_only: true,
  reduce_only: false,
  close_on_trigger: false,
  created_time_ms: 1767225600000,
  updated_time_ms: 1767225600001,
  cancel_type: 0,
  create_type: Types.CreateType.CREATE_TYPE_CREATE_BY_USER,
  reject_reason: Types.RejectReason.REJECT_REASON_EC_NO_ERROR,
  stop_order_type: 0,
  trigger: undefined,
  tpsl: undefined,
  version: 1,
  smp_type: Types.SmpType.SMP_TYPE_CANCEL_TAKER
}

describe("records", () => {
  it("omit absent fields of an order, and encode its times as digits", () => {
    const plain = toOrder(order)
    assert.strictEqual(plain.created_time, "1767225600000")
    assert.notProperty(plain, "order_link_id")
    assert.notProperty(plain, "cancel_type")
    assert.notProperty(plain, "tpsl")
    assert.strictEqual(plain.create_type, "CreateByUser")
    const rich = toOrder({
      ...order,
      order_link_id: "a-1",
      closed_pnl: "-1",
      cancel_type: Types.CancelType.CANCEL_TYPE_CANCEL_BY_SMP,
      tpsl: { mode: 1, take_profit: { trigger_by: 3, trigger_price: "70000" }, stop_loss: undefined }
    })
    assert.strictEqual(rich.order_link_id, "a-1")
    assert.strictEqual(rich.cancel_type, "CancelBySmp")
    assert.deepStrictEqual(rich.tpsl, {
      mode: "Full",
      take_profit: { market: { trigger_by: "MarkPrice", trigger_price: "70000" } }
    })
  })

  it("decode the optional fields of an order, one at a time", () => {
    const leg = (trigger_price: string): Types.TpslLeg => ({
      trigger_by: Types.TriggerBy.TRIGGER_BY_MARK_PRICE,
      trigger_price
    })
    const tpsl = (legs: Partial<Types.Tpsl>): Types.Tpsl => ({
      mode: Types.TpslMode.TPSL_MODE_PARTIAL,
      take_profit: undefined,
      stop_loss: undefined,
      ...legs
    })
    const none = toOrder(order)
    const parts: ReadonlyArray<readonly [Partial<Types.Order>, object]> = [
      [{ expire_time_ms: 1767225600002 }, { expire_time: "1767225600002" }],
      [{ order_link_id: "mine" }, { order_link_id: "mine" }],
      [{ parent_order_id: "p" }, { parent_order_id: "p" }],
      [{ closed_pnl: "-1.5" }, { closed_pnl: "-1.5" }],
      [{ reject_message: "why" }, { reject_message: "why" }],
      [
        { tpsl: tpsl({ take_profit: leg("61000") }) },
        { tpsl: { mode: "Partial", take_profit: { market: { trigger_by: "MarkPrice", trigger_price: "61000" } } } }
      ],
      [
        { tpsl: tpsl({ stop_loss: leg("59000") }) },
        { tpsl: { mode: "Partial", stop_loss: { market: { trigger_by: "MarkPrice", trigger_price: "59000" } } } }
      ],
      [
        {
          trigger: {
            trigger_by: Types.TriggerBy.TRIGGER_BY_LAST_PRICE,
            trigger_direction: Types.TriggerDirection.TRIGGER_DIRECTION_UP,
            trigger_price: "60500"
          }
        },
        { trigger: { trigger_by: "LastPrice", trigger_direction: "Up", trigger_price: "60500" } }
      ]
    ]
    for (const [from, to] of parts) assert.deepStrictEqual(toOrder({ ...order, ...from }), { ...none, ...to })
  })

  it("name the kind of a movement, and reject what moves no funds", () => {
    const R = Types.BalanceReason
    const movement = (kind: Types.BalanceReason) =>
      toMovement({
        transfer_id: "t",
        user_id: "u",
        kind,
        from_sub_account_address: undefined,
        to_sub_account_address: "0xa",
        asset: "USDC",
        amount: "1",
        status: Types.TransferStatus.TRANSFER_STATUS_COMPLETED,
        reference: "rail",
        created_time_ms: 1,
        updated_time_ms: 2
      }).kind
    assert.deepStrictEqual(
      [
        R.BALANCE_REASON_DEPOSIT,
        R.BALANCE_REASON_WITHDRAWAL,
        R.BALANCE_REASON_TRANSFER_IN,
        R.BALANCE_REASON_TRANSFER_OUT,
        R.BALANCE_REASON_REWARD
      ].map(movement),
      ["deposit", "withdrawal", "transfer", "transfer", "reward"]
    )
    for (const reason of [R.BALANCE_REASON_TRADE, R.BALANCE_REASON_FUNDING, R.BALANCE_REASON_UNSPECIFIED])
      assert.throws(() => movement(reason), /kind|reason/u)
  })

  it("fill what an older backend does not send of a position, and leave a flat one without a side", () => {
    const zeros = Object.fromEntries(
      Object.entries(Types.Position.decode(new Uint8Array())).map(([name, value]) => [name, value === "" ? "0" : value])
    ) as unknown as Types.Position
    const position: Types.Position = {
      ...zeros,
      liquidation_fee: "",
      symbol: "BTC-USDC",
      margin_mode: Types.MarginMode.MARGIN_MODE_CROSS,
      position_mode: Types.PositionMode.POSITION_MODE_ONE_WAY,
      position_status: Types.PositionStatus.POSITION_STATUS_NORMAL
    }
    assert.deepInclude(toPosition(position), { side: "", liquidation_fee: "0", tpsl_mode: "Full" })
    assert.notProperty(toPosition(position), "isolated_margin")
    const full = {
      ...position,
      side: Types.Side.SIDE_SELL,
      liquidation_fee: "2",
      tpsl_mode: Types.TpslMode.TPSL_MODE_PARTIAL,
      isolated_margin: "7"
    }
    assert.deepInclude(toPosition(full), {
      side: "Sell",
      liquidation_fee: "2",
      tpsl_mode: "Partial",
      isolated_margin: "7"
    })
  })

  it("omit absent fields of an execution, and name its kinds of orders", () => {
    const execution: Types.Execution = {
      exec_id: "018f3f1e-5d5b-7a00-8000-000000000002",
      user_id: "u",
      sub_account_address: "0xa",
      symbol: "BTC-USDC",
      order_id: order.order_id,
      side: Types.Side.SIDE_SELL,
      order_type: Types.OrderType.ORDER_TYPE_MARKET,
      order_price: "0",
      order_qty: "1",
      leaves_qty: "0",
      exec_price: "59000",
      exec_qty: "1",
      exec_value: "59000",
      exec_type: Types.ExecType.EXEC_TYPE_TRADE,
      exec_time_ms: 1767225600000,
      is_maker: false,
      base_fee: "32.45",
      fee_rate: "0.00055",
      mark_price: "59000",
      index_price: "59000",
      market_seq: 7,
      create_type: 0,
      stop_order_type: 0,
      leverage: "10"
    }
    const plain = toExecution(execution)
    for (const field of ["closed_size", "create_type", "order_link_id", "stop_order_type"]) {
      assert.notProperty(plain, field)
    }
    const stop = toExecution({
      ...execution,
      closed_size: "1",
      create_type: Types.CreateType.CREATE_TYPE_CREATE_BY_USER,
      order_link_id: "a-1",
      stop_order_type: Types.StopOrderType.STOP_ORDER_TYPE_STOP
    })
    assert.deepStrictEqual(stop, {
      ...plain,
      closed_size: "1",
      create_type: "CreateByUser",
      order_link_id: "a-1",
      stop_order_type: "Stop"
    })
  })

  it("reject a value that this version does not define", () => {
    assert.throws(() => toOrder({ ...order, order_status: 99 as never }), /order_status: 99/)
    assert.throws(() => toOrder({ ...order, side: 0 }), /side: 0/)
    assert.throws(
      () =>
        toEvent({
          seq: 1,
          ts_ms: 1,
          step: 1,
          event: { $case: "order_changed", value: { order: undefined, cause: 1 } }
        }),
      /order is missing/
    )
  })

  it("convert an event without a use to 'other', so that the numbering has no gap", () => {
    const event = toEvent({ seq: 7, ts_ms: 1, step: 1, event: undefined })
    assert.deepStrictEqual(event.body, { type: "other", name: "unknown" })
    assert.strictEqual(event.seq, 7)
  })

  it("compute the aggregate id of a trade", () => {
    const trade = {
      trade_id: "t",
      symbol: "BTC-USDC",
      price: "60000.1",
      qty: "1",
      side: Types.Side.SIDE_BUY,
      market_seq: 1042,
      timestamp_ms: 1767225600000,
      is_liquidation: false
    }
    const { body } = toEvent({
      seq: 1,
      ts_ms: 1,
      step: 1,
      event: { $case: "trade_printed", value: { trades: [trade] } }
    })
    assert.strictEqual(body.type, "trades")
    if (body.type !== "trades") return
    assert.strictEqual(body.symbol, "BTC-USDC")
    assert.strictEqual(body.trades[0]?.agg_id, "aebdeb0a6072d10e89ca99e6862c5037")
    assert.strictEqual(
      body.trades[0]?.agg_id,
      aggregatedTradeId({
        market_addr: marketAddress("BTC-USDC"),
        price: "60000.1",
        side: "Buy",
        seq: 1042,
        timestamp: 1767225600000
      })
    )
  })
})

type SequencerCommand = Command["command"]
/** The command as the backend decodes it. */
const across = (body: Domain["body"]): SequencerCommand => {
  const command = fromCommand({ command_id: "c", user_id: "u", sub_account_address: "0xa", body }, 5)
  return Command.decode(Command.encode(command).finish()).command
}

describe("commands", () => {
  it("keep every field over the wire", () => {
    const command = fromCommand(
      {
        command_id: "c",
        user_id: "u",
        sub_account_address: "0xa",
        body: {
          type: "place",
          order: {
            symbol: "BTC-USDC",
            side: "Sell",
            order_type: "Market",
            qty: "0.5",
            price: undefined,
            time_in_force: "IOC",
            post_only: false,
            reduce_only: true,
            close_on_trigger: false,
            order_link_id: "a-1",
            expire_time: undefined,
            trigger: undefined,
            tpsl: undefined,
            smp_type: "CancelBoth"
          }
        }
      },
      5
    )
    const back = Command.decode(Command.encode(command).finish())
    assert.strictEqual(back.issued_at_ms, 5)
    if (back.command?.$case !== "place_order") return assert.fail("another command")
    const { side, order_type, time_in_force, qty, price, reduce_only, order_link_id, smp_type } = back.command.value
    assert.deepStrictEqual(
      { side, order_type, time_in_force, qty, price, reduce_only, order_link_id, smp_type },
      {
        side: Types.Side.SIDE_SELL,
        order_type: Types.OrderType.ORDER_TYPE_MARKET,
        time_in_force: Types.TimeInForce.TIME_IN_FORCE_IOC,
        qty: "0.5",
        price: undefined,
        reduce_only: true,
        order_link_id: "a-1",
        smp_type: Types.SmpType.SMP_TYPE_CANCEL_BOTH
      }
    )
  })

  it("contain triggers, take profit and stop loss of orders, and the changes of amends", () => {
    const place = across({
      type: "place",
      order: {
        symbol: "BTC-USDC",
        side: "Buy",
        order_type: "Limit",
        qty: "0.5",
        price: "60000",
        time_in_force: "GTT",
        expire_time: 1767225600000,
        post_only: false,
        reduce_only: false,
        close_on_trigger: true,
        order_link_id: undefined,
        trigger: { trigger_price: "61000", trigger_by: "IndexPrice", trigger_direction: "Up" },
        tpsl: {
          mode: "Partial",
          take_profit: { trigger_price: "62000", trigger_by: "MarkPrice" },
          stop_loss: undefined
        },
        smp_type: "CancelTaker"
      }
    })
    if (place?.$case !== "place_order") return assert.fail("another command")
    assert.strictEqual(place.value.expire_time_ms, 1767225600000)
    assert.deepStrictEqual(place.value.trigger, {
      trigger_by: Types.TriggerBy.TRIGGER_BY_INDEX_PRICE,
      trigger_direction: Types.TriggerDirection.TRIGGER_DIRECTION_UP,
      trigger_price: "61000"
    })
    assert.deepStrictEqual(place.value.tpsl, {
      mode: Types.TpslMode.TPSL_MODE_PARTIAL,
      take_profit: { trigger_by: Types.TriggerBy.TRIGGER_BY_MARK_PRICE, trigger_price: "62000" },
      stop_loss: undefined
    })
    const amend = across({
      type: "amend",
      amend: {
        symbol: "BTC-USDC",
        order: { order_id: order.order_id, order_link_id: undefined },
        price: undefined,
        qty: undefined,
        trigger_price: "60500",
        tpsl: { mode: undefined, take_profit: undefined, stop_loss: { trigger_price: "0", trigger_by: "LastPrice" } },
        order_iv: 0
      }
    })
    if (amend?.$case !== "amend_order") return assert.fail("another command")
    assert.strictEqual(amend.value.trigger_price, "60500")
    assert.deepStrictEqual(amend.value.tpsl, {
      mode: Types.TpslMode.TPSL_MODE_UNSPECIFIED,
      take_profit: undefined,
      stop_loss: { trigger_by: Types.TriggerBy.TRIGGER_BY_LAST_PRICE, trigger_price: "0" }
    })
  })

  it("contain positions, margin and funds", () => {
    const symbol = "BTC-USDC"
    const stop = { trigger_price: "59000", trigger_by: "MarkPrice" } as const
    const bodies: ReadonlyArray<readonly [Domain["body"], SequencerCommand]> = [
      [
        { type: "set_leverage", symbol, leverage: "12.5" },
        { $case: "set_leverage", value: { symbol, leverage: "12.5" } }
      ],
      [
        { type: "set_margin_mode", symbol, margin_mode: "Isolated", leverage: undefined },
        {
          $case: "set_margin_mode",
          value: { symbol, margin_mode: Types.MarginMode.MARGIN_MODE_ISOLATED, leverage: undefined }
        }
      ],
      [
        { type: "add_margin", symbol, margin: "-5" },
        { $case: "add_margin", value: { symbol, margin: "-5" } }
      ],
      [
        {
          type: "set_trading_stop",
          symbol,
          tpsl: { mode: "Partial", take_profit: undefined, stop_loss: stop },
          take_profit_size: undefined,
          stop_loss_size: "0.1"
        },
        {
          $case: "set_trading_stop",
          value: {
            symbol,
            tpsl: {
              mode: Types.TpslMode.TPSL_MODE_PARTIAL,
              take_profit: undefined,
              stop_loss: { trigger_by: Types.TriggerBy.TRIGGER_BY_MARK_PRICE, trigger_price: "59000" }
            },
            take_profit_size: undefined,
            stop_loss_size: "0.1"
          }
        }
      ],
      [{ type: "delete_sub_account" }, { $case: "delete_sub_account", value: {} }],
      [
        { type: "withdraw", withdrawal_id: "w", asset: "USDC", amount: "1", destination: "0xb" },
        { $case: "withdraw_funds", value: { withdrawal_id: "w", asset: "USDC", amount: "1", destination: "0xb" } }
      ],
      [
        { type: "credit", reward_id: "r", asset: "USDC", amount: "1" },
        { $case: "credit_reward", value: { reward_id: "r", asset: "USDC", amount: "1" } }
      ]
    ]
    for (const [body, expected] of bodies) assert.deepStrictEqual(across(body), expected)
  })

  it("name an order by either id, and leave the other one empty", () => {
    const cancel = fromCommand(
      {
        command_id: "c",
        user_id: "u",
        sub_account_address: "0xa",
        body: { type: "cancel", cancel: { symbol: "BTC-USDC", order: { order_id: undefined, order_link_id: "a-1" } } }
      },
      5
    )
    assert.deepStrictEqual(cancel.command, {
      $case: "cancel_order",
      value: { symbol: "BTC-USDC", order: { order_id: "", order_link_id: "a-1" } }
    })
  })
})

/** Converts events of the gRPC boundary. Missing fields and unknown values throw a `WireError`. */
import type { Event, EventBody } from "../../domain/Event.ts"
import type * as SequencerProto from "../../proto/gateway/v1/sequencer.ts"
import { balanceReason, present, required, WireError } from "./Enums.ts"
import { decimals, decimalsOrEmpty } from "./WireDecimals.ts"
import {
  toAdlAlert,
  toBalance,
  toClosing,
  toExecution,
  toFundingRate,
  toInstrument,
  toInsurancePool,
  toLevels,
  toMovement,
  toOrder,
  toPosition,
  toPrices,
  toSubAccount,
  toTrades
} from "./WireRecords.ts"

const checkChange = decimalsOrEmpty<SequencerProto.BalanceChanged>("amount", "fee", "realised_pnl")
const checkPrint = decimals<SequencerProto.TradePrinted>("open_interest")

const toBody = (event: SequencerProto.Event): EventBody => {
  const body = event.event
  if (body === undefined) return { type: "other", name: "unknown" }
  switch (body.$case) {
    case "order_changed":
      return { type: "order", order: toOrder(present("order", body.value.order)) }
    case "execution_created": {
      const from = present("execution", body.value.execution)
      return { type: "execution", execution: toExecution(from), closing: toClosing(from) }
    }
    case "trade_printed": {
      checkPrint(body.value)
      const trades = toTrades(body.value.trades)
      const symbol = event.symbol ?? present("trades", trades[0]).symbol
      return { type: "trades", symbol, trades, open_interest: body.value.open_interest }
    }
    case "book_changed":
      return {
        type: "book",
        symbol: body.value.symbol,
        book_seq: body.value.book_seq,
        prev_book_seq: body.value.prev_book_seq,
        bids: toLevels(body.value.bids),
        asks: toLevels(body.value.asks)
      }
    case "position_changed":
      return { type: "position", position: toPosition(present("position", body.value.position)) }
    case "balance_changed":
      checkChange(body.value)
      return {
        type: "balance",
        balance: toBalance(present("balance", body.value.balance)),
        reason: required(balanceReason, body.value.reason),
        amount: body.value.amount,
        fee: body.value.fee,
        realised_pnl: body.value.realised_pnl,
        order_id: body.value.order_id,
        exec_id: body.value.exec_id,
        transfer_id: body.value.transfer_id,
        symbol: event.symbol
      }
    case "prices_sampled":
      return { type: "prices", prices: body.value.prices.map(toPrices) }
    case "sub_account_changed":
      return { type: "sub_account", sub_account: toSubAccount(present("sub_account", body.value.sub_account)) }
    case "instrument_changed":
      return { type: "instrument", instrument: toInstrument(present("instrument", body.value.instrument)) }
    case "transfer_changed":
      return { type: "movement", movement: toMovement(present("transfer", body.value.transfer)) }
    case "funding_settled":
      return { type: "funding", funding: toFundingRate(present("funding", body.value.funding)) }
    case "insurance_pool_changed": {
      const from = present("pool", body.value.pool)
      return { type: "pool", symbol: from.symbol, pool: toInsurancePool(from) }
    }
    case "adl_changed":
      return { type: "adl", alert: toAdlAlert(present("alert", body.value.alert)) }
    case "liquidation_started":
      return { type: "other", name: body.$case }
  }
}

/** The body of an event; its errors name the event. */
const bodyOf = (event: SequencerProto.Event): EventBody => {
  try {
    return toBody(event)
  } catch (error) {
    throw error instanceof WireError ? new WireError(`event ${event.seq}: ${error.message}`) : error
  }
}

export const toEvent = (event: SequencerProto.Event): Event => ({
  seq: event.seq,
  ts_ms: event.ts_ms,
  step: event.step,
  command_id: event.command_id,
  user_id: event.user_id,
  sub_account_address: event.sub_account_address,
  body: bodyOf(event)
})

/** Most words of a list that pass from a heartbeat to /ready, and their form. */
const WORDS_MAX = 8
const WORD = /^[A-Za-z]{1,40}$/u
const words = (list: ReadonlyArray<string>) => list.filter((word) => WORD.test(word)).slice(0, WORDS_MAX)

export const toHeartbeat = (
  epoch: string,
  fork: string | undefined,
  { refusing, warnings, ...heartbeat }: SequencerProto.Heartbeat
) => ({
  type: "heartbeat" as const,
  epoch,
  fork,
  ...heartbeat,
  refusing: words(refusing),
  warnings: words(warnings)
})

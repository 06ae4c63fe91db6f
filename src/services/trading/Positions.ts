/**
 * Policy: settings of a position: leverage, margin mode, margin, take-profit and stop-loss.
 *
 * Each command is acknowledged after its execution, with its result, when the read models include it.
 * Source: docs/contract/orders.md#acknowledgement, docs/contract/rest-trading.md#positions.
 */
import { Context, Effect, Layer } from "effect"
import * as Decimal from "../../domain/Decimal.ts"
import type { MarginMode, TpslMode, TriggerBy } from "../../domain/Enumerations.ts"
import type { Instrument } from "../../domain/Market.ts"
import type { Exit } from "../../domain/Order.ts"
import * as OrderRules from "../../domain/OrderRules.ts"
import type { Position, PositionState } from "../../domain/Position.ts"
import type { Reason } from "../../domain/Reason.ts"
import { type Caller, mayAccess } from "../../domain/User.ts"
import { type CommandFailure, type CommandType, submit as submitted } from "../CommandReasons.ts"
import { BackendAvailability, type UnhealthyReason } from "../operations/BackendAvailability.ts"
import type { History } from "../History.ts"
import { Ids } from "../operations/Ids.ts"
import { rules, violated } from "./InstrumentRules.ts"
import type { WrittenHistory } from "../read-model/WrittenHistory.ts"
import * as LastRecords from "../read-model/LastRecords.ts"
import { MarketView } from "../markets/MarketView.ts"
import { noSuchMarket } from "../markets/UnknownMarket.ts"
import type { Referee } from "../Referee.ts"
import { DomainError } from "../DomainError.ts"
import { type CommandBody, Sequencer, SequencerFault } from "../Sequencer.ts"

/** Identifies a position: sub-account and market. */
export interface PositionKey {
  readonly sub_account_address: string
  readonly symbol: string
}
export interface TradingStopRequest extends PositionKey {
  readonly tpsl_mode?: TpslMode
  /** `0` removes it. */
  readonly take_profit?: string
  readonly stop_loss?: string
  readonly tp_trigger_by?: TriggerBy
  readonly sl_trigger_by?: TriggerBy
  /** For mode `Partial`; absent: the whole position. */
  readonly tp_size?: string
  readonly sl_size?: string
}

/** What a change of a position fails with: `R` beside what all of them have, and the reasons of its command. */
export type PositionFailure<R extends Reason, T extends CommandType> =
  DomainError<R | UnhealthyReason | "SubAccountNotFound" | "SymbolNotFound"> | CommandFailure<T>
type LeverageReason = "NotMultipleOfStep" | "OutOfRange"
type StopReason = OrderRules.ViolationReason

const noSubAccount = new DomainError("SubAccountNotFound")
const noMargin = new DomainError("OutOfRange", { field: "margin" }, "expected an amount other than 0")
const noStop = new DomainError("MissingField", { field: "take_profit" }, "expected take_profit or stop_loss")
const noValueWithout = (field: string, other: string) =>
  new DomainError("InvalidField", { field }, `expected no value without ${other}`)

/** The error of a leverage that is invalid for any position. */
const wrongLeverage = ({ leverage_filter }: Instrument, leverage: string): DomainError<LeverageReason> | undefined => {
  const field = "leverage"
  const { leverage_step: step, max_leverage: max, min_leverage: min } = leverage_filter
  const value = Decimal.parse(leverage)
  if (value < Decimal.parse(min) || value > Decimal.parse(max))
    return new DomainError("OutOfRange", { field, min, max }, `leverage must lie between ${min} and ${max}`)
  const unit = Decimal.parse(step)
  if (Decimal.isMultipleOf(value, unit)) return undefined
  const below = value - (value % unit)
  const nearest = [below, below + unit].map(Decimal.format)
  const message = `leverage is not a multiple of the step ${step}; nearest: ${nearest.join(", ")}`
  return new DomainError("NotMultipleOfStep", { field, step, nearest }, message)
}

const isRemoval = (price: string): boolean => Decimal.parse(price) === 0n

/** The fields of each exit. */
const EXITS = [
  { price: "take_profit", by: "tp_trigger_by", size: "tp_size" },
  { price: "stop_loss", by: "sl_trigger_by", size: "sl_size" }
] as const

/** The error of exits that are invalid for any position. */
const wrongStop = (instrument: Instrument, request: TradingStopRequest): DomainError<StopReason> | undefined => {
  if (request.take_profit === undefined && request.stop_loss === undefined) return noStop
  for (const { by, price: field, size } of EXITS) {
    const price = request[field]
    if (price === undefined) {
      // a size or a reference without its exit would be dropped without a word
      for (const part of [by, size]) if (request[part] !== undefined) return noValueWithout(part, field)
    } else if (!isRemoval(price)) {
      const ticks = OrderRules.checkPrice(rules(instrument), price, field)
      if (typeof ticks !== "number") return violated(ticks)
    }
  }
  for (const { size: field } of EXITS) {
    const size = request[field]
    if (size === undefined) continue
    if (request.tpsl_mode !== "Partial") return noValueWithout(field, "tpsl_mode Partial")
    const lots = OrderRules.checkQty(rules(instrument), size, false, false, field)
    if (typeof lots !== "number") return violated(lots)
  }
  return undefined
}

const exitOf = (trigger_price: string | undefined, trigger_by: TriggerBy = "LastPrice"): Exit | undefined =>
  trigger_price === undefined ? undefined : { trigger_price, trigger_by }

export class Positions extends Context.Service<
  Positions,
  {
    readonly setLeverage: (
      caller: Caller,
      request: PositionKey & { readonly leverage: string }
    ) => Effect.Effect<PositionState, PositionFailure<LeverageReason, "set_leverage">>
    /** Requires a flat position without open orders. */
    readonly switchMarginMode: (
      caller: Caller,
      request: PositionKey & { readonly margin_mode: MarginMode; readonly leverage?: string }
    ) => Effect.Effect<PositionState, PositionFailure<LeverageReason, "set_margin_mode">>
    /**
     * Adds margin to an Isolated position; a negative amount removes margin, down to the initial margin. Returns its record, or
     * its state with `seq` 0 where the read model does not have the record after a second.
     */
    readonly addMargin: (
      caller: Caller,
      request: PositionKey & { readonly margin: string }
    ) => Effect.Effect<Position, PositionFailure<"OutOfRange", "add_margin">>
    /** Sets, replaces or removes the exits of a position. */
    readonly tradingStop: (
      caller: Caller,
      request: TradingStopRequest
    ) => Effect.Effect<PositionState, PositionFailure<StopReason, "set_trading_stop">>
  }
>()("gateway/services/Positions") {
  static readonly layer: Layer.Layer<
    Positions,
    never,
    BackendAvailability | History | WrittenHistory | Ids | MarketView | Referee | Sequencer
  > = Layer.effect(
    Positions,
    Effect.gen(function* () {
      const availability = yield* BackendAvailability
      const records = yield* LastRecords.make
      const ids = yield* Ids
      const markets = yield* MarketView
      const sequencer = yield* Sequencer

      /** Submits a command for a position, unless `wrong` returns an error, and returns the resulting position. */
      const submit = Effect.fnUntraced(function* <R extends Reason, B extends CommandBody>(
        caller: Caller,
        { sub_account_address, symbol }: PositionKey,
        body: B,
        wrong: (instrument: Instrument) => DomainError<R> | undefined
      ) {
        if (!mayAccess(caller, sub_account_address)) return yield* Effect.fail(noSubAccount)
        const instrument = markets.instrument(symbol)
        if (instrument === undefined) return yield* Effect.fail(noSuchMarket(markets))
        const refused = wrong(instrument)
        if (refused !== undefined) return yield* Effect.fail(refused)
        yield* availability.sequencer
        const { result } = yield* submitted(sequencer, {
          command_id: yield* ids.uuid,
          user_id: caller.user_id,
          sub_account_address,
          body
        })
        return result?.type === "position"
          ? result.position
          : yield* new SequencerFault({ cause: "the response contains no position" })
      })

      return Positions.of({
        setLeverage: (caller, request) =>
          submit(
            caller,
            request,
            { type: "set_leverage", symbol: request.symbol, leverage: Decimal.canonical(request.leverage) },
            (instrument) => wrongLeverage(instrument, request.leverage)
          ),
        switchMarginMode: (caller, request) => {
          const { leverage, margin_mode, symbol } = request
          const canonical = leverage === undefined ? undefined : Decimal.canonical(leverage)
          return submit(
            caller,
            request,
            { type: "set_margin_mode", symbol, margin_mode, leverage: canonical },
            (instrument) => (canonical === undefined ? undefined : wrongLeverage(instrument, canonical))
          )
        },
        addMargin: Effect.fnUntraced(function* (caller, request) {
          const { margin, symbol } = request
          const amount = Decimal.canonical(margin)
          const position = yield* submit(caller, request, { type: "add_margin", symbol, margin: amount }, () =>
            amount === "0" ? noMargin : undefined
          )
          // the margin is moved: where the record is late, an error would let a caller move it again
          return yield* Effect.catch(records.since(caller.user_id, position), () =>
            Effect.succeed({ ...position, seq: 0 })
          )
        }),
        tradingStop: (caller, request) =>
          submit(
            caller,
            request,
            {
              type: "set_trading_stop",
              symbol: request.symbol,
              tpsl: {
                mode: request.tpsl_mode ?? "Full",
                take_profit: exitOf(request.take_profit, request.tp_trigger_by),
                stop_loss: exitOf(request.stop_loss, request.sl_trigger_by)
              },
              take_profit_size: request.tp_size,
              stop_loss_size: request.sl_size
            },
            (instrument) => wrongStop(instrument, request)
          )
      })
    })
  )
}

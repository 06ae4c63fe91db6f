/** The Referee port over gRPC. Source: docs/contract/boundary.md#referee. */
import { Effect, Layer } from "effect"
import { type PreviewMarginResponse, RefereeService } from "../../proto/gateway/v1/referee.ts"
import { Referee, RefereeFault, RefereeUnavailable } from "../../services/Referee.ts"
import { type Channel, type Endpoint, isAbsent, make as makeChannel } from "./Channel.ts"
import type { Rpc } from "./Connection.ts"
import { allPages } from "./Pages.ts"
import { present } from "./Enums.ts"
import { decimals } from "./WireDecimals.ts"
import {
  toAdlAlert,
  toBalance,
  toFeeRate,
  toIndexCandle,
  toInsurancePool,
  toPortfolio,
  toPosition,
  toPrices,
  toRiskTier
} from "./WireRecords.ts"

const checkPreview = decimals<PreviewMarginResponse>("required", "available")

/** Deadlines of the reads. Source: docs/contract/boundary.md#referee. */
const READ_MS = 2000
const PRICES_MS = 1000
const PREVIEW_MS = 1000

/** The port over a channel. */
export const make = (channel: Channel) => {
  const read = <Req, Res, A>(rpc: Rpc<Req, Res>, request: Req, deadline_ms: number, f: (response: Res) => A) =>
    channel.read(rpc, request, deadline_ms).pipe(
      Effect.mapError((cause) => (isAbsent(cause) ? new RefereeUnavailable({ cause }) : new RefereeFault({ cause }))),
      Effect.flatMap((response) =>
        Effect.try({ try: () => f(response), catch: (cause) => new RefereeFault({ cause }) })
      )
    )

  return Referee.of({
    account: (sub_account_address) =>
      read(RefereeService.getAccount, { sub_account_address }, READ_MS, (response) => ({
        balances: response.balances.map(toBalance),
        positions: response.positions.map(toPosition),
        as_of_seq: response.as_of_seq
      })),
    positions: (query) =>
      allPages(
        (page_token) =>
          read(RefereeService.listPositions, { ...query, page_token }, READ_MS, (response) => ({
            positions: response.positions.map(toPosition),
            as_of_seq: response.as_of_seq,
            next_page_token: response.next_page_token
          })),
        ({ positions }) => positions,
        (cause) => new RefereeFault({ cause })
      ).pipe(Effect.map(({ all, as_of_seq }) => ({ positions: all, as_of_seq }))),
    portfolio: (user_id) =>
      read(RefereeService.getPortfolio, { user_id }, READ_MS, (response) => ({
        portfolio: toPortfolio(response),
        as_of_seq: response.as_of_seq
      })),
    prices: (symbols) =>
      read(RefereeService.getPrices, { symbols: [...symbols] }, PRICES_MS, (response) => response.prices.map(toPrices)),
    riskTiers: read(RefereeService.listRiskTiers, { symbol: undefined }, READ_MS, (response) =>
      response.tiers.map(toRiskTier)
    ),
    previewMargin: (query) =>
      read(RefereeService.previewMargin, query, PREVIEW_MS, (response) => {
        checkPreview(response)
        const { available, ok, required } = response
        return { required, available, ok }
      }),
    pool: (symbol) =>
      read(RefereeService.getInsurancePool, { symbol }, READ_MS, ({ pool }) => toInsurancePool(present("pool", pool))),
    adlAlert: (symbol) =>
      read(RefereeService.getAdlAlert, { symbol }, READ_MS, ({ alert }) => toAdlAlert(present("alert", alert))),
    indexCandles: ({ end, interval, start, symbol, limit }) =>
      read(
        RefereeService.listIndexCandles,
        { symbol, interval, start_ms: start, end_ms: end, limit },
        READ_MS,
        ({ candles }) => candles.map((candle) => toIndexCandle(interval, candle))
      ),
    feeRates: (user_id) =>
      read(RefereeService.getFeeRates, { user_id, symbol: undefined }, READ_MS, (response) =>
        response.rates.map(toFeeRate)
      )
  })
}

export const layer = (endpoint: Endpoint): Layer.Layer<Referee> =>
  Layer.effect(Referee, Effect.map(makeChannel(endpoint, "referee"), make))

/**
 * Policy: balances, positions and portfolio of a credential, from {@link LastRecords}.
 *
 * Each record contains the user-stream position of its last event. Each list contains the position that it includes,
 * so that a client can join it to the private topics.
 * Source: docs/contract/rest-trading.md#positions, docs/contract/rest-account.md,
 * docs/contract/rest-user.md#portfolio, docs/contract/websocket.md#lists-and-the-stream.
 */
import { Context, Effect, Layer } from "effect"
import type { Balance } from "../../domain/Account.ts"
import { marketAddress } from "../../domain/Address.ts"
import * as Decimal from "../../domain/Decimal.ts"
import type { FeeRate } from "../../domain/Market.ts"
import { LIMIT_DEFAULT } from "../../domain/Page.ts"
import type { Portfolio } from "../../domain/Portfolio.ts"
import type { Position } from "../../domain/Position.ts"
import type { Reason } from "../../domain/Reason.ts"
import { type Caller, mayAccess } from "../../domain/User.ts"
import { Cursors } from "../operations/Cursors.ts"
import { BackendAvailability, type UnhealthyReason } from "../operations/BackendAvailability.ts"
import type { History, HistoryUnavailable } from "../History.ts"
import type { WrittenHistory } from "./WrittenHistory.ts"
import * as LastRecords from "./LastRecords.ts"
import type { ListRequest, Page, StreamMark } from "../operations/Paging.ts"
import { MarketView } from "../markets/MarketView.ts"
import { unknownMarket } from "../markets/UnknownMarket.ts"
import { ReadYourWrites } from "./ReadYourWrites.ts"
import { Referee, type RefereeError } from "../Referee.ts"
import { DomainError } from "../DomainError.ts"
import { type ResolveFailure, SubAccounts } from "../identity/SubAccounts.ts"
import * as StreamMarks from "./StreamMarks.ts"
import type { UserStreams } from "./UserStreams.ts"

/** What a read of what a credential holds fails with beside the reasons `R`. */
type PortfolioFailure<R extends Reason = never> = DomainError<R | UnhealthyReason> | ResolveFailure | RefereeError

const lagging = new DomainError("BackendLagging")

const sum = (texts: ReadonlyArray<string>): string =>
  Decimal.format(texts.reduce((total, text) => total + Decimal.parse(text), 0n))

export class PortfolioQueries extends Context.Service<
  PortfolioQueries,
  {
    readonly balances: (
      caller: Caller,
      sub_account_address: string | undefined
    ) => Effect.Effect<{ readonly list: ReadonlyArray<Balance> } & StreamMark, PortfolioFailure>
    /** Open positions; with a symbol one record per sub-account, including flat ones. */
    readonly positions: (
      caller: Caller,
      request: ListRequest
    ) => Effect.Effect<Page<Position> & StreamMark, PortfolioFailure<"InvalidCursor" | "SymbolNotFound">>
    /** Fee rates of one market or of all. */
    readonly feeRates: (
      caller: Caller,
      symbol: string | undefined
    ) => Effect.Effect<ReadonlyArray<FeeRate>, DomainError<UnhealthyReason | "SymbolNotFound"> | RefereeError>
    /** Sums exclude sub-accounts that a bound key may not access. */
    readonly portfolio: (
      caller: Caller
    ) => Effect.Effect<Portfolio, DomainError<UnhealthyReason> | HistoryUnavailable | RefereeError>
  }
>()("gateway/services/PortfolioQueries") {
  static readonly layer: Layer.Layer<
    PortfolioQueries,
    never,
    | Cursors
    | BackendAvailability
    | History
    | WrittenHistory
    | MarketView
    | ReadYourWrites
    | Referee
    | SubAccounts
    | UserStreams
  > = Layer.effect(
    PortfolioQueries,
    Effect.gen(function* () {
      const cursors = yield* Cursors
      const availability = yield* BackendAvailability
      const markets = yield* MarketView
      const readYourWrites = yield* ReadYourWrites
      const records = yield* LastRecords.make
      const referee = yield* Referee
      const subAccounts = yield* SubAccounts
      const markOf = yield* StreamMarks.make

      const accountRecords = <A, E>(read: Effect.Effect<A, E | LastRecords.RecordsBehind>) =>
        Effect.mapError(read, (error) => (error instanceof LastRecords.RecordsBehind ? lagging : error))

      /** Balances and open positions of a credential of one moment, and the funding state of the positions' markets. */
      const readHoldings = Effect.fnUntraced(function* (caller: Caller, addresses: ReadonlyArray<string>) {
        const { balances, open } = yield* records.holdings(caller.user_id, addresses)
        const positions = open.filter(({ sub_account_address }) => mayAccess(caller, sub_account_address))
        const { portfolio } = yield* referee.portfolio(caller.user_id)
        const funding = new Map(portfolio.positions.map((position) => [position.market_addr as string, position]))
        // otherwise the referee has closed a position whose event has not arrived
        const isOfOneMoment = positions.every(({ symbol }) => funding.has(marketAddress(symbol)))
        return isOfOneMoment ? { balances: inOrderOf(addresses, balances), positions, funding } : undefined
      })
      const holdings = (caller: Caller, addresses: ReadonlyArray<string>) =>
        accountRecords(LastRecords.untilFound(readHoldings(caller, addresses)))

      return PortfolioQueries.of({
        balances: Effect.fnUntraced(function* (caller, sub_account_address) {
          const addresses = yield* subAccounts.resolve(caller, sub_account_address)
          yield* availability.referee
          yield* readYourWrites.awaitAll
          const markOfList = markOf(caller.user_id)
          const shown = yield* accountRecords(records.balances(caller.user_id, addresses))
          return { list: inOrderOf(addresses, shown.records), ...markOfList(shown) }
        }),
        positions: Effect.fnUntraced(function* (caller, request) {
          const { symbol, sub_account_address } = request
          const filters = [
            caller.user_id,
            caller.bound_to === undefined ? undefined : [...caller.bound_to].sort().join(),
            sub_account_address,
            symbol
          ]
          const cursorList = { endpoint: "position/list", filters }
          const after = yield* cursors.read(cursorList, request.cursor)
          const addresses = yield* subAccounts.resolve(caller, sub_account_address)
          const unknown = unknownMarket(markets, symbol)
          if (unknown !== undefined) return yield* Effect.fail(unknown)
          yield* availability.referee
          yield* readYourWrites.awaitAll
          const markOfList = markOf(caller.user_id)
          const wanted = new Set(addresses)
          const shown = yield* symbol === undefined
            ? records.open(caller.user_id)
            : accountRecords(records.positions(caller.user_id, addresses, symbol))
          const rows = shown.records
            .filter((position) => wanted.has(position.sub_account_address))
            .map((position) => ({ key: rowKeyOf(position), position }))
            .sort((a, b) => (a.key < b.key ? 1 : -1))
            .filter(({ key }) => after === undefined || key < after)
          const page = cursors.page(cursorList, rows, request.limit ?? LIMIT_DEFAULT, ({ key }) => key)
          return { ...page, list: page.list.map(({ position }) => position), ...markOfList(shown) }
        }),
        feeRates: Effect.fnUntraced(function* (caller, symbol) {
          const unknown = unknownMarket(markets, symbol)
          if (unknown !== undefined) return yield* Effect.fail(unknown)
          yield* availability.referee
          const rates = yield* referee.feeRates(caller.user_id)
          return rates.filter((rate) => symbol === undefined || rate.symbol === symbol)
        }),
        portfolio: Effect.fnUntraced(function* (caller) {
          const addresses = yield* subAccounts.addresses(caller)
          yield* availability.referee
          yield* readYourWrites.awaitAll
          const { balances, funding, positions } = yield* holdings(caller, addresses)
          const payments = positions.map((position) => {
            const rate = markets.ticker(position.symbol)?.funding_rate ?? "0"
            const paid = Decimal.mul(Decimal.parse(position.position_value), Decimal.parse(rate), "toward-zero")
            return Decimal.format(position.side === "Buy" ? -paid : paid)
          })
          return {
            positions: positions.map((position) => {
              const { epoch, funding_index } = funding.get(marketAddress(position.symbol))!
              return {
                epoch,
                funding_index,
                margin: position.isolated_margin ?? position.position_im,
                price: position.avg_price,
                seq: position.seq,
                size: position.side === "Sell" ? `-${position.size}` : position.size,
                timestamp: position.updated_time,
                timestamp_ms: position.updated_time,
                market_addr: marketAddress(position.symbol),
                sid: position.sub_account_address
              }
            }),
            summary: {
              collateral_notional: sum(balances.map((balance) => balance.wallet_balance)),
              maintenance_margin_required: sum(balances.map((balance) => balance.maintenance_margin)),
              total_available_balance: sum(balances.map((balance) => balance.available_balance)),
              total_balance: sum(balances.map((balance) => balance.equity)),
              total_margin_used: sum(balances.flatMap((balance) => [balance.margin_used, balance.order_margin])),
              total_positions: positions.length,
              total_vaults: addresses.length,
              unrealized_funding_total: sum(payments),
              unrealized_pnl_total: sum(balances.map((balance) => balance.unrealised_pnl))
            },
            vault_balances: balances.map((balance) => ({
              asset_addr: balance.asset_addr,
              balance: balance.wallet_balance,
              id: balance.sub_account_address
            }))
          }
        })
      })
    })
  )
}

const inOrderOf = (addresses: ReadonlyArray<string>, balances: ReadonlyArray<Balance>): ReadonlyArray<Balance> =>
  addresses.flatMap((address) => balances.filter(({ sub_account_address }) => sub_account_address === address))

/** Sort key, newest first, as text with the same order. */
const rowKeyOf = (position: Position): string =>
  `${String(position.created_time).padStart(16, "0")}/${position.sub_account_address}/${marketAddress(position.symbol)}`

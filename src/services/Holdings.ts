/**
 * Policy: what a credential holds, as the referee accounts for it: balances, positions, the portfolio.
 *
 * Each record tells the user-stream position of its last event, each list the position that it holds, so that a client
 * can join them to the private topics. Source: contract 3.6 to 3.8, 5.8.
 */
import { Context, Effect, Layer } from "effect"
import type { Balance } from "../domain/Account.ts"
import { marketAddress } from "../domain/Address.ts"
import * as Decimal from "../domain/Decimal.ts"
import type { FeeRate } from "../domain/Market.ts"
import { LIMIT_DEFAULT } from "../domain/Page.ts"
import type { Portfolio } from "../domain/Portfolio.ts"
import type { Position } from "../domain/Position.ts"
import type { Caller } from "../domain/User.ts"
import { Cursors } from "./Cursors.ts"
import { Gate } from "./Gate.ts"
import { History, lastSeqKey } from "./History.ts"
import type { ListAsked, Page, StreamMark } from "./Lists.ts"
import { MarketView } from "./MarketView.ts"
import { Referee, type RefereeUnavailable } from "./Referee.ts"
import { Refused } from "./Refused.ts"
import { type SubAccountFailure, SubAccounts } from "./SubAccounts.ts"
import { UserStreams } from "./UserStreams.ts"

export type HoldingsFailure = SubAccountFailure | RefereeUnavailable

/** How often, and after which pause, a referee is asked again that lies behind what the gateway has told already. */
const READS_MAX = 20
const PAUSE_MS = 50

const behind = new Refused("BackendLagging")
const noSymbol = new Refused("SymbolNotFound", { field: "symbol" })

const sum = (texts: ReadonlyArray<string>): string =>
  Decimal.format(texts.reduce((total, text) => total + Decimal.parse(text), 0n))

export class Holdings extends Context.Service<
  Holdings,
  {
    readonly balances: (
      caller: Caller,
      sub_account_address: string | undefined
    ) => Effect.Effect<{ readonly list: ReadonlyArray<Balance> } & StreamMark, HoldingsFailure>
    /** Open positions; with a symbol one record a sub-account, even if flat. */
    readonly positions: (
      caller: Caller,
      asked: ListAsked
    ) => Effect.Effect<Page<Position> & StreamMark, HoldingsFailure>
    /** Fee rates of one market or of all. */
    readonly feeRates: (
      caller: Caller,
      symbol: string | undefined
    ) => Effect.Effect<ReadonlyArray<FeeRate>, HoldingsFailure>
    /** Sums leave out what a bound key does not see. */
    readonly portfolio: (caller: Caller) => Effect.Effect<Portfolio, HoldingsFailure>
  }
>()("gateway/services/Holdings") {
  static readonly layer: Layer.Layer<
    Holdings,
    never,
    Cursors | Gate | History | MarketView | Referee | SubAccounts | UserStreams
  > = Layer.effect(
    Holdings,
    Effect.gen(function* () {
      const cursors = yield* Cursors
      const gate = yield* Gate
      const history = yield* History
      const markets = yield* MarketView
      const referee = yield* Referee
      const subAccounts = yield* SubAccounts
      const streams = yield* UserStreams

      // read before the records: they then hold every event up to it
      const markOf = (caller: Caller): StreamMark => ({
        stream_id: streams.streamId(),
        seq: streams.head(caller.user_id)
      })

      /** What the referee says once it is level with the read model, so that no event told before is missing in it. */
      const level = <A extends { readonly as_of_seq: number }, E>(read: Effect.Effect<A, E>) =>
        Effect.gen(function* () {
          for (let reads = 0; reads < READS_MAX; reads++) {
            const told = (yield* history.position)?.seq ?? 0
            const answer = yield* read
            if (answer.as_of_seq >= told) return answer
            yield* Effect.sleep(PAUSE_MS)
          }
          return yield* Effect.fail(behind)
        })

      const accountsOf = (addresses: ReadonlyArray<string>) =>
        Effect.forEach(addresses, (address) => level(referee.account(address)), { concurrency: "unbounded" })

      const unseen = (caller: Caller): ((address: string) => boolean) =>
        caller.bound_to === undefined ? () => false : (address) => !caller.bound_to!.has(address)

      /** The portfolio of some sub-accounts only, put together from their accounts. */
      const narrowed = Effect.fnUntraced(function* (caller: Caller, whole: Portfolio) {
        const isUnseen = unseen(caller)
        const seen = whole.vault_balances.filter((balance) => !isUnseen(balance.id))
        // a sub-account that the key names may have been deleted since
        const addresses = new Set(seen.map((balance) => balance.id))
        const accounts = yield* accountsOf([...addresses])
        const balances = accounts.flatMap((account) => account.balances)
        const positions = accounts.flatMap((account) => account.positions).filter((position) => position.size !== "0")
        const funding = positions.map((position) => {
          const rate = markets.ticker(position.symbol)?.funding_rate ?? "0"
          const value = Decimal.parse(position.position_value)
          const paid = Decimal.mul(value, Decimal.parse(rate), "toward-zero")
          return Decimal.format(position.side === "Buy" ? -paid : paid)
        })
        const margins = positions.map((position) => position.isolated_margin ?? "0")
        return {
          positions: whole.positions.filter((position) => !isUnseen(position.sid)),
          summary: {
            collateral_notional: sum(balances.map((balance) => balance.wallet_balance)),
            maintenance_margin_required: sum(positions.map((position) => position.position_mm)),
            total_available_balance: sum(balances.map((balance) => balance.available_balance)),
            total_balance: sum(balances.map((balance) => balance.equity)),
            total_margin_used: sum([
              ...balances.flatMap((balance) => [balance.margin_used, balance.order_margin]),
              ...margins
            ]),
            total_positions: positions.length,
            total_vaults: addresses.size,
            unrealized_funding_total: sum(funding),
            unrealized_pnl_total: sum(positions.map((position) => position.unrealised_pnl))
          },
          vault_balances: seen
        } satisfies Portfolio
      })

      return Holdings.of({
        balances: Effect.fnUntraced(function* (caller, sub_account_address) {
          const addresses = yield* subAccounts.resolve(caller, sub_account_address)
          yield* gate.referee
          const mark = markOf(caller)
          const seqs = yield* history.lastSeqs(caller.user_id, "account_balance")
          const accounts = yield* accountsOf(addresses)
          const list = accounts.flatMap((account) =>
            account.balances.map((balance) => ({
              ...balance,
              seq: seqs.get(lastSeqKey(balance.sub_account_address, balance.asset)) ?? 0
            }))
          )
          return { list, ...mark }
        }),
        positions: Effect.fnUntraced(function* (caller, asked) {
          const { symbol, sub_account_address } = asked
          const filters = [
            caller.user_id,
            caller.bound_to === undefined ? undefined : [...caller.bound_to].sort().join(),
            sub_account_address,
            symbol
          ]
          const cursorList = { endpoint: "position/list", filters }
          const after = yield* cursors.read(cursorList, asked.cursor)
          if (sub_account_address !== undefined) yield* subAccounts.resolve(caller, sub_account_address)
          if (symbol !== undefined && markets.instrument(symbol) === undefined) return yield* Effect.fail(noSymbol)
          yield* gate.referee
          const mark = markOf(caller)
          const seqs = yield* history.lastSeqs(caller.user_id, "position")
          const isUnseen = unseen(caller)
          const { positions } = yield* level(
            referee.positions({ user_id: caller.user_id, sub_account_address, symbol })
          )
          const rows = positions
            .filter((position) => !isUnseen(position.sub_account_address))
            .map((position) => ({
              ...position,
              seq: seqs.get(lastSeqKey(position.sub_account_address, position.symbol)) ?? 0
            }))
            .map((position) => ({ key: rowKeyOf(position), position }))
            .sort((a, b) => (a.key < b.key ? 1 : -1))
            .filter(({ key }) => after === undefined || key < after)
          const limit = asked.limit ?? LIMIT_DEFAULT
          const shown = rows.slice(0, limit)
          return {
            list: shown.map(({ position }) => position),
            next_page_cursor: cursors.print(cursorList, rows.length > limit ? shown.at(-1)!.key : undefined),
            ...mark
          }
        }),
        feeRates: Effect.fnUntraced(function* (caller, symbol) {
          if (symbol !== undefined && markets.instrument(symbol) === undefined) return yield* Effect.fail(noSymbol)
          yield* gate.referee
          const rates = yield* referee.feeRates(caller.user_id)
          return rates.filter((rate) => symbol === undefined || rate.symbol === symbol)
        }),
        portfolio: Effect.fnUntraced(function* (caller) {
          yield* gate.referee
          const seqs = yield* history.lastSeqs(caller.user_id, "position")
          const { portfolio } = yield* level(referee.portfolio(caller.user_id))
          const symbols = new Map(
            markets.instruments().map(({ market_addr, symbol }) => [market_addr as string, symbol] as const)
          )
          const whole = {
            ...portfolio,
            positions: portfolio.positions.map((position) => ({
              ...position,
              seq: seqs.get(lastSeqKey(position.sid, symbols.get(position.market_addr) ?? "")) ?? 0
            }))
          }
          return caller.bound_to === undefined ? whole : yield* narrowed(caller, whole)
        })
      })
    })
  )
}

/** Newest first, as text that orders the same way. */
const rowKeyOf = (position: Position): string =>
  `${String(position.created_time).padStart(16, "0")}/${position.sub_account_address}/${marketAddress(position.symbol)}`

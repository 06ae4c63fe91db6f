/**
 * What a mark alone may tell and what it must, found from the events and the positions themselves: only a move of 1 % of
 * the initial margin, once in a second, with a wallet that stands still; and nobody is further away than that from what
 * was reported last, unless the second has been used. Source: docs/contract/websocket.md#emission.
 */
import type { State } from "../../src/backend/engine/Engine.ts"
import type { Event } from "../../src/proto/gateway/v1/sequencer.ts"
import { BalanceReason, type Position } from "../../src/proto/gateway/v1/types.ts"
import { ensure, scaled } from "./Exact.ts"

interface Reported {
  readonly pnl: bigint
  readonly margin: bigint
  /** second of the last event that the mark alone caused */
  readonly second: number
}

const keyOf = (address: string, symbol: string): string => `${address} ${symbol}`

const abs = (value: bigint): bigint => (value < 0n ? -value : value)

/** Whether a PnL stands 1 % of the margin away from the reported one. */
const isFar = (pnl: bigint, reported: Reported): boolean => abs(pnl - reported.pnl) * 100n >= reported.margin

export class MarkEvents {
  count = 0
  private readonly reported = new Map<string, Reported>()
  private readonly wallets = new Map<string, string>()

  copy(): MarkEvents {
    const other = new MarkEvents()
    other.count = this.count
    for (const [key, reported] of this.reported) other.reported.set(key, reported)
    for (const [address, wallet] of this.wallets) other.wallets.set(address, wallet)
    return other
  }

  /** Reads the events of one step. */
  step(events: ReadonlyArray<Event>): void {
    const sampled = events.some(({ event }) => event?.$case === "prices_sampled")
    for (const [i, { ts_ms, event }] of events.entries()) {
      if (event?.$case === "position_changed") {
        const position = event.value.position!
        const alone = isMarkEvent(events, i)
        this.position(position, alone ? Math.floor(ts_ms / 1000) : undefined)
      }
      if (event?.$case !== "balance_changed") continue
      const { sub_account_address: address, wallet_balance: wallet } = event.value.balance!
      if (event.value.reason === BalanceReason.BALANCE_REASON_MARK) {
        const { amount, fee, realised_pnl } = event.value
        ensure(sampled, () => `the mark moved ${address} without a sample of prices`)
        const still = amount === "0" && fee === "0" && realised_pnl === "0" && wallet === this.wallets.get(address)
        ensure(still, () => `the mark moved the wallet of ${address}`)
        const before = events[i - 1]?.event
        const follows = before?.$case === "position_changed" && before.value.position!.sub_account_address === address
        ensure(follows, () => `a balance of ${address} with reason mark follows no position`)
      }
      this.wallets.set(address, wallet)
    }
  }

  private position(position: Position, second: number | undefined): void {
    const { position_im, sub_account_address, symbol, unrealised_pnl } = position
    const key = keyOf(sub_account_address, symbol)
    const pnl = scaled(unrealised_pnl)
    const before = this.reported.get(key)
    if (second !== undefined) {
      this.count++
      ensure(
        before !== undefined && isFar(pnl, before),
        () => `the mark reported ${key} for less than 1 % of its margin`
      )
      ensure(before!.second < second, () => `the mark reported ${key} twice within a second`)
    }
    this.reported.set(key, { pnl, margin: scaled(position_im), second: second ?? before?.second ?? -1 })
  }

  /** Nobody was passed over by the samples of the last input. */
  end(state: State, events: ReadonlyArray<Event>): void {
    for (const { event, ts_ms } of events) {
      if (event?.$case !== "prices_sampled") continue
      for (const { symbol } of event.value.prices)
        for (const { account, entryValue, lots, market } of state.marketOf.get(symbol)!.holders) {
          const key = keyOf(account.address, symbol)
          const reported = this.reported.get(key)
          const value = BigInt(market.markTicks) * BigInt(lots) * market.rules.unit
          const pnl = lots < 0 ? value + entryValue : value - entryValue
          ensure(
            reported !== undefined && (reported.second === Math.floor(ts_ms / 1000) || !isFar(pnl, reported)),
            () => `${key} has no event although its PnL moved by 1 % of its margin`
          )
        }
    }
  }
}

/** Whether a position is reported only because its mark moved: positions of its account follow, then its balance for that reason. */
const isMarkEvent = (events: ReadonlyArray<Event>, at: number): boolean => {
  const address = events[at]!.sub_account_address
  for (let i = at + 1; i < events.length; i++) {
    const { event, sub_account_address } = events[i]!
    if (sub_account_address !== address) return false
    if (event?.$case === "balance_changed") return event.value.reason === BalanceReason.BALANCE_REASON_MARK
    if (event?.$case !== "position_changed") return false
  }
  return false
}

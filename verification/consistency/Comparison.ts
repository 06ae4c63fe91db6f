/** Compares the records of REST with those of the sockets, field by field, at equal sequence numbers. */
import { isDeepStrictEqual } from "node:util"
import type { Json, Shown, Trader } from "./Trader.ts"

export interface Report {
  /** Compared records of REST. */
  compared: number
  /** Events of the sockets, of all topics. */
  events: number
  executions: number
  liquidations: number
  deleveragings: number
  /** Differences; the first few are described. */
  different: number
  readonly differences: Array<string>
}

/** Described differences. */
const KEPT = 20

const differ = (report: Report, what: string, rest: unknown, socket: unknown): void => {
  report.compared++
  if (isDeepStrictEqual(rest, socket)) return
  report.different++
  if (report.differences.length < KEPT)
    report.differences.push(`${what}\n  REST   ${JSON.stringify(rest)}\n  socket ${JSON.stringify(socket)}`)
}

const fail = (report: Report, what: string): void => {
  report.different++
  if (report.differences.length < KEPT) report.differences.push(what)
}

const withoutReason = (record: Json): Json => {
  const { reason: _, ...rest } = record
  return rest
}

const lastOf = (shown: ReadonlyArray<Shown>, is: (shown: Shown) => boolean): Json => shown.findLast(is)?.record

/** Compares each record of a user's lists with the event of its sequence number. `whole`: histories too, while nobody trades. */
export const compare = async (report: Report, trader: Trader, whole: boolean): Promise<void> => {
  const { shown } = trader
  const positions = await trader.list("/position/list")
  const balances = await trader.list("/account/balances")
  const seqs = [...positions.records, ...balances.records].map(({ seq }) => seq as number)
  await trader.reached(Math.max(positions.seq, balances.seq, ...seqs))
  for (const record of positions.records) {
    const event = shown.find(({ seq, topic }) => topic === "position" && seq === record.seq)
    differ(report, `position ${record.symbol} at seq ${record.seq}`, record, event?.record)
  }
  for (const record of balances.records) {
    if (record.seq === 0) continue
    const event = shown.find(({ seq, topic }) => topic === "account_balance" && seq === record.seq)
    differ(report, `balance at seq ${record.seq}`, record, event && withoutReason(event.record))
  }
  if (!whole) return
  for (const record of (await trader.list("/order/history")).records) {
    const last = lastOf(shown, (each) => each.topic === "order" && each.record.order_id === record.order_id)
    differ(report, `order ${record.order_id}`, record, last)
  }
  for (const record of (await trader.list("/execution/list")).records) {
    const last = lastOf(shown, (each) => each.topic === "execution" && each.record.exec_id === record.exec_id)
    differ(report, `execution ${record.exec_id}`, record, last)
  }
}

/** Checks the events alone: times are those of the event and never decrease; fills increase in each market. */
export const audit = (report: Report, traders: ReadonlyArray<Trader>): void => {
  const fills = new Map<string, Json>()
  for (const { shown } of traders) {
    const times = new Map<string, number>()
    const rising = new Map<string, number>()
    for (const { mts, record, seq, topic } of shown) {
      report.events++
      if (topic === "execution") {
        report.executions++
        if (record.exec_type === "BustTrade") report.liquidations++
        if (record.exec_type === "AdlTrade") report.deleveragings++
        // no user is both sides of a fill, so each execution of a user is another fill
        if (record.seq <= (rising.get(record.symbol) ?? 0))
          fail(report, `execution ${record.exec_id}: seq ${record.seq} does not rise`)
        rising.set(record.symbol, record.seq)
        const { exec_price, exec_qty, exec_time, symbol } = record
        const fill = { exec_price, exec_qty, exec_time }
        const known = fills.get(`${symbol} ${record.seq}`)
        if (known !== undefined && !isDeepStrictEqual(known, fill)) fail(report, `two fills share seq ${record.seq}`)
        fills.set(`${symbol} ${record.seq}`, fill)
        continue
      }
      if (Number(record.updated_time) !== mts)
        fail(report, `${topic} at seq ${seq}: updated_time is not its mts ${mts}`)
      const key = `${topic} ${record.order_id ?? ""} ${record.sub_account_address} ${record.symbol ?? ""}`
      if (mts < (times.get(key) ?? 0)) fail(report, `${topic} at seq ${seq}: time falls`)
      times.set(key, mts)
      if ("seq" in record && record.seq !== seq) fail(report, `${topic}: the record of seq ${seq} names ${record.seq}`)
    }
  }
}

/** Compares market records: trade numbers increase; pools and alerts equal the snapshots of their topics. */
export const compareMarket = async (
  report: Report,
  get: (path: string) => Promise<Json>,
  symbol: string,
  snapshot: (topic: string) => Promise<Json>
): Promise<void> => {
  const { list } = await get(`/market/recent-trade?symbol=${symbol}&limit=1000`)
  for (let i = 1; i < list.length; i++)
    if (list[i].seq >= list[i - 1].seq) fail(report, `trade ${list[i - 1].trade_id}: seq does not rise`)
  for (const [path, topic] of [
    ["/market/insurance-pool", `insurance_pool.${symbol}`],
    ["/market/adl-alert", `adl_alert.${symbol}`]
  ] as const) {
    const { ts: _, type: _type, ...record } = await snapshot(topic)
    differ(report, topic, await get(`${path}?symbol=${symbol}`), record)
  }
}

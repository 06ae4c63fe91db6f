/** Compares what users have seen with what they must see. Source: docs/contract/websocket.md#private-topics, #lists-and-the-stream. */
import { isDeepStrictEqual } from "node:util"
import type { Json } from "./Records.ts"
import type { History, Listed, Seen, Subscription } from "./Seen.ts"
import { type Topic, TOPICS, type Truth, type UserEvent } from "./Truth.ts"

export interface Verdict {
  /** compared records */
  compared: number
  /** differences; the first few are described */
  different: number
  readonly differences: Array<string>
  executions: number
  liquidations: number
  deleveragings: number
}

/** Described differences. */
const KEPT = 20
/** A list waits for what its user was shown for so long, in ms, and may then be older. */
const WAITS_MS = 900
const OPEN: ReadonlySet<string> = new Set(["New", "PartiallyFilled", "Untriggered", "CancelRequested"])

const withoutReason = (record: Json): Json => {
  const { reason: _, ...rest } = record
  return rest
}

const fieldsThatDiffer = (seen: Json, due: Json): string =>
  [...new Set([...Object.keys(seen), ...Object.keys(due)])]
    .filter((key) => !isDeepStrictEqual(seen[key], due[key]))
    .map((key) => `${key} ${JSON.stringify(seen[key])} and not ${JSON.stringify(due[key])}`)
    .join(", ")

class Judge {
  readonly verdict: Verdict = {
    compared: 0,
    different: 0,
    differences: [],
    executions: 0,
    liquidations: 0,
    deleveragings: 0
  }
  private readonly truth: Truth

  constructor(truth: Truth) {
    this.truth = truth
  }

  fail(what: string): void {
    this.verdict.different++
    if (this.verdict.differences.length < KEPT) this.verdict.differences.push(what)
  }

  private equal(what: string, seen: Json, due: Json): void {
    this.verdict.compared++
    if (!isDeepStrictEqual(seen, due)) this.fail(`${what}: ${fieldsThatDiffer(seen, due)}`)
  }

  private eventsOf(user_id: string): ReadonlyArray<UserEvent> {
    return this.truth.users.get(user_id) ?? []
  }

  /** A subscription shows every event of its topics after its beginning, once, in order, and as it happened. */
  subscription({ frames, gateway, since, user_id, whole }: Subscription): void {
    const events = this.eventsOf(user_id)
    const at = `${gateway}, user ${user_id.slice(0, 8)}`
    const next = new Map<Topic, number>()
    for (const frame of frames) {
      if (frame.kind === "subscribed") {
        if (since !== undefined && frame.resume?.recovered !== true && since <= events.length)
          this.fail(`${at}: the resume from ${since} is not recovered`)
        if (frame.resume?.recovered === true) for (const topic of TOPICS) next.set(topic, since!)
        continue
      }
      const { list, mts, prev_seq, seq, topic } = frame
      if (frame.kind === "snapshot") {
        if (next.has(topic)) this.fail(`${at}: a second snapshot of ${topic}`)
        next.set(topic, seq)
        if (topic !== "execution") this.state(`${at}, snapshot`, user_id, topic, seq, list)
        continue
      }
      const after = next.get(topic)
      const due = events.find((event) => event.topic === topic && event.seq > (after ?? -1))
      if (after === undefined) this.fail(`${at}: event ${seq} of ${topic} before its snapshot`)
      else if (due === undefined || due.seq !== seq)
        this.fail(`${at}: event ${seq} of ${topic} comes where ${due?.seq ?? "none"} is due after ${after}`)
      const event = events[seq - 1]
      if (event === undefined || event.topic !== topic) {
        this.fail(`${at}: event ${seq} of ${topic} never happened`)
        continue
      }
      if (prev_seq !== event.prev_seq) this.fail(`${at}: event ${seq} follows ${prev_seq} and not ${event.prev_seq}`)
      if (mts !== event.mts) this.fail(`${at}: event ${seq} has the time ${mts} and not ${event.mts}`)
      if (list.length !== 1) this.fail(`${at}: event ${seq} has ${list.length} records`)
      this.equal(`${at}: event ${seq} of ${topic}`, list[0]!, event.record)
      next.set(topic, seq)
    }
    if (!whole) return
    for (const topic of TOPICS) {
      const last = events.findLast((event) => event.topic === topic)
      const reached = next.get(topic)
      // the journal may be read a little later than the socket ended
      if (last !== undefined && reached !== undefined && this.isMissing(frames, topic, reached, last))
        this.fail(`${at}: event ${last.seq} of ${topic} never came; the last one is ${reached}`)
    }
  }

  private isMissing(frames: Subscription["frames"], topic: Topic, reached: number, last: UserEvent): boolean {
    const head = Math.max(...frames.map((frame) => (frame.kind === "subscribed" ? 0 : frame.seq)))
    return last.topic === topic && last.seq > reached && last.seq <= head
  }

  /** Records of a list that holds every event up to `seq`, and maybe later ones. */
  private state(
    at: string,
    user_id: string,
    topic: Topic,
    seq: number,
    records: ReadonlyArray<Json>,
    account?: string
  ): void {
    const all = this.eventsOf(user_id)
    if (seq > all.length) this.fail(`${at}: a list of ${topic} is at ${seq}, the last event is ${all.length}`)
    const events = all.filter(
      ({ record, topic: of }) => of === topic && (account === undefined || record["sub_account_address"] === account)
    )
    const bySubject = Map.groupBy(events, ({ subject }) => subject)
    const isListed = ({ record }: UserEvent): boolean =>
      topic === "order" ? OPEN.has(record["order_status"]) : topic === "account_balance" || record["size"] !== "0"
    const subjectOf = (record: Json): string =>
      topic === "order"
        ? record["order_id"]
        : `${record["sub_account_address"]} ${topic === "position" ? record["symbol"] : record["asset"]}`
    const listed = new Map(records.map((record) => [subjectOf(record), record]))
    if (listed.size !== records.length) this.fail(`${at}: a list of ${topic} names something twice`)
    for (const [subject, own] of bySubject) {
      const last = own.findLast((event) => event.seq <= seq)
      const possible = own.filter((event) => event.seq >= (last?.seq ?? seq + 1))
      const record = listed.get(subject)
      listed.delete(subject)
      if (record === undefined) {
        if (last !== undefined && possible.every(isListed))
          this.fail(`${at}: ${topic} ${subject} is missing at ${seq}, its last event is ${last.seq}`)
        continue
      }
      // before its first event a balance has the number 0, and no money
      if (last === undefined && record["seq"] === 0 && record["wallet_balance"] === "0") continue
      const due =
        topic === "order" ? this.sameOrder(possible, record) : possible.find((event) => event.seq === record["seq"])
      if (due === undefined)
        this.fail(
          `${at}: ${topic} ${subject} at ${seq} is of event ${record["seq"] ?? record["updated_time"]}, its last one is ${last?.seq}`
        )
      else {
        if (!isListed(due)) this.fail(`${at}: ${topic} ${subject} is listed at ${seq}, though it is over`)
        this.equal(`${at}: ${topic} ${subject} at ${seq}`, withoutReason(record), withoutReason(due.record))
      }
    }
    for (const [subject, record] of listed) {
      const isOwn = account === undefined || record["sub_account_address"] === account
      // without an event in this stream a record has the position 0
      if (topic === "order" || record["seq"] !== 0 || !isOwn)
        this.fail(`${at}: ${topic} ${subject} ${isOwn ? "never was" : "is of another sub-account"}`)
    }
  }

  private sameOrder(possible: ReadonlyArray<UserEvent>, record: Json): UserEvent | undefined {
    return possible.find((event) => isDeepStrictEqual(event.record, record)) ?? possible[0]
  }

  list({
    acknowledged,
    gateway,
    ms,
    over,
    records,
    seq,
    shown,
    sub_account_address: account,
    user_id,
    what
  }: Listed): void {
    const at = `${gateway} over ${over}, user ${user_id.slice(0, 8)}`
    this.state(at, user_id, what, seq, records, account)
    if (ms > WAITS_MS) return
    if (seq < shown) this.fail(`${at}: the list of ${what} is at ${seq}, though ${shown} was shown before`)
    if (what !== "order") return
    const events = this.eventsOf(user_id)
    for (const order_id of acknowledged) {
      const first = events.find((event) => event.topic === "order" && event.subject === order_id)
      if (first === undefined || (account !== undefined && first.record["sub_account_address"] !== account)) continue
      if (first.seq > seq && !records.some((record) => record["order_id"] === order_id))
        this.fail(`${at}: the list at ${seq} does not know order ${order_id}, which was acknowledged before`)
    }
  }

  history({ closedPnl, executions, gateway, orders, seq, user_id }: History): void {
    const at = `${gateway}, history of user ${user_id.slice(0, 8)}`
    const events = this.eventsOf(user_id).filter((event) => event.seq <= seq)
    const last = new Map(
      events.filter(({ topic }) => topic === "order").map(({ record, subject }) => [subject, record])
    )
    const fills = new Map(
      events.filter(({ topic }) => topic === "execution").map(({ record, subject }) => [subject, record])
    )
    this.rows(`${at}: order`, orders, "order_id", last)
    this.rows(`${at}: execution`, executions, "exec_id", fills)
    for (let i = 1; i < executions.length; i++) {
      const [newer, older] = [executions[i - 1]!, executions[i]!]
      if (Number(newer["exec_time"]) < Number(older["exec_time"])) this.fail(`${at}: executions are not by time`)
      if (
        newer["symbol"] === older["symbol"] &&
        newer["exec_time"] === older["exec_time"] &&
        newer["seq"] <= older["seq"]
      )
        this.fail(`${at}: executions of one time are not by seq`)
    }
    const reduced = new Map([...last].filter(([, record]) => record["closed_pnl"] !== undefined))
    for (const record of closedPnl) {
      const order = reduced.get(record["order_id"])
      reduced.delete(record["order_id"])
      if (order === undefined) this.fail(`${at}: closed PnL of ${record["order_id"]}, which closed nothing`)
      else {
        const due = {
          closed_pnl: order["closed_pnl"],
          liquidation_fee: sumOf(this.truth.liquidationFees.get(record["order_id"]) ?? [])
        }
        const { closed_pnl, liquidation_fee } = record
        this.equal(`${at}: closed PnL of ${record["order_id"]}`, { closed_pnl, liquidation_fee }, due)
      }
    }
    for (const order_id of reduced.keys()) this.fail(`${at}: no closed PnL of ${order_id}`)
  }

  private rows(what: string, seen: ReadonlyArray<Json>, id: string, due: ReadonlyMap<string, Json>): void {
    const missing = new Map(due)
    for (const record of seen) {
      const right = missing.get(record[id])
      missing.delete(record[id])
      if (right === undefined) this.fail(`${what} ${record[id]} is listed twice or never was`)
      else this.equal(`${what} ${record[id]}`, record, right)
    }
    for (const id of missing.keys()) this.fail(`${what} ${id} is not listed`)
  }

  /** Fills of a market rise strictly in the stream of each user. */
  rising(user_id: string): void {
    const last = new Map<string, number>()
    for (const { record, topic } of this.eventsOf(user_id)) {
      if (topic !== "execution") continue
      this.verdict.executions++
      if (record["exec_type"] === "BustTrade") this.verdict.liquidations++
      if (record["exec_type"] === "AdlTrade") this.verdict.deleveragings++
      if (record["seq"] <= (last.get(record["symbol"]) ?? 0))
        this.fail(`user ${user_id.slice(0, 8)}: seq ${record["seq"]} of execution ${record["exec_id"]} does not rise`)
      last.set(record["symbol"], record["seq"])
    }
  }

  all(seen: Seen): void {
    for (const fault of seen.faults) this.fail(fault)
    const users = new Set(seen.subscriptions.map(({ user_id }) => user_id))
    for (const user_id of users) this.rising(user_id)
    for (const subscription of seen.subscriptions) this.subscription(subscription)
    for (const list of seen.lists) this.list(list)
    for (const history of seen.histories) this.history(history)
    for (const { order_id, user_id } of seen.acknowledged)
      if (!this.eventsOf(user_id).some((event) => event.subject === order_id))
        this.fail(`order ${order_id} was acknowledged and is not in the journal`)
    for (const { checksum, seq, symbol, text, where } of seen.books) {
      this.verdict.compared++
      // before its first change a book is empty, with the number 0
      const due = this.truth.books.get(symbol)?.states.get(seq) ?? (seq === 0 ? EMPTY : undefined)
      if (due === undefined) this.fail(`${where}: the book of ${symbol} never had the number ${seq}`)
      else if (due.text !== text) this.fail(`${where}: the book of ${symbol} at ${seq} is ${text} and not ${due.text}`)
      else if (checksum !== undefined && checksum !== due.checksum)
        this.fail(`${where}: the checksum of ${symbol} at ${seq} is ${checksum} and not ${due.checksum}`)
    }
    for (const { list, symbol, where } of seen.trades)
      for (const [i, { price, qty, seq, trade_id }] of list.entries()) {
        this.equal(
          `${where}: trade ${trade_id} of ${symbol}`,
          { trade_id, price, qty },
          this.truth.trades.get(symbol)?.get(seq) ?? {}
        )
        if (i > 0 && seq >= list[i - 1]!["seq"]) this.fail(`${where}: the trades of ${symbol} do not fall at ${seq}`)
      }
  }
}

const EMPTY = { text: JSON.stringify({ bids: [], asks: [] }), checksum: 0 }

/** The sum of signed decimals, with the opposite sign, as the contract writes it. */
const sumOf = (amounts: ReadonlyArray<string>): string => {
  let sum = 0n
  for (const amount of amounts) {
    const [whole = "0", places = ""] = amount.replace("-", "").split(".")
    const scaled = BigInt(whole + places.padEnd(18, "0"))
    sum -= amount.startsWith("-") ? -scaled : scaled
  }
  const text = (sum < 0n ? -sum : sum).toString().padStart(19, "0")
  const places = text.slice(-18).replace(/0+$/u, "")
  return `${sum < 0n ? "-" : ""}${text.slice(0, -18)}${places === "" ? "" : `.${places}`}`
}

export const judge = (truth: Truth, seen: Seen): Verdict => {
  const judge = new Judge(truth)
  judge.all(seen)
  return judge.verdict
}

/**
 * Plays a recorded session against a gateway and keeps account of every request. With several steps at once, a step starts
 * after the earlier ones that change one of its orders; the order in which the others arrive is left to their connections.
 *
 * Orders that rest are ours by the record's id. What the record says of an order after its fills is compared with what we
 * know from the private feeds; where our market went another way, the difference is corrected by an order of its own, so that
 * the books stay comparable to the end.
 */
import { Deferred, Effect, Result } from "effect"
import type { Client, Feed } from "../../src/client/index.ts"
import { isFinal, type Order } from "../../src/domain/Order.ts"
import { SYMBOL } from "./Market.ts"
import type { Change, Session, Side } from "./Session.ts"
import { enlist, restingWith, roomiest, type Traders, type Trader, type Vault } from "./Traders.ts"
import { type Counts, follow } from "./Watchers.ts"

/** Longest wait for the feeds to be level, in ms. */
const LEVEL_MS = 30_000
/** Times a request is repeated while the gateway is away, and the pause between two, in ms. */
const REPEATS_MAX = 400
const REPEAT_MS = 50

export interface Report extends Counts {
  requests: number
  accepted: number
  /** Refusals by reason. */
  readonly refused: Map<string, number>
  /** Requests whose answer was lost with the gateway and that were sent again. */
  repeated: number
  /** Rows of the record about orders that our market had filled or refused already: there was nothing to ask for. */
  skipped: number
  /** Orders that the sequence rejected or canceled by itself, by reason. */
  readonly ended: Map<string, number>
  /** Corrections made where our market went another way than the record. */
  corrected: number
  fills: number
  /** Fills of the record that hit a resting order, and how many of them hit the same one here. */
  recordedHits: number
  sameHits: number
  /** Ids of the orders that were acknowledged. */
  readonly acknowledged: Set<string>
  seconds: number
}

/** One of our resting orders. */
interface Ours {
  readonly side: Side
  readonly trader: Trader
  readonly vault: Vault
  readonly link: string
  orderId: string
  price: string
  qty: number
  filled: number
  open: boolean
}

export interface Options {
  readonly baseUrl: string
  readonly session: Session
  /** Steps to play, of the continuous session. */
  readonly steps: number
  /** Most steps at once, each with one request in flight. */
  readonly in_flight: number
  /** Points at which the replay pauses and the books are compared. */
  readonly pauses: number
  /** Subscribers of the book, spread over its four depths. */
  readonly subscribers: number
  readonly onProgress: (done: number, total: number, report: Report) => void
  /** Called before each request with what was acknowledged so far; may kill the gateway. */
  readonly beforeRequest?: (request: number, traders: Traders, acknowledged: ReadonlySet<string>) => Promise<void>
}

const count = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1)

const reasonOf = (error: unknown): { readonly status: "refused" | "away"; readonly reason: string } => {
  const { code, details } = error as { readonly code?: string; readonly details?: { readonly reason?: string } }
  if (code === undefined || code === "SERVICE_UNAVAILABLE") return { status: "away", reason: String(error) }
  if (code === "INTERNAL") throw new Error(`the gateway answered INTERNAL: ${JSON.stringify(error)}`)
  return { status: "refused", reason: details?.reason ?? code }
}

/** Plays the session; the client feeds live in the caller's scope. */
export const replay = Effect.fnUntraced(function* (options: Options) {
  const { session } = options
  const report: Report = {
    requests: 0,
    accepted: 0,
    refused: new Map(),
    repeated: 0,
    skipped: 0,
    ended: new Map(),
    corrected: 0,
    fills: 0,
    recordedHits: 0,
    sameHits: 0,
    bookChecks: 0,
    bookFaults: 0,
    crossed: 0,
    acknowledged: new Set(),
    seconds: 0
  }
  const began = performance.now()
  const steps = session.steps.slice(0, options.steps)
  const total = session.opening.length + steps.length

  // ---- what the private feeds tell

  const byRecord = new Map<string, Ours>()
  /** By the reference of our order, since an event may arrive before the answer with its id. */
  const byLink = new Map<string, { readonly ours: Ours; readonly record: string }>()
  /** Records of the resting orders filled by a matching event, in order, and the lots they gave. */
  const makers = new Map<number, { lots: number; readonly records: Array<string> }>()
  const taken = new Map<string, { lots: number; readonly seqs: Set<number> }>()
  /** Aggressive orders whose fills are awaited, by reference. */
  const watched = new Map<string, { final: Order | undefined; readonly done: Deferred.Deferred<void> }>()
  const seenExecutions = new Set<string>()

  /** Ends the wait for aggressive orders whose fills were all received, by both sides. */
  const settled = () => {
    for (const { done, final } of watched.values()) {
      if (final === undefined) continue
      const filled = Number(final.cum_exec_qty)
      const took = taken.get(final.order_id)
      if ((took?.lots ?? 0) < filled) continue
      let gave = 0
      for (const seq of took?.seqs ?? []) gave += makers.get(seq)?.lots ?? 0
      if (gave >= filled) Deferred.doneUnsafe(done, Effect.void)
    }
  }
  const close = (ours: Ours): void => {
    if (ours.open) ours.vault.open--
    ours.open = false
  }
  const onOrder = (order: Order) => {
    const link = order.order_link_id ?? ""
    const known = byLink.get(link)
    if (known !== undefined) {
      known.ours.filled = Number(order.cum_exec_qty)
      known.ours.price = order.price
      known.ours.qty = Number(order.qty)
      if (isFinal(order.order_status)) close(known.ours)
    }
    if (isFinal(order.order_status) && order.order_status !== "Filled" && order.cancel_type !== "CancelByUser") {
      count(
        report.ended,
        order.reject_reason === "EcNoError" ? (order.cancel_type ?? order.order_status) : order.reject_reason!
      )
    }
    const awaited = watched.get(link)
    if (awaited === undefined) return
    if (isFinal(order.order_status)) awaited.final = order
    settled()
  }
  const onEvent = (event: Feed.FeedEvent): void => {
    if (event.kind === "order") for (const order of event.data.list) onOrder(order)
    if (event.kind !== "execution") return
    for (const execution of event.data.list) {
      if (seenExecutions.has(execution.exec_id)) continue
      seenExecutions.add(execution.exec_id)
      const lots = Number(execution.exec_qty)
      const link = execution.order_link_id ?? ""
      const known = byLink.get(link)
      if (known !== undefined) {
        const { ours } = known
        ours.filled = Number(execution.order_qty) - Number(execution.leaves_qty)
        if (execution.leaves_qty === "0") close(ours)
      }
      if (execution.is_maker) {
        report.fills++
        const entry = makers.get(execution.seq) ?? { lots: 0, records: [] }
        entry.lots += lots
        entry.records.push(known?.record ?? link)
        makers.set(execution.seq, entry)
      } else {
        const entry = taken.get(execution.order_id) ?? { lots: 0, seqs: new Set<number>() }
        entry.lots += lots
        entry.seqs.add(execution.seq)
        taken.set(execution.order_id, entry)
      }
    }
    settled()
  }

  const traders: Traders = yield* enlist(options.baseUrl, onEvent)
  const compareBooks = yield* follow(traders.taker.client, SYMBOL, options.subscribers, report)

  // ---- requests

  /** Sends one request until it is answered; a repetition is sound, since each names its order by our own reference. */
  const request = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      report.requests++
      if (options.beforeRequest !== undefined) {
        const { acknowledged, requests } = report
        yield* Effect.promise(() => options.beforeRequest!(requests, traders, acknowledged))
      }
      for (let tries = 0; ; tries++) {
        const result = yield* Effect.result(effect)
        if (Result.isSuccess(result)) {
          report.accepted++
          return { ok: true as const, value: result.success, repeated: tries > 0 }
        }
        const { reason, status } = reasonOf(result.failure)
        if (status === "refused") {
          const { details } = result.failure as { readonly details?: Record<string, unknown> }
          return { ok: false as const, reason, details, repeated: tries > 0 }
        }
        if (tries >= REPEATS_MAX) return yield* Effect.die(new Error(`the gateway stays away: ${reason}`))
        if (tries === 0) report.repeated++
        yield* Effect.sleep(REPEAT_MS)
      }
    })
  const refuse = (reason: string) => count(report.refused, reason)

  /** Places an order; answers its id. A reference used by an attempt whose answer was lost is a success. */
  const place = Effect.fnUntraced(function* (
    client: Client.Client,
    order: {
      readonly vault: string
      readonly side: Side
      readonly price: string
      readonly size: number
      readonly link: string
      readonly ioc: boolean
    }
  ) {
    const answer = yield* request(
      client.order.create({
        payload: {
          sub_account_address: order.vault,
          symbol: SYMBOL,
          side: order.side,
          order_type: "Limit",
          qty: String(order.size),
          price: order.price,
          order_link_id: order.link,
          ...(order.ioc ? { time_in_force: "IOC" as const } : {})
        }
      })
    )
    if (answer.ok) {
      report.acknowledged.add(answer.value.order_id)
      return answer.value.order_id
    }
    if (answer.repeated && answer.reason === "DuplicateOrderLinkId") {
      const orderId = String(answer.details!["order_id"])
      report.accepted++
      report.acknowledged.add(orderId)
      return orderId
    }
    refuse(answer.reason)
    return undefined
  })

  let links = 0
  const add = Effect.fnUntraced(function* (record: string, side: Side, price: string, size: number) {
    const trader = restingWith(traders, side)
    const vault = roomiest(trader)
    const link = byRecord.has(record) ? `${record}-${++links}` : record
    vault.open++
    const ours: Ours = { side, trader, vault, link, orderId: "", price, qty: size, filled: 0, open: true }
    byRecord.set(record, ours)
    byLink.set(link, { ours, record })
    const orderId = yield* place(trader.client, { vault: vault.address, side, price, size, link, ioc: false })
    if (orderId === undefined) return close(ours)
    ours.orderId = orderId
  })
  const amend = Effect.fnUntraced(function* (ours: Ours, price: string, remaining: number) {
    const answer = yield* request(
      ours.trader.client.order.amend({
        payload: {
          sub_account_address: ours.vault.address,
          symbol: SYMBOL,
          order_id: ours.orderId,
          price,
          qty: String(ours.filled + remaining)
        }
      })
    )
    if (answer.ok) Object.assign(ours, { price, qty: ours.filled + remaining })
    else refuse(answer.reason)
  })
  const cancel = Effect.fnUntraced(function* (ours: Ours) {
    const answer = yield* request(
      ours.trader.client.order.cancel({
        payload: { sub_account_address: ours.vault.address, symbol: SYMBOL, order_id: ours.orderId }
      })
    )
    if (answer.ok || answer.repeated) {
      close(ours)
      if (!answer.ok) report.accepted++
    } else refuse(answer.reason)
  })

  let aggressors = 0
  const aggress = Effect.fnUntraced(function* (step: Extract<Change, { readonly type: "aggress" }>) {
    const resting = byRecord.get(step.id)
    // a resting order that was modified until it crossed leaves the book before it takes
    if (step.rested && resting?.open === true) yield* cancel(resting)
    const link = `t-${++aggressors}`
    const done = yield* Deferred.make<void>()
    watched.set(link, { final: undefined, done })
    const orderId = yield* place(traders.taker.client, {
      vault: traders.taker.vaults[0]!.address,
      side: step.side,
      price: step.price,
      size: step.size,
      link,
      ioc: true
    })
    if (orderId !== undefined) {
      yield* Deferred.await(done).pipe(
        Effect.timeoutOrElse({
          duration: LEVEL_MS,
          orElse: () => Effect.die(new Error(`the fills of ${link} did not arrive in ${LEVEL_MS} ms`))
        })
      )
    }
    watched.delete(link)
    const hit = new Set<string>()
    for (const seq of (orderId === undefined ? undefined : taken.get(orderId))?.seqs ?? []) {
      for (const record of makers.get(seq)?.records ?? []) hit.add(record)
    }
    report.recordedHits += step.hits.length
    for (const { id } of step.hits) if (hit.has(id)) report.sameHits++
  })

  const settle = Effect.fnUntraced(function* (step: Extract<Change, { readonly type: "settle" }>) {
    const ours = byRecord.get(step.id)
    const remaining = ours?.open === true ? ours.qty - ours.filled : 0
    if (remaining === step.size && (step.size === 0 || ours!.price === step.price)) return
    report.corrected++
    if (step.size === 0) yield* cancel(ours!)
    else if (ours?.open === true) yield* amend(ours, step.price, step.size)
    else yield* add(step.id, step.side, step.price, step.size)
  })

  const play = (step: Change): Effect.Effect<void> => {
    switch (step.type) {
      case "add":
        return add(step.id, step.side, step.price, step.size)
      case "modify": {
        const ours = byRecord.get(step.id)
        // our market filled what the record still holds: nothing is there to be changed
        return ours?.open === true ? amend(ours, step.price, step.size) : Effect.sync(() => void report.skipped++)
      }
      case "cancel": {
        const ours = byRecord.get(step.id)
        return ours?.open === true ? cancel(ours) : Effect.sync(() => void report.skipped++)
      }
      case "aggress":
        return aggress(step)
      case "settle":
        return settle(step)
    }
  }

  let done = 0
  const progress = () => {
    report.seconds = (performance.now() - began) / 1_000
    options.onProgress(done, total, report)
  }
  /** Plays steps, and compares the books when all of them have ended. */
  const playAll = Effect.fnUntraced(function* (all: ReadonlyArray<Change>) {
    /** The newest step that changes an order. */
    const newest = new Map<string, Deferred.Deferred<void>>()
    const effects = all.map((step) => {
      const ended = Deferred.makeUnsafe<void>()
      const orders = step.type === "aggress" ? [step.id, ...step.hits.map(({ id }) => id)] : [step.id]
      const earlier = orders.flatMap((id) => newest.get(id) ?? [])
      for (const id of orders) newest.set(id, ended)
      return Effect.gen(function* () {
        for (const each of earlier) yield* Deferred.await(each)
        yield* play(step)
        yield* Deferred.succeed(ended, undefined)
        if (++done % 100 === 0) progress()
      })
    })
    yield* Effect.all(effects, { concurrency: options.in_flight, discard: true })
    yield* compareBooks
  })
  yield* playAll(session.opening.map((order) => ({ type: "add", ...order })))
  const every = Math.max(1, Math.floor(steps.length / options.pauses))
  for (let from = 0; from < steps.length; from += every) yield* playAll(steps.slice(from, from + every))
  progress()
  return { report, traders }
})

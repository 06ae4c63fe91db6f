/** Reads of the current state of a user while a part of what was shown is unwritten, beside a history that holds all of it. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { OrderStatus } from "../../../src/domain/Enumerations.ts"
import type { Event } from "../../../src/domain/Event.ts"
import { isOpen, type Order } from "../../../src/domain/Order.ts"
import type { RowKey } from "../../../src/domain/Page.ts"
import { Projecting } from "../../../src/domain/Projection.ts"
import { History, type OrderQuery } from "../../../src/services/History.ts"
import { Leadership } from "../../../src/services/operations/Leadership.ts"
import { HistoryWriter } from "../../../src/services/read-model/HistoryWriter.ts"
import * as ShownRows from "../../../src/services/read-model/ShownRows.ts"
import { type Shown, WrittenHistory } from "../../../src/services/read-model/WrittenHistory.ts"
import { pick, type Random, random } from "../../../verification/harness/Random.ts"
import { body, event, order, START, userOf, uuid } from "../../../verification/harness/Records.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"

const open = OrderStatus.literals.filter(isOpen)
const users = [userOf(1), userOf(2)]
const symbols = ["BTC-USDC", "ETH-USDC"]
const sides = ["Buy", "Sell"] as const

/** A stream of orders that rest, are changed and end, with positions, balances and sub-accounts; several in each ms. */
const streamOf = (next: Random, length: number): ReadonlyArray<Event> => {
  const resting: Array<readonly [user: number, state: Order]> = []
  return Array.from({ length }, (_, i) => {
    const seq = i + 1
    const ts_ms = START + Math.floor(i / 5)
    const of = Math.floor(next() * users.length)
    const user = users[of]!
    const at = { ts_ms, user_id: user.user_id }
    const sub_account_address = user.account(Math.floor(next() * 2))
    const roll = next()
    if (roll < 0.1) return { ...event(seq, body.position({ sub_account_address, size: String(seq) })), ...at }
    if (roll < 0.2) return { ...event(seq, body.balance({ sub_account_address, wallet_balance: String(seq) })), ...at }
    if (roll < 0.25) {
      const sub_account = {
        sub_account_address: user.account(seq),
        user_id: user.user_id,
        root_address: user.root,
        index: seq,
        frozen: false,
        deleted: next() < 0.5,
        created_time: ts_ms
      }
      return { ...event(seq, { type: "sub_account", sub_account }), ...at }
    }
    if (roll < 0.6 || resting.length === 0) {
      const placed = order({
        order_id: uuid(seq),
        order_link_id: `link-${seq}`,
        sub_account_address,
        symbol: pick(next, symbols),
        side: pick(next, sides),
        created_time: String(ts_ms)
      })
      resting.push([of, placed])
      return { ...event(seq, body.order(placed)), ...at }
    }
    const index = Math.floor(next() * resting.length)
    const [owner, state] = resting[index]!
    const changed = {
      ...state,
      price: String(seq),
      order_status: pick(next, ["New", "PartiallyFilled", "Filled"] as const)
    }
    if (isOpen(changed.order_status)) resting[index] = [owner, changed]
    else resting.splice(index, 1)
    return { ...event(seq, body.order(changed)), ts_ms, user_id: users[owner]!.user_id }
  })
}

/** A gateway that has shown all events, over a history that holds the first ones; another history holds all. */
const world = Effect.fnUntraced(function* (
  events: ReadonlyArray<Event>,
  written: number,
  batches: ReadonlyArray<number>
) {
  const historyOf = Effect.map(Layer.build(Layer.fresh(SqliteStores.history)), Context.get(History))
  const [stored, whole] = [yield* historyOf, yield* historyOf]
  const project = () => new Projecting({ position: undefined, heads: [], candles: [] })
  if (written > 0) yield* stored.commit(project().next("e1", events.slice(0, written)))
  yield* whole.commit(project().next("e1", events))
  const context = yield* Layer.build(
    HistoryWriter.layer().pipe(
      Layer.provide([
        Layer.succeed(History, stored),
        Layer.succeed(Leadership, { term: () => undefined, resign: Effect.void })
      ]),
      Layer.fresh
    )
  )
  const writer = Context.get(context, HistoryWriter)
  writer.begin(yield* stored.position)
  const model = { position: yield* stored.position, heads: yield* stored.streamHeads, candles: [] }
  const projecting = new Projecting(model)
  let from = written
  for (const to of batches) {
    const batch = events.slice(from, to)
    if (batch.length > 0) writer.add(projecting.next("e1", batch))
    from = Math.max(from, to)
  }
  return { stored, whole, reads: Context.get(context, WrittenHistory) }
})

/** A read that waits at most for the longest wait of readers. */
const within = Effect.fnUntraced(function* <A, E>(read: Effect.Effect<A, E>) {
  const reading = yield* Effect.forkChild(read, { startImmediately: true })
  for (let i = 0; i < 200 && reading.pollUnsafe() === undefined; i++) yield* TestClock.adjust("10 millis")
  return yield* Fiber.join(reading)
})

const query = (fields: Partial<OrderQuery>): OrderQuery => ({
  user_id: users[0]!.user_id,
  sub_accounts: undefined,
  symbol: undefined,
  start_time: undefined,
  end_time: undefined,
  limit: 1_000,
  after: undefined,
  order_id: undefined,
  order_link_id: undefined,
  statuses: open,
  ...fields
})

describe("rows of a user that are shown and not written", () => {
  it.effect("are those of a history that holds them, whatever is written of it", () =>
    Effect.gen(function* () {
      let reads = 0
      let waited = 0
      for (let seed = 1; seed <= 8; seed++) {
        const next = random(seed)
        const length = 20 + Math.floor(next() * 200)
        const events = streamOf(next, length)
        const written = Math.floor(next() * length)
        const batches = [...Array.from({ length: 5 }, () => Math.floor(next() * length)).sort((a, b) => a - b), length]
        const { reads: shown, stored, whole } = yield* world(events, written, batches)
        for (const { user_id, account } of users) {
          const filters: ReadonlyArray<Partial<OrderQuery>> = [
            {},
            { symbol: "BTC-USDC" },
            { side: "Sell" },
            { sub_accounts: [account(1)] },
            { start_time: START + 10 },
            { end_time: START + Math.floor(length / 10) },
            { order_link_id: `link-${1 + Math.floor(next() * length)}` },
            { order_id: uuid(1 + Math.floor(next() * length)) }
          ]
          for (const filter of filters) {
            const asked = query({ user_id, ...filter })
            const expected = (yield* whole.orders(asked)).rows
            // all of them, and page by page
            for (const limit of [1_000, 30, 12]) {
              const list: Array<Order> = []
              let after: RowKey | undefined
              do {
                const page: Shown<{ readonly rows: ReadonlyArray<Order>; readonly next: RowKey | undefined }> =
                  yield* within(shown.openOrders({ ...asked, limit, after }))
                reads++
                // a wait, after which the history holds no more than before
                if (!page.isComplete) {
                  waited++
                  assert.deepStrictEqual(
                    page.rows.rows,
                    (yield* stored.orders({ ...asked, limit, after })).rows,
                    `seed ${seed}`
                  )
                  break
                }
                assert.isAtMost(page.rows.rows.length, limit)
                list.push(...page.rows.rows)
                after = page.rows.next
                if (after === undefined)
                  assert.deepStrictEqual(list, expected, `seed ${seed} ${JSON.stringify(filter)}`)
              } while (after !== undefined)
            }
          }
          for (const topic of ["position", "account_balance", undefined] as const) {
            const { isComplete, rows } = yield* within(shown.lastRecords(user_id, topic))
            assert.isTrue(isComplete)
            assert.sameDeepMembers([...rows], [...(yield* whole.lastRecords(user_id, topic))])
          }
          const { isComplete, rows } = yield* within(shown.subAccounts(user_id))
          assert.isTrue(isComplete)
          assert.deepStrictEqual(rows, yield* whole.subAccounts(user_id))
        }
      }
      assert.isAbove(reads, 200)
      assert.isBelow(waited / reads, 0.15, "most reads do not wait")
    })
  )

  it("are added to a page that others follow only if they are newer than its first row", () => {
    const placed = (time: number) => order({ order_id: uuid(time), created_time: String(time) })
    const stored = { rows: [placed(30), placed(20)], next: { time: 20, id: 1 } }
    const timesWith = (changed: Order) => {
      const projecting = new Projecting({ position: undefined, heads: [], candles: [] })
      const projection = projecting.next("e1", [event(1, body.order(changed))])
      return ShownRows.openOrders(query({}), stored, [projection])?.rows.map((row) => Number(row.created_time))
    }
    const other = (time: number) => ({ ...placed(time), order_id: uuid(99) })
    assert.deepStrictEqual(timesWith(other(31)), [31, 30, 20])
    // at one of these times it may be a new order, or one of a later page
    for (const time of [30, 25, 20]) assert.isUndefined(timesWith(other(time)), String(time))
    assert.deepStrictEqual(timesWith(other(19)), [30, 20], "a later page has it")
  })
})

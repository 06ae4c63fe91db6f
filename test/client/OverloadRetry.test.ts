import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { HttpClientRequest, HttpClientResponse } from "effect/http"
import { BACKOFF_FIRST_MS } from "../../src/client/Backoff.ts"
import { batchUntilAdmitted, TRIES_MAX, untilAdmitted } from "../../src/client/OverloadRetry.ts"
import type { BatchResult } from "../../src/http/api/OrderBodies.ts"

interface Order {
  readonly order_link_id?: string
  readonly qty: string
}
const placed = ({ order_link_id = "" }: Order): BatchResult => ({ code: "OK", message: "", order_link_id })
const refused = (reason: string) => (): BatchResult => ({
  code: "SERVICE_UNAVAILABLE",
  message: "busy",
  order_link_id: "",
  details: { reason }
})
const orders: ReadonlyArray<Order> = ["a", "b", "c"].map((order_link_id) => ({ order_link_id, qty: "1" }))

/** A gateway that answers each call with the next row of results; the last row is repeated. */
const gateway = (...rows: ReadonlyArray<ReadonlyArray<(order: Order) => BatchResult>>) => {
  const calls: Array<ReadonlyArray<Order>> = []
  const send = (sent: ReadonlyArray<Order>) =>
    Effect.suspend(() => {
      const row = rows[Math.min(calls.length, rows.length - 1)]!
      calls.push(sent)
      return row.length === 0
        ? Effect.fail("connection lost")
        : Effect.succeed({ list: sent.map((order, i) => row[i]!(order)) })
    })
  const links = () => calls.map((sent) => sent.map(({ order_link_id }) => order_link_id).join(""))
  return { links, send }
}

describe("a call at an overloaded gateway", () => {
  const called = Effect.fnUntraced(function* (headers: Record<string, string>, reason = "Overloaded", status = 503) {
    let calls = 0
    const request = HttpClientRequest.get("http://gateway/")
    const send = Effect.sync(() => {
      calls++
      const body = JSON.stringify({ details: { reason } })
      return HttpClientResponse.fromWeb(request, new Response(body, { status, headers }))
    })
    const running = yield* Effect.forkChild(untilAdmitted(send))
    yield* TestClock.adjust("1 hour")
    return [(yield* Fiber.join(running)).status, calls]
  })

  it.effect("ends with the refusal after the last try", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* called({ "retry-after": "1" }), [503, TRIES_MAX])
    })
  )

  it.effect("is not repeated when the gateway names no time, or a long one", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* called({}), [503, 1])
      assert.deepStrictEqual(yield* called({ "retry-after": "600" }), [503, 1])
      assert.deepStrictEqual(yield* called({ "retry-after": "31" }), [503, 1])
      assert.deepStrictEqual(yield* called({ "retry-after": "30" }), [503, TRIES_MAX])
    })
  )

  it.effect("is not repeated after another refusal: its outcome may be unknown", () =>
    Effect.gen(function* () {
      const soon = { "retry-after": "1" }
      assert.deepStrictEqual(yield* called(soon, "DeadlineExceeded"), [503, 1])
      assert.deepStrictEqual(yield* called(soon, "Overloaded", 500), [500, 1])
      assert.deepStrictEqual(yield* called(soon, "Overloaded", 429), [429, 1])
    })
  )

  it.effect("is repeated after the time that the gateway names, and a pause of its own", () =>
    Effect.gen(function* () {
      const request = HttpClientRequest.get("http://gateway/")
      const bodies = [
        new Response('{"details":{"reason":"Overloaded"}}', { status: 503, headers: { "retry-after": "7" } }),
        new Response("{}")
      ]
      const send = Effect.sync(() => HttpClientResponse.fromWeb(request, bodies.shift()!))
      const running = yield* Effect.forkChild(untilAdmitted(send))
      yield* TestClock.adjust("7 seconds")
      assert.lengthOf(bodies, 1)
      yield* TestClock.adjust(2 * BACKOFF_FIRST_MS)
      assert.lengthOf(bodies, 0)
      assert.strictEqual((yield* Fiber.join(running)).status, 200)
    })
  )
})

describe("a batch at an overloaded gateway", () => {
  it.effect("repeats only the refused orders, after a second, and keeps the order of all results", () =>
    Effect.gen(function* () {
      const busy = refused("Overloaded")
      const { links, send } = gateway([busy, refused("InsufficientBalance"), busy], [placed, busy], [placed])
      const running = yield* Effect.forkChild(batchUntilAdmitted(send, orders))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(links(), ["abc"])
      yield* TestClock.adjust("10 seconds")
      const { list } = yield* Fiber.join(running)
      assert.deepStrictEqual(links(), ["abc", "ac", "c"])
      assert.deepStrictEqual(
        list.map(({ code, order_link_id }) => [code, order_link_id]),
        [
          ["OK", "a"],
          ["SERVICE_UNAVAILABLE", ""],
          ["OK", "c"]
        ]
      )
    })
  )

  it.effect("ends with the refusals after the last try", () =>
    Effect.gen(function* () {
      const { links, send } = gateway([refused("Overloaded"), placed, placed])
      const running = yield* Effect.forkChild(batchUntilAdmitted(send, orders))
      yield* TestClock.adjust("5 minutes")
      const { list } = yield* Fiber.join(running)
      assert.lengthOf(links(), TRIES_MAX)
      assert.deepStrictEqual(list[0]!.details, { reason: "Overloaded" })
    })
  )

  it.effect("reports a repetition without an answer as unknown, and keeps the other results", () =>
    Effect.gen(function* () {
      const { send } = gateway([placed, refused("Overloaded"), placed], [])
      const running = yield* Effect.forkChild(batchUntilAdmitted(send, orders))
      yield* TestClock.adjust("5 minutes")
      const { list } = yield* Fiber.join(running)
      assert.deepStrictEqual(
        list.map(({ code }) => code),
        ["OK", "SERVICE_UNAVAILABLE", "OK"]
      )
      assert.deepStrictEqual(list[1]!.details, { reason: "DeadlineExceeded", outcome: "unknown" })
      assert.strictEqual(list[1]!.order_link_id, "b")
    })
  )

  it.effect("reports the gateway's error of a repetition as it is", () =>
    Effect.gen(function* () {
      const error = { code: "UNAUTHORIZED", message: "log in again" }
      for (const answer of [error, { ...error, details: { reason: "RevokedToken" } }]) {
        const { links, send } = gateway([placed, refused("Overloaded"), placed])
        const once = Effect.fnUntraced(function* (sent: ReadonlyArray<Order>) {
          return links().length === 0 ? yield* send(sent) : yield* Effect.fail(answer)
        })
        const running = yield* Effect.forkChild(batchUntilAdmitted(once, orders))
        yield* TestClock.adjust("5 minutes")
        const { list } = yield* Fiber.join(running)
        assert.deepStrictEqual(list[1], { ...answer, order_link_id: "b" })
      }
    })
  )

  it.effect("fails as the first call does", () =>
    Effect.gen(function* () {
      const { links, send } = gateway([])
      assert.strictEqual(yield* Effect.flip(batchUntilAdmitted(send, orders)), "connection lost")
      assert.lengthOf(links(), 1)
    })
  )
})

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Order } from "../../../src/domain/Order.ts"
import type { Reason } from "../../../src/domain/Reason.ts"
import type { Caller } from "../../../src/domain/User.ts"
import type { OrderRequest } from "../../../src/domain/OrderForm.ts"
import { Orders } from "../../../src/services/trading/Orders.ts"
import { type Command, type CommandAck, CommandRefused } from "../../../src/services/Sequencer.ts"
import { type Doubles, foreign, orderId, policies, tokenCaller, userId, v0, v1, well } from "../../http/Fixture.ts"

const limit: OrderRequest = {
  sub_account_address: v1,
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000.0"
}
const ack = (more: Partial<CommandAck> = {}): CommandAck => ({
  seq: 1,
  accepted_at_ms: 1,
  orders: [{ order_id: orderId, order_link_id: "a-1" }],
  duplicate: false,
  version: undefined,
  result: undefined,
  ...more
})

/** A desk whose commands are kept, and answered by `answer`. */
const desk = (
  answer: (command: Command) => ReturnType<NonNullable<NonNullable<Doubles["sequencer"]>["submit"]>>,
  more: Doubles = {}
) => {
  const commands: Array<Command> = []
  const layer = policies({
    ...more,
    sequencer: {
      submit: (command) => {
        commands.push(command)
        return answer(command)
      }
    }
  })
  return { commands, layer }
}
const accepting = (more: Doubles = {}) => desk(() => Effect.succeed(ack()), more)
const refusing = (reason: Reason, more: Doubles = {}) =>
  desk(() => Effect.fail(new CommandRefused({ reason, message: "", details: {} })), more)

const reasonOf = (failure: unknown): readonly [string, unknown] => {
  const { details, reason } = failure as { readonly reason: string; readonly details: Record<string, unknown> }
  return [reason, details["field"]]
}
const create = (asked: OrderRequest, caller: Caller = tokenCaller) =>
  Effect.flatMap(Orders, (orders) => orders.create(caller, asked))
const refusedCreate = (asked: Partial<OrderRequest>) =>
  Effect.map(Effect.flip(create({ ...limit, ...asked })), reasonOf)

describe("placing an order", () => {
  it.effect("fills in the defaults of docs/contract/orders.md#new-order", () => {
    const { commands, layer } = accepting()
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* create(limit), { order_id: orderId, order_link_id: "a-1" })
      yield* create({ ...limit, order_type: "Market", price: "1" })
      yield* create({ ...limit, time_in_force: "PostOnly" })
      const orders = commands.map(({ body }) => (body.type === "place" ? body.order : undefined))
      assert.deepStrictEqual(orders[0], {
        symbol: "BTC-USDC",
        side: "Buy",
        order_type: "Limit",
        qty: "0.5",
        price: "60000.0",
        time_in_force: "GTC",
        post_only: false,
        reduce_only: false,
        close_on_trigger: false,
        order_link_id: undefined,
        expire_time: undefined,
        trigger: undefined,
        tpsl: undefined,
        smp_type: "CancelTaker"
      })
      assert.deepInclude(orders[1], { time_in_force: "IOC", price: undefined })
      assert.deepInclude(orders[2], { time_in_force: "GTC", post_only: true })
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses what the instrument forbids, and forwards nothing of it", () => {
    const { commands, layer } = accepting()
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* refusedCreate({ price: "60000.05" }), ["NotMultipleOfTick", "price"])
      assert.deepStrictEqual(yield* refusedCreate({ qty: "0.0005" }), ["NotMultipleOfStep", "qty"])
      assert.deepStrictEqual(yield* refusedCreate({ qty: "100.001" }), ["OutOfRange", "qty"])
      assert.deepStrictEqual(yield* refusedCreate({ qty: "0" }), ["OutOfRange", "qty"])
      assert.deepStrictEqual(yield* refusedCreate({ price: "1000000.1" }), ["OutOfRange", "price"])
      assert.deepStrictEqual(yield* refusedCreate({ qty: "0.001", price: "4999.9" }), ["OutOfRange", "qty"])
      assert.deepStrictEqual(yield* refusedCreate({ order_type: "Market", qty: "30.001" }), ["OutOfRange", "qty"])
      assert.deepStrictEqual(yield* refusedCreate({ order_type: "Market", time_in_force: "GTC" }), [
        "InvalidField",
        "time_in_force"
      ])
      assert.deepStrictEqual(yield* refusedCreate({ time_in_force: "IOC", post_only: true }), [
        "InvalidField",
        "post_only"
      ])
      assert.deepStrictEqual(yield* refusedCreate({ symbol: "btc-usdc" }), ["SymbolNotFound", "symbol"])
      const { price: _, ...priceless } = limit
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(create(priceless))), ["MissingField", "price"])
      assert.deepStrictEqual(commands, [])
      yield* create({ ...limit, qty: "0", reduce_only: true, close_on_trigger: true })
      assert.lengthOf(commands, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("gives an order with a reference one command for ever, so that a retry cannot double it", () => {
    const { commands, layer } = accepting()
    return Effect.gen(function* () {
      for (const sub_account_address of [v1, v1, v0]) {
        yield* create({ ...limit, sub_account_address, order_link_id: "a-1" })
      }
      yield* create(limit)
      yield* create(limit)
      const [first, again, elsewhere, plain, other] = commands.map(({ command_id }) => command_id)
      assert.strictEqual(first, again)
      assert.strictEqual(new Set([first, elsewhere, plain, other]).size, 4)
      assert.match(first!, /^[0-9a-f]{8}-[0-9a-f]{4}-5/u)
    }).pipe(Effect.provide(layer))
  })

  it.effect("returns the first order to a client that repeats a request", () => {
    const { layer } = desk(() => Effect.succeed(ack({ duplicate: true })))
    return Effect.gen(function* () {
      const refused = yield* Effect.flip(create({ ...limit, order_link_id: "a-1" }))
      assert.deepInclude(refused, { reason: "DuplicateOrderLinkId", details: { order_id: orderId } })
    }).pipe(Effect.provide(layer))
  })

  it.effect("hides the sub-accounts that a key is not bound to", () => {
    const { commands, layer } = accepting()
    const bound: Caller = { ...tokenCaller, via: "api-key", bound_to: new Set([v0]) }
    return Effect.gen(function* () {
      assert.strictEqual(reasonOf(yield* Effect.flip(create(limit, bound)))[0], "SubAccountNotFound")
      assert.deepStrictEqual(commands, [])
      yield* create({ ...limit, sub_account_address: v0 }, bound)
    }).pipe(Effect.provide(layer))
  })

  it.effect("forwards sub-accounts that are missing in the read model, which may lag", () => {
    const { commands, layer } = accepting()
    return Effect.gen(function* () {
      yield* create({ ...limit, sub_account_address: foreign })
      assert.strictEqual(commands[0]?.sub_account_address, foreign)
    }).pipe(Effect.provide(layer))
  })

  it.effect("waits for a well sequencer, after the request itself is found good", () => {
    const { commands, layer } = accepting({ health: { sequencer: () => ({ ...well, unhealthy: true, lag_ms: 9 }) } })
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* refusedCreate({ qty: "0.0005" }), ["NotMultipleOfStep", "qty"])
      assert.strictEqual((yield* refusedCreate({}))[0], "BackendLagging")
      assert.deepStrictEqual(commands, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("blames the database, not the backend, if the database accepts no event", () => {
    const { commands, layer } = accepting({
      health: { sequencer: () => ({ ...well, unhealthy: true, fault: "stalled" as const, lag_ms: 9_000 }) }
    })
    return Effect.gen(function* () {
      assert.strictEqual((yield* refusedCreate({}))[0], "DatabaseUnavailable")
      assert.deepStrictEqual(commands, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("reports that markets are not loaded rather than that the market does not exist", () => {
    const { layer } = accepting({ markets: { instruments: () => [], instrument: () => undefined } })
    return Effect.gen(function* () {
      assert.strictEqual((yield* refusedCreate({}))[0], "BackendUnavailable")
    }).pipe(Effect.provide(layer))
  })
})

const named = { sub_account_address: v1, symbol: "BTC-USDC", order_id: orderId }
const closed = { order_id: orderId, order_link_id: "a-1", symbol: "BTC-USDC", order_status: "Filled" } as Order

describe("amending and canceling", () => {
  it.effect("needs a name, and something to change", () => {
    const { commands, layer } = accepting()
    return Effect.gen(function* () {
      const orders = yield* Orders
      const nameless = { sub_account_address: v1, symbol: "BTC-USDC" }
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(orders.cancel(tokenCaller, nameless))), [
        "MissingField",
        "order_id"
      ])
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(orders.amend(tokenCaller, named))), ["MissingField", "price"])
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(orders.amend(tokenCaller, { ...named, price: "0.05" }))), [
        "NotMultipleOfTick",
        "price"
      ])
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(orders.amend(tokenCaller, { ...named, qty: "0.0001" }))), [
        "NotMultipleOfStep",
        "qty"
      ])
      assert.deepStrictEqual(commands, [])
      yield* orders.amend(tokenCaller, { ...named, qty: "0.3", order_iv: 2 })
      assert.deepStrictEqual(commands[0]?.body, {
        type: "amend",
        amend: {
          symbol: "BTC-USDC",
          order: { order_id: orderId, order_link_id: undefined },
          price: undefined,
          qty: "0.3",
          trigger_price: undefined,
          tpsl: undefined,
          order_iv: 2
        }
      })
    }).pipe(Effect.provide(layer))
  })

  it.effect("amends a trigger price or exits alone", () => {
    const { commands, layer } = accepting()
    return Effect.gen(function* () {
      const orders = yield* Orders
      yield* orders.amend(tokenCaller, { ...named, trigger: { trigger_price: "61000" } })
      yield* orders.amend(tokenCaller, { ...named, tpsl: { stop_loss: { market: { trigger_price: "59000" } } } })
      const amends = commands.map(({ body }) => (body.type === "amend" ? body.amend : undefined))
      assert.strictEqual(amends[0]?.trigger_price, "61000")
      assert.deepInclude(amends[1]?.tpsl, { stop_loss: { trigger_price: "59000", trigger_by: undefined } })
    }).pipe(Effect.provide(layer))
  })

  it.effect("an acknowledged amend that the engine refused fails with the reason", () => {
    const refusal = new CommandRefused({
      reason: "PostOnlyWouldTake",
      message: "a post-only order would take liquidity",
      details: { field: "price" }
    })
    const { layer } = desk(() => Effect.succeed(ack({ refusal })))
    return Effect.gen(function* () {
      const orders = yield* Orders
      assert.strictEqual(yield* Effect.flip(orders.amend(tokenCaller, { ...named, qty: "0.3" })), refusal)
    }).pipe(Effect.provide(layer))
  })

  it.effect("finds in the history what became of an order that the sequencer has forgotten", () => {
    const { layer } = refusing("OrderNotFound", { history: { order: () => Effect.succeed(closed) } })
    return Effect.gen(function* () {
      const orders = yield* Orders
      const refused = yield* Effect.flip(orders.cancel(tokenCaller, named))
      assert.deepInclude(refused, { reason: "OrderAlreadyClosed", details: { order_status: "Filled" } })
      const other = yield* Effect.flip(orders.cancel(tokenCaller, { ...named, order_link_id: "b-2" }))
      assert.deepStrictEqual(reasonOf(other), ["InvalidField", "order_link_id"])
      const elsewhere = yield* Effect.flip(
        orders.cancel(tokenCaller, { ...named, symbol: "BTC-USDC", order_id: orderId })
      )
      assert.strictEqual(reasonOf(elsewhere)[0], "OrderAlreadyClosed")
    }).pipe(Effect.provide(layer))
  })

  it.effect("reports OrderNotFound if the history has no such order, an open one, or one of another market", () =>
    Effect.forEach([undefined, { ...closed, order_status: "New" }, { ...closed, symbol: "ETH-USDC" }], (order) => {
      const { layer } = refusing("OrderNotFound", { history: { order: () => Effect.succeed(order as Order) } })
      return Effect.gen(function* () {
        const orders = yield* Orders
        assert.strictEqual(reasonOf(yield* Effect.flip(orders.cancel(tokenCaller, named)))[0], "OrderNotFound")
      }).pipe(Effect.provide(layer))
    })
  )

  it.effect("looks in the history for the order of the same user and sub-account, by its id where there is one", () => {
    const asked: Array<unknown> = []
    const order = (of: unknown) => Effect.sync(() => void asked.push(of))
    const { commands, layer } = refusing("OrderNotFound", { history: { order } })
    return Effect.gen(function* () {
      const orders = yield* Orders
      const place = { sub_account_address: v1, symbol: "BTC-USDC" }
      for (const name of [{ order_id: orderId, order_link_id: "a-1" }, { order_link_id: "a-1" }])
        yield* Effect.flip(orders.cancel(tokenCaller, { ...place, ...name }))
      assert.deepStrictEqual(
        commands.map(({ body }) => (body.type === "cancel" ? body.cancel.order : undefined)),
        [
          { order_id: orderId, order_link_id: "a-1" },
          { order_id: undefined, order_link_id: "a-1" }
        ]
      )
      const of = { user_id: userId, sub_account_address: v1 }
      assert.deepStrictEqual(asked, [
        { ...of, order_id: orderId, order_link_id: undefined },
        { ...of, order_id: undefined, order_link_id: "a-1" }
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("hides the sub-accounts that a key is not bound to", () => {
    const { commands, layer } = accepting()
    const bound: Caller = { ...tokenCaller, via: "api-key", bound_to: new Set([v0]) }
    return Effect.gen(function* () {
      const orders = yield* Orders
      for (const refused of [
        orders.cancel(bound, named),
        orders.amend(bound, { ...named, qty: "0.3" }),
        orders.cancelAll(bound, { sub_account_address: v1 })
      ] as ReadonlyArray<Effect.Effect<unknown, unknown>>)
        assert.strictEqual(reasonOf(yield* Effect.flip(refused))[0], "SubAccountNotFound")
      assert.deepStrictEqual(commands, [])
      yield* orders.cancel(bound, { ...named, sub_account_address: v0 })
      yield* orders.cancelAll(bound, { sub_account_address: v0 })
      assert.lengthOf(commands, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("cancels before the markets are loaded, and amends after it", () => {
    const { commands, layer } = accepting({ markets: { instruments: () => [], instrument: () => undefined } })
    return Effect.gen(function* () {
      const orders = yield* Orders
      yield* orders.cancel(tokenCaller, named)
      yield* orders.cancelAll(tokenCaller, { sub_account_address: v1 })
      const amend = yield* Effect.flip(orders.amend(tokenCaller, { ...named, qty: "0.3" }))
      assert.strictEqual(reasonOf(amend)[0], "BackendUnavailable")
      assert.deepStrictEqual(
        commands.map(({ body }) => body.type),
        ["cancel", "cancel_all"]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses a market that does not exist", () => {
    const { commands, layer } = accepting()
    return Effect.gen(function* () {
      const orders = yield* Orders
      for (const refused of [
        orders.cancel(tokenCaller, { ...named, symbol: "NO-USDC" }),
        orders.amend(tokenCaller, { ...named, symbol: "NO-USDC", qty: "0.3" }),
        orders.cancelAll(tokenCaller, { sub_account_address: v1, symbol: "NO-USDC" })
      ] as ReadonlyArray<Effect.Effect<unknown, unknown>>)
        assert.deepStrictEqual(reasonOf(yield* Effect.flip(refused)), ["SymbolNotFound", "symbol"])
      assert.deepStrictEqual(commands, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("cancels all orders that match every filter of the request, by default orders of all kinds", () => {
    const { commands, layer } = accepting()
    return Effect.gen(function* () {
      const orders = yield* Orders
      const filters = { symbol: "BTC-USDC", side: "Sell", order_filter: "Conditional", reduce_only: true } as const
      yield* orders.cancelAll(tokenCaller, { sub_account_address: v1, ...filters })
      yield* orders.cancelAll(tokenCaller, { sub_account_address: v1 })
      const of = { user_id: userId, sub_account_address: v1 }
      assert.deepStrictEqual(
        commands.map(({ body, sub_account_address, user_id }) => ({ body, sub_account_address, user_id })),
        [
          { ...of, body: { type: "cancel_all", cancel_all: { ...filters, cancel_type: "CancelByUser" } } },
          {
            ...of,
            body: {
              type: "cancel_all",
              cancel_all: {
                symbol: undefined,
                side: undefined,
                order_filter: "All",
                reduce_only: undefined,
                cancel_type: "CancelByUser"
              }
            }
          }
        ]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("tries cancels while the sequencer is unhealthy", () => {
    const { commands, layer } = accepting({ health: { sequencer: () => ({ ...well, unhealthy: true }) } })
    return Effect.gen(function* () {
      const orders = yield* Orders
      yield* orders.cancel(tokenCaller, named)
      assert.lengthOf(yield* orders.cancelAll(tokenCaller, { sub_account_address: v1, symbol: "BTC-USDC" }), 1)
      assert.strictEqual(
        reasonOf(yield* Effect.flip(orders.amend(tokenCaller, { ...named, qty: "1" })))[0],
        "BackendLagging"
      )
      assert.deepStrictEqual(
        commands.map(({ body }) => body.type),
        ["cancel", "cancel_all"]
      )
    }).pipe(Effect.provide(layer))
  })
})

describe("a batch", () => {
  it.effect("submits each order separately, in the order of the request, and returns each result", () => {
    const { commands, layer } = desk((command) =>
      command.body.type === "place" && command.body.order.qty === "0.3"
        ? Effect.fail(new CommandRefused({ reason: "SubAccountFrozen", message: "", details: {} }))
        : Effect.succeed(ack())
    )
    return Effect.gen(function* () {
      const orders = yield* Orders
      const asked = Array.from({ length: 20 }, (_, i) => ({ ...limit, qty: i === 7 ? "0.0001" : `0.${i + 1}` }))
      const results = yield* orders.createBatch(tokenCaller, asked)
      assert.deepStrictEqual(
        results.map(({ _tag }, i) => (_tag === "Failure" ? i : undefined)).filter((i) => i !== undefined),
        [2, 7]
      )
      assert.deepStrictEqual(
        commands.map(({ body }) => (body.type === "place" ? body.order.qty : "")),
        asked.map(({ qty }) => qty).filter((qty) => qty !== "0.0001")
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("submits an order before an earlier one is answered", () => {
    const { commands, layer } = desk((command) =>
      command.body.type === "cancel" && command.body.cancel.order.order_id === orderId
        ? Effect.never
        : Effect.succeed(ack())
    )
    return Effect.gen(function* () {
      const orders = yield* Orders
      const batch = yield* Effect.forkChild(
        orders.cancelBatch(tokenCaller, [named, { sub_account_address: v1, symbol: "BTC-USDC", order_link_id: "a-1" }])
      )
      yield* Effect.repeat(Effect.yieldNow, {
        until: () => commands.length === 2 || batch.pollUnsafe() !== undefined,
        times: 100
      })
      assert.lengthOf(commands, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("cancels while the sequencer is unhealthy", () => {
    const { commands, layer } = accepting({ health: { sequencer: () => ({ ...well, unhealthy: true }) } })
    return Effect.gen(function* () {
      const orders = yield* Orders
      const results = yield* orders.cancelBatch(tokenCaller, [named, { ...named, symbol: "NO-USDC" }])
      assert.deepStrictEqual(
        results.map(({ _tag }) => _tag),
        ["Success", "Failure"]
      )
      assert.lengthOf(commands, 1)
    }).pipe(Effect.provide(layer))
  })
})

/**
 * docs/contract/stories.md#conditional-order over real sockets with exact numbers: a conditional order, take profit and stop
 * loss, and the funds they move.
 */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { call, funded, type Session } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { type Frame, Socket } from "../../verification/harness/Socket.ts"

const pick = (record: Frame, ...keys: ReadonlyArray<string>) =>
  Object.fromEntries(keys.map((key) => [key, record[key]]))

describe("a conditional order", () => {
  let exchange: Exchange
  let user: Session
  let m: Session
  let x: Session
  let feed: Socket

  const index = async (price: string) => {
    const body = { symbol: "BTC-USDC", price }
    const { status } = await call(exchange, "PUT", "/api/v1/admin/index-price", { headers: basic, body })
    assert.strictEqual(status, 200)
  }
  const post = (path: string, of: Session, body: object) =>
    call(exchange, "POST", path, {
      token: of.token,
      body: { sub_account_address: of.vault, symbol: "BTC-USDC", ...body }
    })
  const order = async (of: Session, body: object) => {
    const answer = await post("/api/v1/order/create", of, body)
    assert.strictEqual(answer.status, 200, JSON.stringify(answer.body))
    return answer.body.order_id as string
  }
  const limit = (of: Session, side: string, qty: string, price: string, more: object = {}) =>
    order(of, { side, order_type: "Limit", qty, price, ...more })
  /** The next record of a topic that matches a predicate. */
  const next = async (topic: string, match: (record: Frame) => boolean): Promise<Frame> => {
    const { data } = await feed.event(topic, (data) => data.type === "update" && data.list.some(match))
    return data.list.find(match)
  }
  const status = (order_id: string, order_status: string) => (record: Frame) =>
    record.order_id === order_id && record.order_status === order_status
  /** The history's record of an order right after the response to its command. */
  const recordOf = async (of: Session, order_id: string): Promise<Frame> => {
    const { body } = await call(exchange, "GET", `/api/v1/order/history?order_id=${order_id}`, { token: of.token })
    assert.lengthOf(body.list, 1)
    return body.list[0]
  }
  const walletOf = async (of: Session): Promise<string> =>
    (await call(exchange, "GET", "/api/v1/account/balances", { token: of.token })).body.list[0].wallet_balance

  beforeAll(async () => {
    exchange = await startExchange({ env: { FAUCET_DAILY_LIMIT: "1000000" } })
    await index("60000")
    user = await funded(exchange)
    m = await funded(exchange, "100000")
    x = await funded(exchange)
    feed = await Socket.open(exchange, "/ws/private")
    feed.send({ op: "auth", bearer: user.token })
    feed.send({ op: "subscribe", args: ["order", "execution", "position", "account_balance"] })
    await feed.next("subscribed", (frame) => frame.op === "subscribed")
  })
  afterAll(async () => {
    feed?.close()
    await exchange?.close()
  })

  it("matches the story's numbers", async () => {
    // 1: it is Untriggered, and reserves no margin
    const conditional = await order(user, {
      side: "Buy",
      order_type: "Market",
      qty: "0.1",
      trigger: { trigger_price: "61000", trigger_by: "IndexPrice" }
    })
    assert.deepInclude(await recordOf(user, conditional), {
      order_status: "Untriggered",
      trigger: { trigger_by: "IndexPrice", trigger_direction: "Up", trigger_price: "61000" },
      stop_order_type: "Stop",
      create_type: "CreateByStopOrder",
      smp_type: "CancelTaker",
      price: "0",
      version: 1
    })
    const { body: balances } = await call(exchange, "GET", "/api/v1/account/balances", { token: user.token })
    assert.deepInclude(balances.list[0], { order_margin: "0", available_balance: "10000" })

    // 2: its trigger price is amended
    const amended = await post("/api/v1/order/amend", user, {
      order_id: conditional,
      trigger: { trigger_price: "60500" }
    })
    assert.strictEqual(amended.status, 200, JSON.stringify(amended.body))
    const moved = await recordOf(user, conditional)
    assert.deepStrictEqual([moved.version, moved.trigger.trigger_price], [2, "60500"])

    // 3: the index reaches it
    await limit(m, "Sell", "0.1", "60500")
    await index("60500")
    for (const step of ["Triggered", "New"]) await next("order", status(conditional, step))
    assert.deepStrictEqual(
      pick(await next("execution", () => true), "order_id", "exec_qty", "exec_price", "base_fee", "is_maker"),
      { order_id: conditional, exec_qty: "0.1", exec_price: "60500", base_fee: "3.3275", is_maker: false }
    )
    await next("order", status(conditional, "Filled"))
    assert.strictEqual((await next("account_balance", () => true)).wallet_balance, "9996.6725")

    // 4: a trigger price that is reached already
    const late = await order(user, {
      side: "Buy",
      order_type: "Market",
      qty: "0.1",
      trigger: { trigger_price: "59000", trigger_by: "IndexPrice", trigger_direction: "Up" }
    })
    const rejected = await next("order", status(late, "Rejected"))
    assert.strictEqual(rejected.reject_reason, "EcTriggerAlreadyMet")
    assert.isString(rejected.reject_message)

    // 5: take profit and stop loss take effect with the fill
    const guarded = await limit(user, "Buy", "0.1", "60000", {
      tpsl: {
        take_profit: { market: { trigger_price: "62000" } },
        stop_loss: { market: { trigger_price: "59000" } }
      }
    })
    assert.deepStrictEqual((await recordOf(user, guarded)).tpsl, {
      mode: "Full",
      take_profit: { market: { trigger_by: "LastPrice", trigger_price: "62000" } },
      stop_loss: { market: { trigger_by: "LastPrice", trigger_price: "59000" } }
    })
    await limit(m, "Sell", "0.1", "60000")
    assert.deepStrictEqual(pick(await next("execution", () => true), "order_id", "base_fee", "is_maker"), {
      order_id: guarded,
      base_fee: "1.2",
      is_maker: true
    })
    const profit = await next("order", (record) => record.stop_order_type === "TakeProfit")
    const loss = await next("order", (record) => record.stop_order_type === "StopLoss")
    for (const leg of [profit, loss])
      assert.deepInclude(leg, {
        order_status: "Untriggered",
        parent_order_id: guarded,
        order_type: "Market",
        reduce_only: true,
        close_on_trigger: true
      })
    assert.strictEqual(await walletOf(user), "9995.4725")
    const open = await call(exchange, "GET", "/api/v1/position/list", { token: user.token })
    assert.deepInclude(open.body.list[0], {
      size: "0.2",
      avg_price: "60250",
      take_profit: "62000",
      stop_loss: "59000"
    })

    // 6: one of them triggers, the other one is Deactivated
    await index("62000")
    await limit(m, "Buy", "0.21", "62000")
    await limit(x, "Sell", "0.01", "62000")
    await next("order", status(profit.order_id, "Triggered"))
    assert.deepInclude(await next("order", status(loss.order_id, "Deactivated")), {
      cancel_type: "CancelByOcoSlCanceledByTpTriggered"
    })
    assert.deepStrictEqual(pick(await next("execution", () => true), "exec_qty", "exec_price", "base_fee"), {
      exec_qty: "0.2",
      exec_price: "62000",
      base_fee: "6.82"
    })
    assert.deepInclude(await next("order", status(profit.order_id, "Filled")), {
      create_type: "CreateByTakeProfit",
      cum_exec_qty: "0.2"
    })
    const flat = await call(exchange, "GET", "/api/v1/position/list", { token: user.token })
    assert.deepStrictEqual(flat.body.list, [])

    // 7: at the end
    assert.strictEqual(await walletOf(user), "10338.6525")
    assert.strictEqual(await walletOf(m), "99642.886")
    assert.strictEqual(await walletOf(x), "9999.659")
  })

  it("closes the rest of a position, of any size, at its trigger", async () => {
    await limit(m, "Buy", "0.05", "62000")
    await order(x, { side: "Sell", order_type: "Market", qty: "0.05" })
    const close = await order(x, {
      side: "Buy",
      order_type: "Market",
      qty: "0",
      reduce_only: true,
      close_on_trigger: true,
      trigger: { trigger_price: "61500", trigger_by: "IndexPrice" }
    })
    const { price, qty } = await recordOf(x, close)
    const amend = { order_id: close, price, qty }
    assert.deepInclude(await post("/api/v1/order/amend", x, amend), { status: 200 })
    await limit(m, "Sell", "0.2", "61500")
    await index("61500")
    const filled = await eventually(
      "the position closes",
      () => recordOf(x, close),
      (record) => record.order_status === "Filled"
    )
    assert.deepInclude(filled, { cum_exec_qty: "0.06", qty: "0.06" })
  })

  it("expires as GTT at its time, not before", async () => {
    const expire_time = Date.now() + 1500
    const gtt = await limit(user, "Buy", "0.001", "59000", { time_in_force: "GTT", expire_time })
    assert.deepInclude(await recordOf(user, gtt), { order_status: "New", expire_time: String(expire_time) })
    const expired = await next("order", status(gtt, "Expired"))
    assert.strictEqual(expired.cancel_type, "CancelByExpiry")
    assert.isAtLeast(Number(expired.updated_time), expire_time)
  })
})

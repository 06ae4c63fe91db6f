/** A call is refused for the names for which REST refuses a request, and for parameters that no path can hold. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { makeWorld, type World } from "../spec/World.ts"
import { type Answer, callOf, post, RawCalls, refusalOf } from "./RawCalls.ts"

const TIMEOUT = 60_000

describe("a call with a name that its endpoint does not take", () => {
  let world: World
  let order: Record<string, unknown>
  beforeAll(async () => {
    world = await makeWorld()
    const { vault } = world.alice
    order = {
      sub_account_address: vault,
      symbol: "BTC-USDC",
      side: "Buy",
      order_type: "Limit",
      qty: "0.001",
      price: "50000"
    }
  }, TIMEOUT)
  afterAll(() => world?.exchange.close())

  const headers = () => [["authorization", `Bearer ${world.alice.token}`]]
  const overHttp = async (tag: string, input: unknown): Promise<Answer> =>
    (await post(world.exchange.url, callOf(1, tag, input, headers()))).answers[0]
  const overWebSocket = async (tag: string, input: unknown): Promise<Answer> => {
    const calls = await RawCalls.open(world.exchange.url)
    calls.send(callOf(1, tag, input, headers()))
    const [end] = await calls.ends(1)
    calls.raw.socket.destroy()
    return end
  }
  const overRest = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${world.exchange.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${world.alice.token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const { code, details, message } = (await response.json()) as Answer
    return { code, details, message }
  }

  for (const [name, call] of Object.entries({ HTTP: overHttp, WebSocket: overWebSocket })) {
    it(`is refused with the error of REST over ${name}`, async () => {
      const { vault } = world.alice
      for (const [tag, input, method, path] of [
        ["order.create", { payload: { ...order, reduceOnly: true } }, "POST", "/order/create"],
        ["order.createBatch", { payload: { orders: [{ ...order, postOnly: true }] } }, "POST", "/order/create-batch"],
        [
          "order.cancelAll",
          { payload: { sub_account_address: vault, Symbol: "ETH-USDC" } },
          "POST",
          "/order/cancel-all"
        ],
        ["order.history", { query: { symbl: "ETH-USDC" } }, "GET", "/order/history?symbl=ETH-USDC"],
        ["user.me", { query: { symbol: "ETH-USDC" } }, "GET", "/user/me?symbol=ETH-USDC"],
        ["order.history", { query: { limit: "1e1" } }, "GET", "/order/history?limit=1e1"],
        ["market.kline", { query: { limit: "5.0" } }, "GET", "/market/kline?limit=5.0"]
      ] as const) {
        const refused = refusalOf(await call(tag, input))
        const body = "payload" in input ? input.payload : undefined
        assert.deepStrictEqual({ ...refused }, await overRest(method, path, body), tag)
        assert.match(refused!.details.reason, /^(?:Unknown(?:Field|Parameter)|InvalidField)$/u)
      }
    })
  }

  it("is refused where it has two meanings: a key twice, or two tokens", async () => {
    const { token } = world.alice
    const one = ["authorization", `Bearer ${token}`]
    const doubled = callOf(1, "order.create", { payload: order }, [one]).replace(
      '"qty":"0.001"',
      '"qty":"0.001","qty":"5"'
    )
    const two = callOf(2, "user.me", null, [one, ["Authorization", "Bearer another"]])
    const calls = await RawCalls.open(world.exchange.url)
    calls.send(doubled, two)
    const overSocket = await calls.ends(2)
    calls.raw.socket.destroy()
    for (const answers of [overSocket, (await post(world.exchange.url, doubled + two)).answers]) {
      const reasons = answers.map((answer) => refusalOf(answer)?.details.reason)
      assert.deepStrictEqual(reasons, ["MalformedJson", "AmbiguousAuth"])
    }
  })

  it("is refused by POST where its text is no UTF-8", async () => {
    const text = Buffer.from(callOf(1, "market.tickers", { query: { symbol: "BTC-USDC~" } }))
    const bytes = new Uint8Array(text.map((byte) => (byte === "~".charCodeAt(0) ? 0xff : byte)))
    const { answers } = await post(world.exchange.url, bytes)
    assert.deepStrictEqual(answers, [{ _tag: "Defect", defect: "expected a body in UTF-8" }])
  })

  it("is accepted where REST ignores the name: a snake_case key of a body", async () => {
    const { exit } = await overHttp("order.create", { payload: { ...order, strategy_tag: "a" } })
    assert.strictEqual(exit._tag, "Success")
    assert.isUndefined((await overRest("POST", "/order/create", { ...order, strategy_tag: "a" })).code)
  })

  it("is refused where a whole part would be dropped", async () => {
    const refused = refusalOf(await overHttp("order.history", { querry: { symbol: "ETH-USDC" } }))
    assert.deepStrictEqual(refused?.details, { reason: "UnknownField", field: "querry", nearest: ["query"] })
  })

  it("is refused where a feed would begin elsewhere than its caller means", async () => {
    for (const [name, nearest] of [
      ["Since", ["since"]],
      ["since_seq", undefined]
    ] as const) {
      const call = { topics: ["order"], [name]: { stream_id: "a", seq: 1 } }
      const refused = refusalOf(await overWebSocket("feed.account", call))
      assert.deepInclude(refused?.details, { reason: "UnknownField", field: name })
      assert.deepStrictEqual(refused?.details.nearest, nearest)
    }
  })

  it("is refused, as no internal error, for a parameter that no path can hold", async () => {
    for (const root_address of [".", "..", "\ud800", "0x\udfff"]) {
      const refused = refusalOf(await overHttp("authorize.whitelisting", { params: { root_address } }))
      assert.deepStrictEqual(refused?.details, { reason: "InvalidField", field: "root_address" }, root_address)
    }
    for (const root_address of ["", "...", "/", "a/..", "%2e", "?", "#", ";", "\0"]) {
      const refused = refusalOf(await overHttp("authorize.whitelisting", { params: { root_address } }))
      assert.notStrictEqual(refused?.code ?? "INTERNAL", "INTERNAL", JSON.stringify(root_address))
    }
  })
})

/** One path, one host and one response at a time: any other form of request is refused on every transport. */
import type { AddressInfo } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { RawSocket, upgrade } from "../ws/RawSocket.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { exchangeBytes } from "./RawHttp.ts"
import { funded, type Session } from "../../verification/harness/RestClient.ts"

const lines = (...parts: ReadonlyArray<string>): string => `${parts.join("\r\n")}\r\n\r\n`
const get = (path: string, ...headers: ReadonlyArray<string>): string =>
  lines(`GET ${path} HTTP/1.1`, "Host: g", "Connection: close", ...headers)

let exchange: Exchange
let user: Session
let port: number
beforeAll(async () => {
  exchange = await startExchange()
  user = await funded(exchange)
  port = (exchange.server.address() as AddressInfo).port
}, 60_000)
afterAll(() => exchange?.close())

/** The path with each of its letters encoded in turn. */
const aliasesOf = (path: string): ReadonlyArray<string> =>
  [...path].flatMap((letter, i) =>
    letter === "/" ? [] : [`${path.slice(0, i)}%${letter.codePointAt(0)!.toString(16)}${path.slice(i + 1)}`]
  )
const encodedOrder = "/api/v1/order/creat%65"

describe("a path", () => {
  for (const path of [
    "/metrics",
    "/health",
    "/api/v1/market/time",
    "/api/v1/market/tickers",
    "/.well-known/jwks.json"
  ]) {
    it(`Amendment 22: ${path} with an encoded letter is 404`, async () => {
      assert.match((await exchangeBytes(port, [get(path)]))[0]!, /^HTTP\/1\.1 [24]0[05]? /u)
      for (const alias of aliasesOf(path)) {
        const [answer] = await exchangeBytes(port, [get(alias)])
        assert.match(answer!, /^HTTP\/1\.1 404 /u, alias)
        assert.include(answer, '"reason":"NoSuchRoute"', alias)
      }
    })
  }

  it("Amendment 22: an encoded letter in the path of a command, of calls, or of a parameter is 404", async () => {
    const post = (path: string, body = "{}") =>
      lines(`POST ${path} HTTP/1.1`, "Host: g", "Connection: close", `Content-Length: ${body.length}`) + body
    const parameter = `/api/v1/authorize/whitelist/0x${"11".repeat(31)}1%31`
    for (const bytes of [post(encodedOrder), post("/r%70c"), get(parameter), post("/api%2Fv1/order/create")]) {
      assert.match((await exchangeBytes(port, [bytes]))[0]!, /^HTTP\/1\.1 404 /u, bytes)
    }
    // parts of a path that need encoding still work
    const party = lines(
      `GET /api/v1/authorize/whitelist/${encodeURIComponent("a::1220")} HTTP/1.1`,
      "Host: g",
      "Connection: close"
    )
    assert.match((await exchangeBytes(port, [party]))[0]!, /^HTTP\/1\.1 401 /u)
  })

  it("Amendment 22: a ; or a # is part of the path, so what follows it is no second query", async () => {
    const send = (method: string, path: string, ...headers: ReadonlyArray<string>) =>
      lines(`${method} ${path} HTTP/1.1`, "Host: g", "Connection: close", ...headers, "Content-Length: 2") + "{}"
    const bearer = `Authorization: Bearer ${user.token}`
    for (const mark of [";", "#"]) {
      for (const bytes of [
        get(`/metrics${mark}x`),
        get(`/api/v1/market/tickers${mark}symbol=BTC-USDC`),
        get(`/api/v1/market/tickers${mark}x?symbol=BTC-USDC`),
        get(`/api/v1/order/realtime${mark}symbl=ETH-USDC`, bearer),
        send("PUT", `/api/v1/authorize/whitelist/0xbeef${mark}other`),
        send("POST", `/api/v1/order/cancel-all${mark}x`, bearer),
        send("POST", `/rpc${mark}x`)
      ]) {
        const [answer] = await exchangeBytes(port, [bytes])
        assert.match(answer!, /^HTTP\/1\.1 404 /u, bytes)
        assert.include(answer, '"reason":"NoSuchRoute"', bytes)
      }
    }
    // in a query they are ordinary characters
    const [filtered] = await exchangeBytes(port, [get("/api/v1/market/tickers?symbol=BTC;USDC")])
    assert.include(filtered, '"reason":"SymbolNotFound"')
  })

  it("Amendment 22: an upgrade of an alias path is 404", async () => {
    const aliases = ["/w%73", "/ws/publi%63", "/ws/private%2F", "/%72pc", "/ws%2Fpublic"]
    for (const path of [...aliases, "/ws;x", "/ws/public#x", "/ws/private;x?y", "/rpc;x", "/rpc#x"]) {
      const raw = await RawSocket.open(exchange.url, path)
      assert.strictEqual(raw.status, 404, path)
      raw.socket.destroy()
    }
  })
})

describe("a host", () => {
  const twice = ["Host: g", "Host: other"]
  it("Amendment 22: two Host headers are 400, on REST, the fast path, calls and upgrades", async () => {
    const body = "{}"
    const requests = [
      lines("GET /health HTTP/1.1", ...twice),
      lines("GET /api/v1/market/tickers HTTP/1.1", "Host: g", "X: y", "hOST: g"),
      lines("POST /api/v1/order/create HTTP/1.1", ...twice, `Content-Length: ${body.length}`) + body,
      lines("POST /rpc HTTP/1.1", ...twice, "Content-Length: 0"),
      ...["/ws", "/ws/public", "/ws/private", "/rpc"].map((path) => upgrade(path, ["Host: other"])),
      upgrade("/ws/public").replace("Host: gateway\r\n", "")
    ]
    for (const bytes of requests) {
      const [answer] = await exchangeBytes(port, [bytes], { until: "}" })
      assert.match(answer!, /^HTTP\/1\.1 400 /u, bytes)
      assert.include(answer, '"reason":"MalformedRequest"', bytes)
      assert.include(answer, "Host", bytes)
    }
  })
})

describe("an upgrade after a request without a response", () => {
  const order = (): string => {
    const body = JSON.stringify({
      sub_account_address: user.vault,
      symbol: "BTC-USDC",
      side: "Buy",
      order_type: "Limit",
      qty: "0.001",
      price: "59000"
    })
    const head = lines(
      "POST /api/v1/order/create HTTP/1.1",
      "Host: g",
      `Authorization: Bearer ${user.token}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`
    )
    return head + body
  }
  it("Amendment 22: is refused after the pending response, and the connection is closed", async () => {
    for (const path of ["/ws/public", "/ws/private", "/rpc", "/nope"]) {
      const answers = await exchangeBytes(port, [order() + upgrade(path)])
      assert.lengthOf(answers, 2, answers.join("\n"))
      assert.match(answers[0]!, /^HTTP\/1\.1 200 /u)
      assert.include(answers[0], '"order_id"')
      assert.match(answers[1]!, /^HTTP\/1\.1 400 [^]*connection: close/iu)
      assert.include(answers[1], '"reason":"MalformedRequest"')
    }
    const two = await exchangeBytes(port, [order() + order() + upgrade("/ws/public")])
    assert.deepStrictEqual(
      two.map((answer) => answer.split(" ")[1]),
      ["200", "200", "400"]
    )
  })

  it("is accepted after the response was sent", async () => {
    const raw = new RawSocket(exchange.url, order())
    await raw.until("the answer", () => raw.head)
    raw.socket.destroy()
    const kept = await exchangeBytes(port, [order(), upgrade("/ws/public")], { until: " 101 " })
    assert.match(kept[1]!, /^HTTP\/1\.1 101 /u)
  })
})

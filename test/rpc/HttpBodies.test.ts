/** Bodies of calls by POST are received as those of REST. */
import { once } from "node:events"
import { type AddressInfo, connect } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { transportLimits } from "../../src/domain/TransportLimits.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, funded } from "../../verification/harness/RestClient.ts"
import { until } from "../../verification/harness/Wait.ts"
import { exchangeBytes } from "../e2e/RawHttp.ts"
import { callOf, post, refusalOf } from "./RawCalls.ts"

describe("a body of calls", () => {
  let exchange: Exchange
  let port: number
  beforeAll(async () => {
    exchange = await startExchange()
    port = (exchange.server.address() as AddressInfo).port
  }, 60_000)
  afterAll(() => exchange?.close())

  const head = (length: number, ...fields: ReadonlyArray<string>): string =>
    ["POST /rpc HTTP/1.1", "Host: g", `Content-Length: ${length}`, ...fields, "", ""].join("\r\n")

  it("is read after 100 Continue if the client waits for it", async () => {
    const body = callOf(1, "market.time")
    const parts = [head(body.length, "Expect: 100-continue", "Connection: close"), body]
    const answers = await exchangeBytes(port, parts)
    assert.deepStrictEqual(
      answers.map((answer) => answer.split(" ")[1]),
      ["100", "200"]
    )
    assert.include(answers[1], '"_tag":"Success"')
  })

  it("that is too large is 413 with the id of the request, and not asked for", async () => {
    const length = transportLimits.body_bytes.figure + 1
    const fields = ["X-Request-Id: large-1", "", ""]
    const chunked = ["POST /rpc HTTP/1.1", "Host: g", "Transfer-Encoding: chunked", ...fields].join("\r\n")
    for (const bytes of [
      head(length, "Expect: 100-continue", "X-Request-Id: large-1"),
      head(length, "X-Request-Id: large-1"),
      `${chunked}${length.toString(16)}\r\n${"x".repeat(length)}\r\n0\r\n\r\n`
    ]) {
      // the connection ends: the body of an announced length is not read
      const [answer] = await exchangeBytes(port, [bytes])
      assert.match(answer!, /^HTTP\/1\.1 413 [^]*connection: close/iu)
      assert.include(answer, '"reason":"BodyTooLarge"')
      const whole = answer!.slice(answer!.indexOf("{"))
      assert.include(whole, '"request_id":"large-1"')
    }
  })

  it("that is exactly as large as the limit is read", async () => {
    const body = callOf(1, "market.time").padEnd(transportLimits.body_bytes.figure, "\n")
    const { answers, status } = await post(exchange.url, body)
    assert.deepStrictEqual([status, answers[0]?.exit._tag], [200, "Success"])
  })

  it("counts its calls with those of the requests before it on the connection, which are in flight", async () => {
    const alice = await funded(exchange)
    const headers = [["authorization", `Bearer ${alice.token}`]]
    const feed = (id: number) => callOf(id, "feed.account", { topics: ["order"] }, headers)
    const streams = Array.from({ length: transportLimits.calls_in_flight.figure }, (_, id) => feed(id)).join("")
    const beyond = callOf("beyond", "market.time")
    const socket = connect(port, "127.0.0.1")
    let text = ""
    socket.setEncoding("utf8").on("data", (some: string) => (text += some))
    socket.write(head(streams.length) + streams)
    await until(
      "all streams have begun",
      () => text.split('"subscribed"').length > transportLimits.calls_in_flight.figure
    )
    const received = once(exchange.server, "request")
    socket.write(head(beyond.length) + beyond)
    await received
    // read and answered before the streams end, after which its response follows theirs
    await post(exchange.url, callOf("between", "market.time"))
    await call(exchange, "POST", "/api/v1/authorize/logout", { token: alice.token })
    await until("its response", () => text.includes('"requestId":"beyond"'))
    socket.destroy()
    const line = text.split("\n").find((each) => each.includes('"requestId":"beyond"'))!
    assert.strictEqual(refusalOf(JSON.parse(line))?.code, "RateLimitExceeded")
  })
})

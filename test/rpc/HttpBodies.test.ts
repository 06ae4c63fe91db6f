/** Bodies of calls by POST are received as those of REST. */
import type { AddressInfo } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { transportLimits } from "../../src/domain/TransportLimits.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { exchangeBytes } from "../e2e/RawHttp.ts"
import { callOf } from "./RawCalls.ts"

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
    const fields = ["Expect: 100-continue", "X-Request-Id: large-1"]
    const bytes = head(transportLimits.body_bytes.figure + 1, ...fields)
    const [answer] = await exchangeBytes(port, [bytes], { until: 'large-1"}' })
    assert.match(answer!, /^HTTP\/1\.1 413 [^]*connection: close/iu)
    assert.include(answer, '"reason":"BodyTooLarge"')
    const whole = answer!.slice(answer!.indexOf("{"))
    assert.include(whole, '"request_id":"large-1"')
  })
})

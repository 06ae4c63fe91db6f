/**
 * Request smuggling: the gateway must see the same requests as the client, or the proxy in front of it. Directly, and behind
 * haproxy and nginx with shared upstream connections.
 */
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { startProxy } from "../doubles/FrontProxies.ts"
import { isInstalled } from "../../verification/harness/Programs.ts"
import { publicVectors } from "../vectors.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { answersTo, HIDDEN, pipelined, probes } from "./Probes.ts"

const requests = publicVectors("llhttp-requests/requests.json") as
  | {
      readonly cases: ReadonlyArray<{
        readonly title: string
        readonly type: string
        readonly error: object | null
        readonly pause?: string
        readonly base64: string
      }>
    }
  | undefined
const malformed = (requests?.cases ?? []).filter(
  ({ error, pause, type }) => type === "request" && error !== null && pause === undefined
)

let exchange: Exchange
let port: number
/** Targets of the requests that reached the handlers, in order. */
let handled: Array<string> = []
const onRequest = ({ url }: IncomingMessage) => void handled.push(url ?? "")

beforeAll(async () => {
  // all probes are sent at once, and half of each connection is closed before it is read
  exchange = await startExchange({ env: { ARRIVALS_PER_IP: "0" } })
  exchange.server.on("request", onRequest)
  port = (exchange.server.address() as AddressInfo).port
})
beforeEach(() => {
  handled = []
})
afterAll(() => exchange?.close())

/** Sends every probe on its own connection, concurrently; returns those whose hidden request was smuggled. */
const smuggled = async (door: number, thatIsAll: boolean): Promise<ReadonlyArray<string>> => {
  const answers = await Promise.all(probes.map(({ bytes }, no) => answersTo(door, bytes(no), thatIsAll)))
  return probes.flatMap(({ title }, no) => {
    const hidden = handled.filter((url) => url === `${HIDDEN}?no=${no}`).length
    // the visible request is handled first, and each visible request gets a response
    return hidden > 0 && answers[no]!.length < 1 + hidden ? [`${title}: ${hidden} for ${answers[no]!.join(" ")}`] : []
  })
}

describe("direct connections", () => {
  it.skipIf(requests === undefined)(
    `none of ${malformed.length} requests that a strict parser refuses becomes two`,
    async () => {
      for (const { base64, title } of malformed) {
        handled = []
        const answers = await answersTo(port, Buffer.from(base64, "base64"), true)
        for (const status of answers) assert.include([200, 400, 404, 405], status, title)
        assert.isAtMost(handled.length, 1, title)
      }
    }
  )

  it(`none of ${probes.length} requests with a hidden request is taken for two`, async () => {
    assert.deepStrictEqual(await smuggled(port, true), [])
    // except those that HTTP itself defines as two: an unknown header or version hides nothing
    const two = probes.flatMap(({ title }, no) => (handled.includes(`${HIDDEN}?no=${no}`) ? [title] : []))
    assert.deepStrictEqual(two, ['TE.CL "Transfer_Encoding: chunked"'])
  })

  it("two requests on one connection are two", async () => {
    assert.lengthOf(await answersTo(port, pipelined.bytes(0), true), 2)
    assert.include(handled, `${HIDDEN}?no=0`)
  })
})

for (const name of ["haproxy", "nginx"] as const) {
  describe.skipIf(!isInstalled(name))(`behind ${name}`, () => {
    let proxy: Awaited<ReturnType<typeof startProxy>>
    beforeEach(async () => {
      proxy = await startProxy(name, port)
    })
    afterEach(() => proxy?.stop())

    it(`none of ${probes.length} requests smuggles its hidden request, and others get their own responses`, async () => {
      assert.deepStrictEqual(await smuggled(proxy.hastyPort, false), [])
      handled = []
      for (let no = 0; no < 8; no++) {
        const path = `/api/v1/market/recent-trade?symbol=BTC-USDC&limit=${no + 1}`
        const answer = await fetch(`http://127.0.0.1:${proxy.port}${path}`, { headers: { connection: "close" } })
        const text = await answer.text()
        assert.strictEqual(answer.status, 200, text)
        assert.hasAllKeys(JSON.parse(text), ["list"])
        assert.deepStrictEqual(handled, [path])
        handled = []
      }
      assert.lengthOf(await answersTo(proxy.port, pipelined.bytes(0), false), 2)
      assert.include(handled, `${HIDDEN}?no=0`)
    })
  })
}

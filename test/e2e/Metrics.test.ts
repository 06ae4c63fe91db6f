/** A running exchange tells Prometheus what it did: requests of both ways, and open sockets. */
import { afterAll, assert, beforeAll, it } from "vitest"
import { call, eventually, type Exchange, funded, Socket, startExchange } from "./Exchange.ts"

let exchange: Exchange
beforeAll(async () => {
  exchange = await startExchange()
})
afterAll(() => exchange?.close())

const count = (text: string, method: string, route: string, status: number): number =>
  Number(
    new RegExp(
      `^gateway_http_request_duration_seconds_count\\{method="${method}",route="${route}",status="${status}"\\} (\\d+)$`,
      "mu"
    ).exec(text)?.[1] ?? 0
  )
const metrics = async (): Promise<string> => (await call(exchange, "GET", "/metrics")).body

it("counts requests that pass the framework by, and those that do not", async () => {
  await funded(exchange)
  for (let i = 0; i < 3; i++) await call(exchange, "GET", "/api/v1/market/tickers?symbol=BTC-USDC")
  await call(exchange, "GET", "/api/v1/market/tickers?symbol=NO-SUCH")
  const text = await eventually(
    "all counted",
    metrics,
    (text) => count(text, "GET", "/api/v1/market/tickers", 404) === 1
  )
  assert.strictEqual(count(text, "GET", "/api/v1/market/tickers", 200), 3)
  assert.strictEqual(count(text, "POST", "/api/v1/authorize", 200), 1)
  assert.include(text, 'gateway_backend_up{backend="sequencer"} 1\n')
})

it("counts open sockets", async () => {
  const socket = await Socket.open(exchange, "/ws/public")
  assert.include(await metrics(), "gateway_ws_connections 1\n")
  socket.close()
  await eventually("the socket gone", metrics, (text) => text.includes("gateway_ws_connections 0\n"))
})

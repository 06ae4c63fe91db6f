/** The metrics of a running exchange: requests of both paths, sockets, commands, caches and the backend. */
import { spawnSync } from "node:child_process"
import { afterAll, assert, beforeAll, it } from "vitest"
import { catalogue as ofBackend } from "../../src/backend/server/BackendMetrics.ts"
import { catalogue } from "../../src/services/operations/MetricNames.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { apiKeyHeaders, call, create, funded, newKeys } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { Socket } from "../../verification/harness/Socket.ts"

let exchange: Exchange
beforeAll(async () => {
  exchange = await startExchange({ env: { RATE_LIMIT_MODE: "report", RATE_PUBLIC: "3" } })
})
afterAll(() => exchange?.close())

const metrics = async (): Promise<string> => (await call(exchange, "GET", "/metrics")).body
/** The value of a series in the form `name{label="value"}`; 0 where it is absent. */
const valueOf = (text: string, series: string): number => {
  const line = text.split("\n").find((line) => line.startsWith(`${series} `))
  return line === undefined ? 0 : Number(line.slice(series.length + 1))
}
const served = (method: string, route: string, status: number): string =>
  `gateway_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`
/** Waits until a series has a value. */
const until = (series: string, value: number): Promise<string> =>
  eventually(`${series} ${value}`, metrics, (text) => valueOf(text, series) === value)

it("counts requests of the fast path and of the router", async () => {
  await funded(exchange)
  for (let i = 0; i < 3; i++) await call(exchange, "GET", "/api/v1/market/tickers?symbol=BTC-USDC")
  await call(exchange, "GET", "/api/v1/market/tickers?symbol=NO-SUCH")
  const text = await until(served("GET", "/api/v1/market/tickers", 404), 1)
  assert.strictEqual(valueOf(text, served("GET", "/api/v1/market/tickers", 200)), 3)
  assert.strictEqual(valueOf(text, served("POST", "/api/v1/authorize", 200)), 1)
  assert.strictEqual(valueOf(text, 'gateway_backend_up{backend="sequencer"}'), 1)
  assert.strictEqual(valueOf(text, 'gateway_dependency_up{dependency="database"}'), 1)
})

it("counts sockets by endpoint, subscriptions by topic, and the ends of sockets by cause", async () => {
  const listening = await Socket.open(exchange, "/ws/public")
  listening.send({ op: "subscribe", args: ["orderbook.50.BTC-USDC", "ticker.BTC-USDC"] })
  await listening.next("subscribed", ({ op }) => op === "subscribed")
  const wrong = await Socket.open(exchange, "/ws")
  const text = await metrics()
  assert.strictEqual(valueOf(text, "gateway_ws_connections"), 2)
  assert.strictEqual(valueOf(text, 'gateway_ws_sessions{endpoint="public"}'), 1)
  assert.strictEqual(valueOf(text, 'gateway_ws_sessions{endpoint="general"}'), 1)
  assert.strictEqual(valueOf(text, 'gateway_ws_subscriptions{topic="orderbook"}'), 1)
  assert.strictEqual(valueOf(text, 'gateway_ws_subscriptions{topic="ticker"}'), 1)
  assert.strictEqual(valueOf(text, 'gateway_ws_subscriptions{topic="kline"}'), 0)

  wrong.ws.send(Buffer.from([1]), { binary: true })
  await until('gateway_ws_closed_total{reason="NotText",code="1003"}', 1)
  listening.ws.terminate()
  await until('gateway_ws_closed_total{reason="Peer",code="0"}', 1)
  const later = await until("gateway_ws_connections", 0)
  assert.strictEqual(valueOf(later, 'gateway_ws_sessions{endpoint="public"}'), 0)
  assert.strictEqual(valueOf(later, 'gateway_ws_subscriptions{topic="orderbook"}'), 0)
})

it("counts an unreadable socket message once, by its code", async () => {
  const peers = 'gateway_ws_closed_total{reason="Peer",code="0"}'
  const before = valueOf(await metrics(), peers)
  const socket = await Socket.open(exchange, "/ws/public")
  // an unmasked frame
  ;(socket.ws as unknown as { readonly _socket: NodeJS.WritableStream })._socket.write(Buffer.from([0x81, 0x01, 0x61]))
  await until('gateway_ws_closed_total{reason="ProtocolError",code="1002"}', 1)
  assert.strictEqual(valueOf(await until("gateway_ws_connections", 0), peers), before)
})

it("counts commands by outcome, and their orders", async () => {
  const before = await metrics()
  const session = await funded(exchange)
  assert.strictEqual((await create(exchange, session, "a")).status, 200)
  assert.strictEqual((await create(exchange, session, "a", { qty: "0.002" })).status, 409)
  const acknowledged = 'gateway_commands_total{command="place",outcome="acknowledged"}'
  const text = await metrics()
  assert.strictEqual(valueOf(text, acknowledged) - valueOf(before, acknowledged), 1)
  assert.strictEqual(valueOf(text, 'gateway_commands_total{command="place",outcome="refused"}'), 1)
  assert.strictEqual(valueOf(text, "gateway_commands_pending"), 0)
  const commits = "gateway_projector_commit_seconds_count"
  await eventually("a commit of the histories", metrics, (later) => valueOf(later, commits) > valueOf(before, commits))
  const shown = await eventually("all shown", metrics, (text) => {
    const head = valueOf(text, "backend_head_seq")
    return head > 0 && valueOf(text, "gateway_projector_events_total") >= head
  })
  assert.isAbove(valueOf(shown, "gateway_projector_commit_seconds_count"), 0)
  assert.isAbove(valueOf(shown, "backend_journal_commit_seconds_count"), 0)
  assert.isAtLeast(valueOf(shown, "backend_turn_commands_sum"), 2)
  for (const name of ["backend_turn_seconds", "backend_journal_commit_seconds"]) {
    const mean = valueOf(shown, `${name}_sum`) / valueOf(shown, `${name}_count`)
    assert.isTrue(mean > 0 && mean < 1, `${name}: ${mean}`)
    const limits = [...shown.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"`, "gmu"))].map(([, limit]) => limit)
    assert.deepStrictEqual(limits.slice(0, 6), ["0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005"])
  }
})

it("counts refused credentials and rate-limited requests", async () => {
  await call(exchange, "GET", "/api/v1/user/me", { token: "a.b.c" })
  for (let i = 0; i < 4; i++) await call(exchange, "GET", "/api/v1/market/time")
  const text = await metrics()
  assert.strictEqual(valueOf(text, 'gateway_auth_failures_total{reason="InvalidToken"}'), 1)
  assert.isAbove(valueOf(text, 'gateway_rate_limit_refusals_total{bucket="public"}'), 0)
  assert.strictEqual(valueOf(text, 'gateway_rate_limit_refusals_total{bucket="api-key"}'), 0)
})

it("counts hits and misses of each cache", async () => {
  const keys = newKeys()
  const { token } = await funded(exchange)
  const body = { public_key: keys.publicKey, scopes: ["read"] }
  assert.strictEqual((await call(exchange, "POST", "/api/v1/user/api-keys", { token, body })).status, 201)
  // short-lived entries may expire on a slow machine: repeated until there was a hit
  const asked = async () => {
    for (let i = 0; i < 2; i++) {
      const headers = apiKeyHeaders(keys, "GET", "/api/v1/user/me")
      assert.strictEqual((await call(exchange, "GET", "/api/v1/user/me", { headers })).status, 200)
      await call(exchange, "GET", "/api/v1/market/instruments-info")
      assert.strictEqual((await call(exchange, "GET", "/api/v1/position/list", { token })).status, 200)
    }
    return metrics()
  }
  const series = ["tokens", "signature_keys", "api_keys", "answers"].flatMap((cache) =>
    ["hit", "miss"].map((result) => `gateway_cache_lookups_total{cache="${cache}",result="${result}"}`)
  )
  await eventually("each cache has known and not known", asked, (text) => series.every((one) => valueOf(text, one) > 0))
})

it("exports each metric of its tables and no other", async () => {
  const names = [...(await metrics()).matchAll(/^# TYPE (\S+) /gmu)].map((match) => match[1]!)
  assert.strictEqual(new Set(names).size, names.length)
  // without a collector nothing is sent
  const { gateway_otlp_records_total: _, ...here } = catalogue
  assert.sameMembers(names, [...Object.keys(here), ...Object.keys(ofBackend)])
})

it.skipIf(spawnSync("promtool", ["--version"]).status !== 0)("promtool finds nothing wrong with them", async () => {
  const { status, stderr, stdout } = spawnSync("promtool", ["check", "metrics"], {
    input: await metrics(),
    encoding: "utf8"
  })
  assert.deepStrictEqual([status, stdout, stderr], [0, "", ""])
})

/** /metrics is for those on this machine, and what is in it is what happened. */
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { createServer, get } from "node:http"
import type { AddressInfo } from "node:net"
import { measure } from "../../src/layers/node/Measure.ts"
import { tableOf } from "../../src/http/Http.ts"
import { HistoryUnavailable } from "../../src/services/History.ts"
import type { Served } from "../../src/services/Metrics.ts"
import { gateway, well } from "./Fixture.ts"

describe("/metrics", () => {
  it("reports the lag behind the backend at the time of the request", async () => {
    let lag_events = 3
    const { dispose, fetch } = gateway({
      health: { sequencer: () => ({ ...well, lag_events, lag_ms: 250 }), referee: () => ({ ...well, unhealthy: true }) }
    })
    const response = await fetch("GET", "/metrics", { authorization: null })
    assert.strictEqual(response.status, 200)
    assert.match(response.headers.get("content-type")!, /^text\/plain; version=0\.0\.4/u)
    const text = await response.text()
    assert.include(text, "# TYPE gateway_backend_lag_events gauge\n")
    assert.include(text, 'gateway_backend_lag_events{backend="sequencer"} 3\n')
    assert.include(text, 'gateway_backend_lag_seconds{backend="sequencer"} 0.25\n')
    assert.include(text, 'gateway_backend_up{backend="sequencer"} 1\n')
    assert.include(text, 'gateway_backend_up{backend="referee"} 0\n')
    assert.include(text, "gateway_ws_connections 0\n")
    lag_events = 4
    const later = await (await fetch("GET", "/metrics")).text()
    assert.include(later, 'gateway_backend_lag_events{backend="sequencer"} 4\n')
    await dispose()
  })

  it("reports readiness, and whether the database responds", async () => {
    let lost = false
    const position = Effect.suspend(() =>
      lost ? Effect.fail(new HistoryUnavailable({ cause: "gone" })) : Effect.succeed(undefined)
    )
    const { dispose, fetch } = gateway({ history: { position } })
    const gauges = async () =>
      (await (await fetch("GET", "/metrics")).text()).match(/^gateway_(?:ready|database_up) \d$/gmu)
    assert.deepStrictEqual(await gauges(), ["gateway_ready 1", "gateway_database_up 1"])
    lost = true
    assert.deepStrictEqual(await gauges(), ["gateway_ready 0", "gateway_database_up 0"])
    await dispose()
  })

  it("does not exist for others, nor through an unlisted proxy", async () => {
    const asked = async (trustedProxies: number, metricsPublic: boolean, forwarded?: string) => {
      const { dispose, fetch } = gateway({ trustedProxies, metricsPublic })
      const headers = forwarded === undefined ? {} : { "x-forwarded-for": forwarded }
      const { status } = await fetch("GET", "/metrics", { headers })
      await dispose()
      return status
    }
    assert.deepStrictEqual(
      [
        await asked(0, false, "127.0.0.1"),
        await asked(1, false, "203.0.113.9"),
        await asked(1, false, "127.0.0.1, 203.0.113.9"),
        await asked(1, false, "127.0.0.1"),
        await asked(1, false, "127.0.0.2"),
        await asked(1, false, "::1"),
        await asked(1, false, "::2"),
        await asked(1, false),
        await asked(1, true, "203.0.113.9"),
        await asked(0, true, "203.0.113.9")
      ],
      [404, 404, 404, 200, 200, 200, 404, 200, 200, 200]
    )
  })

  it("takes GET only", async () => {
    const { dispose, fetch } = gateway()
    const response = await fetch("POST", "/metrics", { body: {} })
    assert.strictEqual(response.status, 405)
    assert.include(response.headers.get("allow"), "GET")
    await dispose()
  })
})

describe("measuring", () => {
  it("labels each request by its endpoint, never by its path, and aborted requests as 499", async () => {
    const served: Array<Served> = []
    let notify = () => {}
    const server = createServer((request, response) => {
      if (request.url !== "/health") response.writeHead(201).end()
    })
    const metrics = { served: (one: Served) => (served.push(one), notify()), sockets: () => {} }
    const stop = measure(server, metrics as never, tableOf({ trustedProxies: 0 }).routeOf)
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const nextServed = () => new Promise<void>((resolve) => (notify = resolve))
    for (const path of ["/api/v1/user/api-keys/1?a=b", "/api/v1/market/time", "/nope/7"]) {
      const counted = nextServed()
      await (await fetch(`${url}${path}`, { method: "DELETE" })).arrayBuffer()
      await counted
    }
    const left = nextServed()
    const leaving = get(`${url}/health`)
    leaving.on("error", () => {})
    server.once("request", () => leaving.destroy())
    await left
    assert.deepStrictEqual(
      served.map(({ method, route, status }) => [method, route, status]),
      [
        ["DELETE", "/api/v1/user/api-keys/:api_key_id", 201],
        ["DELETE", "/api/v1/market/time", 201],
        ["DELETE", "", 201],
        ["GET", "/health", 499]
      ]
    )
    for (const { seconds } of served) assert.isTrue(seconds > 0 && seconds < 30)
    stop()
    server.closeAllConnections()
    server.close()
  })
})

/** deploy/haproxy.cfg with a real HAProxy: routing while gateways are down, or none is ready. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, assert, describe, it } from "vitest"
import { startBalancer } from "../../verification/harness/HAProxy.ts"
import { until } from "../../verification/harness/Wait.ts"
import { freePort, isInstalled } from "../../verification/harness/Programs.ts"

/** Responds 200, and at /ready with a status that the test sets. */
const gateway = (ready: () => number): Promise<Server> =>
  new Promise((resolve) => {
    const server = createServer((request, response) => {
      response.statusCode = request.url === "/ready" ? ready() : 200
      response.end()
    })
    server.listen(0, "127.0.0.1", () => resolve(server))
  })
const placeOf = (server: Server, i: number) => ({
  name: `gateway${i + 1}`,
  host: "127.0.0.1",
  port: (server.address() as AddressInfo).port
})
const post = (url: string) => fetch(url, { method: "POST", body: "{}" }).then(({ status }) => status)

describe.skipIf(!isInstalled("haproxy"))("the balancer that is deployed", { timeout: 180_000 }, () => {
  const closing: Array<() => Promise<void> | void> = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })
  const balanced = async (places: Parameters<typeof startBalancer>[0]) => {
    const balancer = await startBalancer(places)
    closing.push(balancer.stop)
    return balancer
  }
  const started = async (ready: () => number) => {
    const server = await gateway(ready)
    closing.push(() => server.closeAllConnections())
    closing.push(() => void server.close())
    return server
  }

  it("sends a failed request, and all later ones, to another gateway", async () => {
    const gone = { name: "gateway2", host: "127.0.0.1", port: await freePort() }
    const balancer = await balanced([placeOf(await started(() => 200), 0), gone])
    const first = await Promise.all(Array.from({ length: 10 }, () => post(balancer.url)))
    assert.deepStrictEqual(new Set(first), new Set([200]))
    await until("one is out", async () => !(await balancer.up()).has(gone.name))
    assert.strictEqual(await post(balancer.url), 200)
  })

  it("uses gateways that are not ready while none is, and only the ready one as soon as there is one", async () => {
    let isReady = false
    const servers = [await started(() => (isReady ? 200 : 503)), await started(() => 503)]
    const balancer = await balanced(servers.map(placeOf))
    await until("all are out", async () => (await balancer.up()).size === 0)
    assert.strictEqual(await post(balancer.url), 200)
    isReady = true
    await until("one is back", async () => (await balancer.up()).has("gateway1"))
    assert.strictEqual(await post(balancer.url), 200)
    assert.deepStrictEqual([...(await balancer.up())], ["gateway1"])
  })
})

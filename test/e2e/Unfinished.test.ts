/** Unfinished input behind a proxy, on each path. Source: docs/contract/limits.md#transports. */
import { Effect } from "effect"
import { connect, type AddressInfo } from "node:net"
import { afterAll, assert, beforeAll, describe, it, vi } from "vitest"
import { InboundBudget } from "../../src/services/operations/InboundBudget.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { until } from "../../verification/harness/Wait.ts"

const CLIENT = "203.0.113.7"

describe("an unfinished body behind a proxy", () => {
  let exchange: Exchange
  beforeAll(async () => {
    exchange = await startExchange({ env: { TRUSTED_PROXIES: "1" } })
  }, 60_000)
  afterAll(() => exchange?.close())

  it.each([
    ["of an order", "/api/v1/order/create"],
    ["of another request", "/api/v1/order/cancel-all"],
    ["of calls", "/rpc"]
  ])("%s counts for the address of its client", async (_, path) => {
    const opened = vi.spyOn(Effect.runSync(InboundBudget), "open")
    const socket = connect((exchange.server.address() as AddressInfo).port, "127.0.0.1")
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${CLIENT}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`
    )
    await until("its beginning is counted", () => opened.mock.calls.length > 0)
    assert.deepStrictEqual(
      opened.mock.calls.map(([address]) => address),
      [CLIENT]
    )
    opened.mockRestore()
    socket.destroy()
  })
})

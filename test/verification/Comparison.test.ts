/** The comparison of clients with REST, while throttled events still arrive. */
import { HashMap } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, it } from "vitest"
import { Account } from "../../src/client/index.ts"
import type { Position } from "../../src/domain/Position.ts"
import { compareUser } from "../../verification/streams/Comparison.ts"
import { Findings, StreamChecker, UserEvents } from "../../verification/streams/StreamChecker.ts"

it("a client that is ahead of REST is compared with a later read", async () => {
  const position = { sub_account_address: "0x01", symbol: "BTC-USDC", side: "Sell", size: "0.004", avg_price: "60000" }
  // the announcement of a price that depends on the account's money is throttled, and follows the first read
  let reads = 0
  const server = createServer((request, response) => {
    const seq = ++reads > 3 ? 42 : 41
    const list = request.url!.endsWith("/position/list") ? [{ ...position, seq: seq === 42 ? 42 : 40 }] : []
    response.end(JSON.stringify({ list, stream_id: "one", seq }))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    const findings = new Findings()
    const held = { ...position, seq: 42 } as Position
    const account = {
      ...Account.empty,
      positions: HashMap.make(["0x01|BTC-USDC", held]),
      stream_id: "one",
      seq: 42,
      live: true
    }
    const follower = {
      name: "client",
      account: () => account,
      checker: new StreamChecker("client", new UserEvents(), findings),
      unchecked: true
    }
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const seen = await compareUser(url, { token: "token" }, [follower], findings)
    assert.deepStrictEqual([seen, findings.faults], [{ compared: 1, afterGap: 1 }, []])
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

/** The comparison of clients with REST, while throttled events still arrive. */
import { HashMap } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, it } from "vitest"
import { Account, type Feed } from "../../src/client/index.ts"
import type { Position } from "../../src/domain/Position.ts"
import { type PrivateTopic, privateTopics } from "../../src/domain/Topic.ts"
import { compareUser } from "../../verification/streams/Comparison.ts"
import { Findings, StreamChecker, UserEvents } from "../../verification/streams/StreamChecker.ts"
import { snapshot as snapshotAt } from "../client/FakeSockets.ts"

const position = { sub_account_address: "0x01", symbol: "BTC-USDC", side: "Sell", size: "0.004", avg_price: "60000" }

/** Runs with a REST whose first read is at 41, and later ones at 42. */
const withRest = async (run: (url: string) => Promise<void>): Promise<void> => {
  let reads = 0
  const server = createServer((request, response) => {
    const seq = ++reads > 3 ? 42 : 41
    const list = request.url!.endsWith("/position/list") ? [{ ...position, seq: seq === 42 ? 42 : 40 }] : []
    response.end(JSON.stringify({ list, stream_id: "one", seq }))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.close()
    server.closeAllConnections()
  }
}
const whole = {
  ...Account.empty,
  positions: HashMap.make(["0x01|BTC-USDC", { ...position, seq: 42 } as Position]),
  stream_id: "one",
  seq: 42,
  live: true
}
const snapshot = (topic: PrivateTopic) =>
  ({ kind: topic, topic, server_ts_ms: 1, data: snapshotAt(42, [], "one") }) as Feed.FeedEvent

it("a client that is ahead of REST is compared with a later read", () =>
  // the announcement of a price that depends on the account's money is throttled, and follows the first read
  withRest(async (url) => {
    const findings = new Findings()
    const checker = new StreamChecker("client", new UserEvents(), findings)
    for (const topic of privateTopics) checker.take(snapshot(topic))
    const follower = { name: "client", account: () => whole, checker, unchecked: true }
    const seen = await compareUser(url, { token: "token" }, [follower], findings)
    assert.deepStrictEqual([seen, findings.faults], [{ compared: 1, afterGap: 1 }, []])
  }))

it("a client is compared once all its snapshots have arrived", () =>
  withRest(async (url) => {
    const findings = new Findings()
    const checker = new StreamChecker("client", new UserEvents(), findings)
    // the first snapshot has the newest position already, and the position comes with the last one
    const [last, ...first] = privateTopics
    for (const topic of first) checker.take(snapshot(topic))
    let account = { ...whole, positions: Account.empty.positions }
    let looks = 0
    const looked = Promise.withResolvers<void>()
    const follower = {
      name: "client",
      account: () => {
        if (++looks === 10) looked.resolve()
        return account
      },
      checker,
      unchecked: false
    }
    const compared = compareUser(url, { token: "token" }, [follower], findings)
    await Promise.race([looked.promise, compared])
    account = whole
    checker.take(snapshot(last))
    await compared
    assert.deepStrictEqual(findings.faults, [])
  }))

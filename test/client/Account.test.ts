/** The account that a client builds from its feed, event by event. */
import { assert, describe, it } from "vitest"
import { HashMap } from "effect"
import * as Account from "../../src/client/Account.ts"
import type { FeedEvent } from "../../src/client/FeedEvent.ts"
import type { PrivateTopic } from "../../src/domain/Topic.ts"
import { balance, order, uuid } from "../../verification/harness/Records.ts"
import { snapshot, update } from "./FakeSockets.ts"

const message = (kind: PrivateTopic, data: object) => ({ kind, topic: kind, server_ts_ms: 1, data }) as FeedEvent
const after = (...events: ReadonlyArray<FeedEvent>) => events.reduce(Account.apply, Account.empty)
const at = ({ seq, stream_id }: Account.Account) => [stream_id, seq]

describe("the position of an account", () => {
  it("is the highest of its stream, and begins again with another stream", () => {
    const first = after(message("order", snapshot(10)), message("position", snapshot(7)))
    assert.deepStrictEqual(at(first), ["s1", 10])
    // a restored exchange counts from one
    const restored = Account.apply(first, message("order", snapshot(3, [], "s2")))
    assert.deepStrictEqual(at(restored), ["s2", 3])
    assert.deepStrictEqual(at(Account.apply(restored, message("execution", update(4, 1, [], "s2")))), ["s2", 4])
  })
})

describe("the records of an account", () => {
  it("are replaced by a snapshot, and each set or removed by an update", () => {
    const begun = after(message("order", snapshot(1, [order({ order_id: uuid(1) }), order({ order_id: uuid(2) })])))
    const ids = (account: Account.Account) => [...HashMap.keys(account.orders)].toSorted()
    assert.deepStrictEqual(ids(begun), [uuid(1), uuid(2)])
    const canceled = order({ order_id: uuid(1), order_status: "Canceled" })
    const updated = Account.apply(begun, message("order", update(2, 1, [canceled, order({ order_id: uuid(3) })])))
    assert.deepStrictEqual(ids(updated), [uuid(2), uuid(3)])
    assert.deepStrictEqual(ids(begun), [uuid(1), uuid(2)], "a reader keeps the account that it has")
    assert.deepStrictEqual(ids(Account.apply(updated, message("order", snapshot(9)))), [])
  })

  it("of one asset in two sub-accounts are two balances", () => {
    const [one, two] = [balance(), { ...balance(), sub_account_address: `0x${"2".repeat(64)}` }]
    const account = after(message("account_balance", snapshot(1, [one, two])))
    assert.strictEqual(HashMap.size(account.balances), 2)
  })
})

it("counts a hole for each resume that lost events, and for no other", () => {
  const resume = (recovered: boolean): FeedEvent => ({
    kind: "resume",
    recovered,
    topics: ["order"],
    since: { stream_id: "s1", seq: 1 }
  })
  assert.strictEqual(after(resume(true), resume(false), resume(true), resume(true)).holes, 1)
})

it("is live while the feed is connected and no snapshot is due", () => {
  const state = (type: "live" | "connecting"): FeedEvent => ({ kind: "state", state: { type, resume: undefined } })
  const lost: FeedEvent = {
    kind: "resume",
    recovered: false,
    topics: ["order", "account_balance"],
    since: { stream_id: "s1", seq: 1 }
  }
  let account = after(state("live"), state("connecting"))
  const steps = [
    lost,
    state("live"),
    message("order", snapshot(9)),
    message("order", update(10, 9)),
    message("account_balance", update(11, 1)),
    message("account_balance", snapshot(11)),
    message("order", update(12, 10)),
    state("connecting")
  ].map((event) => {
    account = Account.apply(account, event)
    return account.live
  })
  assert.deepStrictEqual(steps, [false, false, false, false, false, true, true, false])
})

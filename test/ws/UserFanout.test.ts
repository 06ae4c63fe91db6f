import { assert, describe, it } from "vitest"
import type { UserStreamEvent } from "../../src/domain/Projection.ts"
import { Streams } from "../../src/services/read-model/UserStreams.ts"
import { type Clocks, Flusher, Outbox } from "../../src/ws/Outbox.ts"
import { PrivateFeed, type UserMessage } from "../../src/ws/PrivateFeed.ts"
import { UserFanout } from "../../src/ws/UserFanout.ts"
import { ManualLease } from "../doubles/ManualLease.ts"

const stillClocks: Clocks = { now: () => 1_767_225_600_250, monotonic: () => 5 }

const event = (user_id: string, seq: number): UserStreamEvent => ({
  user_id,
  seq,
  prev_seq: seq - 1,
  topic: "order",
  subject: "",
  sub_account_address: "",
  mts: 0,
  record: "{}"
})

/** A feed that notes the positions of the events it receives. */
class Feed extends PrivateFeed {
  readonly seqs: Array<number> = []
  /** The times at which its events are queued. */
  readonly at: Array<number> = []
  constructor(user_id: string) {
    const sink = { deflated: false, pending: () => 0, write: () => {}, whenTaken: () => {} }
    const outbox = new Outbox(
      sink,
      new Flusher(stillClocks, assert.isUndefined),
      { outbound_bytes: 1e9, outbound_age_ms: 1e9 },
      { end: () => {} }
    )
    super(user_id, outbox, assert.fail)
  }
  override take(messages: ReadonlyArray<UserMessage>, at: number): void {
    this.at.push(at)
    this.seqs.push(...messages.map(({ event }) => event.seq))
  }
}

const world = (clocks = stillClocks) => {
  const lease = new ManualLease()
  const streams = new Streams()
  const fanout = new UserFanout(streams.view, lease, clocks)
  let seq = 0
  return {
    lease,
    fanout,
    publish: (user_id: string) => streams.publish("s", [event(user_id, ++seq)])
  }
}

describe("the events of a user", () => {
  it("reach each connection of the user while it is attached, whichever others come and go", () => {
    const { fanout, publish } = world()
    const [first, second, other] = [new Feed("alice"), new Feed("alice"), new Feed("bob")]
    const [leaveFirst, leaveSecond] = [first, second].map((feed) => fanout.attach(feed, assert.fail))
    fanout.attach(other, assert.fail)
    assert.strictEqual(fanout.subscriptions(), 3)
    publish("alice")
    leaveFirst!()
    publish("alice")
    leaveSecond!()
    publish("alice")
    assert.strictEqual(fanout.subscriptions(), 1)
    fanout.attach(first, assert.fail)
    publish("alice")
    publish("bob")
    assert.deepStrictEqual([first.seqs, second.seqs, other.seqs], [[1, 4], [1, 2], [5]])
    fanout.close()
    publish("alice")
    assert.deepStrictEqual(first.seqs, [1, 4])
  })

  it("are followed while the user has a connection, and restart all of them", () => {
    let followed = 0
    const streams = new Streams()
    const view: typeof streams.view = {
      ...streams.view,
      follow: () => {
        followed++
        return () => void followed--
      }
    }
    const fanout = new UserFanout(view, new ManualLease(), stillClocks)
    const restarted: Array<string> = []
    const leave = ["alice 1", "alice 2", "bob"].map((name) =>
      fanout.attach(new Feed(name.split(" ")[0]!), () => restarted.push(name))
    )
    assert.strictEqual(followed, 2)
    fanout.restart()
    assert.deepStrictEqual(restarted, ["alice 1", "alice 2", "bob"])
    leave[0]!()
    assert.strictEqual(followed, 2)
    leave[1]!()
    assert.strictEqual(followed, 1)
    fanout.close()
    assert.strictEqual(followed, 0)
  })
})

describe("Amendment 18: private events while changes of credentials cannot be read", () => {
  it("are held until the lease is renewed, then delivered in order", () => {
    const { fanout, lease, publish } = world()
    const [alice, bob] = [new Feed("alice"), new Feed("bob")]
    for (const feed of [alice, bob]) fanout.attach(feed, assert.fail)
    publish("alice")
    lease.end()
    publish("alice")
    publish("bob")
    // an event of a turn in which the lease is current again does not overtake the held ones
    publish("alice")
    assert.deepStrictEqual([alice.seqs, bob.seqs], [[1], []])
    lease.renew()
    assert.deepStrictEqual([alice.seqs, bob.seqs], [[1, 2, 4], [3]])
    // the age of a queued event does not follow the wall clock
    assert.deepStrictEqual(alice.at, [5, 5, 5])
    publish("bob")
    assert.deepStrictEqual(bob.seqs, [3, 5])
  })

  it("are as old as their delivery, so that a socket which is full for a moment is not slow", () => {
    let now = 0
    const { fanout, lease, publish } = world({ ...stillClocks, monotonic: () => now })
    const alice = new Feed("alice")
    fanout.attach(alice, assert.fail)
    lease.end()
    publish("alice")
    now = 9_500
    lease.renew()
    assert.deepStrictEqual(alice.at, [9_500])
  })

  it("stay held where the read that renews the lease began too long ago", () => {
    const { fanout, lease, publish } = world()
    const alice = new Feed("alice")
    fanout.attach(alice, assert.fail)
    lease.end()
    publish("alice")
    lease.renewLate()
    assert.deepStrictEqual(alice.seqs, [])
    lease.renew()
    assert.deepStrictEqual(alice.seqs, [1])
    assert.strictEqual(lease.waiters, 0)
  })

  it("do not reach a connection whose credential was found to have ended", () => {
    const { fanout, lease, publish } = world()
    const [stays, ends] = [new Feed("alice"), new Feed("alice")]
    fanout.attach(stays, assert.fail)
    const detach = fanout.attach(ends, assert.fail)
    lease.end()
    publish("alice")
    // the read applies the change, then renews the lease
    detach()
    lease.renew()
    assert.deepStrictEqual([stays.seqs, ends.seqs], [[1], []])
  })

  it("are read again from the positions of the connections where too many are held, or the stream restarts", () => {
    const { fanout, lease, publish } = world()
    const alice = new Feed("alice")
    let restarts = 0
    fanout.attach(alice, () => restarts++)
    lease.end()
    for (let i = 0; i < 65_537; i++) publish("alice")
    lease.renew()
    assert.deepStrictEqual([alice.seqs, restarts], [[], 1])
    lease.end()
    publish("alice")
    fanout.restart()
    assert.strictEqual(restarts, 2)
    lease.renew()
    assert.deepStrictEqual(alice.seqs, [])
    publish("alice")
    assert.strictEqual(alice.seqs.length, 1)
    // what was held before is no reason to read the positions again
    lease.end()
    publish("alice")
    lease.renew()
    assert.deepStrictEqual([alice.seqs.length, restarts], [2, 2])
  })

  it("leave no callback behind when the server stops", () => {
    const { fanout, lease, publish } = world()
    fanout.attach(new Feed("alice"), assert.fail)
    lease.end()
    publish("alice")
    assert.strictEqual(lease.waiters, 1)
    fanout.close()
    assert.strictEqual(lease.waiters, 0)
  })
})

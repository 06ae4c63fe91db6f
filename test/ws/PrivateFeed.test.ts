/** However subscriptions, interruptions and events fall together, each topic gets every event after its snapshot, once. */
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import type { PrivateTopic } from "../../src/domain/Topic.ts"
import type { UserEvent } from "../../src/services/History.ts"
import { frameOf } from "../../src/ws/Frame.ts"
import type { QueuedFrame } from "../../src/ws/Batch.ts"
import { type Clocks, Flusher, Outbox } from "../../src/ws/Outbox.ts"
import { BUFFERED_MAX, PrivateFeed, UserMessage } from "../../src/ws/PrivateFeed.ts"

const stillClocks: Clocks = { now: () => 0, monotonic: () => 0 }

const topics = ["order", "execution", "position"] as const satisfies ReadonlyArray<PrivateTopic>
const topic = fc.constantFrom(...topics)

/** What a connection's life is made of; operations that wait for something are two steps. */
const step = fc.oneof(
  { weight: 6, arbitrary: topic.map((of) => ({ type: "event" as const, of })) },
  /** Events that were committed and not announced, then the notice of it. */
  {
    weight: 2,
    arbitrary: fc.array(topic, { maxLength: 3 }).map((missed) => ({ type: "interrupt" as const, missed }))
  },
  { weight: 2, arbitrary: fc.constant({ type: "subscribe" as const, since: false }) },
  { weight: 1, arbitrary: fc.constant({ type: "subscribe" as const, since: true }) },
  { weight: 3, arbitrary: fc.subarray([...topics], { minLength: 1 }).map((of) => ({ type: "choose" as const, of })) },
  { weight: 4, arbitrary: fc.constant({ type: "proceed" as const }) }
)
type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

class RecordingOutbox extends Outbox {
  readonly messages: Array<{ readonly topic: string; readonly seq: number; readonly type: string }> = []
  constructor() {
    const sink = { deflated: false, pending: () => 0, write: () => {}, whenTaken: () => {} }
    super(
      sink,
      new Flusher(stillClocks, assert.isUndefined),
      { outbound_bytes: 1e9, outbound_age_ms: 1e9 },
      { end: () => {} }
    )
  }
  private note(bytes: Buffer): void {
    const { data, topic } = JSON.parse(bytes.toString("utf8", bytes[1]! < 126 ? 2 : 4))
    this.messages.push({ topic, seq: data.seq, type: data.type })
  }
  override offer(queued: QueuedFrame): void {
    this.note(queued.frame.plain)
  }
  override begin(...[frame]: Parameters<Outbox["begin"]>): void {
    if (frame !== undefined) this.note(frame.plain)
  }
}

const play = (steps: ReadonlyArray<Step>): void => {
  const events: Array<UserEvent> = []
  const outbox = new RecordingOutbox()
  const feed = new PrivateFeed("u", outbox, assert.fail)
  const pending: Array<() => void> = []
  const from = new Map<PrivateTopic, number>()
  let chosen: ReadonlyArray<PrivateTopic> = topics
  const commit = (of: PrivateTopic): UserMessage => {
    const prev_seq = events.findLast((event) => event.topic === of)?.seq ?? 0
    const event = { seq: events.length + 1, topic: of, prev_seq, sub_account_address: "", mts: 0, record: "{}" }
    events.push(event)
    return new UserMessage(event, "s", 0)
  }
  const after = (seq: number) =>
    events.filter((event) => event.seq > seq).map((event) => new UserMessage(event, "s", 0))

  const subscribe = (of: ReadonlyArray<PrivateTopic>, since: boolean): void => {
    feed.join()
    // read now, sent later: what happens in between is kept aside
    const seq = since ? Math.floor(events.length / 2) : events.length
    const replay = since ? after(seq) : []
    pending.push(() => {
      const snapshot = (name: PrivateTopic) => frameOf({ op: "event", topic: name, data: { type: "snapshot", seq } })
      // the snapshot marks where a topic starts anew, with a resume too
      for (const name of of) from.set(name, seq)
      feed.begin(
        "s",
        of.map((name) => ({ topic: name, snapshot: snapshot(name), seq })),
        replay,
        0
      )
    })
  }
  const recover = (): void => {
    const { position } = feed
    if (position === undefined) {
      feed.release()
      return feed.abandon()
    }
    const replay = after(position.seq)
    pending.unshift(() => {
      feed.release()
      feed.resume(replay, 0)
    })
  }
  // one operation at a time, as a session does it
  const waiting: Array<() => void> = []
  const start = (operation: () => void): void => {
    if (pending.length > 0 || waiting.length > 0) waiting.push(operation)
    else operation()
  }
  const proceed = (): void => {
    pending.shift()?.()
    while (pending.length === 0 && waiting.length > 0) waiting.shift()!()
  }

  for (const one of steps) {
    switch (one.type) {
      case "event":
        feed.take([commit(one.of)], 0)
        break
      case "interrupt":
        for (const of of one.missed) commit(of)
        feed.hold()
        start(recover)
        break
      case "choose":
        chosen = one.of
        break
      case "subscribe": {
        const of = chosen
        start(() => subscribe(of, one.since))
        break
      }
      case "proceed":
        proceed()
        break
    }
  }
  while (pending.length > 0 || waiting.length > 0) proceed()
  feed.take([commit("order")], 0)

  for (const [name, seq] of from) {
    const own = outbox.messages.filter((message) => message.topic === name)
    const last = own.findLastIndex(({ type }) => type === "snapshot")
    assert.deepStrictEqual(
      own.slice(last + 1).map((message) => message.seq),
      events.filter((event) => event.topic === name && event.seq > seq).map((event) => event.seq),
      name
    )
  }
  for (const message of outbox.messages) assert.isTrue(from.has(message.topic as PrivateTopic))
}

describe("PrivateFeed", () => {
  it("sends every event after a snapshot or a position, in order, once", () => {
    fc.assert(fc.property(fc.array(step, { minLength: 10, maxLength: 80 }), play), { numRuns: 1_000 })
  })

  it("begins at 0 where its stream has no event, so that the first one cannot be missed", () => {
    const feed = new PrivateFeed("u", new RecordingOutbox(), () => {})
    feed.begin("s", [{ topic: "order", snapshot: undefined, seq: 0 }], [], 0)
    assert.deepStrictEqual(feed.position, { stream_id: "s", seq: 0 })
  })

  it("moves its position with events of topics that it does not follow, and only in its stream", () => {
    const feed = new PrivateFeed("u", new RecordingOutbox(), () => {})
    const event = (seq: number) =>
      ({ seq, topic: "position", prev_seq: 0, sub_account_address: "", mts: 0, record: "{}" }) as const
    feed.take([new UserMessage(event(3), "s", 0)], 0)
    assert.isUndefined(feed.position)
    feed.begin("s", [{ topic: "order", snapshot: undefined, seq: 4 }], [], 0)
    feed.take(
      [5, 6].map((seq) => new UserMessage(event(seq), "s", 0)),
      0
    )
    assert.deepStrictEqual(feed.position, { stream_id: "s", seq: 6 })
    feed.take([], 0)
    feed.take([new UserMessage(event(7), "another", 0)], 0)
    assert.deepStrictEqual(feed.position, { stream_id: "s", seq: 6 })
  })

  it("does not count buffered events of an earlier stream in its position", () => {
    const feed = new PrivateFeed("u", new RecordingOutbox(), () => {})
    const event = { seq: 9, topic: "order", prev_seq: 0, sub_account_address: "", mts: 0, record: "{}" } as const
    feed.join()
    feed.take([new UserMessage(event, "earlier", 0)], 0)
    feed.begin("s", [{ topic: "order", snapshot: undefined, seq: 2 }], [], 0)
    assert.deepStrictEqual(feed.position, { stream_id: "s", seq: 2 })
  })

  it("counts new events against the queue limit and none of a replay, and drops those of a topic that is left", () => {
    const sink = { deflated: false, pending: () => 0, write: () => {}, whenTaken: () => {} }
    const limits = { outbound_bytes: 1e9, outbound_age_ms: 1e9 }
    const outbox = new Outbox(sink, new Flusher(stillClocks, assert.isUndefined), limits, { end: () => {} })
    const feed = new PrivateFeed("u", outbox, assert.fail)
    const event = (seq: number) => {
      const fields = { seq, topic: "order", prev_seq: 0, sub_account_address: "", mts: 0, record: "{}" } as const
      return new UserMessage(fields, "s", 0)
    }
    feed.begin("s", [{ topic: "order", snapshot: undefined, seq: 0 }], [event(1), event(2)], 0)
    assert.strictEqual(outbox.weight, 0)
    feed.take([event(3)], 0)
    assert.isAbove(outbox.weight, 0)
    feed.leave("order")
    assert.strictEqual(outbox.weight, 0)
  })

  it("keeps its position when no topic begins during an interruption", () => {
    const feed = new PrivateFeed("u", new RecordingOutbox(), () => {})
    feed.join()
    feed.hold()
    feed.begin("s", [], [], 0)
    assert.isUndefined(feed.position)
  })

  it("keeps the position of an earlier stream until all its topics begin in the new one", () => {
    const feed = new PrivateFeed("u", new RecordingOutbox(), () => {})
    const at = (seq: number) => (topic: PrivateTopic) => ({ topic, snapshot: undefined, seq })
    feed.begin("s", [at(7)("order"), at(7)("position")], [], 0)
    feed.hold()
    feed.begin("another", [at(2)("execution")], [], 0)
    assert.deepStrictEqual(feed.position, { stream_id: "s", seq: 7 })
    feed.begin("another", topics.map(at(3)), [], 0)
    assert.deepStrictEqual(feed.position, { stream_id: "another", seq: 3 })
  })

  it(`keeps ${BUFFERED_MAX} events aside while a snapshot is read, and ends the connection at one more`, () => {
    let overflows = 0
    const feed = new PrivateFeed("u", new RecordingOutbox(), () => overflows++)
    const message = new UserMessage(
      { seq: 1, topic: "order", prev_seq: 0, sub_account_address: "", mts: 0, record: "{}" },
      "s",
      0
    )
    const many = (count: number) => Array.from({ length: count }, () => message)
    feed.join()
    feed.take(many(BUFFERED_MAX - 1), 0)
    feed.take([message], 0)
    assert.strictEqual(overflows, 0)
    feed.take([message], 0)
    assert.strictEqual(overflows, 1)
    // afterwards nothing is kept aside
    feed.begin("s", [{ topic: "order", snapshot: undefined, seq: 1 }], [], 0)
    feed.take(many(BUFFERED_MAX + 1), 0)
    assert.strictEqual(overflows, 1)
  })
})

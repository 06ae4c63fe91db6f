import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { constants, inflateRawSync } from "node:zlib"
import { Frame } from "../../src/ws/Frame.ts"
import { queuedFrame, type Source } from "../../src/ws/Batch.ts"
import { type Clocks, Flusher, Outbox, type Sink } from "../../src/ws/Outbox.ts"

const stillClocks: Clocks = { now: () => 0, monotonic: () => 0 }

/** A socket that accepts everything until `full` is set. */
class FakeSink implements Sink {
  readonly deflated: boolean
  readonly writes: Array<Buffer> = []
  full = false
  private held = 0
  private callback: (() => void) | undefined
  constructor(deflated = false) {
    this.deflated = deflated
  }
  readonly pending = () => this.held
  readonly write = (bytes: Buffer) => {
    this.writes.push(bytes)
    if (this.full) this.held += bytes.length
  }
  readonly whenTaken = (callback: () => void) => {
    this.callback = callback
  }
  drain(full = false): void {
    this.full = full
    this.held = 0
    const callback = this.callback
    this.callback = undefined
    callback?.()
  }
  /** Texts of the frames written so far. */
  texts(): Array<string> {
    return this.writes.flatMap((bytes) => textsOf(bytes))
  }
}

const textsOf = (bytes: Buffer): Array<string> => {
  const found: Array<string> = []
  for (let at = 0; at < bytes.length;) {
    const packed = (bytes[at]! & 0x40) !== 0
    let length = bytes[at + 1]! & 0x7f
    at += 2
    if (length === 126) {
      length = bytes.readUInt16BE(at)
      at += 2
    } else if (length === 127) {
      length = Number(bytes.readBigUInt64BE(at))
      at += 8
    }
    const payload = bytes.subarray(at, at + length)
    const whole = packed
      ? inflateRawSync(Buffer.concat([payload, Buffer.from([0, 0, 0xff, 0xff])]), {
          finishFlush: constants.Z_SYNC_FLUSH
        })
      : payload
    found.push(whole.toString())
    at += length
  }
  return found
}

const feed = (name: string, conflatable = true): Source & { state: string } => ({
  state: `${name} now`,
  conflatable,
  snapshot() {
    return new Frame(this.state)
  }
})

const rethrow = (fault: unknown): never => {
  throw fault
}

const LIMITS = { outbound_bytes: 100, outbound_age_ms: 1_000 }
const turn = Effect.callback<void>((resume) => void setImmediate(() => setImmediate(() => resume(Effect.void))))

const make = (sink: Sink, flusher = new Flusher(stillClocks, rethrow)) => {
  const ended = { SlowConsumer: 0, Internal: 0 }
  const outbox = new Outbox(sink, flusher, LIMITS, { end: (reason) => void ended[reason]++ })
  const offer = (text: string, source?: Source, at = 0) => outbox.offer(queuedFrame(new Frame(text), source, at))
  return { outbox, offer, ended }
}

describe("Frame", () => {
  it("writes the header that RFC 6455 asks for each length", () => {
    for (const length of [0, 1, 125, 126, 127, 65_535, 65_536, 70_000]) {
      const text = "x".repeat(length)
      assert.deepStrictEqual(textsOf(new Frame(text).plain), [text])
    }
    assert.deepStrictEqual(textsOf(new Frame("Привет €").plain), ["Привет €"])
  })

  it("compresses once, and only what gains by it", () => {
    const long = new Frame("abc ".repeat(1_000))
    assert.isBelow(long.bytes(true).length, 200)
    assert.strictEqual(long.bytes(true), long.bytes(true))
    assert.deepStrictEqual(textsOf(long.bytes(true)), ["abc ".repeat(1_000)])
    assert.strictEqual(long.bytes(false), long.plain)
    const short = new Frame("abc")
    assert.strictEqual(short.bytes(true), short.plain)
  })
})

describe("Outbox", () => {
  it.live("writes once per turn, and neighbours share the bytes", () =>
    Effect.gen(function* () {
      const flusher = new Flusher(stillClocks, rethrow)
      const sinks = [new FakeSink(), new FakeSink(), new FakeSink(true)]
      const boxes = sinks.map((sink) => make(sink, flusher))
      for (const text of ["a", "b", "c"]) {
        const sent = queuedFrame(new Frame(text), undefined, 0)
        for (const { outbox } of boxes) outbox.offer(sent)
      }
      boxes[1]!.offer("own")
      assert.lengthOf(sinks[0]!.writes, 0)
      yield* turn
      assert.deepStrictEqual(
        sinks.map((sink) => sink.writes.length),
        [1, 1, 1]
      )
      assert.deepStrictEqual(sinks[0]!.texts(), ["a", "b", "c"])
      assert.deepStrictEqual(sinks[1]!.texts(), ["a", "b", "c", "own"])
      const again = queuedFrame(new Frame("d"), undefined, 0)
      const more = queuedFrame(new Frame("e"), undefined, 0)
      for (const { outbox } of boxes.slice(0, 2)) {
        outbox.offer(again)
        outbox.offer(more)
      }
      yield* turn
      assert.strictEqual(sinks[0]!.writes[1], sinks[1]!.writes[1])
    })
  )

  it.live("drops a feed of a slow socket, and sends its state when the socket drains", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const flusher = new Flusher(stillClocks, rethrow)
      const { ended, offer, outbox } = make(sink, flusher)
      const [books, trades] = [feed("book"), feed("trade", false)]
      sink.full = true
      offer("first")
      yield* turn
      offer("x".repeat(60), books)
      offer("trade 1", trades)
      offer("x".repeat(60), books) // over the limit: the book lapses
      offer("x", books)
      books.state = "book later"
      offer("trade 2", trades)
      yield* turn
      assert.deepStrictEqual(sink.texts(), ["first"])
      // the trades, each with its header
      assert.deepStrictEqual([outbox.weight, flusher.conflations], [18, 1])
      sink.drain()
      assert.strictEqual(outbox.weight, 0)
      assert.deepStrictEqual(sink.texts(), ["first", "trade 1", "trade 2", "book later"])
      assert.strictEqual(ended.SlowConsumer, 0)
      offer("next", books)
      yield* turn
      assert.strictEqual(sink.texts().at(-1), "next")
      outbox.close()
    })
  )

  it.live("drops feeds that can be sent again before it ends a connection for those that cannot", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const { ended, offer } = make(sink)
      const [books, orders] = [feed("book"), feed("order", false)]
      sink.full = true
      offer("first")
      yield* turn
      offer("x".repeat(80), books)
      offer("o".repeat(80), orders)
      assert.strictEqual(ended.SlowConsumer, 0)
      offer("o".repeat(80), orders)
      assert.strictEqual(ended.SlowConsumer, 1)
      sink.drain()
      yield* turn
      assert.deepStrictEqual(sink.texts(), ["first"]) // nothing more is sent
      offer("late", orders)
      assert.strictEqual(ended.SlowConsumer, 1)
    })
  )

  it.live("drops no reply: feeds make room for it, and it ends a connection that has no room", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const { ended, offer } = make(sink)
      sink.full = true
      offer("first")
      yield* turn
      offer("reply 1")
      offer("x".repeat(80), feed("book"))
      offer("r".repeat(60))
      assert.strictEqual(ended.SlowConsumer, 0)
      sink.drain(true)
      assert.deepStrictEqual(sink.texts(), ["first", "reply 1", "r".repeat(60)])
      offer("r".repeat(60))
      offer("r".repeat(60))
      assert.strictEqual(ended.SlowConsumer, 1)
    })
  )

  it.live("sends the state of each feed that it dropped, and none of a feed without one", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const { offer } = make(sink)
      sink.full = true
      offer("first")
      yield* turn
      offer("pool", { conflatable: true, snapshot: () => undefined })
      offer("book", feed("book"))
      offer("o".repeat(90), feed("order", false))
      sink.drain()
      assert.deepStrictEqual(sink.texts(), ["first", "o".repeat(90), "book now"])
    })
  )

  it.live("holds exactly its limit, also of frames that others made room for", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const flusher = new Flusher(stillClocks, rethrow)
      const { ended, offer, outbox } = make(sink, flusher)
      const half = new Frame("x".repeat(48))
      assert.strictEqual(2 * half.length, LIMITS.outbound_bytes)
      sink.full = true
      offer("first")
      yield* turn
      const book = feed("book")
      for (const source of [undefined, book]) outbox.offer(queuedFrame(half, source, 0))
      assert.deepStrictEqual([outbox.weight, flusher.conflations], [LIMITS.outbound_bytes, 0])
      outbox.offer(queuedFrame(half, undefined, 0))
      assert.deepStrictEqual([outbox.weight, flusher.conflations], [LIMITS.outbound_bytes, 1])
      assert.strictEqual(ended.SlowConsumer, 0)
      offer("")
      assert.strictEqual(ended.SlowConsumer, 1)
    })
  )

  it.live("takes one frame of any size into an empty queue, and none beside it", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const { ended, offer } = make(sink)
      const orders = feed("order", false)
      sink.full = true
      offer("first")
      yield* turn
      offer("o".repeat(500), orders)
      assert.strictEqual(ended.SlowConsumer, 0)
      sink.drain(true)
      assert.deepStrictEqual(sink.texts(), ["first", "o".repeat(500)])
      offer("o".repeat(500), orders)
      offer("o", orders)
      assert.strictEqual(ended.SlowConsumer, 1)
    })
  )

  it.live("takes one frame of any size in place of the feeds that it drops", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const { ended, offer } = make(sink)
      sink.full = true
      offer("first")
      yield* turn
      offer("book", feed("book"))
      offer("o".repeat(500), feed("order", false))
      sink.drain()
      assert.deepStrictEqual(sink.texts(), ["first", "o".repeat(500), "book now"])
      assert.strictEqual(ended.SlowConsumer, 0)
    })
  )

  it.live("sends an update of any size as it is, if nothing else is queued", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const { offer } = make(sink)
      offer("t".repeat(500), feed("ticker"))
      yield* turn
      assert.deepStrictEqual(sink.texts(), ["t".repeat(500)])
    })
  )

  it.live("finishes with what is queued, and without the state of a feed that was dropped", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const { offer, outbox } = make(sink)
      offer("t".repeat(60), feed("ticker"))
      offer("o".repeat(60), feed("order", false))
      outbox.finish()
      yield* turn
      assert.deepStrictEqual(sink.texts(), ["o".repeat(60)])
    })
  )

  it.live("judges the age of the oldest frame", () =>
    Effect.gen(function* () {
      const books = feed("book")
      // a socket stuck with a book alone is left to the keepalive
      const patient = new FakeSink()
      const a = make(patient)
      patient.full = true
      a.offer("book 1", books, 0)
      yield* turn
      a.offer("book 2", books, 500)
      a.outbox.check(1_001)
      assert.strictEqual(a.ended.SlowConsumer, 0)
      patient.drain()
      assert.deepStrictEqual(patient.texts(), ["book 1", "book now"])
      // one stuck with what must not be lost ends
      const stuck = new FakeSink()
      const b = make(stuck)
      stuck.full = true
      b.offer("order 1", feed("order", false), 0)
      yield* turn
      b.outbox.check(1_000)
      assert.strictEqual(b.ended.SlowConsumer, 0)
      b.outbox.check(1_001)
      assert.strictEqual(b.ended.SlowConsumer, 1)
    })
  )

  it.live("judges the age of what must not be lost, in the socket with younger frames or behind a book", () =>
    Effect.gen(function* () {
      const written = new FakeSink()
      const a = make(written)
      written.full = true
      a.offer("order 1", feed("order", false), 0)
      a.offer("order 2", feed("order", false), 500)
      yield* turn
      a.outbox.check(1_001)
      assert.strictEqual(a.ended.SlowConsumer, 1)
      // a reply is not lost either
      const replied = new FakeSink()
      const b = make(replied)
      replied.full = true
      b.offer("reply", undefined, 0)
      yield* turn
      b.outbox.check(1_001)
      assert.strictEqual(b.ended.SlowConsumer, 1)
      const queued = new FakeSink()
      const c = make(queued)
      queued.full = true
      c.offer("book", feed("book"), 0)
      yield* turn
      c.offer("order", feed("order", false), 500)
      c.outbox.check(1_500)
      assert.strictEqual(c.ended.SlowConsumer, 0)
      c.outbox.check(1_501)
      assert.strictEqual(c.ended.SlowConsumer, 1)
    })
  )

  it.live("queues a requested snapshot of any size, and drops what it replaces", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const { ended, offer, outbox } = make(sink)
      const orders = feed("order", false)
      sink.full = true
      offer("first")
      yield* turn
      outbox.begin(new Frame("s".repeat(500)), orders, 0)
      outbox.begin(new Frame("snapshot"), orders, 0)
      offer("update", orders)
      assert.strictEqual(outbox.weight, new Frame("update").length, "a snapshot does not count")
      sink.drain()
      assert.deepStrictEqual(sink.texts(), ["first", "snapshot", "update"])
      outbox.forget(orders)
      offer("gone", orders)
      outbox.forget(orders)
      yield* turn
      assert.deepStrictEqual(sink.texts(), ["first", "snapshot", "update"])
      assert.strictEqual(ended.SlowConsumer, 0)
    })
  )

  it.live("ends a connection whose flush throws, and no other", () =>
    Effect.gen(function* () {
      const faults: Array<unknown> = []
      const flusher = new Flusher(stillClocks, (fault) => faults.push(fault))
      const broken: Sink = {
        ...new FakeSink(),
        write: () => {
          throw new Error("no socket")
        }
      }
      const sound = new FakeSink()
      const [a, b] = [make(broken, flusher), make(sound, flusher)]
      a.offer("a")
      b.offer("b")
      yield* turn
      assert.deepStrictEqual(
        [a.ended, b.ended],
        [
          { SlowConsumer: 0, Internal: 1 },
          { SlowConsumer: 0, Internal: 0 }
        ]
      )
      assert.deepStrictEqual(sound.texts(), ["b"])
      assert.lengthOf(faults, 1)
    })
  )

  it.live("compresses what waited for the socket too", () =>
    Effect.gen(function* () {
      const sink = new FakeSink(true)
      const { offer } = make(sink)
      sink.full = true
      offer("first")
      yield* turn
      offer("abc ".repeat(1_000))
      sink.drain()
      assert.isBelow(sink.writes.at(-1)!.length, 200)
      assert.deepStrictEqual(sink.texts().at(-1), "abc ".repeat(1_000))
    })
  )

  it.live("counts a feed once, however many of its frames it drops", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const flusher = new Flusher(stillClocks, rethrow)
      const { offer } = make(sink, flusher)
      const books = feed("book")
      sink.full = true
      offer("first")
      yield* turn
      for (let i = 0; i < 3; i++) offer("book", books)
      offer("o".repeat(90), feed("order", false))
      assert.strictEqual(flusher.conflations, 1)
    })
  )

  it.live("writes a long queue piece by piece, as the socket takes it", () =>
    Effect.gen(function* () {
      const sink = new FakeSink()
      const flusher = new Flusher(stillClocks, rethrow)
      const outbox = new Outbox(
        sink,
        flusher,
        { outbound_bytes: 10_000_000, outbound_age_ms: 1_000 },
        { end: () => {} }
      )
      const text = "x".repeat(100_000)
      sink.full = true
      for (let i = 0; i < 7; i++) outbox.offer(queuedFrame(new Frame(text), undefined, 0))
      yield* turn
      assert.lengthOf(sink.texts(), 2)
      sink.drain(true)
      assert.lengthOf(sink.texts(), 4)
      outbox.finish()
      assert.lengthOf(sink.texts(), 4) // finish does not press more into a full socket
    })
  )
})

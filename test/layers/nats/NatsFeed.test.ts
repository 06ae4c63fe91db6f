import { Context, Effect, Fiber, Layer, Logger, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe, it } from "@effect/vitest"
import * as GrpcFeed from "../../../src/layers/grpc/GrpcFeed.ts"
import * as GrpcSequencer from "../../../src/layers/grpc/GrpcSequencer.ts"
import * as NatsFeed from "../../../src/layers/nats/NatsFeed.ts"
import * as NatsRelay from "../../../src/layers/nats/NatsRelay.ts"
import * as NatsStream from "../../../src/layers/nats/NatsStream.ts"
import type { StreamPosition } from "../../../src/domain/Event.ts"
import { Feed, type FeedFrame } from "../../../src/services/Feed.ts"
import * as FeedContract from "../../contracts/FeedContract.ts"
import { eventually } from "../../contracts/NoticesContract.ts"
import { eventually as eventuallyAtTestTime } from "../../doubles/Eventually.ts"
import { start, submitAll, temporary } from "../../doubles/FakeBackend.ts"
import { deposit, fakeMachine } from "../../doubles/FakeMachine.ts"
import { isNatsInstalled, NatsServer } from "../../../verification/harness/NatsServer.ts"

const backend = Effect.gen(function* () {
  const { directory, remove } = temporary()
  return yield* Effect.acquireRelease(
    Effect.promise(() => start(directory, { machine: { ...fakeMachine, tickMatters: () => false } })),
    ({ stop }) => Effect.andThen(Effect.promise(stop), Effect.sync(remove))
  )
})
const nats = Effect.acquireRelease(
  Effect.promise(() => NatsServer.start()),
  (server) => Effect.promise(() => server.kill())
)
const options = { silence_ms: 3_000, check_every_ms: 50 }

/** A backend, a NATS server, a relay between them, and the feed over both. */
const over = (
  port: number,
  server: NatsServer,
  source: (sequencer: typeof Feed.Service) => typeof Feed.Service = (sequencer) => sequencer
) => {
  const endpoint = { address: `127.0.0.1:${port}`, secret: undefined, tls: undefined }
  const stream = NatsStream.layer({ url: server.url })
  return Layer.merge(
    NatsFeed.layer(options).pipe(
      Layer.provide(Layer.effect(Feed, Effect.map(Feed, source))),
      Layer.provide(GrpcFeed.layer(endpoint)),
      Layer.provideMerge(stream)
    ),
    NatsRelay.layer(endpoint).pipe(Layer.provide(stream))
  ).pipe(Layer.provideMerge(GrpcSequencer.layer(endpoint)))
}
const whole = Layer.unwrap(
  Effect.gen(function* () {
    const { port } = yield* backend
    return over(port, yield* nats)
  })
)

const event = (seq: number) => ({
  seq,
  ts_ms: 0,
  step: seq,
  command_id: undefined,
  user_id: undefined,
  sub_account_address: undefined,
  body: { type: "other" as const, name: "" }
})
const events = (epoch: string, ...seqs: ReadonlyArray<number>) => ({
  type: "events" as const,
  epoch,
  events: seqs.map(event)
})
const seqsOf = (frames: ReadonlyArray<FeedFrame> | undefined) =>
  frames?.flatMap((frame) => (frame.type === "events" ? frame.events.map(({ seq }) => seq) : []))

describe("Progress", () => {
  it("accepts frames that follow, drops repetitions, and stops at a gap or another epoch", () => {
    const progress = new NatsFeed.Progress({ epoch: "e", seq: 4 })
    assert.deepStrictEqual(seqsOf(progress.take(events("e", 3, 4))), [])
    assert.deepStrictEqual(seqsOf(progress.take(events("e", 4, 5, 6))), [5, 6])
    assert.isUndefined(progress.take(events("e", 8)))
    assert.isUndefined(progress.take(events("f", 7)))
    assert.isUndefined(progress.take(events("e", 7, 9)))
    assert.deepInclude(progress.position!, { epoch: "e", seq: 6 })
    // a frame of another fork, or after another checksum, is for the sequencer to judge
    const known = new NatsFeed.Progress({ epoch: "e", seq: 6, fork: "a", checksum: 60 })
    assert.isUndefined(known.take({ ...events("e", 7), fork: "b" }, 60))
    assert.isUndefined(known.take({ ...events("e", 7), fork: "a" }, 61))
    assert.isUndefined(new NatsFeed.Progress({ epoch: "e", seq: 0, fork: "b" }).take({ ...events("e", 1), fork: "a" }))
    assert.isDefined(known.take({ ...events("e", 7), fork: "a", checksums: [70] }, 60))
    assert.deepStrictEqual(known.position, { epoch: "e", seq: 7, fork: "a", checksum: 70 })
    // of a frame that repeats events, the checksum of the last repeated one counts, if that is the position
    const at6 = () => new NatsFeed.Progress({ epoch: "e", seq: 6, fork: "a", checksum: 60 })
    const repeated = { ...events("e", 5, 6, 7), fork: "a" }
    assert.isUndefined(at6().take({ ...repeated, checksums: [50, 61, 70] }))
    assert.deepInclude(at6().take({ ...repeated, checksums: [50, 60, 70] })?.[0], {
      events: [event(7)],
      checksums: [70]
    })
    assert.deepStrictEqual(at6().take({ ...events("e", 3, 4), fork: "a", checksums: [30, 40] }), [])
    const heartbeat = (head_seq: number): FeedFrame => ({
      type: "heartbeat",
      epoch: "e",
      head_seq,
      server_ts_ms: 0,
      refusing: [],
      warnings: []
    })
    assert.isUndefined(progress.take(heartbeat(7)))
    assert.deepStrictEqual(progress.take(heartbeat(6)), [heartbeat(6)])
    assert.deepStrictEqual(progress.take(heartbeat(5)), [])
    // a reader without a position takes that of the first heartbeat, before any event
    const first = new NatsFeed.Progress(undefined)
    assert.deepStrictEqual(first.take(heartbeat(0)), [heartbeat(0)])
    assert.isUndefined(first.take(events("f", 1)))
    assert.deepStrictEqual(seqsOf(first.take(events("e", 1))), [1])
    // with its history, by which the next frames are judged
    const named = new NatsFeed.Progress(undefined)
    const ofA = { ...heartbeat(0), fork: "a", checksum: 1 }
    assert.deepStrictEqual(named.take(ofA), [ofA])
    assert.deepStrictEqual(named.position, { epoch: "e", seq: 0, fork: "a", checksum: 1 })
    for (const other of [
      { ...ofA, fork: "b" },
      { ...ofA, checksum: 2 },
      { ...ofA, epoch: "f" }
    ])
      assert.isUndefined(named.take(other))
    assert.deepStrictEqual(named.take(ofA), [ofA])
  })
})

describe("a reader of the copy", () => {
  it.effect("continues with the sequencer where the copy is silent, and leaves the copy", () =>
    Effect.gen(function* () {
      let open = 0
      /** Messages that never arrive, while the connection stays. */
      const messages = {
        [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return: async () => ({ done: true }) }),
        close: async () => void open--
      }
      const consume = async () => {
        open++
        return messages
      }
      const place = { message: 1, epoch: "e", first: 1, last: 9, fork: undefined, checksum: undefined }
      const connected = {
        js: { consumers: { get: async () => ({ consume }) } },
        ends: Effect.succeed({ first: 1, last: 1 }),
        placeOf: () => Effect.succeed(place)
      } as unknown as NatsStream.Connected
      const asked: Array<StreamPosition | undefined> = []
      const own = Layer.mock(Feed)({
        follow: (position) => {
          asked.push(position)
          return Stream.concat(Stream.make(events("e", 5)), Stream.never)
        }
      })
      const copy = NatsFeed.layer({ check_every_ms: 60_000 }).pipe(
        Layer.provide(own),
        Layer.provide(Layer.mock(NatsStream.NatsStream)({ connected: Effect.succeed(connected) }))
      )
      const found: Array<number> = []
      yield* Effect.gen(function* () {
        const feed = yield* Feed
        yield* feed.follow({ epoch: "e", seq: 4 }).pipe(
          Stream.runForEach((frame) => Effect.sync(() => found.push(...(seqsOf([frame]) ?? [])))),
          Effect.forkScoped
        )
        yield* eventuallyAtTestTime("it reads the copy", () => open === 1)
        assert.deepStrictEqual(asked, [])
        yield* TestClock.adjust("2500 millis")
        yield* eventuallyAtTestTime("it reads the sequencer", () => found.length === 1)
      }).pipe(Effect.provide(copy))
      assert.deepStrictEqual([asked, found, open], [[{ epoch: "e", seq: 4 }], [5], 0])
    })
  )
})

describe("the message from which a reader begins", () => {
  const place = { epoch: "e", first: 1, last: 9, fork: "a", checksum: undefined }
  type Places = ReadonlyArray<Omit<NatsStream.Place, "message">>
  const readFrom = (position: StreamPosition, ...places: Places) => readFromCopy(1, position, places)
  /** Follows a position over a copy with these places: the number of the first message that is read, or the sequencer. */
  const readFromCopy = (first: number, position: StreamPosition, places: Places) =>
    Effect.gen(function* () {
      const from: Array<number | "sequencer"> = []
      const messages = {
        [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return: async () => ({ done: true }) }),
        close: async () => {}
      }
      const get = async (_: string, { opt_start_seq }: { readonly opt_start_seq: number }) => {
        from.push(opt_start_seq)
        return { consume: async () => messages }
      }
      const connected = {
        js: { consumers: { get } },
        ends: Effect.succeed({ first, last: first + places.length - 1 }),
        placeOf: (message: number) => Effect.succeed({ message, ...places[message - first]! })
      } as unknown as NatsStream.Connected
      const own = Layer.mock(Feed)({
        follow: () => {
          from.push("sequencer")
          return Stream.never
        }
      })
      const copy = NatsFeed.layer({ silence_ms: 60_000, check_every_ms: 60_000 }).pipe(
        Layer.provide(own),
        Layer.provide(Layer.mock(NatsStream.NatsStream)({ connected: Effect.succeed(connected) }))
      )
      const feed = Context.get(yield* Layer.build(copy), Feed)
      yield* Effect.forkScoped(Stream.runDrain(feed.follow(position)))
      yield* eventuallyAtTestTime("it reads", () => from.length > 0)
      return from[0]
    })

  it.effect("holds its position, whose history it need not name: an older version did not", () =>
    Effect.gen(function* () {
      const [older, other] = [
        { ...place, fork: undefined },
        { ...place, fork: "b" }
      ]
      assert.strictEqual(yield* readFrom({ epoch: "e", seq: 4 }, place), 1)
      assert.strictEqual(yield* readFrom({ epoch: "e", seq: 4, fork: "a" }, place), 1)
      for (const wrong of [older, other])
        assert.strictEqual(yield* readFrom({ epoch: "e", seq: 4, fork: "a" }, wrong), "sequencer")
    })
  )

  it.effect("is found in a copy with more than 2^30 messages", () =>
    Effect.gen(function* () {
      const places = [1, 11, 21].map((first) => ({ ...place, first, last: first + 9 }))
      for (const first of [2 ** 30, 2 ** 31, 2 ** 40])
        assert.strictEqual(yield* readFromCopy(first, { epoch: "e", seq: 15 }, places), first + 1)
    })
  )

  it.effect("is none of an older history, where the copy of its own begins later", () =>
    Effect.gen(function* () {
      const [before, later] = [
        { ...place, epoch: "d" },
        { ...place, first: 10, last: 12 }
      ]
      assert.strictEqual(yield* readFrom({ epoch: "e", seq: 4 }, before, later), "sequencer")
      assert.strictEqual(yield* readFrom({ epoch: "e", seq: 9 }, before, later), 2)
    })
  )

  it.effect("is the first of its own fork, of a copy that still has the events of the one before a restore", () =>
    Effect.gen(function* () {
      const frames = (fork: string, count: number, first = 1) =>
        Array.from({ length: count }, (_, i) => ({ ...place, fork, first: first + 10 * i, last: first + 10 * i + 9 }))
      const beforeFirst = { epoch: "e", seq: 0, fork: "b" }
      for (let lost = 1; lost <= 5; lost++)
        for (let own = 1; own <= 5; own++)
          assert.strictEqual(
            yield* readFrom(beforeFirst, ...frames("a", lost), ...frames("b", own)),
            lost + 1,
            `${own} messages after ${lost} of the other fork`
          )
      // the copy of its own fork begins later, or not at all
      assert.strictEqual(yield* readFrom(beforeFirst, ...frames("a", 3), ...frames("b", 2, 31)), "sequencer")
      assert.strictEqual(yield* readFrom(beforeFirst, ...frames("a", 3)), "sequencer")
    })
  )
})

describe("a reader of the sequencer", () => {
  /** A copy whose last event is `last`, a sequencer that sends what the test offers, and their reader from event 4 on. */
  const reading = Effect.gen(function* () {
    const state = { last: 0, looks: 0, opened: [] as Array<number>, copies: 0, found: [] as Array<number> }
    const offered = yield* Queue.unbounded<FeedFrame>()
    const messages = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return: async () => ({ done: true }) }),
      close: async () => {}
    }
    const consume = async () => {
      state.copies++
      return messages
    }
    const connected = {
      js: { consumers: { get: async () => ({ consume }) } },
      ends: Effect.sync(() => {
        state.looks++
        return { first: 1, last: 1 }
      }),
      placeOf: (message: number) =>
        Effect.sync(() => ({ message, epoch: "e", first: 1, last: state.last, fork: undefined, checksum: undefined }))
    } as unknown as NatsStream.Connected
    const own = Layer.mock(Feed)({
      follow: (position) => {
        state.opened.push(position?.seq ?? 0)
        return Stream.fromQueue(offered)
      }
    })
    const feed = yield* Effect.map(
      Layer.build(
        NatsFeed.layer({ silence_ms: 60_000 }).pipe(
          Layer.provide(own),
          Layer.provide(Layer.mock(NatsStream.NatsStream)({ connected: Effect.succeed(connected) }))
        )
      ),
      Context.get(Feed)
    )
    yield* feed.follow({ epoch: "e", seq: 4 }).pipe(
      Stream.runForEach((frame) => Effect.sync(() => state.found.push(...(seqsOf([frame]) ?? [])))),
      Effect.forkScoped
    )
    const offer = (...seqs: ReadonlyArray<number>) => Queue.offer(offered, events("e", ...seqs))
    yield* eventuallyAtTestTime("it reads the sequencer", () => state.opened.length === 1)
    return { state, offer }
  })
  /** The copy holds the reader's position at a check; the event after it comes from the sequencer. */
  const leaving = Effect.gen(function* () {
    const { offer, state } = yield* reading
    yield* offer(5)
    yield* eventuallyAtTestTime("event 5 arrives", () => state.found.length === 1)
    state.last = 5
    const { looks } = state
    yield* TestClock.adjust("1 second")
    assert.isAbove(state.looks, looks)
    const before = state.looks
    yield* offer(6)
    yield* eventuallyAtTestTime("it looks for event 6 again", () => state.looks > before + 1)
    return { state, offer }
  })

  it.effect("returns to a copy that holds its position a moment later, without the sequencer", () =>
    Effect.gen(function* () {
      const { state } = yield* leaving
      assert.strictEqual(state.copies, 0)
      state.last = 6
      yield* TestClock.adjust("20 millis")
      yield* eventuallyAtTestTime("it reads the copy", () => state.copies === 1)
      assert.deepStrictEqual([state.opened, state.found], [[4], [5, 6]])
    })
  )

  it.effect("continues with the sequencer where the copy does not catch up, until the next check", () =>
    Effect.gen(function* () {
      const { offer, state } = yield* leaving
      yield* TestClock.adjust("500 millis")
      yield* eventuallyAtTestTime("it reads the sequencer", () => state.opened.length === 2)
      yield* offer(7)
      yield* offer(8)
      yield* eventuallyAtTestTime("events 7 and 8 arrive", () => state.found.length === 4)
      assert.deepStrictEqual([state.opened, state.found, state.copies], [[4, 6], [5, 6, 7, 8], 0])
    })
  )
})

describe.skipIf(!isNatsInstalled)("NATS", () => {
  FeedContract.suite("NATS", whole)

  it("reads the copy, and not the sequencer, while the copy holds what follows", async () => {
    let [open, opened] = [0, 0]
    const counted = (sequencer: typeof Feed.Service) =>
      Feed.of({
        follow: (position) =>
          Stream.suspend(() => {
            open++
            opened++
            return Stream.ensuring(
              sequencer.follow(position),
              Effect.sync(() => void open--)
            )
          })
      })
    const found: Array<number> = []
    await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const { client, port } = yield* backend
          const server = yield* nats
          const reading = Effect.gen(function* () {
            const feed = yield* Feed
            yield* feed.follow(undefined).pipe(
              Stream.runForEach((frame) => Effect.sync(() => found.push(...(seqsOf([frame]) ?? [])))),
              Effect.forkChild
            )
            let before: number
            do {
              yield* eventually(() => opened > 0 && open === 0)
              before = opened
              const wanted = found.length + 100
              yield* Effect.promise(() => submitAll(client, [Array.from({ length: 100 }, () => deposit(1))]))
              yield* eventually(() => found.length >= wanted)
              // on a busy machine the feed may have switched to the sequencer
            } while (opened !== before)
          })
          yield* Effect.provide(reading, over(port, server, counted))
        })
      ).pipe(Effect.provide(Logger.layer([])))
    )
    assert.deepStrictEqual(
      found,
      Array.from({ length: found.length }, (_, i) => i + 1)
    )
  })

  it("delivers every event once while NATS is lost, returns empty, and is lost again", async () => {
    const found: Array<number> = []
    await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const { client, port } = yield* backend
          const server = yield* nats
          const submit = (count: number) =>
            Effect.promise(() => submitAll(client, [Array.from({ length: count }, () => deposit(1))]))
          const reading = Effect.gen(function* () {
            const feed = yield* Feed
            const stream = yield* NatsStream.NatsStream
            /** Whether the copy has reached the reader's position. */
            const isCopied = Effect.gen(function* () {
              const { ends, placeOf } = yield* stream.connected
              const kept = yield* ends
              const place = kept === undefined ? undefined : yield* placeOf(kept.last)
              return place !== undefined && place.last >= (found.at(-1) ?? 0)
            }).pipe(Effect.orElseSucceed(() => false))
            const reader = yield* Effect.forkChild(
              feed.follow(undefined).pipe(
                Stream.runForEach((frame) =>
                  Effect.sync(() => {
                    if (frame.type === "events") for (const { seq } of frame.events) found.push(seq)
                  })
                )
              )
            )
            let wanted = 0
            for (let i = 0; i < 3; i++) {
              yield* submit(200)
              wanted += 200
              yield* eventually(() => found.length >= wanted)
              while (!(yield* isCopied)) yield* Effect.sleep(50)
              yield* submit(50)
              wanted += 50
              yield* eventually(() => found.length >= wanted)
              yield* Effect.promise(() => server.kill())
              yield* submit(200)
              wanted += 200
              yield* eventually(() => found.length >= wanted)
              yield* Effect.promise(() => server.begin())
            }
            yield* Fiber.interrupt(reader)
          })
          yield* Effect.provide(reading, over(port, server))
        })
      ).pipe(Effect.provide(Logger.layer([])))
    )
    assert.deepStrictEqual(
      found,
      Array.from({ length: found.length }, (_, i) => i + 1)
    )
  })
})

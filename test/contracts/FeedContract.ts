/** What every Feed adapter promises. Events are caused by deposits through the Sequencer of the same backend. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, Fiber, type Layer, Stream } from "effect"
import type { StreamPosition } from "../../src/domain/Event.ts"
import { Feed, type FeedFrame } from "../../src/services/Feed.ts"
import { Sequencer } from "../../src/services/Sequencer.ts"
import { depositOf } from "./SequencerContract.ts"

const seqsOf = (frame: FeedFrame): ReadonlyArray<number> =>
  frame.type === "events" ? frame.events.map((event) => event.seq) : []

/** The seqs after a position up to `last`, in order of arrival. */
const collect = (position: StreamPosition | undefined, last: number) =>
  Effect.flatMap(Feed, (feed) =>
    feed.follow(position).pipe(
      Stream.map(seqsOf),
      Stream.takeUntil((seqs) => seqs.includes(last)),
      Stream.runFold(
        () => [] as Array<number>,
        (all, seqs) => [...all, ...seqs]
      )
    )
  )

const from = (first: number, last: number): ReadonlyArray<number> =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i)

export const suite = <E>(name: string, layer: Layer.Layer<Sequencer | Feed, E>): void =>
  withLayer(layer, { excludeTestServices: true })(`Feed on ${name}`, (it) => {
    it.effect("delivers all events of the epoch, then new ones as they happen", () =>
      Effect.gen(function* () {
        const sequencer = yield* Sequencer
        const { seq } = yield* sequencer.submit(depositOf("1"))
        const reading = yield* Effect.forkChild(collect(undefined, seq + 20), { startImmediately: true })
        while ((yield* sequencer.head).head_seq < seq + 20) yield* sequencer.submit(depositOf("1"))
        const seqs = yield* Fiber.join(reading)
        assert.deepStrictEqual(seqs, from(1, seqs.length))
      })
    )

    it.effect("resumes behind any position", () =>
      Effect.gen(function* () {
        const sequencer = yield* Sequencer
        for (let i = 0; i < 5; i++) yield* sequencer.submit(depositOf("1"))
        const { epoch, head_seq } = yield* sequencer.head
        for (const seq of [1, 3, head_seq - 1]) {
          const seqs = yield* collect({ epoch, seq }, head_seq)
          // the heartbeat may include events that the exchange produced since, by its own clock
          assert.deepStrictEqual(seqs, from(seq + 1, seq + seqs.length))
        }
      })
    )

    it.effect("reports the head while there are no events", () =>
      Effect.gen(function* () {
        const sequencer = yield* Sequencer
        const feed = yield* Feed
        const before = yield* sequencer.head
        const frames = yield* feed.follow({ epoch: before.epoch, seq: before.head_seq }).pipe(
          Stream.filter((frame) => frame.type === "heartbeat"),
          Stream.take(1),
          Stream.runCollect
        )
        // the exchange may produce events by its own clock meanwhile
        const { epoch, head_seq } = frames[0]!
        assert.strictEqual(epoch, before.epoch)
        assert.isAtLeast(head_seq, before.head_seq)
        assert.isAtMost(head_seq, (yield* sequencer.head).head_seq)
      })
    )

    it.effect("fails with FeedGone for another epoch and for a seq that does not exist yet", () =>
      Effect.gen(function* () {
        const sequencer = yield* Sequencer
        const feed = yield* Feed
        const { epoch, head_seq } = yield* sequencer.head
        for (const position of [
          { epoch: "another", seq: 0 },
          { epoch, seq: head_seq + 1000 }
        ]) {
          const error = yield* Effect.flip(Stream.runDrain(feed.follow(position)))
          assert.strictEqual(error._tag, "FeedGone")
        }
      })
    )
  })

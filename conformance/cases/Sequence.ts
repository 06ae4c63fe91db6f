/** The event stream: head, heartbeats, resume. */
import { status } from "@grpc/grpc-js"
import { Effect } from "effect"
import { Event, SequencerService, type StreamEventsRequest } from "../../src/proto/gateway/v1/sequencer.ts"
import { type Case } from "../Case.ts"
import { abandon, statusName } from "../Link.ts"
import { reread } from "../Record.ts"
import { World } from "../World.ts"
import { broken, expect, expectEqual } from "../Expect.ts"

/** Number of heartbeats to wait for. */
const HEARTBEATS = 2

const bytes = (events: ReadonlyArray<Event>) =>
  events.map((event) => Buffer.from(Event.encode(event).finish()).toString("base64"))

/** Opens the stream with a request that must be refused, and returns the status. */
const refusalOf = (request: StreamEventsRequest) =>
  Effect.flatMap(World, ({ link, options }) =>
    Effect.callback<string>((resume) => {
      const call = link.sequencer.read(SequencerService.streamEvents, request)
      call.on("error", ({ code }: { readonly code: number }) => resume(Effect.succeed(statusName(code))))
      call.on("data", () => resume(Effect.succeed("a frame")))
      call.on("end", () => resume(Effect.succeed("the end")))
      return Effect.sync(() => abandon(call))
    }).pipe(
      Effect.timeoutOrElse({ duration: options.patience_ms, orElse: () => broken("StreamEvents answered nothing") })
    )
  )

const head: Case = {
  name: "head",
  level: "core",
  clause: "docs/contract/boundary.md#sequencer (GetHead)",
  claim: "GetHead has a constant epoch and a head that never falls and includes acknowledged commands",
  run: Effect.gen(function* () {
    const { ask, epoch, stranger, open } = yield* World
    yield* expect(epoch !== "", "the epoch is empty")
    const before = yield* ask.sequencer(SequencerService.getHead, {})
    yield* open(yield* stranger, 0)
    const after = yield* ask.sequencer(SequencerService.getHead, {})
    yield* expectEqual("the epoch", after.epoch, epoch)
    yield* expect(
      after.head_seq > before.head_seq,
      `a sub-account was opened, and the head went from ${before.head_seq} to ${after.head_seq}`
    )
  })
}

const heartbeat: Case = {
  name: "heartbeat",
  level: "core",
  clause: "docs/contract/boundary.md#sequencer (StreamEvents), docs/contract/boundary.md#lagging",
  claim: "StreamEvents sends heartbeats with the epoch and a head that is not behind the sent events",
  run: Effect.gen(function* () {
    const { epoch, record } = yield* World
    const beats = () => record.frames.filter(({ heartbeat }) => heartbeat !== undefined)
    const enough = beats().length + HEARTBEATS
    yield* record.until(`${HEARTBEATS} heartbeats`, () => beats().length >= enough)
    let sent = 0
    for (const { epoch: sentEpoch, events, heartbeat } of record.frames) {
      yield* expectEqual("the epoch of a frame", sentEpoch, epoch)
      for (const { seq } of events) sent = Math.max(sent, seq)
      if (heartbeat === undefined) continue
      yield* expect(heartbeat.head_seq >= sent, `a heartbeat has head ${heartbeat.head_seq} after event ${sent}`)
      yield* expect(heartbeat.server_ts_ms > 0, "a heartbeat has no time")
    }
  })
}

const resume: Case = {
  name: "resume",
  level: "core",
  clause: "docs/contract/boundary.md#ground-rules, #sequencer (StreamEvents)",
  claim: "a resumed stream delivers the same events, from the start or the middle of a step",
  run: Effect.gen(function* () {
    const { epoch, link, options, record, trader } = yield* World
    yield* trader
    const first = record.events.slice(0, 200)
    for (const from of [0, 1, first.length - 1]) {
      const { seq } = first[from]!
      const again = yield* reread(link.sequencer, { epoch, from_seq: seq }, first.length - from, options.patience_ms)
      yield* expectEqual(
        `the seqs from ${seq} on`,
        again.map(({ seq }) => seq),
        first.slice(from).map(({ seq }) => seq)
      )
      const other = bytes(again).findIndex((text, i) => text !== bytes(first.slice(from))[i])
      yield* expect(other === -1, `event ${again[other]?.seq} differs from its first delivery`)
    }
  })
}

const ahead: Case = {
  name: "ahead",
  level: "core",
  clause: "docs/contract/boundary.md#sequencer (StreamEvents)",
  claim: "a from_seq ahead of the stream is refused with OUT_OF_RANGE",
  run: Effect.gen(function* () {
    const { ask, epoch } = yield* World
    const { head_seq } = yield* ask.sequencer(SequencerService.getHead, {})
    const refusal = yield* refusalOf({ epoch, from_seq: head_seq + 1_000_000, fork: "", checksum: undefined })
    yield* expectEqual("the answer", refusal, statusName(status.OUT_OF_RANGE))
  })
}

const otherEpoch: Case = {
  name: "other-epoch",
  level: "core",
  clause: "docs/contract/boundary.md#sequencer (StreamEvents)",
  claim: "another epoch is refused with FAILED_PRECONDITION",
  run: Effect.gen(function* () {
    const { epoch } = yield* World
    const refusal = yield* refusalOf({ epoch: `not-${epoch}`, from_seq: 1, fork: "", checksum: undefined })
    yield* expectEqual("the answer", refusal, statusName(status.FAILED_PRECONDITION))
  })
}

export const cases: ReadonlyArray<Case> = [head, resume, ahead, otherEpoch, heartbeat]

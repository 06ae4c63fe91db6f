/** All events of a run, and functions that wait for them. */
import type { ServiceError } from "@grpc/grpc-js"
import { Effect, type Scope } from "effect"
import { type Event, SequencerService, type StreamEventsResponse } from "../src/proto/gateway/v1/sequencer.ts"
import { Broken } from "./Expect.ts"
import { abandon, type Link, statusName } from "./Link.ts"

/** Limit of recorded events. A run has some thousands, including one price sample per second. */
const EVENTS_MAX = 500_000

type Payload = NonNullable<Event["event"]>
type Case = Payload["$case"]
/** The payload of one kind of event. */
export type Of<K extends Case> = Extract<Payload, { readonly $case: K }>["value"]

/** The payloads of one kind, in order. */
export const pick = <K extends Case>(events: ReadonlyArray<Event>, kind: K): ReadonlyArray<Of<K>> =>
  events.flatMap(({ event }) => (event?.$case === kind ? [event.value as Of<K>] : []))

export interface Record {
  readonly frames: ReadonlyArray<StreamEventsResponse>
  readonly events: ReadonlyArray<Event>
  /** Waits until a condition on the record holds; `what` names it in the failure. */
  readonly until: (what: string, holds: () => boolean) => Effect.Effect<void, Broken>
  /** Waits for the event with this seq or a later one. */
  readonly reach: (seq: number) => Effect.Effect<void, Broken>
  /** The events of a command; waits for the last one. */
  readonly caused: (ack: {
    readonly command_id: string
    readonly seq: number
  }) => Effect.Effect<ReadonlyArray<Event>, Broken>
}

/** Follows the stream from a seq on for the life of the scope. */
export const follow = Effect.fnUntraced(function* (
  link: Link,
  from: { readonly epoch: string; readonly from_seq: number },
  patience_ms: number
): Effect.fn.Return<Record, never, Scope.Scope> {
  const frames: Array<StreamEventsResponse> = []
  const events: Array<Event> = []
  const waiters = new Set<() => void>()
  let lost: Broken | undefined
  const call = yield* Effect.acquireRelease(
    Effect.sync(() => link.read(SequencerService.streamEvents, { ...from, fork: "", checksum: undefined })),
    (call) => Effect.sync(() => abandon(call))
  )
  const wake = () => {
    for (const look of waiters) look()
  }
  const end = (message: string) => {
    lost ??= new Broken({ message })
    wake()
  }
  call.on("error", ({ code, details }: ServiceError) => end(`StreamEvents ended with ${statusName(code)}: ${details}`))
  call.on("end", () => end("StreamEvents has an end"))
  call.on("data", (frame: StreamEventsResponse) => {
    if (events.length > EVENTS_MAX) return end(`more than ${EVENTS_MAX} events arrived: the market has other traders`)
    frames.push(frame)
    for (const event of frame.events) events.push(event)
    wake()
  })

  const until = (what: string, holds: () => boolean) =>
    Effect.callback<void, Broken>((resume) => {
      const look = () => {
        if (holds()) resume(Effect.void)
        else if (lost === undefined) return
        else resume(Effect.fail(lost))
        waiters.delete(look)
      }
      waiters.add(look)
      look()
      return Effect.sync(() => waiters.delete(look))
    }).pipe(
      Effect.timeoutOrElse({
        duration: patience_ms,
        orElse: () => Effect.fail(new Broken({ message: `${what} did not arrive within ${patience_ms} ms` }))
      })
    )
  const reach = (seq: number) => until(`event ${seq}`, () => events.findLast((event) => event.seq >= seq) !== undefined)
  return {
    frames,
    events,
    until,
    reach,
    caused: ({ command_id, seq }) =>
      Effect.map(reach(seq), () => events.filter((event) => event.command_id === command_id))
  }
})

/** Reads the stream again from a seq on, until `count` events have arrived. */
export const reread = (
  link: Link,
  from: { readonly epoch: string; readonly from_seq: number },
  count: number,
  patience_ms: number
): Effect.Effect<ReadonlyArray<Event>, Broken> =>
  Effect.scoped(
    Effect.gen(function* () {
      const record = yield* follow(link, from, patience_ms)
      const what = `${count} events from ${from.from_seq} on`
      yield* record.until(what, () => record.events.length >= count)
      return record.events.slice(0, count)
    })
  )

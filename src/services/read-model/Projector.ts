/**
 * Policy: the event lane. One fiber reads the feed, projects every batch, adds it to the {@link HistoryWriter} and shows it to
 * readers and followers: first {@link MarketView}, then {@link UserStreams}. The journal of the backend holds every event that
 * arrives, so the histories are written behind.
 *
 * The lane recovers by itself. If the history fails, readers still see events until too many are unwritten. If the feed
 * repeats, skips or ends, it is followed again from the position. If that position is no longer retained, the read model is
 * rebuilt from the backend and numbering restarts.
 * Source: docs/contract/websocket.md#private-topics, #emission, docs/contract/boundary.md#one-event-stream, #lagging.
 */
import { Cause, Clock, Context, Duration, Effect, Latch, Layer, Schema, Stream } from "effect"
import type { Event } from "../../domain/Event.ts"
import { type ModelPosition, Projecting, type Projection, streamIdOf } from "../../domain/Projection.ts"
import { BackendHealth } from "../operations/BackendHealth.ts"
import * as Daemon from "../operations/Daemon.ts"
import { CurrentMetricsRegistry } from "../operations/MetricsRegistry.ts"
import { monotonicMillis } from "../operations/Monotonic.ts"
import * as Tracing from "../operations/Tracing.ts"
import { Feed, type FeedFrame, FeedGone } from "../Feed.ts"
import { History } from "../History.ts"
import { MarketState } from "../markets/MarketState.ts"
import { MarketView } from "../markets/MarketView.ts"
import type { Referee } from "../Referee.ts"
import type { Sequencer } from "../Sequencer.ts"
import * as BackendReads from "./BackendReads.ts"
import { batchSteps, type EventHistory } from "./EventBatches.ts"
import { HistoryWriter, type Superseded } from "./HistoryWriter.ts"
import { insist } from "../operations/Insist.ts"
import { LaneProgress } from "./LaneProgress.ts"
import { loadReadModel } from "./LoadReadModel.ts"
import { matchVersion } from "./MatchVersion.ts"
import { changeHistory, rebuildReadModel } from "./RebuildReadModel.ts"
import { SeqWaiters } from "./SeqWaiters.ts"
import { Streams, UserStreams } from "./UserStreams.ts"

/** Longest wait of a reader for the read model, which may lag. */
const REACHED_WAIT = Duration.seconds(1)
/** Pause before the feed is followed again: the first one, and the longest, in ms. */
const PAUSE_MS_MIN = 50
const PAUSE_MS_MAX = 2_000
/** After a run of this length, the pause starts over, in ms. */
const STABLE_MS = 10_000

export interface Options {
  /**
   * Users that no client can log in as, such as a market maker of the backend. Their orders appear in books, trades and
   * candles, but not in the order index or a user stream.
   */
  readonly houseUsers?: ReadonlySet<string>
}

/** The feed ended, or returned something that does not follow the position. */
class FeedBroken extends Schema.TaggedError<FeedBroken>()("FeedBroken", { message: Schema.String }) {}

type Fault = Superseded | FeedGone | FeedBroken
const hasFailed = (cause: Cause.Cause<Fault>, tag: Fault["_tag"]): boolean =>
  cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error._tag === tag)

export class Projector extends Context.Service<
  Projector,
  {
    /** Position up to which readers see the stream; `undefined` before the first event. */
    readonly position: () => ModelPosition | undefined
    /** Completes when readers see the stream up to its head, for the first time. */
    readonly caughtUp: Effect.Effect<void>
    /** Waits until readers see the stream up to `seq`, at most {@link REACHED_WAIT}. */
    readonly reached: (seq: number) => Effect.Effect<void>
    /** Registers a synchronous listener for changes of the position; the returned function removes it. */
    readonly onMoved: (listener: (position: ModelPosition) => void) => () => void
  }
>()("gateway/services/Projector") {
  static readonly layer = (
    options: Options = {}
  ): Layer.Layer<
    Projector | MarketView | UserStreams,
    never,
    Feed | HistoryWriter | Sequencer | Referee | BackendHealth
  > => Layer.effectContext(make(options))
}

const make = Effect.fnUntraced(function* (options: Options) {
  const feed = yield* Feed
  const health = yield* BackendHealth
  const clock = yield* Clock.Clock
  const now = () => monotonicMillis(clock)
  const writer = yield* HistoryWriter
  const markets = new MarketState(clock)
  const streams = new Streams()
  const reads = yield* BackendReads.make(markets)
  const metrics = yield* CurrentMetricsRegistry
  const tracer = yield* Tracing.CurrentTracer
  const rebuilds = (reason: FeedGone["reason"] | "Version") =>
    metrics.counter("gateway_read_model_rebuilds_total", { reason })
  // exported from the start, with 0
  for (const reason of [...FeedGone.fields.reason.literals, "Version"] as const) rebuilds(reason)
  const shownEvents = metrics.counter("gateway_projector_events_total", {})
  const houseUsers = options.houseUsers ?? new Set<string>()

  let position: ModelPosition | undefined
  let projecting: Projecting | undefined
  /** Whether the read model has to be loaded: before the first time, and after a failure within a batch. */
  let isStale = true
  let isConnected = false
  const progress = new LaneProgress(health, now)
  /** Open once readers have seen the head. */
  const atHead = Latch.makeUnsafe(false)

  const followers = new Set<(position: ModelPosition) => void>()
  const onMoved = (listener: (position: ModelPosition) => void) => {
    followers.add(listener)
    return () => void followers.delete(listener)
  }
  const waiters = new SeqWaiters(() => position?.seq ?? 0)

  /** Loads the read model and starts there. */
  const load = Effect.gen(function* () {
    yield* reads.clear
    const model = yield* Effect.provideService(loadReadModel, History, writer.stored)
    writer.begin(model.position)
    position = model.position
    progress.exists(position?.seq ?? 0)
    projecting = new Projecting(model, houseUsers)
    markets.start(position, model.starts)
    streams.start(position === undefined ? "" : streamIdOf(position), model.heads)
    isStale = false
    yield* reads.books
  })

  const disconnected = () => {
    isConnected = false
    markets.interrupted()
    progress.disconnected()
  }
  /** A frame arrived: after a loss, readers start from snapshots, and state that may have changed is read. */
  const connected: Effect.Effect<void> = Effect.suspend(() => {
    if (isConnected) return Effect.void
    isConnected = true
    markets.regained()
    return reads.statics
  })

  const reportHistory = () => health.historyProgress(writer.progress())
  yield* Effect.acquireRelease(
    Effect.sync(() => writer.onWritten(reportHistory)),
    (remove) => Effect.sync(remove)
  )

  /** The projection of events that follow the position, with the instruments that were read from the backend. */
  const project = (history: EventHistory, events: ReadonlyArray<Event>): Projection => {
    const projection = projecting!.next(history.epoch, events, history)
    const instruments = reads.takeInstruments()
    if (instruments.length === 0) return projection
    const newer = new Set(projection.instruments.map(({ symbol }) => symbol))
    const unchanged = instruments.filter(({ symbol }) => !newer.has(symbol))
    return { ...projection, instruments: [...unchanged, ...projection.instruments] }
  }

  /** Shows events that follow the position, as soon as the writer has room for them. */
  const show = Effect.fnUntraced(function* (history: EventHistory, events: ReadonlyArray<Event>) {
    progress.exists(events.at(-1)!.seq)
    progress.report(position, events[0]!.ts_ms)
    yield* writer.room
    isStale = true
    const projection = project(history, events)
    writer.add(projection)
    reportHistory()
    shownEvents.add(events.length)
    yield* connected
    // in one turn with what readers see there
    position = projection.position
    markets.apply(events, projection)
    streams.publish(streamIdOf(position), projection.userEvents)
    isStale = false
    progress.report(position)
    waiters.advance()
    for (const listener of followers) listener(position)
    yield* reads.books
  })
  const apply = (history: EventHistory, events: ReadonlyArray<Event>) =>
    Tracing.around(
      tracer,
      "Projector.batch",
      { first_seq: events[0]!.seq, events: events.length },
      show(history, events)
    )

  /** Applies frames that arrived together. */
  const take = Effect.fnUntraced(function* (frames: ReadonlyArray<FeedFrame>) {
    for (const step of batchSteps(position, frames)) {
      switch (step.type) {
        case "batch":
          yield* apply(step.history, step.events)
          if (step.isFull) yield* Effect.yieldNow
          break
        case "heartbeat":
          progress.heartbeat(step.frame)
          if (step.isIdle) {
            yield* connected
            progress.report(position)
          }
          break
        case "interrupted":
          disconnected()
          break
        case "broken":
          return yield* new FeedBroken({ message: step.message })
      }
    }
    if (progress.isAtHead(position)) atHead.openUnsafe()
  })

  /** Follows the feed from the position until it breaks. */
  const follow = Effect.suspend(() =>
    Effect.andThen(Stream.runForEachArray(feed.follow(position), take), new FeedBroken({ message: "the feed ended" }))
  )

  const lane = Effect.gen(function* () {
    let pause = 0
    while (true) {
      if (isStale) {
        const head = yield* matchVersion(writer, (isOlder) => {
          disconnected()
          if (isOlder) rebuilds("Version").add(1)
        })
        if (head !== undefined) progress.restart(head)
        yield* insist("loading the read model", load)
      }
      const started = now()
      const cause = yield* Effect.raceFirst(follow, writer.superseded).pipe(Effect.sandbox, Effect.flip)
      if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause as Cause.Cause<never>)
      disconnected()
      const gone = cause.reasons.find(Cause.isFailReason)?.error
      if (gone?._tag === "FeedGone") {
        rebuilds(gone.reason).add(1)
        // a position before the first event is on every history, unless it has a fork
        const isForked =
          gone.reason === "Forked" && position !== undefined && (position.seq > 0 || position.fork !== undefined)
        const rebuild = isForked ? changeHistory(writer, position!) : rebuildReadModel(writer, position)
        const head = yield* insist("rebuilding the read model", rebuild)
        if (head !== undefined) progress.restart(head)
        isStale = true
      } else {
        isStale ||= hasFailed(cause, "Superseded")
        yield* Effect.logWarning("the event stream ended", cause)
      }
      const isStable = now() - started > STABLE_MS
      pause = isStable ? PAUSE_MS_MIN : Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, pause * 2))
      yield* Effect.sleep(pause)
    }
  })
  yield* Daemon.repeat("event lane")(lane)

  return Context.make(
    Projector,
    Projector.of({
      position: () => position,
      caughtUp: atHead.await,
      reached: (seq) => waiters.wait(seq, REACHED_WAIT),
      onMoved
    })
  ).pipe(Context.add(MarketView, markets.view), Context.add(UserStreams, streams.view))
})

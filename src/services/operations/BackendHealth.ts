/**
 * Policy: whether the backends are well, by the numbers of docs/contract/boundary.md#lagging.
 *
 * A backend is ill when it is lost, when it is silent while this gateway waits for it, or when a referee reports that it is behind.
 * What this gateway has received and not applied says nothing about the backend: overload is not illness
 * (docs/contract/boundary.md#overload). Silence is counted in steps, at most one per turn of the event loop, so that a
 * stall of this process is no silence of a backend. The projector and the price follower report; everything else reads.
 */
import { Clock, Context, Effect, Layer } from "effect"

/**
 * Why a link is ill. `lost`: no connection. `silent`: no frame for 5 s. `behind`: what the backend had reported when the
 * connection was made, after a start or a loss, is not applied yet; of a referee: it lags. `stalled`: the history takes no event.
 */
export type Illness = "lost" | "silent" | "behind" | "stalled"

export interface LinkState {
  readonly connected: boolean
  readonly lag_events: number
  readonly lag_ms: number
  /** New commands and private reads are refused. */
  readonly ill: boolean
  /** Why it is, or, while it recovers, why it was. */
  readonly illness?: Illness | undefined
  /** How long it has been ill, in ms; 0 when it is well. */
  readonly ill_for_ms: number
  /** Age of the last frame, in ms; infinite before the first. */
  readonly age_ms: number
}

export class BackendHealth extends Context.Service<
  BackendHealth,
  {
    readonly sequencer: () => LinkState
    readonly referee: () => LinkState
    /** Whether each has been well once; before, this is a start that is not over. */
    readonly started: () => boolean
    /**
     * Where the event lane is, at every frame and after every batch: the head that the stream reported, the seq applied here, and
     * when the oldest received event that is not applied happened, by our clock; undefined: the lane waits for the stream.
     */
    readonly sawSequencer: (frame: {
      readonly head_seq: number
      readonly applied_seq: number
      readonly oldest_unapplied_ms: number | undefined
    }) => void
    /** A heartbeat of the event stream: why the sequencer refuses every command; empty while it takes them. */
    readonly sequencerRefuses: (reasons: ReadonlyArray<string>) => void
    /** What the last heartbeat said of it, also while the link is lost. */
    readonly refusing: () => ReadonlyArray<string>
    /** A frame of the price stream arrived; undefined: one that does not report how far the referee is. */
    readonly sawReferee: (frame: { readonly applied_seq: number | undefined }) => void
    readonly lostSequencer: () => void
    readonly lostReferee: () => void
  }
>()("gateway/services/BackendHealth") {
  static readonly layer: Layer.Layer<BackendHealth> = Layer.effect(
    BackendHealth,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const sequencer = new Link(now())
      const referee = new Link(now())
      let refusing: ReadonlyArray<string> = []
      // a heartbeat may wait here while events are read, so it is compared with the head at the heartbeat before
      let headBefore = 0
      yield* Effect.sync(() => {
        sequencer.step(now())
        referee.step(now())
      }).pipe(Effect.delay(STEP_MS), Effect.forever, Effect.forkScoped)
      return BackendHealth.of({
        sequencer: () => sequencer.state(now()),
        referee: () => referee.state(now()),
        started: () => sequencer.wasWell && referee.wasWell,
        sawSequencer: ({ head_seq, applied_seq, oldest_unapplied_ms }) =>
          sequencer.saw(now(), head_seq, applied_seq, oldest_unapplied_ms),
        sawReferee: ({ applied_seq }) => {
          if (applied_seq === undefined) return referee.alive(now())
          referee.isBehind = headBefore - applied_seq > (referee.isBehind ? LAG_MAX_EVENTS / 2 : LAG_MAX_EVENTS)
          referee.saw(now(), Math.max(applied_seq, headBefore), applied_seq, undefined)
          headBefore = sequencer.head
        },
        sequencerRefuses: (reasons) => {
          refusing = reasons
        },
        refusing: () => refusing,
        lostSequencer: () => sequencer.lost(now()),
        lostReferee: () => {
          headBefore = 0
          referee.lost(now())
        }
      })
    })
  )
}

/** A step of silence, in ms; one is over at most in a turn of the event loop. */
const STEP_MS = 500
/** A link without a frame for so long is silent; a lane that applies nothing for so long is stalled. */
const SILENCE_MAX_MS = 5_000
/** A referee so many events behind lags. */
const LAG_MAX_EVENTS = 10_000
/** A link that was silent, stalled or a lagging referee is well again after so long below half of each limit; others at once. */
const RECOVERY_MS = 2_000

/** One link to a backend. */
class Link {
  head = 0
  wasWell = false
  isBehind = false
  private applied = 0
  private oldest: number | undefined
  private connected = false
  /** When the last frame came; before the first, nothing is known. */
  private lastFrame: number | undefined
  /** The head at the time of the connection: until it is applied, the past is caught up with. */
  private target = 0
  /** For how long no frame came while one was waited for, and nothing was applied while something waited. */
  private silent_ms = 0
  private stalled_ms = 0
  private illSince: number | undefined
  private illness: Illness | undefined
  private betterSince: number | undefined
  /** Whether it was worse than lost since it is ill. */
  private lagged = false
  private readonly born: number
  constructor(born: number) {
    this.born = born
  }

  /** Another step is over. */
  step(now: number): void {
    if (this.lastFrame === undefined || !this.connected) return
    if (this.oldest === undefined) this.silent_ms += STEP_MS
    else this.stalled_ms += STEP_MS
    // only a frame makes it well
    const isWell = this.illSince === undefined
    if (this.fault(isWell ? 1 : 0.5) !== undefined) this.judge(now)
  }
  saw(now: number, head: number, applied: number, oldest: number | undefined): void {
    if (!this.connected) this.target = head
    if (applied !== this.applied || oldest === undefined) this.stalled_ms = 0
    this.head = head
    this.applied = applied
    this.oldest = oldest
    this.alive(now)
  }
  /** A frame that reports nothing else. */
  alive(now: number): void {
    this.connected = true
    this.lastFrame = now
    this.silent_ms = 0
    this.judge(now)
  }
  lost(now: number): void {
    this.connected = false
    this.oldest = undefined
    this.stalled_ms = 0
    this.judge(now)
  }
  state(now: number): LinkState {
    const isUnknown = this.lastFrame === undefined
    return {
      connected: this.connected,
      lag_events: Math.max(0, this.head - this.applied),
      lag_ms: this.oldest === undefined ? 0 : Math.max(0, now - this.oldest),
      ill: isUnknown || this.illSince !== undefined,
      illness: isUnknown ? "lost" : this.illness,
      ill_for_ms: now - (isUnknown ? this.born : (this.illSince ?? now)),
      age_ms: isUnknown ? Infinity : now - this.lastFrame!
    }
  }

  /** What is wrong where limits are a part of their own. */
  private fault(part: number): Illness | undefined {
    if (!this.connected) return "lost"
    if (this.silent_ms > SILENCE_MAX_MS * part) return "silent"
    if (this.stalled_ms > SILENCE_MAX_MS * part) return "stalled"
    return this.isBehind || this.applied < this.target ? "behind" : undefined
  }
  private judge(now: number): void {
    if (this.lastFrame === undefined) return
    const fault = this.fault(this.illSince === undefined ? 1 : 0.5)
    if (this.illSince === undefined) {
      if (fault === undefined) {
        this.wasWell = true
        return
      }
      this.illSince = now
      this.lagged = false
      this.betterSince = undefined
    }
    if (fault !== undefined) {
      // the present fault is reported: a silence may end as a loss
      this.illness = fault
      this.lagged ||= fault === "silent" || fault === "stalled" || this.isBehind
      this.betterSince = undefined
      return
    }
    this.betterSince ??= now
    if (this.lagged && now - this.betterSince < RECOVERY_MS) return
    this.illSince = undefined
    this.illness = undefined
    this.wasWell = true
  }
}

/**
 * Policy: whether the backends are up, lagging or lost, by the numbers of contract 8.4.
 *
 * The projector reports what the feed brought, the price follower what the referee brought; everybody else only asks.
 */
import { Clock, Context, Effect, Layer } from "effect"

export interface LinkState {
  readonly connected: boolean
  readonly lag_events: number
  readonly lag_ms: number
  /** Down or lagging: new commands and private reads are refused. */
  readonly ill: boolean
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
     * A frame of the event stream arrived: the head it tells, the seq applied here, and when the oldest event that is not
     * applied happened, by our clock.
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
    readonly sawReferee: (frame: { readonly applied_seq: number }) => void
    readonly lostSequencer: () => void
    readonly lostReferee: () => void
  }
>()("gateway/services/BackendHealth") {
  static readonly layer: Layer.Layer<BackendHealth> = Layer.effect(
    BackendHealth,
    Effect.map(Clock.Clock, (clock) => {
      const now = () => clock.currentTimeMillisUnsafe()
      const sequencer = new Link(now())
      const referee = new Link(now())
      let refusing: ReadonlyArray<string> = []
      return BackendHealth.of({
        sequencer: () => sequencer.state(now()),
        referee: () => referee.state(now()),
        started: () => {
          const at = now()
          return sequencer.hasStarted(at) && referee.hasStarted(at)
        },
        sawSequencer: ({ head_seq, applied_seq, oldest_unapplied_ms }) => {
          sequencer.saw(now(), head_seq, applied_seq, oldest_unapplied_ms)
          referee.moved(now(), head_seq)
        },
        sequencerRefuses: (reasons) => {
          refusing = reasons
        },
        refusing: () => refusing,
        sawReferee: ({ applied_seq }) =>
          referee.saw(now(), Math.max(applied_seq, sequencer.head), applied_seq, undefined),
        lostSequencer: () => sequencer.lost(now()),
        lostReferee: () => referee.lost(now())
      })
    })
  )
}

/** A link without a frame for so long is lagging; so is one with an event unapplied for so long. */
const SILENCE_MAX_MS = 5_000
/** A link so many events behind is lagging. */
const LAG_MAX_EVENTS = 10_000
/** A link that lagged is well again once it has been below half of each for so long; one that was only lost, at once. */
const RECOVERY_MS = 2_000

/** One link to a backend, judged whenever something is told or asked. */
class Link {
  head = 0
  private applied = 0
  private oldest: number | undefined
  private connected = false
  /** When the last frame came; before the first, nothing is known. */
  private lastFrame: number | undefined
  private illSince: number | undefined
  private betterSince: number | undefined
  /** Whether it lagged since it is ill. */
  private lagged = false
  private wasWell = false
  private readonly born: number
  constructor(born: number) {
    this.born = born
  }

  hasStarted(now: number): boolean {
    this.judge(now)
    return this.wasWell
  }
  saw(now: number, head: number, applied: number, oldest: number | undefined): void {
    const first = this.lastFrame === undefined
    // what the silence before this frame meant is judged first
    if (!first) this.judge(now)
    this.connected = true
    this.lastFrame = now
    this.head = head
    this.applied = applied
    this.oldest = oldest
    if (first) {
      // a start is no illness: the first frame shows whether there is one
      this.illSince = this.within(now, 0.5) ? undefined : now
      this.lagged = true
      this.betterSince = undefined
    }
    this.judge(now)
  }
  /** The other link told how far the stream has come. */
  moved(now: number, head: number): void {
    if (this.lastFrame === undefined) return
    this.head = Math.max(this.applied, head)
    this.judge(now)
  }
  lost(now: number): void {
    this.judge(now)
    this.connected = false
    this.judge(now)
  }
  state(now: number): LinkState {
    this.judge(now)
    return {
      connected: this.connected,
      lag_events: Math.max(0, this.head - this.applied),
      lag_ms: this.lag(now),
      ill: this.lastFrame === undefined || this.illSince !== undefined,
      ill_for_ms: now - (this.lastFrame === undefined ? this.born : (this.illSince ?? now)),
      age_ms: this.lastFrame === undefined ? Infinity : now - this.lastFrame
    }
  }

  private lag(now: number): number {
    return this.oldest === undefined ? 0 : Math.max(0, now - this.oldest)
  }
  private within(now: number, part: number): boolean {
    return this.connected && this.isBelow(now, part)
  }
  /** Whether the link is below a part of every limit. */
  private isBelow(now: number, part: number): boolean {
    return (
      now - this.lastFrame! <= SILENCE_MAX_MS * part &&
      this.head - this.applied <= LAG_MAX_EVENTS * part &&
      this.lag(now) <= SILENCE_MAX_MS * part
    )
  }
  private judge(now: number): void {
    if (this.lastFrame === undefined) return
    if (this.illSince === undefined) {
      if (this.within(now, 1)) {
        this.wasWell = true
        return
      }
      // silence made it ill when its time was up, not when somebody asked
      const silent = this.lastFrame + SILENCE_MAX_MS
      this.illSince = this.connected && now > silent ? silent : now
      this.lagged = !this.isBelow(now, 1)
      this.betterSince = undefined
      return
    }
    this.lagged ||= !this.isBelow(now, 1)
    if (!this.within(now, 0.5)) this.betterSince = undefined
    else {
      this.betterSince ??= now
      if (!this.lagged || now - this.betterSince >= RECOVERY_MS) {
        this.illSince = undefined
        this.betterSince = undefined
        this.wasWell = true
      }
    }
  }
}

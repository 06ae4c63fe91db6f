/**
 * Policy: health of the backends, by the limits of docs/contract/boundary.md#lagging.
 *
 * A backend is unhealthy if it is disconnected, if it is silent while this gateway waits for it, or if the referee reports
 * a backlog. Events that this gateway has received and not applied are no evidence of a fault: overload is none
 * (docs/contract/boundary.md#overload). Silence is counted in steps, at most one per turn of the event loop,
 * so a stall of this process does not count as silence. All times are monotonic: a step of the wall clock changes none. The projector and the price follower report; all other parts
 * read.
 */
import { Clock, Context, Effect, Layer } from "effect"
import * as Daemon from "./Daemon.ts"
import { monotonicMillis } from "./Monotonic.ts"

/**
 * Why a link is unhealthy. `lost`: no connection. `silent`: no frame for 5 s. `behind`: after a start or a loss, the events
 * that the backend reported at connection are not applied yet; for the referee: it lags. `stalled`: the database
 * accepts no event.
 */
export type LinkFault = "lost" | "silent" | "behind" | "stalled"

export interface LinkState {
  readonly connected: boolean
  readonly lag_events: number
  readonly lag_ms: number
  /** New commands and private reads are refused. */
  readonly unhealthy: boolean
  /** The current reason or, during recovery, the last one. */
  readonly fault?: LinkFault | undefined
  /** Time since it became unhealthy, in ms; 0 if healthy. */
  readonly unhealthy_for_ms: number
  /** Age of the last frame, or of the last applied event while the lane catches up, in ms; infinite before the first frame. */
  readonly age_ms: number
}

/** What a heartbeat of the sequencer reports. */
export interface SequencerStatus {
  readonly refusing: ReadonlyArray<string>
  readonly warnings: ReadonlyArray<string>
}

export class BackendHealth extends Context.Service<
  BackendHealth,
  {
    readonly sequencer: () => LinkState
    readonly referee: () => LinkState
    /** Whether each backend has been healthy once; false during start-up. */
    readonly started: () => boolean
    /**
     * Progress of the event lane, at every frame and after every batch: the head that the stream reported, the seq
     * applied here, and the monotonic time of the oldest received event that is not applied; undefined: the lane waits
     * for the stream.
     */
    readonly sequencerProgress: (frame: {
      readonly head_seq: number
      readonly applied_seq: number
      readonly oldest_unapplied_ms: number | undefined
      /** Monotonic time of the last applied event; undefined: it is not known. */
      readonly applied_ms?: number | undefined
    }) => void
    /** Progress of the histories: events that are shown and not written, and the seq up to which they are written. */
    readonly historyProgress: (progress: { readonly unwritten_events: number; readonly written_seq: number }) => void
    /**
     * Reasons in a heartbeat for which the sequencer refuses every command, empty if it accepts them; and conditions
     * that an operator should end.
     */
    readonly sequencerReports: (status: SequencerStatus) => void
    /** The status of the last heartbeat, also after a lost connection. */
    readonly reported: () => SequencerStatus
    /** A frame of the price stream arrived; undefined: the frame does not report the progress of the referee. */
    readonly refereeProgress: (frame: { readonly applied_seq: number | undefined }) => void
    readonly sequencerLost: () => void
    readonly refereeLost: () => void
  }
>()("gateway/services/BackendHealth") {
  static readonly layer: Layer.Layer<BackendHealth> = Layer.effect(
    BackendHealth,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const now = () => monotonicMillis(clock)
      const sequencer = new Link(now())
      const referee = new Link(now())
      let reported: SequencerStatus = { refusing: [], warnings: [] }
      // a heartbeat may be queued here while events are read, so it is compared with the head of the previous
      // heartbeat
      let headBefore = 0
      yield* Effect.sync(() => {
        sequencer.step(now())
        referee.step(now())
      }).pipe(Effect.delay(STEP_MS), Daemon.repeat("health of the backends"))
      return BackendHealth.of({
        sequencer: () => sequencer.state(now()),
        referee: () => referee.state(now()),
        started: () => sequencer.wasHealthy && referee.wasHealthy,
        sequencerProgress: ({ head_seq, applied_seq, oldest_unapplied_ms, applied_ms }) =>
          sequencer.saw(now(), head_seq, applied_seq, oldest_unapplied_ms, applied_ms),
        historyProgress: (progress) => sequencer.wrote(now(), progress.unwritten_events, progress.written_seq),
        refereeProgress: ({ applied_seq }) => {
          if (applied_seq === undefined) return referee.alive(now())
          referee.isBehind = headBefore - applied_seq > (referee.isBehind ? LAG_MAX_EVENTS / 2 : LAG_MAX_EVENTS)
          referee.saw(now(), Math.max(applied_seq, headBefore), applied_seq, undefined)
          headBefore = sequencer.head
        },
        sequencerReports: (status) => {
          reported = status
        },
        reported: () => reported,
        sequencerLost: () => sequencer.lost(now()),
        refereeLost: () => {
          headBefore = 0
          referee.lost(now())
        }
      })
    })
  )
}

/** Length of a step of silence, in ms; at most one step counts per turn of the event loop. */
const STEP_MS = 500
/** Time without a frame after which a link is silent, and without an applied or written event after which it is stalled. */
const SILENCE_MAX_MS = 5_000
/** Backlog from which the referee lags, in events. */
const LAG_MAX_EVENTS = 10_000
/**
 * Time below half of each limit after which a link that was silent, stalled or lagging is healthy again; other links
 * recover at once.
 */
const RECOVERY_MS = 2_000

/** One link to a backend. */
class Link {
  head = 0
  wasHealthy = false
  isBehind = false
  private applied = 0
  private oldest: number | undefined
  private appliedAt: number | undefined
  private connected = false
  /** Time of the last frame; undefined before the first. */
  private lastFrame: number | undefined
  /** The head at connection; until it is applied, the lane catches up. */
  private target = 0
  /** Time without a frame while one was expected, and time without progress while events were queued. */
  private silent_ms = 0
  private stalled_ms = 0
  /** The written part of the histories, and the time without progress while events are unwritten. */
  private writtenSeq = 0
  private isWritten = true
  private unwritten_ms = 0
  private unhealthySince: number | undefined
  private fault: LinkFault | undefined
  private betterSince: number | undefined
  /** Whether the link was more than disconnected since it became unhealthy. */
  private lagged = false
  private readonly born: number
  constructor(born: number) {
    this.born = born
  }

  /** A step has passed. */
  step(now: number): void {
    if (this.lastFrame === undefined || !this.connected) return
    if (this.oldest === undefined) this.silent_ms += STEP_MS
    else this.stalled_ms += STEP_MS
    if (!this.isWritten) this.unwritten_ms += STEP_MS
    // only a frame makes a link healthy again
    const isHealthy = this.unhealthySince === undefined
    if (this.currentFault(isHealthy ? 1 : 0.5) !== undefined) this.judge(now)
  }
  saw(now: number, head: number, applied: number, oldest: number | undefined, appliedAt?: number): void {
    if (!this.connected) this.target = head
    if (applied !== this.applied || oldest === undefined) this.stalled_ms = 0
    this.head = head
    this.applied = applied
    this.oldest = oldest
    this.appliedAt = appliedAt
    this.alive(now)
  }
  /** Progress of the histories. */
  wrote(now: number, unwritten: number, seq: number): void {
    if (unwritten === 0 || seq !== this.writtenSeq) this.unwritten_ms = 0
    this.isWritten = unwritten === 0
    this.writtenSeq = seq
    if (this.connected) this.judge(now)
  }
  /** A frame without progress figures. */
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
    // after a start or a rebuild of the read model, what is shown can be hours old although frames arrive
    const shownAt = this.applied < this.target ? (this.appliedAt ?? Infinity) : Infinity
    return {
      connected: this.connected,
      lag_events: Math.max(0, this.head - this.applied),
      lag_ms: this.oldest === undefined ? 0 : Math.max(0, now - this.oldest),
      unhealthy: isUnknown || this.unhealthySince !== undefined,
      fault: isUnknown ? "lost" : this.fault,
      unhealthy_for_ms: now - (isUnknown ? this.born : (this.unhealthySince ?? now)),
      age_ms: isUnknown ? Infinity : now - Math.min(this.lastFrame!, shownAt)
    }
  }

  /** The current fault, with the limits scaled by `part`. */
  private currentFault(part: number): LinkFault | undefined {
    if (!this.connected) return "lost"
    if (this.silent_ms > SILENCE_MAX_MS * part) return "silent"
    if (Math.max(this.stalled_ms, this.unwritten_ms) > SILENCE_MAX_MS * part) return "stalled"
    return this.isBehind || this.applied < this.target ? "behind" : undefined
  }
  private judge(now: number): void {
    if (this.lastFrame === undefined) return
    const fault = this.currentFault(this.unhealthySince === undefined ? 1 : 0.5)
    if (this.unhealthySince === undefined) {
      if (fault === undefined) {
        this.wasHealthy = true
        return
      }
      this.unhealthySince = now
      this.lagged = false
      this.betterSince = undefined
    }
    if (fault !== undefined) {
      // report the current fault: a silence may become a loss
      this.fault = fault
      this.lagged ||= fault === "silent" || fault === "stalled" || this.isBehind
      this.betterSince = undefined
      return
    }
    this.betterSince ??= now
    if (this.lagged && now - this.betterSince < RECOVERY_MS) return
    this.unhealthySince = undefined
    this.fault = undefined
    this.wasHealthy = true
  }
}

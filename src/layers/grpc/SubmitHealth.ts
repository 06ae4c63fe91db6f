/**
 * Whether commands can be submitted, judged from the stream of commands and the results on it. Times are monotonic, in ms; those
 * of commands are on the deadline clock.
 */

/** Time without a stream after which commands fail fast, and for which a stream is open before it counts as accepted, in ms. */
export const ABSENT_MS_MAX = 1000
/** Time for which an expired command is evidence that commands cannot be submitted, in ms. Then new ones are needed to find out. */
export const EVIDENCE_MS_MAX = 30_000

/** Of one stream after another: a result on any of them counts. */
export class SubmitHealth {
  /** When the stream was lost; Infinity while one is open. */
  private absentSince: number
  /** When the open stream was opened; Infinity without one, -Infinity after a result on it. */
  private opened_ms = Infinity
  /** When the last result arrived, on the deadline clock. */
  private answered_ms = 0
  /** When a written command last expired with no result on any stream since its write; undefined after a result. */
  private stuck_ms: number | undefined
  /** Since when no command can be submitted; undefined: commands can be submitted. */
  private downSince: number | undefined

  constructor(now: number) {
    this.absentSince = this.downSince = now
  }

  /** A stream is open. */
  opened(now: number): void {
    this.absentSince = Infinity
    this.opened_ms = now
  }
  /** The stream is lost. */
  lost(now: number): void {
    this.absentSince = now
    this.opened_ms = Infinity
  }
  /** A result arrived. */
  answered(at_ms: number): void {
    this.opened_ms = -Infinity
    this.answered_ms = at_ms
    this.stuck_ms = undefined
  }
  /** A command expired that was written at a time. */
  expired(written_ms: number, now: number): void {
    if (this.answered_ms < written_ms) this.stuck_ms = now
  }

  /** Whether a command would most likely expire. */
  isUnavailable(now: number): boolean {
    return this.stuck_ms !== undefined || now - this.absentSince >= ABSENT_MS_MAX
  }
  /** A stream that is refused ends soon after it opens, so a stream is accepted only after a while or a result. */
  judge(now: number, isSilent: boolean): void {
    const isDown =
      isSilent ||
      now - this.opened_ms < ABSENT_MS_MAX ||
      (this.stuck_ms !== undefined && now - this.stuck_ms < EVIDENCE_MS_MAX)
    if (isDown) this.downSince ??= now
    else this.downSince = undefined
  }
  /** Time for which no command could be submitted, in ms; 0: commands can be submitted, as far as the last ones show. */
  down_ms(now: number): number {
    return this.downSince === undefined ? 0 : now - this.downSince
  }
}

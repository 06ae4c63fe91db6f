/**
 * The port of a journal in a database that several backends share.
 *
 * A session holds at most one lock, which selects the leader and may be wrong for a moment. Safety is in the term: taking
 * the lead raises it, and an append names the term and the position that it follows, so a leader that was replaced
 * appends nothing.
 */
import { type Effect, Schema, type Scope } from "effect"
import type { Turn } from "../Journal.ts"
import type { Fork } from "../Forks.ts"
import type { Origin } from "../JournalSchema.ts"

/** The session with the database is lost. The outcome of the call in progress is unknown. */
export class SessionLost extends Schema.TaggedError<SessionLost>()("SessionLost", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Unknown)
}) {}

/** The end of the journal, and the term of its leader. */
export interface Lease {
  readonly term: number
  /** Position of the last entry. */
  readonly position: number
}

/** What a journal has beside its entries. */
export interface History {
  /** The forks that restores began, oldest first. */
  readonly forks: ReadonlyArray<Fork>
  /** Seq of an event of the current fork that a subscriber has seen and the journal lacks; 0 where there was none. */
  readonly seen_seq: number
}

/**
 * The calls of a session. An interrupted call goes on in the database. All but `append`, `confirm`, `beginFork` and `demand`
 * have a time limit, and so has the opening: callers limit those four, whose commit may need longer.
 */
export interface JournalSession {
  /** Stores the origin of a new journal, and returns the origin of the journal there is. */
  readonly origin: (made: () => Origin) => Effect.Effect<Origin, SessionLost>
  /** Whether this session holds the lock, which it takes where it is free. */
  readonly lock: Effect.Effect<boolean, SessionLost>
  /** Begins the next term, durably. Appends of earlier terms have no effect from then on. */
  readonly raise: (holder: string) => Effect.Effect<Lease, SessionLost>
  /** Appends a turn after the position that it follows, durably. False if the term or the position is another one. */
  readonly append: (term: number, turn: Turn) => Effect.Effect<boolean, SessionLost>
  /** The position of the journal once it is durable up to there; undefined if the term is another one. */
  readonly confirm: (term: number) => Effect.Effect<number | undefined, SessionLost>
  /** Turns after a position, in order, a bounded number of them. */
  readonly turns: (after: number) => Effect.Effect<ReadonlyArray<Turn>, SessionLost>
  /** The checksum of the entries up to the end of a turn; undefined where no turn ends there. */
  readonly checksumAt: (position: number) => Effect.Effect<number | undefined, SessionLost>
  readonly history: Effect.Effect<History, SessionLost>
  /** Begins a fork at the end of the journal. False if the term or the position is another one. */
  readonly beginFork: (term: number, fork: Fork) => Effect.Effect<boolean, SessionLost>
  /** A subscriber has seen an event of the current fork that the journal lacks. Without effect if the term is another one. */
  readonly demand: (term: number, seen_seq: number) => Effect.Effect<void, SessionLost>
}

export interface JournalDatabase {
  /** Opens a session, which ends with the scope. */
  readonly open: Effect.Effect<JournalSession, SessionLost, Scope.Scope>
}

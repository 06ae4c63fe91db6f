/**
 * What the journal and the servers need of an engine, as a value.
 *
 * The engine is a deterministic state machine: equal states and equal inputs give equal results, events and hashes. It
 * reads no clock; time enters with every input and never falls. The journal keeps the inputs, so a replay of them from
 * {@link Machine.initial} is the state.
 */
import type { Command, CommandResult, Event } from "../../proto/gateway/v1/sequencer.ts"
import type { ClientIdIndex } from "./ClientIdIndex.ts"

/** One turn of the machine: a command, or the passing of time (`command` undefined: a Tick). */
export interface Input {
  /** Engine time, Unix ms. Never less than that of the input before. */
  readonly at_ms: number
  readonly command: Command | undefined
  /** Nobody can ask for its events: they are counted and not made. */
  readonly silent?: boolean | undefined
}

export interface Step {
  /** Undefined for a Tick. A refusal is a `status`; it has changed nothing. */
  readonly result: CommandResult | undefined
  /** What happened, in order; their seqs follow the head without a gap. None of a silent input. */
  readonly events: ReadonlyArray<Event>
}

/**
 * `S` is the state, changed in place by `apply`; `C` the configuration that decides results, which is plain JSON because
 * the journal keeps it.
 */
export interface Machine<S, C> {
  /** Name of the rules. Entries written under other rules are not replayed. */
  readonly rules: string
  /** Older rules whose snapshots `load` understands: a journal of theirs can go on from one. */
  readonly upgrades: ReadonlyArray<string>
  /** `links` holds the order_link_ids; by default memory does. */
  readonly initial: (config: C, epoch: string, links?: ClientIdIndex) => S
  /** The whole state as bytes. */
  readonly dump: (state: S) => Uint8Array
  /** The state again. Throws where the bytes are of another make. */
  readonly load: (config: C, epoch: string, links: ClientIdIndex, bytes: Uint8Array) => S
  readonly apply: (state: S, input: Input) => Step
  readonly hash: (state: S) => string
  /** Whether a Tick at this time changes anything. Ticks that do not are not journalled. */
  readonly tickMatters: (state: S, at_ms: number) => boolean
  /** Seq of the last event; 0 before the first. */
  readonly headSeq: (state: S) => number
}

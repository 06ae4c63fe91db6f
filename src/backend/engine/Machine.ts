/**
 * The interface of an engine for the journal and the servers.
 *
 * An engine is a deterministic state machine: equal states and equal inputs give equal results, events and hashes. It
 * does not read a clock; every input carries the time, which never decreases. The journal stores the inputs, so a
 * replay of them from {@link Machine.initial} rebuilds the state.
 */
import type { Command, CommandResult, Event } from "../../proto/gateway/v1/sequencer.ts"
import type { ClientIdIndex } from "./state/ClientIdIndex.ts"
import type { Slices } from "./state/Slices.ts"

export { drain, SLICE_MS, type Slices } from "./state/Slices.ts"

/** One input: a command, or the passage of time (`command` undefined: a Tick). */
export interface Input {
  /** Engine time, Unix ms. Never below that of the previous input. */
  readonly at_ms: number
  readonly command: Command | undefined
  /** Events are counted but not built, because no subscriber can request them. */
  readonly silent?: boolean | undefined
}

export interface Step {
  /** Undefined for a Tick. A refusal is a `status` and has changed nothing. */
  readonly result: CommandResult | undefined
  /** Events in order; their seqs follow the head without a gap. Empty for a silent input. */
  readonly events: ReadonlyArray<Event>
}

/**
 * `S` is the state, which `apply` changes in place. `C` is the configuration that decides results: plain JSON, because
 * the journal stores it.
 */
export interface Machine<S, C> {
  /** Name of the rules. Entries of other rules are not replayed. */
  readonly rules: string
  /** Older rules whose snapshots `load` can read: a journal of them can continue from such a snapshot. */
  readonly upgrades: ReadonlyArray<string>
  /** The state before the first input. `links` is the client id index; by default it is in memory. */
  readonly initial: (config: C, epoch: string, links?: ClientIdIndex) => S
  /** Serializes the whole state. */
  readonly dump: (state: S) => Uint8Array
  /** Deserializes a state. Throws where the bytes have another format. */
  readonly load: (config: C, epoch: string, links: ClientIdIndex, bytes: Uint8Array) => S
  readonly apply: (state: S, input: Input) => Step
  /** The same in slices; absent where every input is short. */
  readonly start?: (state: S, input: Input) => Slices<Step>
  readonly hash: (state: S) => string
  readonly hashSlices?: (state: S) => Slices<string>
  /** Whether a Tick at this time changes anything. Other Ticks are not journaled. */
  readonly tickMatters: (state: S, at_ms: number) => boolean
  /** Seq of the last event; 0 before the first. */
  readonly headSeq: (state: S) => number
}

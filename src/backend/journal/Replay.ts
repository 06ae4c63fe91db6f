/**
 * Brings the engine to the state that the journal describes, and refuses when the two disagree.
 *
 * A replay applies every entry from the first on. At each checkpoint the state's hash must be the one written down then:
 * a difference means that the journal was altered or that the engine's rules changed without their name, and going on
 * would serve balances that nobody acknowledged.
 */
import { Command, CommandResult, type Event } from "../../proto/gateway/v1/sequencer.ts"
import type { Machine } from "../Machine.ts"
import { type Journal, JournalError } from "./Journal.ts"

export interface Replayed<S> {
  readonly state: S
  /** Time of the last entry, Unix ms; that of the journal's creation while it is empty. */
  readonly at_ms: number
  /** Entries applied. */
  readonly entries: number
}

export interface ReplayOptions {
  /** Told of the events of every entry, in order. */
  readonly onEvents?: (events: ReadonlyArray<Event>) => void
  /** Also compares the result of every command with the one written down. Slower; `verify` asks for it. */
  readonly results?: boolean
}

const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

/** Replays the whole journal. Throws {@link JournalError} when rules, a checkpoint or a result disagree. */
export const replay = <S, C>(machine: Machine<S, C>, journal: Journal, options: ReplayOptions = {}): Replayed<S> => {
  const { origin } = journal
  if (origin.rules !== machine.rules) {
    throw new JournalError({
      message:
        `${journal.path} was written under rules "${origin.rules}", this program has "${machine.rules}"; ` +
        `run the program that wrote it, or start with an empty DATA_DIR`
    })
  }
  const checkpoints = journal.checkpoints()
  const state = machine.initial(JSON.parse(origin.config) as C, origin.epoch)
  let at_ms = origin.created_at_ms
  let position = 0
  let next = 0
  const check = () => {
    const checkpoint = checkpoints[next]
    if (checkpoint === undefined || checkpoint.position !== position) return
    const found = machine.hash(state)
    if (found !== checkpoint.state_hash) {
      throw new JournalError({
        message:
          `${journal.path} does not replay: at position ${position} the state hash is ${found}, ` +
          `the checkpoint says ${checkpoint.state_hash}; nothing is served from a state that differs`
      })
    }
    next++
  }
  check()
  for (const entry of journal.entries()) {
    if (entry.position !== position + 1) {
      throw new JournalError({ message: `${journal.path} has a gap before position ${entry.position}` })
    }
    position = entry.position
    at_ms = entry.at_ms
    const command = entry.command === undefined ? undefined : Command.decode(entry.command)
    const step = machine.apply(state, { at_ms, command })
    if (options.results === true && entry.result !== undefined) {
      const result = step.result === undefined ? new Uint8Array() : CommandResult.encode(step.result).finish()
      if (!equalBytes(result, entry.result)) {
        throw new JournalError({ message: `${journal.path} does not replay: position ${position} has another result` })
      }
    }
    if (step.events.length > 0) options.onEvents?.(step.events)
    check()
  }
  const ahead = checkpoints[next]
  if (ahead !== undefined) {
    throw new JournalError({
      message: `${journal.path} ends at position ${position}, but a checkpoint stands at ${ahead.position}: entries are lost`
    })
  }
  return { state, at_ms, entries: position }
}

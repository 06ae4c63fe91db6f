/** Applies the turns of a shared journal to an engine and to its copy of the journal, and compares the two. */
import { Command, CommandResult } from "../../../proto/gateway/v1/sequencer.ts"
import { drain, type Machine } from "../../engine/Machine.ts"
import { entriesOf } from "../Block.ts"
import type { EventLog } from "../EventLog.ts"
import type { Journal, Turn } from "../Journal.ts"
import { JournalError, readError, RECOVERY_HINT } from "../JournalError.ts"
import type * as Lease from "./Lease.ts"

export interface ReplicaOptions<S, C> {
  readonly machine: Machine<S, C>
  readonly state: S
  /** Time of the last entry, Unix ms. */
  readonly at_ms: number
  readonly journal: Journal
  readonly log: EventLog
  /** Called after the copy is committed. */
  readonly onApplied: () => void
}

export class Replica<S, C> implements Lease.Replica {
  private readonly options: ReplicaOptions<S, C>
  /** Time of the last entry, Unix ms. */
  at_ms: number

  constructor(options: ReplicaOptions<S, C>) {
    this.options = options
    this.at_ms = options.at_ms
  }

  position = (): number => this.options.journal.position
  checksum = (): number => this.options.journal.chainAt(this.position()) ?? 0

  apply = (turns: ReadonlyArray<Turn>): void => {
    const { journal, onApplied } = this.options
    try {
      journal.begin()
      for (const turn of turns) this.applyTurn(turn)
      journal.settle()
    } catch (cause) {
      throw readError(journal.path, `after position ${journal.position}`, cause)
    }
    onApplied()
  }

  private applyTurn({ checksum, entries, first, position }: Turn): void {
    const { journal, log, machine, state } = this.options
    const differs = (what: string) =>
      new JournalError({
        message: `the journal in the database does not replay: ${what}. ${RECOVERY_HINT}`
      })
    if (first !== journal.position + 1) throw differs(`position ${first} follows position ${journal.position}`)
    for (const entry of entriesOf(entries)) {
      const { at_ms } = entry
      const command = entry.command === undefined ? undefined : Command.decode(entry.command)
      const step = machine.apply(state, { at_ms, command })
      if (entry.result !== undefined) {
        const result = step.result === undefined ? new Uint8Array() : CommandResult.encode(step.result).finish()
        if (Buffer.compare(result, entry.result) !== 0)
          throw differs(`position ${journal.position + 1} has another result`)
      }
      journal.append(at_ms, command?.command_id ?? null, entry.command ?? null, entry.result ?? null)
      drain(log.encoder.addAll(step.events, journal.checksum))
      this.at_ms = at_ms
    }
    const sealed = journal.seal()
    if (sealed?.position !== position || sealed.checksum !== checksum)
      throw differs(`the checksum from position ${first} to position ${position} does not match`)
    log.add(log.encoder.take())
  }
}

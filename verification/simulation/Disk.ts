/**
 * A journal on a simulated disk. A transaction is on it whole or not at all; the machine may die at any write, and at a
 * commit on either side of it. After that nothing works until {@link Disk.open} is called again.
 */
import type { Checkpoint } from "../../src/backend/journal/Checkpoints.ts"
import type { Era } from "../../src/backend/journal/Eras.ts"
import type { Entry, JournalPort } from "../../src/backend/journal/Journal.ts"
import type { Origin } from "../../src/backend/journal/JournalSchema.ts"

export class Crash extends Error {
  override readonly name = "Crash"
}

interface Durable {
  readonly entries: Array<Entry>
  readonly commands: Map<string, Entry>
  readonly links: Map<string, string>
  readonly transfers: Map<string, Array<{ readonly seq: number; readonly transfer: string }>>
  readonly checkpoints: Array<Checkpoint>
}

const nothing = (): Durable => ({
  entries: [],
  commands: new Map(),
  links: new Map(),
  transfers: new Map(),
  checkpoints: []
})

export interface DiskOptions {
  readonly origin: Origin
  /** Whether the commit at which the machine dies still reaches the disk. */
  readonly torn: () => boolean
  /** What of a commit reaches the disk: a seam for planted faults. */
  readonly keep?: ((entries: ReadonlyArray<Entry>) => ReadonlyArray<Entry>) | undefined
  /** Forgets commands: a seam for planted faults. */
  readonly forgets?: ((command_id: string) => boolean) | undefined
}

export class Disk {
  readonly durable = nothing()
  private readonly options: DiskOptions
  /** Writes until the machine dies. */
  fuse = Number.POSITIVE_INFINITY
  /** Writes until one of them finds no space. */
  space = Number.POSITIVE_INFINITY

  constructor(options: DiskOptions) {
    this.options = options
  }

  open(): JournalPort {
    const { durable, options } = this
    const { origin } = options
    let transaction: Durable | undefined
    let dead = false
    const write = (): boolean => {
      if (dead) throw new Crash()
      if (--this.fuse <= 0) dead = true
      if (--this.space <= 0) {
        this.space = Number.POSITIVE_INFINITY
        throw Object.assign(new Error("database or disk is full"), { errcode: 13 })
      }
      return dead
    }
    const die = () => {
      if (write()) throw new Crash()
    }
    const position = () => durable.entries.length + (transaction?.entries.length ?? 0)
    const save = (saved: Durable) => {
      for (const entry of options.keep?.(saved.entries) ?? saved.entries)
        durable.entries.push({ ...entry, position: durable.entries.length + 1 })
      for (const [id, entry] of saved.commands) durable.commands.set(id, entry)
      for (const [key, id] of saved.links) durable.links.set(key, id)
      for (const [key, stands] of saved.transfers)
        durable.transfers.set(key, [...(durable.transfers.get(key) ?? []), ...stands])
    }
    return {
      path: "simulated",
      origin,
      get position() {
        return position()
      },
      fork: origin.epoch,
      isShared: false,
      checksum: 0,
      begin: () => {
        die()
        transaction = nothing()
      },
      append: (at_ms, command_id, command, result) => {
        die()
        const entry: Entry = {
          position: position() + 1,
          at_ms,
          command: command ?? undefined,
          result: result ?? undefined,
          chain: 0
        }
        transaction!.entries.push(entry)
        if (command_id !== null) transaction!.commands.set(command_id, entry)
      },
      commit: () => {
        const dies = write()
        if (!dies || options.torn()) save(transaction!)
        transaction = undefined
        if (dies) throw new Crash()
        return undefined
      },
      settle: () => {},
      rollback: () => {
        if (dead) throw new Crash()
        transaction = undefined
      },
      find: (command_id) =>
        options.forgets?.(command_id) === true
          ? undefined
          : (transaction?.commands.get(command_id) ?? durable.commands.get(command_id)),
      findLink: (account, link) => {
        const key = `${account} ${link}`
        return transaction?.links.get(key) ?? durable.links.get(key)
      },
      addLink: (account, link, order_id) => {
        die()
        transaction!.links.set(`${account} ${link}`, order_id)
      },
      findTransfer: (user_id, transfer_id, seq) => {
        const key = `${user_id} ${transfer_id}`
        const stands = [...(durable.transfers.get(key) ?? []), ...(transaction?.transfers.get(key) ?? [])]
        return stands.findLast((stand) => stand.seq < seq)
      },
      addTransfer: (user_id, transfer_id, seq, transfer) => {
        die()
        const key = `${user_id} ${transfer_id}`
        const { transfers } = transaction!
        transfers.set(key, [...(transfers.get(key) ?? []), { seq, transfer }])
      },
      checkpoint: (head_seq, state_hash) => {
        die()
        durable.checkpoints.push({ position: position(), head_seq, state_hash })
      },
      checkpoints: () => durable.checkpoints,
      *entries(after = 0) {
        yield* durable.entries.slice(after)
      },
      chainAt: () => 0,
      era: (): Era => ({ position: 0, rules: origin.rules }),
      eras: (): ReadonlyArray<Era> => [{ position: 0, rules: origin.rules }],
      beginEra: () => {}
    }
  }
}

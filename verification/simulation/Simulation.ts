/**
 * One seeded run of the whole backend below gRPC: simulated users, a network that loses answers, repeats and reorders
 * commands, and a machine that dies between any two writes and comes back from its journal or from a snapshot.
 *
 * Checked after every step: {@link Checks}. Checked at every death and at the end: the state is that of a replay from the
 * first entry, what was acknowledged is in the journal exactly once, and a repetition is answered like the first time.
 */
import type { State } from "../../src/backend/engine/Engine.ts"
import { type Config, machine as engine } from "../../src/backend/engine/EngineMachine.ts"
import type { Entry, JournalPort } from "../../src/backend/journal/Journal.ts"
import { replay, type ReplayStart } from "../../src/backend/journal/Replay.ts"
import { drain, type Machine, SLICE_MS } from "../../src/backend/engine/Machine.ts"
import { EventLog } from "../../src/backend/journal/EventLog.ts"
import { Code, Writer } from "../../src/backend/server/Writer.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { Command, type CommandAck, CommandResult } from "../../src/proto/gateway/v1/sequencer.ts"
import { Checks } from "./Checks.ts"
import { Crash, Disk } from "./Disk.ts"
import { ensure } from "./Exact.ts"
import { START, Users, WILD } from "../harness/SimulatedUsers.ts"
import { pick, random, type Random } from "../harness/Random.ts"
import { replayIndexOf, type ReplayIndex } from "../../src/backend/journal/ReplayIndex.ts"

/** Seams for faults that are planted to see whether they are found. */
export interface Faults {
  /** Its engine runs each input at once, so a fault replaces only `apply`. */
  readonly machine?: (engine: Machine<State, Config>, next: Random) => Machine<State, Config>
  readonly keep?: (entries: ReadonlyArray<Entry>, next: Random) => ReadonlyArray<Entry>
  readonly forgets?: (command_id: string, next: Random) => boolean
}

export interface SimulationOptions {
  readonly seed: number
  readonly commands: number
  readonly faults?: Faults
}

export interface Outcome {
  readonly crashes: number
  readonly fills: number
  /** fills of deleveraging */
  readonly deleveraged: number
  /** positions that were reported only because their mark moved */
  readonly marked: number
  /** triggers that fired, and those of them whose reference had moved back by then */
  readonly fired: number
  readonly late: number
  readonly entries: number
  readonly state_hash: string
}

/** Probability that a turn returns to the event loop where it can. */
const SLICE_ENDS = 0.02

const { start: _start, ...whole } = engine

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A replay that follows the disk from its first entry, and how far it has come. */
interface Audit {
  start: ReplayStart<State>
  readonly links: ReplayIndex
  readonly checks: Checks
  /** results by command of the entries so far */
  readonly results: Map<string, CommandResult>
}

class Simulation {
  private readonly next: Random
  /** Monotonic time, in ms: its dice decide where a turn returns to the event loop. */
  private readonly monotonic: () => number
  private readonly machine: Machine<State, Config>
  private readonly users: Users
  private readonly disk: Disk
  private readonly commands: number
  private writer!: Writer<State, Config>
  private state!: State
  private checks = new Checks()
  private violation: unknown
  private snapshot: { readonly position: number; readonly at_ms: number; readonly bytes: Uint8Array } | undefined
  private audit: Audit | undefined
  /** sent and not answered yet */
  private readonly pending = new Map<string, Command>()
  private readonly acks = new Map<string, CommandAck>()
  private readonly acked: Array<Command> = []
  private crashes = 0
  private lives = 0
  /** seq of the last event that subscribers could see */
  private published = 0

  constructor({ seed, commands, faults = {} }: SimulationOptions) {
    this.next = random(seed)
    const { next } = this
    // faults roll dice of their own, so that without them the run is the same
    const dice = random(~seed)
    const slices = random(seed ^ 0x51_1ce5)
    let monotonic_ms = 0
    this.monotonic = () => (monotonic_ms += slices() < SLICE_ENDS ? SLICE_MS : 0)
    this.commands = commands
    this.machine = faults.machine?.(whole, dice) ?? engine
    this.users = new Users(next, undefined, WILD)
    const config: Config = {
      markets: shippedMarkets.slice(0, 1),
      simMaker: next() < 0.3,
      indexSource: next() < 0.5 ? "manual" : "simulated",
      faucetDailyLimit: "100000",
      openOrdersMax: 1_000_000,
      poolBaseEquity: next() < 0.5 ? "1000000" : "50"
    }
    this.disk = new Disk({
      origin: {
        epoch: "simulated",
        rules: this.machine.rules,
        config: JSON.stringify(config),
        ids_key: "0001020304050607",
        created_at_ms: START
      },
      torn: () => next() < 0.5,
      keep: faults.keep === undefined ? undefined : (entries) => faults.keep!(entries, dice),
      forgets: faults.forgets === undefined ? undefined : (id) => faults.forgets!(id, dice)
    })
  }

  async run(): Promise<Outcome> {
    this.start()
    for (let sent = 0; sent < this.commands;) {
      const batch = this.batch()
      sent += batch.length
      await this.send(batch)
    }
    this.disk.fuse = Number.POSITIVE_INFINITY
    this.disk.space = Number.POSITIVE_INFINITY
    for (let i = 0; this.pending.size > 0 || this.writer.failed; i++) {
      ensure(i < 10, () => `${this.pending.size} commands are never answered`)
      await this.send([...this.pending.values()])
      while (this.writer["running"] !== undefined) await turn()
    }
    // the last sending may have set a crash that nothing came to
    this.disk.fuse = Number.POSITIVE_INFINITY
    this.disk.space = Number.POSITIVE_INFINITY
    this.writer.stop()
    // the last time the whole journal is replayed at once
    this.audit = undefined
    const state_hash = this.restarted()
    this.checks.end(this.state)
    const { entries } = this.disk.durable
    const { deleveraged, fills, fired, late, marked } = this.checks
    return { crashes: this.crashes, fills, deleveraged, marked, fired, late, entries: entries.length, state_hash }
  }

  /** New commands, repetitions of what was not answered and of what was, in any order. */
  private batch(): Array<Command> {
    const { next, users, pending, acked } = this
    const batch: Array<Command> = []
    for (let left = 1 + Math.floor(next() * 8); left > 0; left--) {
      const kind = next()
      if (kind < 0.08 && pending.size > 0) batch.push(pick(next, [...pending.values()]))
      else if (kind < 0.12 && acked.length > 0) batch.push(pick(next, acked))
      else {
        const command = users.one()
        batch.push(command)
        if (next() < 0.05) batch.push({ ...command, issued_at_ms: users.now })
      }
    }
    if (next() < 0.2) batch.sort(() => next() - 0.5)
    return batch
  }

  private async send(batch: ReadonlyArray<Command>): Promise<void> {
    const { next, disk, users } = this
    if (next() < 0.04) disk.fuse = 1 + Math.floor(next() * 30)
    if (next() < 0.01) disk.space = 1 + Math.floor(next() * 30)
    const caller = {
      results: [] as Array<Uint8Array>,
      flush: () => {
        for (const bytes of caller.results.splice(0)) {
          // some answers are lost on their way
          if (next() < 0.05) continue
          try {
            this.answered(CommandResult.decode(bytes))
          } catch (violation) {
            this.violation ??= violation
          }
        }
      }
    }
    for (const command of batch) this.pending.set(command.command_id, command)
    if (next() < 0.3) {
      users.now += Math.floor(next() * 2000)
      this.writer["tickDue"] = true
      this.writer["schedule"]()
    }
    for (const command of batch) {
      const bytes = Command.encode(command).finish()
      this.writer.submit(caller, Command.decode(bytes), bytes)
    }
    await turn()
    if (this.violation !== undefined) throw this.violation
    if (this.writer.failed) {
      this.crashes++
      this.restarted()
    } else if (next() < 0.02) this.writer.whenConsistent(() => this.take())
  }

  private answered(result: CommandResult): void {
    const { outcome } = result
    if (outcome?.$case === "status") {
      const { command_id, code, reason } = outcome.value
      // not sequenced: asked again later
      if (code === Code.UNAVAILABLE) return
      ensure(
        !this.acks.has(command_id),
        () => `command ${command_id} was acknowledged and later refused with ${reason}: ${outcome.value.message}`
      )
      this.pending.delete(command_id)
      return
    }
    const ack = outcome!.value
    const { command_id } = ack
    const command = this.pending.get(command_id)
    this.pending.delete(command_id)
    const first = this.acks.get(command_id)
    if (first !== undefined) {
      ensure(
        ack.duplicate && JSON.stringify({ ...ack, duplicate: first.duplicate }) === JSON.stringify(first),
        () => `command ${command_id} was acknowledged twice and differently`
      )
      return
    }
    this.acks.set(command_id, ack)
    if (command !== undefined) this.acked.push(command)
    this.users.received(result)
  }

  /** A process that begins with what is on the disk. */
  private start(): { readonly position: number } {
    const { machine, disk, users } = this
    const journal = disk.open()
    const { snapshot } = this
    const links = replayIndexOf(journal)
    const from =
      snapshot === undefined || this.next() < 0.3
        ? undefined
        : {
            state: machine.load(
              JSON.parse(journal.origin.config) as Config,
              journal.origin.epoch,
              links,
              snapshot.bytes
            ),
            position: snapshot.position,
            at_ms: snapshot.at_ms
          }
    const recovered = replay(machine, journal, from === undefined ? {} : { from: { start: from, links } })
    recovered.openIndex()
    this.state = recovered.state
    const log = new EventLog("simulated")
    log.skipTo(machine.headSeq(recovered.state))
    const life = ++this.lives
    this.writer = new Writer({
      machine: this.watched(this.checks),
      state: recovered.state,
      journal,
      log,
      at_ms: recovered.at_ms,
      now: () => users.now,
      monotonic: this.monotonic,
      onEvents: () => (this.published = log.head),
      space: () => Number.POSITIVE_INFINITY,
      onSpace: () => {},
      onSettled: () => {},
      onFailure: (cause) => {
        if (!(cause instanceof Crash) && (cause as { errcode?: number }).errcode !== 13 && life === this.lives)
          this.violation = cause
      }
    })
    // time passes when the seed says so
    clearInterval(this.writer["timer"])
    return { position: journal.position }
  }

  /** The machine with its steps checked. */
  private watched(checks: Checks): Machine<State, Config> {
    const { machine } = this
    const start: NonNullable<(typeof machine)["start"]> = function* (state, input) {
      const step = machine.start === undefined ? machine.apply(state, input) : yield* machine.start(state, input)
      checks.step(state, step)
      return step
    }
    return { ...machine, start, apply: (state, input) => drain(start(state, input)) }
  }

  private take(): void {
    const { machine, state, disk, writer } = this
    // a failed turn has left the state ahead of the disk
    if (writer.failed) return
    this.snapshot = { position: disk.durable.entries.length, at_ms: writer.time, bytes: machine.dump(state) }
  }

  /** Compares with a replay of the disk from its first entry, and starts anew. Answers the hash. */
  private restarted(): string {
    const { machine, disk } = this
    const alive = this.writer.failed ? undefined : machine.hash(this.state)
    this.writer["halt"]()
    disk.fuse = Number.POSITIVE_INFINITY
    disk.space = Number.POSITIVE_INFINITY
    const { start, checks } = this.audited()
    const head_seq = machine.headSeq(start.state)
    ensure(head_seq >= this.published, () => `event ${this.published} was published and is not in the journal`)
    const hash = machine.hash(start.state)
    ensure(alive === undefined || alive === hash, () => `the state before the stop is not the state of a replay`)
    // the dead process may have seen steps that never reached the disk
    this.checks = checks.copy()
    this.start()
    ensure(machine.hash(this.state) === hash, () => `the state from a snapshot is not the state of a replay`)
    return hash
  }

  /** Brings the audit to the end of the disk. What it has replayed once is there for ever, so it only goes on. */
  private audited(): Audit {
    const { machine, disk } = this
    const journal: JournalPort = disk.open()
    if (this.audit === undefined) {
      const { config, epoch, created_at_ms } = journal.origin
      const links = replayIndexOf(journal)
      const state = machine.initial(JSON.parse(config) as Config, epoch, links)
      const start = { state, position: 0, at_ms: created_at_ms }
      this.audit = { start, links, checks: new Checks(), results: new Map() }
    }
    const { audit } = this
    const { checks, links, start } = audit
    this.exactlyOnce(disk.durable.entries.slice(start.position), audit.results)
    const { at_ms } = replay(this.watched(checks), journal, { from: { start, links }, results: true })
    audit.start = { state: start.state, position: journal.position, at_ms }
    return audit
  }

  /** New entries hold no command of before, and all entries hold what was acknowledged, as it was. */
  private exactlyOnce(entries: ReadonlyArray<Entry>, results: Map<string, CommandResult>): void {
    for (const { command, result } of entries) {
      if (command === undefined) continue
      const { command_id } = Command.decode(command)
      ensure(!results.has(command_id), () => `command ${command_id} is in the journal twice`)
      results.set(command_id, CommandResult.decode(result!))
    }
    for (const [command_id, ack] of this.acks) {
      const outcome = results.get(command_id)?.outcome
      ensure(outcome !== undefined, () => `command ${command_id} was acknowledged and is not in the journal`)
      ensure(
        outcome?.$case === "ack" && outcome.value.seq === ack.seq,
        () => `command ${command_id} was acknowledged otherwise than the journal says`
      )
    }
  }
}

/** Runs one seed. A failure names the seed and how to run it again. */
export const simulate = async (options: SimulationOptions): Promise<Outcome> => {
  try {
    return await new Simulation(options).run()
  } catch (cause) {
    const { seed, commands } = options
    throw new Error(
      `seed ${seed}: ${(cause as Error).message}\nagain: node verification/simulation/main.ts 1 ${commands} ${seed}`,
      { cause }
    )
  }
}

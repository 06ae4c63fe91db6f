/**
 * One seeded run of the lease of a shared journal in virtual time: backends follow, lead and append over a simulated database
 * that loses sessions before, in and after each call, delays them, and executes some after their session is lost.
 *
 * Checked: an acknowledged turn is in the journal once, a backend applies exactly the journal, and no two backends serve
 * reads at once.
 */
import { Clock, Effect, Fiber, Logger, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Turn } from "../../src/backend/journal/Journal.ts"
import { JournalError } from "../../src/backend/journal/JournalError.ts"
import {
  type JournalDatabase,
  type JournalSession,
  SessionLost
} from "../../src/backend/journal/shared/JournalDatabase.ts"
import * as Lease from "../../src/backend/journal/shared/Lease.ts"
import { random, type Random } from "../harness/Random.ts"

/** Faults that are planted to see whether they are found. */
export const PLANTED = [
  "an append of another term",
  "an append after another position",
  "an append that is not stored",
  "a lock that two sessions have",
  "a position for another term"
] as const
export type Planted = (typeof PLANTED)[number]

export interface Outcome {
  readonly acknowledged: number
  readonly terms: number
  readonly lostSessions: number
  readonly violations: ReadonlyArray<string>
}

const BACKENDS = 3
/** Virtual time of a run, and its step, in ms. */
const RUN_MS = 20_000
const STEP_MS = 25
/** Time after which the server ends a session without calls, in ms. */
const IDLE_MS = 1500
/** Longest delay of a call, and shares of calls whose session is lost. */
const DELAY_MS = 60
const LOSS = 0.02

interface Stored extends Turn {
  readonly id: string
}

class Database implements JournalDatabase {
  readonly turns: Array<Stored> = []
  term = 0
  lostSessions = 0
  private locker: object | undefined
  private readonly next: Random
  private readonly planted: Planted | undefined
  faults = true

  constructor(next: Random, planted: Planted | undefined) {
    this.next = next
    this.planted = planted
  }
  get position(): number {
    return this.turns.at(-1)?.position ?? 0
  }

  readonly open: Effect.Effect<JournalSession, SessionLost, Scope.Scope> = Effect.suspend(() => {
    const session = { isLost: false }
    const unlock = () => {
      if (this.locker === session) this.locker = undefined
    }
    const lost = () => new SessionLost({ message: "lost" })
    /** The server notices a lost session at once, or when it was idle for too long. */
    const lose = Effect.suspend(() => {
      session.isLost = true
      this.lostSessions++
      if (this.next() < 0.5) unlock()
      else return Effect.asVoid(Effect.forkDetach(Effect.andThen(Effect.sleep(IDLE_MS), Effect.sync(unlock))))
      return Effect.void
    })
    const call = <A>(execute: () => A): Effect.Effect<A, SessionLost> =>
      Effect.gen({ self: this }, function* () {
        if (session.isLost) return yield* lost()
        yield* Effect.sleep(this.next() * DELAY_MS)
        const dice = this.faults ? this.next() : 1
        if (dice < LOSS) {
          yield* lose
          // it may still arrive; the server ends the session after it
          const late = Effect.sync(() => {
            execute()
            unlock()
          })
          if (this.next() < 0.5) yield* Effect.forkDetach(Effect.andThen(Effect.sleep(this.next() * 300), late))
          return yield* lost()
        }
        const result = execute()
        yield* Effect.sleep(this.next() * DELAY_MS)
        if (dice < 2 * LOSS) {
          yield* lose
          return yield* lost()
        }
        return result
      })
    const made: JournalSession = {
      origin: (made) => Effect.succeed(made()),
      lock: call(() => {
        this.locker ??= session
        return this.locker === session || this.planted === "a lock that two sessions have"
      }),
      raise: () => call(() => ({ term: ++this.term, position: this.position })),
      append: (term, turn) =>
        call(() => {
          const isFenced =
            (term !== this.term && this.planted !== "an append of another term") ||
            (turn.first !== this.position + 1 && this.planted !== "an append after another position")
          if (isFenced) return false
          if (this.planted !== "an append that is not stored" || this.next() > 0.01) this.turns.push(turn as Stored)
          return true
        }),
      confirm: (term) =>
        call(() => (term === this.term || this.planted === "a position for another term" ? this.position : undefined)),
      turns: (after) => call(() => this.turns.filter(({ position }) => position > after).slice(0, 8)),
      checksumAt: (position) =>
        call(() => (position === 0 ? 0 : this.turns.find((turn) => turn.position === position)?.checksum)),
      history: call(() => ({ forks: [], seen_seq: 0 })),
      beginFork: () => call(() => true),
      demand: () => call(() => {})
    }
    return Effect.acquireRelease(Effect.succeed(made), () =>
      Effect.sync(() => {
        session.isLost = true
        unlock()
      })
    )
  })
}

/** Runs one seed. */
export const simulate = (seed: number, planted?: Planted): Promise<Outcome> => {
  const next = random(seed)
  const database = new Database(next, planted)
  const violations: Array<string> = []
  const acknowledged = new Set<string>()
  const current = new Map<string, () => boolean>()
  let ids = 0

  /** One life of a backend. It begins with the turns that its copy has, and ends when it loses the lead. */
  const live = (name: string, copy: Array<Stored>) =>
    Effect.gen(function* () {
      const position = () => copy.at(-1)?.position ?? 0
      let appending: Fiber.Fiber<unknown> | undefined
      const onLead = (leadership: Lease.Leadership) =>
        Effect.gen(function* () {
          current.set(name, leadership.isCurrent)
          const append = Effect.gen(function* () {
            while (true) {
              const size = 1 + Math.floor(next() * 3)
              const id = `${name} ${++ids}`
              const turn: Stored = {
                first: position() + 1,
                position: position() + size,
                entries: new Uint8Array(),
                checksum: ids,
                id
              }
              const isDurable = yield* Effect.promise(() =>
                leadership.append(turn).then(
                  () => true,
                  () => false
                )
              )
              if (!isDurable) return
              acknowledged.add(id)
              copy.push(turn)
              if (next() < 0.3) yield* Effect.sleep(next() * 600)
            }
          })
          appending = yield* Effect.forkDetach(append)
        })
      yield* Lease.run({
        database,
        holder: name,
        onLead,
        replica: {
          position,
          checksum: () => copy.at(-1)?.checksum ?? 0,
          apply: (turns) => {
            for (const turn of turns as ReadonlyArray<Stored>) {
              if (turn.first !== position() + 1)
                throw new JournalError({ message: `${turn.first} after ${position()}` })
              copy.push(turn)
            }
          }
        }
      }).pipe(Effect.exit)
      current.delete(name)
      if (appending !== undefined) yield* Fiber.interrupt(appending)
    })
  const backend = (name: string) => {
    let copy: Array<Stored> = []
    return Effect.forever(
      Effect.gen(function* () {
        yield* live(name, copy)
        // the copy lacks what was not settled, and has nothing else
        copy = copy.slice(0, Math.floor(copy.length * next()))
        yield* Effect.sleep(next() * 500)
      })
    )
  }

  const program = Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const names = Array.from({ length: BACKENDS }, (_, i) => `backend ${i + 1}`)
    const running = yield* Effect.forEach(names, (name) => Effect.forkDetach(backend(name)))
    const began = clock.currentTimeMillisUnsafe()
    while (clock.currentTimeMillisUnsafe() - began < RUN_MS) {
      if (clock.currentTimeMillisUnsafe() - began > RUN_MS - 6000) database.faults = false
      yield* TestClock.adjust(STEP_MS)
      const serving = [...current].filter(([, isCurrent]) => isCurrent())
      if (serving.length > 1) violations.push(`${serving.map(([name]) => name).join(" and ")} serve reads at once`)
    }
    yield* Effect.forEach(running, Fiber.interrupt, { concurrency: "unbounded" }).pipe(
      Effect.race(Effect.forever(TestClock.adjust(STEP_MS)))
    )
  })
  return Effect.runPromise(program.pipe(Effect.provide([TestClock.layer(), Logger.layer([])]))).then(() => {
    let end = 0
    const seen = new Map<string, number>()
    for (const { first, id, position } of database.turns) {
      if (first !== end + 1) violations.push(`${id} begins at ${first}, and the journal ends at ${end}`)
      end = position
      seen.set(id, (seen.get(id) ?? 0) + 1)
    }
    for (const [id, times] of seen) if (times > 1) violations.push(`${id} is in the journal ${times} times`)
    for (const id of acknowledged)
      if (!seen.has(id)) violations.push(`${id} was acknowledged and is not in the journal`)
    if (acknowledged.size === 0) violations.push("nothing was acknowledged")
    return { acknowledged: acknowledged.size, terms: database.term, lostSessions: database.lostSessions, violations }
  })
}

/** The faults of a pair of backends and their PostgreSQL. Each begins with one leader and a standby that follows it. */
import { pick, type Random } from "../harness/Random.ts"
import { sleep, until } from "../harness/Wait.ts"
import type { Member, Pair } from "./Pair.ts"

/** Longest pause between a fault and its end, in ms. */
const AWAY_MS = 500
/** Time for which a suspended or cut leader is gone: longer than its lock and its term without a commit, in ms. */
const GONE_MS = 4500

export interface Fault {
  readonly name: string
  /** Whether the other backend takes over. */
  readonly takesOver: boolean
  /** Share of all faults. */
  readonly weight: number
  /** Injects the fault, calls back when it is there, and ends it. */
  readonly inject: (pair: Pair, leader: Member, standby: Member, next: Random, begun: () => void) => Promise<void>
}

/** The process of a backend; it is there whenever a fault begins. */
const of = (member: Member) => member.process!

/** Cuts backends off from PostgreSQL until `isOver`: their connections are reset and refused, or lose every byte. */
const cutOff = async (members: ReadonlyArray<Member>, next: Random, isOver: Promise<unknown>): Promise<void> => {
  const swallows = next() < 0.5
  for (const { way } of members) {
    if (swallows) way.swallow()
    else way.refuse()
  }
  await isOver
  for (const { way } of members) {
    way.open()
    way.cut()
  }
}

const faults: ReadonlyArray<Fault> = [
  {
    name: "leader killed",
    takesOver: true,
    weight: 4,
    inject: (pair, leader, _, next, begun) => {
      begun()
      return pair.kill(leader, next() * AWAY_MS)
    }
  },
  {
    name: "leader suspended and resumed",
    takesOver: true,
    weight: 3,
    inject: async (_, leader, __, ___, begun) => {
      const suspended = of(leader)
      begun()
      suspended.freeze()
      await sleep(GONE_MS)
      suspended.thaw()
      // it must end by itself: it does not lead any more
      await suspended.ended
    }
  },
  {
    name: "leader cut off from PostgreSQL",
    takesOver: true,
    weight: 3,
    inject: (_, leader, __, next, begun) => {
      begun()
      return cutOff([leader], next, of(leader).ended)
    }
  },
  {
    name: "standby cut off from PostgreSQL",
    takesOver: false,
    weight: 2,
    inject: (_, __, standby, next, begun) => {
      begun()
      return cutOff([standby], next, sleep(next() * GONE_MS))
    }
  },
  {
    name: "both cut off from PostgreSQL",
    takesOver: false,
    weight: 1,
    inject: (_, leader, standby, next, begun) => {
      begun()
      return cutOff([leader, standby], next, of(leader).ended)
    }
  },
  {
    name: "leader stopped in order",
    takesOver: true,
    weight: 2,
    inject: async (pair, leader, _, __, begun) => {
      const stopped = of(leader)
      leader.process = undefined
      begun()
      await stopped.stop()
      await pair.begin(leader)
    }
  },
  {
    name: "standby killed",
    takesOver: false,
    weight: 2,
    inject: (pair, _, standby, next, begun) => {
      begun()
      return pair.kill(standby, next() * AWAY_MS)
    }
  },
  {
    name: "standby of PostgreSQL lost",
    takesOver: false,
    weight: 1,
    inject: async ({ cluster }, _, __, ___, begun) => {
      begun()
      await cluster.loseStandby()
      await cluster.replace()
    }
  },
  {
    name: "PostgreSQL lost, a standby promoted",
    takesOver: false,
    weight: 1,
    inject: async (pair, _, __, ___, begun) => {
      begun()
      await pair.cluster.failOver()
      pair.redirect()
      await until("one leader", async () => (await pair.leaders()).length === 1)
      await pair.cluster.replace()
    }
  }
]

const weighted = faults.flatMap((fault) => Array.from({ length: fault.weight }, () => fault))

/** The fault of a number, from 0: each kind once, then by weight. */
export const faultOf = (number: number, next: Random): Fault => faults[number] ?? pick(next, weighted)

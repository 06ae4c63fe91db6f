/**
 * Disconnects clients at random moments under trading load, and holds what they were told against the numbers and against REST.
 *
 * Rounds: for some seconds users trade, connections are cut, some clients are kept away for longer than the gateway keeps events,
 * and now and then the gateway is killed and started again; then everything pauses, and each client must hold what REST holds.
 */
import { Effect, Latch } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "../../src/client/index.ts"
import { random } from "../harness/SimulatedUsers.ts"
import type { GatewayProcess } from "../harness/GatewayProcess.ts"
import { Cutter } from "./CuttingProxy.ts"
import { DEPTH, follow, type Following, sameBook, SYMBOL } from "../streams/Follower.ts"
import { Findings, UserLedger } from "../streams/StreamChecker.ts"
import { compareUser, waitFor } from "../streams/Comparison.ts"
import { type Load, LOOK_MS, PATIENT, startToCut } from "../streams/RestState.ts"
import { enlist, trade, type Trader } from "../harness/Trader.ts"

export interface Options extends Load {
  /** Connections to be cut. */
  readonly cycles: number
}

export interface Report {
  readonly cycles: number
  readonly cuts: Readonly<Record<string, number>>
  readonly kills: number
  readonly messages: number
  readonly resumed: number
  readonly unrecovered: number
  /** Clients compared with REST when all was quiet, those of them after a hole, and books. */
  readonly compared: number
  readonly comparedAfterHole: number
  readonly booksCompared: number
  readonly gaps: number
  readonly repetitions: number
  readonly differences: number
  readonly bookFaults: number
  /** What was found wrong, in words. */
  readonly faults: ReadonlyArray<string>
  readonly seconds: number
}

/** Part of a round for which some clients are kept away, at least and at most. */
const ABSENT = [0.3, 0.8] as const

export const reconnect = Effect.fnUntraced(function* (options: Options) {
  const began = performance.now()
  const next = random(options.seed)
  const dataDir = mkdtempSync(join(tmpdir(), "reconnect-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(dataDir, { recursive: true, force: true })))
  const start = (port?: number) => startToCut({ dataDir, kept: options.kept, port })
  let gateway: GatewayProcess = yield* Effect.promise(() => start())
  yield* Effect.addFinalizer(() => Effect.promise(() => gateway.kill()))

  const traders: ReadonlyArray<Trader> = yield* Effect.all(
    Array.from({ length: options.users }, () => Effect.retry(enlist(gateway.url), PATIENT)),
    { concurrency: 4 }
  )
  const findings = new Findings()
  const ledgers = traders.map(() => new UserLedger())
  // a proxy for each connection of a user in turn, and one for books: so some of a user's clients are away and others are not
  const cutters = Array.from({ length: options.connections + 1 }, () => new Cutter(next, () => gateway.port))
  yield* Effect.addFinalizer(() => Effect.sync(() => cutters.forEach((cutter) => cutter.close())))
  for (const cutter of cutters) {
    cutter.calm(true)
    yield* Effect.promise(() => cutter.listen())
  }
  const through = (cutter: Cutter, credential?: Client.Credential) =>
    Client.make({ baseUrl: `http://127.0.0.1:${cutter.port}`, ...(credential === undefined ? {} : { credential }) })
  const followers: Array<Array<Following>> = []
  for (const [i, { key, token }] of traders.entries()) {
    const own: Array<Following> = []
    for (let c = 0; c < options.connections; c++) {
      // one in four signs, the others have a token
      const credential = c % 4 === 3 ? ({ type: "api-key", key } as const) : ({ type: "token", token } as const)
      const client = yield* through(cutters[c]!, credential)
      own.push(yield* follow(`user ${i}, connection ${c}`, client, ledgers[i]!, findings))
    }
    followers.push(own)
  }
  const anybody = yield* through(cutters.at(-1)!)
  const books = yield* Effect.all(Array.from({ length: options.books }, () => anybody.book(SYMBOL, DEPTH)))

  const gate = Latch.makeUnsafe(false)
  const busy = new Set<Trader>()
  for (const trader of traders) yield* Effect.forkScoped(trade(trader, next, gate, busy, trader))

  let [compared, comparedAfterHole, booksCompared, kills] = [0, 0, 0, 0]
  const cycles = () => cutters.reduce((sum, cutter) => sum + cutter.total, 0)

  /** Pauses everything, and compares. */
  const compare = Effect.gen(function* () {
    gate.closeUnsafe()
    for (const cutter of cutters) cutter.calm(true)
    yield* waitFor(() => (busy.size === 0 ? undefined : `${busy.size} commands are not answered`))
    for (const [i, trader] of traders.entries()) {
      const seen = yield* compareUser(gateway.url, trader, followers[i]!, findings)
      compared += seen.compared
      comparedAfterHole += seen.afterHole
    }
    const rest = yield* Effect.retry(
      anybodyDirect.market.orderbook({ query: { symbol: SYMBOL, depth: DEPTH } }),
      PATIENT
    )
    for (const [i, { get }] of books.entries()) {
      yield* waitFor(() => (get().sound && sameBook(get(), rest) ? undefined : `book ${i} is not that of REST`))
      booksCompared++
    }
  })
  const anybodyDirect = yield* Client.make({ baseUrl: gateway.url })

  for (let round = 1; cycles() < options.cycles && findings.faults.length === 0; round++) {
    for (const cutter of cutters) cutter.calm(false)
    gate.openUnsafe()
    const until = performance.now() + options.round_ms
    const [shortest, longest] = ABSENT
    const absence_ms = options.round_ms * (shortest + next() * (longest - shortest))
    cutters[Math.floor(next() * cutters.length)]!.absent(absence_ms)
    if (round % options.killEvery === 0) {
      yield* Effect.sleep(next() * options.round_ms * 0.5)
      const killed = performance.now()
      yield* Effect.promise(async () => {
        await gateway.kill()
        gateway = await start(gateway.port)
      })
      kills++
      options.say(`back after ${Math.round(performance.now() - killed)} ms`)
    }
    while (performance.now() < until && cycles() < options.cycles) yield* Effect.sleep(LOOK_MS)
    yield* compare
    options.say(
      `${cycles()} cycles, ${kills} kills, ${findings.resumed} resumed, ${findings.unrecovered} not, ${Math.round((performance.now() - began) / 1_000)} s`
    )
  }
  const counts = followers.flat().map(({ feed }) => feed.counts())
  const cuts: Record<string, number> = {}
  for (const cutter of cutters) for (const [by, count] of cutter.cuts) cuts[by] = (cuts[by] ?? 0) + count
  return {
    cycles: cycles(),
    cuts,
    kills,
    messages: findings.messages,
    resumed: findings.resumed,
    unrecovered: findings.unrecovered,
    compared,
    comparedAfterHole,
    booksCompared,
    gaps: findings.gaps + counts.reduce((sum, { faults }) => sum + faults.gap, 0),
    repetitions: findings.repetitions + counts.reduce((sum, { faults }) => sum + faults.repetition, 0),
    differences: findings.differences,
    bookFaults: books.reduce((sum, { get }) => sum + get().faults, 0),
    faults: findings.faults,
    seconds: Math.round((performance.now() - began) / 1_000)
  } satisfies Report
}, Effect.scoped)

/**
 * Kills the gateway or its backend with SIGKILL at named points while callers trade, starts what died again, and has two
 * checkers judge: one of the orders and fills on record, one of what the private sockets told over all the deaths.
 *
 * Processes are those that `npm start` and `npm run backend` run, with files of their own. The other one lives on and has
 * to find its way back.
 */
import { Effect, Schedule } from "effect"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { journalPath } from "../../src/backend/server/Serve.ts"
import { Client } from "../../src/client/index.ts"
import { type BackendProcess, startBackend, verifyJournal } from "../harness/BackendProcess.ts"
import { random } from "../harness/SimulatedUsers.ts"
import { sleep, until } from "../harness/Wait.ts"
import { freePort, type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { differences, follow, type Follower } from "../streams/Follower.ts"
import { Findings, UserLedger } from "../streams/StreamChecker.ts"
import { standingOf } from "../streams/RestState.ts"
import { enlist } from "../harness/Trader.ts"
import { type Attempt, type HeldFill, type HeldOrder, judge, type Verdict } from "./OrderChecker.ts"
import { Load } from "./Load.ts"
import { arm, calls, type Point, strike, victimOf } from "./CrashPoints.ts"

export interface Options {
  /** Deaths at each point. */
  readonly rounds: number
  readonly seed: number
  readonly points: ReadonlyArray<Point>
  readonly users: number
  /** Callers of each user, who send one order after the other. */
  readonly callers: number
  readonly say: (line: string) => void
}

export interface Report extends Omit<Verdict, "faults"> {
  readonly seed: number
  /** Deaths, by point. */
  readonly kills: Readonly<Record<string, number>>
  /** What the private sockets told: messages, and what was wrong with them. */
  readonly messages: number
  readonly gaps: number
  readonly repetitions: number
  readonly differences: number
  /** All that was wrong, in words. */
  readonly faults: ReadonlyArray<string>
  /** State hash of the journal, found by replaying all of it. */
  readonly state_hash: string
  readonly seconds: number
}

/** Longest wait for a process to die at its point, to start, and for what is on record, in ms: for a busy machine. */
const DEATH_MS = 60_000
const START_MS = 120_000
const RECORD_MS = 60_000
/** Passes of a point before the process dies: one to so many. */
const PASSES_MAX = 20
/** Time for which callers go on after a death, in ms. */
const AFTER_MS = 150
/** A round ends where this many things are wrong. */
const FAULTS_MAX = 20
const PATIENT = { times: 60, schedule: Schedule.spaced("500 millis") }

const TRAP = new URL("./CrashInjector.ts", import.meta.url).href

/** Both processes, each in a folder of its own. */
class Pair {
  private readonly folder = mkdtempSync(join(tmpdir(), "kills-"))
  private readonly ports: { readonly backend: number; readonly gateway: number }
  backend: BackendProcess | undefined
  gateway: GatewayProcess | undefined

  private constructor(ports: Pair["ports"]) {
    this.ports = ports
    for (const name of ["backend", "gateway"]) mkdirSync(join(this.folder, name))
  }
  static async start(): Promise<Pair> {
    const pair = new Pair({ backend: await freePort(), gateway: await freePort() })
    await pair.startBackend()
    await pair.startGateway()
    return pair
  }
  get url(): string {
    return `http://127.0.0.1:${this.ports.gateway}`
  }
  get journal(): string {
    return journalPath(join(this.folder, "backend"))
  }
  private trap(name: "backend" | "gateway"): Record<string, string> {
    return { NODE_OPTIONS: `--import=${TRAP}`, KILL_ORDER: join(this.folder, `${name}.order`) }
  }
  private async startBackend(): Promise<void> {
    this.backend = await startBackend({
      dataDir: join(this.folder, "backend"),
      port: this.ports.backend,
      ready_ms: START_MS,
      env: { ...this.trap("backend"), INDEX_SOURCE: "manual", FAUCET_DAILY_LIMIT: "1000000000" }
    })
  }
  private async startGateway(): Promise<void> {
    this.gateway = await startGateway({
      dataDir: join(this.folder, "gateway"),
      port: this.ports.gateway,
      ready_ms: START_MS,
      env: {
        ...this.trap("gateway"),
        BACKEND: "grpc",
        SEQUENCER_URL: `127.0.0.1:${this.ports.backend}`,
        RATE_LIMIT_MODE: "off",
        CONNECTIONS_PER_IP: "0",
        WS_CONNECTIONS_PER_IP: "0",
        LOG_LEVEL: "error"
      }
    })
  }
  /** Has the process whose point it is die there; answers when it is dead. */
  async kill(point: Point, passes: number): Promise<void> {
    const name = victimOf(point)
    const { ended, pid } = this[name]!
    const call = calls[point]
    if (call === undefined) arm(pid, join(this.folder, `${name}.order`), { point, passes })
    else void strike(pid, `${this.journal}-wal`, call, passes)
    const late = sleep(DEATH_MS).then(() => {
      throw new Error(`the ${name} did not come to this in ${DEATH_MS} ms: ${point}`)
    })
    await Promise.race([ended, late])
  }
  /** Starts what died, and waits until orders are taken again. */
  async again(point: Point): Promise<void> {
    if (victimOf(point) === "backend") await this.startBackend()
    else await this.startGateway()
    await until("ready", START_MS, async () => {
      const answer = await fetch(`${this.url}/ready`).catch(() => undefined)
      return answer?.status === 200 ? true : undefined
    })
  }
  /** Ends both, and answers what the journal holds, found by replaying it. */
  async verify(): Promise<string> {
    await this.gateway?.kill()
    await this.backend?.kill()
    const { code, errors, text } = await verifyJournal(join(this.folder, "backend"))
    if (code !== 0) throw new Error(`the journal does not verify: ${errors}`)
    return (JSON.parse(text) as { readonly state_hash: string }).state_hash
  }
  async remove(): Promise<void> {
    await this.gateway?.kill()
    await this.backend?.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export const kills = Effect.fnUntraced(function* (options: Options) {
  const began = performance.now()
  const next = random(options.seed)
  const pair = yield* Effect.acquireRelease(
    Effect.promise(() => Pair.start()),
    (pair) => Effect.promise(() => pair.remove())
  )
  const began_ms = Date.now() - 1
  const traders = yield* Effect.all(
    Array.from({ length: options.users }, () => Effect.retry(enlist(pair.url), PATIENT))
  )
  const findings = new Findings()
  const followers: Array<Follower> = []
  for (const [i, { token }] of traders.entries()) {
    const client = yield* Client.make({ baseUrl: pair.url, credential: { type: "token", token } })
    followers.push(yield* follow(`user ${i}`, client, new UserLedger(), findings))
  }

  const load = new Load(pair.url, next)
  const attempts: Array<Attempt> = []
  const deaths: Record<string, number> = {}
  const faults: Array<string> = []

  /** What is on record since a time, judged; read again while something is wrong, since the read model may lag. */
  const onRecord = async (asked: ReadonlyArray<Attempt>, since_ms: number): Promise<Verdict> => {
    const deadline = performance.now() + RECORD_MS
    for (;;) {
      const orders: Array<HeldOrder> = []
      const fills: Array<HeldFill> = []
      for (const trader of traders) {
        const [own, ownFills] = await load.held(trader, since_ms)
        orders.push(...own)
        fills.push(...ownFills)
      }
      const verdict = judge(asked, orders, fills)
      if (verdict.faults.length === 0 || performance.now() > deadline) return verdict
      await sleep(500)
    }
  }
  /** Every socket has told what REST tells. */
  const compare = async (): Promise<void> => {
    for (const [i, trader] of traders.entries()) {
      const follower = followers[i]!
      const standing = await standingOf(pair.url, trader)
      await until(`${follower.name} at ${standing.seq}`, RECORD_MS, async () => {
        const { live, seq } = follower.account()
        return live && seq >= standing.seq ? true : undefined
      })
      faults.push(...differences(follower, standing))
      follower.ledger.audit(standing.seq)
    }
    faults.push(...findings.faults.splice(0))
  }

  const round = async (point: Point): Promise<void> => {
    const since_ms = Date.now() - 1
    const running = load.begin(traders, options.callers)
    await until("an order under load", START_MS, async () =>
      load.attempts.some(({ told }) => told[0]?.as === "acknowledged") ? true : undefined
    )
    await pair.kill(point, 1 + Math.floor(next() * PASSES_MAX))
    deaths[point] = (deaths[point] ?? 0) + 1
    await sleep(AFTER_MS)
    const [settle] = await Promise.all([running.end(), pair.again(point)])
    await settle()
    for (const trader of traders) await load.clear(trader)
    const verdict = await onRecord(load.attempts, since_ms)
    faults.push(...verdict.faults.map((fault) => `${point}: ${fault}`))
    attempts.push(...load.attempts)
    await compare()
  }

  let verdict: Verdict | undefined
  let state_hash = ""
  yield* Effect.promise(async () => {
    for (let i = 0; i < options.rounds; i++) {
      for (const point of options.points) {
        if (faults.length >= FAULTS_MAX) return
        const started = performance.now()
        await round(point)
        const seconds = ((performance.now() - started) / 1_000).toFixed(1)
        options.say(`round ${i + 1}, ${point}: ${load.attempts.length} orders, ${seconds} s, ${faults.length} faults`)
      }
    }
  })
  yield* Effect.promise(async () => {
    verdict = await onRecord(attempts, began_ms)
    faults.push(...verdict.faults.map((fault) => `in the end: ${fault}`))
    state_hash = await pair.verify()
  })
  const { faults: _, ...counts } = verdict!
  return {
    ...counts,
    seed: options.seed,
    kills: deaths,
    messages: findings.messages,
    gaps: findings.gaps,
    repetitions: findings.repetitions,
    differences: findings.differences,
    faults: faults.slice(0, FAULTS_MAX),
    state_hash,
    seconds: Math.round((performance.now() - began) / 1_000)
  } satisfies Report
}, Effect.scoped)

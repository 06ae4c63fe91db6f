/**
 * Kills the gateway or its backend with SIGKILL at named points while callers trade, and starts the dead process again. One
 * checker compares orders and fills on record with the answers; another checks the private sockets over all deaths.
 *
 * Both processes run as `npm start` and `npm run backend` do, each with files of its own. The survivor has to reconnect.
 */
import { Effect } from "effect"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { journalPath } from "../../src/backend/server/Running.ts"
import { Client } from "../../src/client/index.ts"
import { type BackendProcess, startBackend, verifyJournal } from "../harness/BackendProcess.ts"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { freePort, temporaryFolder } from "../harness/Programs.ts"
import { random } from "../harness/Random.ts"
import { UNLIMITED } from "../harness/Settings.ts"
import { count } from "../harness/Statistics.ts"
import { enlistAll } from "../harness/Trader.ts"
import { LOAD_WAIT_MS, sleep, until } from "../harness/Wait.ts"
import { compareUser } from "../streams/Comparison.ts"
import { follow, type Follower } from "../streams/Follower.ts"
import { Findings, UserEvents } from "../streams/StreamChecker.ts"
import { arm, calls, type Point, strike, victimOf } from "./CrashPoints.ts"
import { Load } from "./Load.ts"
import { check, type HeldFill, type HeldOrder, type SentOrder, type Verdict } from "./OrderChecker.ts"

export interface Options {
  /** Deaths at each point. */
  readonly rounds: number
  readonly seed: number
  readonly points: ReadonlyArray<Point>
  readonly users: number
  /** Callers of each user, each with one order in flight. */
  readonly callers: number
  readonly say: (line: string) => void
}

export interface Report extends Omit<Verdict, "faults"> {
  readonly seed: number
  /** Deaths, by point. */
  readonly kills: Readonly<Record<string, number>>
  /** Messages of the private sockets, and their faults. */
  readonly messages: number
  readonly gaps: number
  readonly repetitions: number
  readonly differences: number
  /** Every fault, as text. */
  readonly faults: ReadonlyArray<string>
  /** State hash of the journal, by a replay of all of it. */
  readonly state_hash: string
  readonly seconds: number
}

/** Longest wait for the record to be right, in ms: the read model may lag. */
const RECORD_MS = 60_000
/** Passes of a point before the process dies: one to so many. */
const PASSES_MAX = 20
/** Time for which callers continue after a death, in ms. */
const AFTER_MS = 150
/** A run ends with so many faults. */
const FAULTS_MAX = 20

const INJECTOR = new URL("./CrashInjector.ts", import.meta.url).href

/** Both processes, each in a folder of its own. */
class Pair {
  private readonly folder = temporaryFolder("crashes")
  private readonly ports: { readonly backend: number; readonly gateway: number }
  backend: BackendProcess | undefined
  gateway: GatewayProcess | undefined

  private constructor(ports: Pair["ports"]) {
    this.ports = ports
    for (const name of ["backend", "gateway"]) mkdirSync(join(this.folder.path, name))
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
    return journalPath(join(this.folder.path, "backend"))
  }
  private injector(name: "backend" | "gateway"): Record<string, string> {
    return { NODE_OPTIONS: `--import=${INJECTOR}`, KILL_ORDER: join(this.folder.path, `${name}.order`) }
  }
  private async startBackend(): Promise<void> {
    this.backend = await startBackend({
      dataDir: join(this.folder.path, "backend"),
      port: this.ports.backend,
      env: this.injector("backend")
    })
  }
  private async startGateway(): Promise<void> {
    this.gateway = await startGateway({
      dataDir: join(this.folder.path, "gateway"),
      port: this.ports.gateway,
      env: {
        ...this.injector("gateway"),
        BACKEND: "grpc",
        SEQUENCER_URL: `127.0.0.1:${this.ports.backend}`,
        ...UNLIMITED,
        LOG_LEVEL: "error"
      }
    })
  }
  /** Kills the process that passes a point, there. Resolves when it is dead. */
  async kill(point: Point, passes: number): Promise<void> {
    const name = victimOf(point)
    const { ended, pid } = this[name]!
    const call = calls[point]
    if (call === undefined) arm(pid, join(this.folder.path, `${name}.order`), { point, passes })
    else void strike(pid, `${this.journal}-wal`, call, passes)
    const late = sleep(LOAD_WAIT_MS).then(() => {
      throw new Error(`the ${name} did not pass this point within ${LOAD_WAIT_MS} ms: ${point}`)
    })
    await Promise.race([ended, late])
  }
  /** Starts the dead process, and waits until the gateway is ready. */
  async restart(point: Point): Promise<void> {
    if (victimOf(point) === "backend") await this.startBackend()
    else await this.startGateway()
    const isReady = async () => (await fetch(`${this.url}/ready`).catch(() => undefined))?.status === 200
    await until("GET /ready returns 200", isReady)
  }
  /** Ends both; returns the state hash of the journal, by a replay. */
  async verify(): Promise<string> {
    await this.gateway?.kill()
    await this.backend?.kill()
    return verifyJournal(join(this.folder.path, "backend")).state_hash
  }
  async remove(): Promise<void> {
    await this.gateway?.kill()
    await this.backend?.kill()
    this.folder.remove()
  }
}

export const crashes = Effect.fnUntraced(function* (options: Options) {
  const began = performance.now()
  const next = random(options.seed)
  const pair = yield* Effect.acquireRelease(
    Effect.promise(() => Pair.start()),
    (pair) => Effect.promise(() => pair.remove())
  )
  const began_ms = Date.now() - 1
  const traders = yield* enlistAll(pair.url, options.users)
  const findings = new Findings()
  const followers: Array<Follower> = []
  for (const [i, { token }] of traders.entries()) {
    const client = yield* Client.make({ baseUrl: pair.url, credential: { type: "token", token } })
    followers.push(yield* follow(`user ${i}`, client, new UserEvents(), findings))
  }

  const load = new Load(pair.url, next)
  const sent: Array<SentOrder> = []
  const deaths: Record<string, number> = {}
  const faults: Array<string> = []

  /** Checks the record since a time, Unix ms. Reads it again while it is wrong, because the read model may lag. */
  const onRecord = async (orders_sent: ReadonlyArray<SentOrder>, since_ms: number): Promise<Verdict> => {
    const deadline = performance.now() + RECORD_MS
    for (;;) {
      const orders: Array<HeldOrder> = []
      const fills: Array<HeldFill> = []
      for (const trader of traders) {
        const [own, ownFills] = await load.held(trader, since_ms)
        orders.push(...own)
        fills.push(...ownFills)
      }
      const verdict = check(orders_sent, orders, fills)
      if (verdict.faults.length === 0 || performance.now() > deadline) return verdict
      await sleep(500)
    }
  }
  const compare = async (): Promise<void> => {
    for (const [i, trader] of traders.entries()) await compareUser(pair.url, trader, [followers[i]!], findings)
    faults.push(...findings.faults.splice(0))
  }

  const round = async (point: Point): Promise<void> => {
    const since_ms = Date.now() - 1
    const running = load.begin(traders, options.callers)
    await until("an acknowledged order", () => load.sent.some(({ answers }) => answers[0]?.as === "acknowledged"))
    await pair.kill(point, 1 + Math.floor(next() * PASSES_MAX))
    count(deaths, point)
    await sleep(AFTER_MS)
    const [settle] = await Promise.all([running.end(), pair.restart(point)])
    await settle()
    for (const trader of traders) await load.clear(trader)
    const verdict = await onRecord(load.sent, since_ms)
    faults.push(...verdict.faults.map((fault) => `${point}: ${fault}`))
    sent.push(...load.sent)
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
        options.say(`round ${i + 1}, ${point}: ${load.sent.length} orders, ${seconds} s, ${faults.length} faults`)
      }
    }
  })
  yield* Effect.promise(async () => {
    verdict = await onRecord(sent, began_ms)
    faults.push(...verdict.faults.map((fault) => `at the end: ${fault}`))
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

/** A gateway behind proxies that cut connections, which itself is killed now and then. */
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { type Random, random } from "../harness/Random.ts"
import { QUIET_MARKET, UNLIMITED } from "../harness/Settings.ts"
import { sleep } from "../harness/Wait.ts"
import { CuttingProxy, type Fate } from "./CuttingProxy.ts"

export interface CutOptions {
  /** Connections to be cut. */
  readonly cuts: number
  readonly seed: number
  readonly users: number
  /** Private connections of each user, and connections that follow a book. */
  readonly connections: number
  readonly books: number
  /** Events that the gateway keeps of each user. */
  readonly kept: number
  /** Rounds from one kill of the gateway to the next. */
  readonly killEvery: number
  readonly round_ms: number
  readonly say: (line: string) => void
}

/** The part of a round for which one proxy refuses connections: at least, and at most. */
const ABSENT = [0.3, 0.8] as const
const POLL_MS = 20

export class CutGateway {
  readonly next: Random
  readonly proxies: ReadonlyArray<CuttingProxy>
  kills = 0
  private gateway!: GatewayProcess
  private readonly options: CutOptions
  private readonly folder = temporaryFolder("cuts")
  private readonly began = performance.now()

  private constructor(options: CutOptions, proxies: number) {
    this.options = options
    this.next = random(options.seed)
    this.proxies = Array.from({ length: proxies }, () => new CuttingProxy(this.next, () => this.gateway.port))
  }
  /** Starts the gateway and so many proxies, which cut nothing yet. */
  static async start(options: CutOptions, proxies: number): Promise<CutGateway> {
    const cut = new CutGateway(options, proxies)
    await cut.startGateway()
    cut.calm(true)
    await Promise.all(cut.proxies.map((proxy) => proxy.listen()))
    return cut
  }
  private async startGateway(): Promise<void> {
    const port = this.gateway?.port
    this.gateway = await startGateway({
      dataDir: this.folder.path,
      ...(port === undefined ? {} : { port }),
      env: { ...UNLIMITED, ...QUIET_MARKET, USER_EVENTS_KEPT: String(this.options.kept), USER_EVENTS_KEPT_MS: "0" }
    })
  }

  /** The address without a proxy. */
  get url(): string {
    return this.gateway.url
  }
  get seconds(): number {
    return Math.round((performance.now() - this.began) / 1_000)
  }
  get total(): number {
    return this.proxies.reduce((sum, proxy) => sum + proxy.total, 0)
  }
  /** Cut connections, by fate. */
  get cuts(): Readonly<Record<string, number>> {
    const all: Partial<Record<Fate["by"], number>> = {}
    for (const { cuts } of this.proxies) for (const [by, count] of cuts) all[by] = (all[by] ?? 0) + count
    return all
  }
  /** Whether the proxies leave connections alone. */
  calm(isCalm: boolean): void {
    for (const proxy of this.proxies) proxy.calm(isCalm)
  }

  /**
   * Cuts until enough connections are cut, or `isFaulty`. After each round, in which one proxy refuses connections for a
   * while and the gateway may be killed, everything is calm and `compare` runs.
   */
  async run(resume: () => void, compare: () => Promise<void>, isFaulty: () => boolean): Promise<void> {
    const { cuts, killEvery, round_ms, say } = this.options
    const [shortest, longest] = ABSENT
    for (let round = 1; this.total < cuts && !isFaulty(); round++) {
      this.calm(false)
      resume()
      const end = performance.now() + round_ms
      const absence_ms = round_ms * (shortest + this.next() * (longest - shortest))
      this.proxies[Math.floor(this.next() * this.proxies.length)]!.refuse(absence_ms)
      if (round % killEvery === 0) {
        await sleep(this.next() * round_ms * 0.5)
        const killed = performance.now()
        await this.gateway.kill()
        await this.startGateway()
        this.kills++
        say(`ready again after ${Math.round(performance.now() - killed)} ms`)
      }
      while (performance.now() < end && this.total < cuts) await sleep(POLL_MS)
      this.calm(true)
      await compare()
      say(`${this.total} cuts, ${this.kills} kills, ${this.seconds} s`)
    }
  }

  async close(): Promise<void> {
    for (const proxy of this.proxies) proxy.close()
    await this.gateway.kill()
    this.folder.remove()
  }
}

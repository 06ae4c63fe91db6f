/** Two backends that share a journal in PostgreSQL, each behind a proxy, and a gateway that has the addresses of both. */
import { join } from "node:path"
import { type BackendProcess, startBackend } from "../harness/BackendProcess.ts"
import { FaultProxy } from "../harness/FaultProxy.ts"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { PostgresCluster } from "../harness/PostgresCluster.ts"
import { freePort, temporaryFolder } from "../harness/Programs.ts"
import { QUIET_MARKET, UNLIMITED } from "../harness/Settings.ts"
import { sleep, until } from "../harness/Wait.ts"

const SECRET = "between-gateway-and-backends"
/** Standbys of PostgreSQL: one remains to confirm commits when the primary is lost. */
const STANDBYS = 2

/** One backend. It keeps its address and its data over restarts. */
export interface Member {
  readonly name: string
  readonly dataDir: string
  readonly port: number
  process: BackendProcess | undefined
  /** Its way to the primary of PostgreSQL. */
  way: FaultProxy
}

/** The value of a metric without labels. */
const valueOf = (text: string, name: string): number =>
  Number(new RegExp(`^${name} (.*)$`, "mu").exec(text)?.[1] ?? Number.NaN)

export class Pair {
  readonly cluster: PostgresCluster
  readonly members: ReadonlyArray<Member>
  gateway!: GatewayProcess
  private readonly say: (line: string) => void
  private readonly remove: () => void

  private constructor(
    cluster: PostgresCluster,
    members: ReadonlyArray<Member>,
    say: (line: string) => void,
    remove: () => void
  ) {
    this.cluster = cluster
    this.members = members
    this.say = say
    this.remove = remove
  }

  static async start(say: (line: string) => void): Promise<Pair> {
    const folder = temporaryFolder("standby")
    const cluster = await PostgresCluster.start(STANDBYS)
    const members: Array<Member> = []
    for (const name of ["one", "two"]) {
      const way = await FaultProxy.start(cluster.primary.port)
      members.push({ name, dataDir: join(folder.path, name), port: await freePort(), process: undefined, way })
    }
    const pair = new Pair(cluster, members, say, folder.remove)
    await Promise.all(members.map((member) => pair.begin(member)))
    const addresses = members.map(({ port }) => `127.0.0.1:${port}`).join(",")
    pair.gateway = await startGateway({
      dataDir: join(folder.path, "gateway"),
      env: {
        ...UNLIMITED,
        BACKEND: "grpc",
        SEQUENCER_URL: addresses,
        BACKEND_SECRET: SECRET,
        LOG_LEVEL: "error"
      }
    })
    return pair
  }

  /** Starts a backend. */
  async begin(member: Member): Promise<void> {
    const { dataDir, name, port, way } = member
    const url = `postgres://gateway@127.0.0.1:${way.port}/postgres`
    member.process = await startBackend({
      dataDir,
      port,
      env: { ...QUIET_MARKET, BACKEND_SECRET: SECRET, JOURNAL_URL: url, METRICS_PORT: "0", LOG_LEVEL: "info" },
      onLine: (line) => this.say(`${name}: ${line}`)
    })
    const started = member.process
    // it ends when it loses the lead, and is started again as a supervisor does
    void started.ended.then((code) => {
      if (member.process !== started || code === null) return
      this.say(`${name} ended with ${code}`)
      void this.begin(member)
    })
  }

  /** Kills a backend with SIGKILL and starts it again after a while. */
  async kill(member: Member, away_ms: number): Promise<void> {
    const { process } = member
    member.process = undefined
    await process?.kill()
    await sleep(away_ms)
    await this.begin(member)
  }

  private async metric(member: Member, name: string): Promise<number> {
    const { process } = member
    if (process?.metricsPort === undefined) return Number.NaN
    const response = await fetch(`http://127.0.0.1:${process.metricsPort}/metrics`, {
      signal: AbortSignal.timeout(1000)
    }).catch(() => undefined)
    return response === undefined ? Number.NaN : valueOf(await response.text(), name)
  }

  /** Whether a backend leads, as its metrics say. */
  async leads(member: Member): Promise<boolean> {
    return (await this.metric(member, "backend_leads")) === 1
  }

  /** The backends that lead. */
  async leaders(): Promise<ReadonlyArray<Member>> {
    const leads = await Promise.all(this.members.map((member) => this.leads(member)))
    return this.members.filter((_, i) => leads[i])
  }

  /** Waits until exactly one backend leads and the other follows at its position. */
  async settled(): Promise<Member> {
    return until("one leader, and a standby at its position", async () => {
      const [leader, ...others] = await this.leaders()
      if (leader === undefined || others.length > 0) return false
      const positions = await Promise.all(this.members.map((member) => this.metric(member, "backend_journal_position")))
      return positions[0] === positions[1] && leader
    })
  }

  /** Points the ways of both backends to the primary of PostgreSQL. */
  async redirect(): Promise<void> {
    for (const member of this.members) member.way.retarget(this.cluster.primary.port)
  }

  async close(): Promise<void> {
    await this.gateway.kill()
    for (const member of this.members) {
      const { process } = member
      member.process = undefined
      process?.thaw()
      await process?.kill()
      await member.way.close()
    }
    await this.cluster.remove()
    this.remove()
  }
}

/** The exchange that users act on, and what goes wrong in it while they do. */
import { ChannelCredentials, Client, Metadata } from "@grpc/grpc-js"
import { SequencerService } from "../../src/proto/gateway/v1/sequencer.ts"
import { Fleet, SECRET } from "../harness/Fleet.ts"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { freePort, temporaryFolder } from "../harness/Programs.ts"
import { ADMIN_ENV, basic, QUIET_MARKET, UNLIMITED } from "../harness/Settings.ts"
import { sleep, until } from "../harness/Wait.ts"
import type { Gateway } from "./User.ts"

/** Something that goes wrong, and is over when it resolves. */
export interface Disturbance {
  readonly name: string
  readonly run: () => Promise<void>
}

export interface World {
  readonly gateways: ReadonlyArray<Gateway>
  /** The data directory of the backend. */
  readonly dataDir: string
  readonly disturbances: ReadonlyArray<Disturbance>
  /** Sets an index price; fails where the backend is away. */
  readonly setIndex: (symbol: string, price: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** Small pools, so that liquidations deleverage. */
const POOLS = { POOL_BASE_EQUITY: "50" }
const SETTINGS = { ...UNLIMITED, ...QUIET_MARKET, ...ADMIN_ENV, DRAIN_MS: "50" }
/** How long a link is slow or stalled, in ms: below the time after which a gateway counts it as lost. */
const SLOW_MS = 1500
const STALLED_MS = 800
const SLOW_BY_MS = 15
/** Longest wait for the backend, in ms. */
const ANSWER_MS = 2000

/** Sets an index price at the backend itself: a gateway in front of a backend of its own has no such function. */
const setIndexAt = (port: number, symbol: string, price: string): Promise<void> => {
  const client = new Client(`127.0.0.1:${port}`, ChannelCredentials.createInsecure())
  const metadata = new Metadata()
  metadata.set("authorization", `Bearer ${SECRET}`)
  const { path, requestSerialize, responseDeserialize } = SequencerService.submit
  const command = {
    command_id: crypto.randomUUID(),
    user_id: "",
    sub_account_address: "",
    issued_at_ms: Date.now(),
    command: { $case: "set_index_price" as const, value: { symbol, price } }
  }
  return new Promise<void>((resolve, reject) =>
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      { command },
      metadata,
      { deadline: Date.now() + ANSWER_MS },
      (error) => (error === null ? resolve() : reject(error))
    )
  ).finally(() => client.close())
}

const isReady = async (url: string): Promise<boolean> => {
  const response = await fetch(`${url}/ready`).catch(() => undefined)
  return response?.status === 200
}

/** One gateway with its embedded backend, a process of its own. `env`: more settings of its process. */
export const startOne = async (env: Readonly<Record<string, string>> = {}): Promise<World> => {
  const folder = temporaryFolder("api-oracle")
  const port = await freePort()
  const start = (): Promise<GatewayProcess> =>
    startGateway({ dataDir: folder.path, port, env: { ...SETTINGS, ...POOLS, ...env } })
  let gateway = await start()
  const again = (end: "stop" | "kill") => async () => {
    await gateway[end]()
    gateway = await start()
  }
  return {
    gateways: [{ name: "gateway", url: gateway.url }],
    dataDir: folder.path,
    disturbances: [
      { name: "restart", run: again("stop") },
      { name: "kill", run: again("kill") }
    ],
    setIndex: async (symbol, price) => {
      const response = await fetch(`${gateway.url}/api/v1/admin/index-price`, {
        method: "PUT",
        headers: { ...basic, "content-type": "application/json" },
        body: JSON.stringify({ symbol, price })
      })
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
    },
    close: async () => {
      await gateway.kill()
      folder.remove()
    }
  }
}

/** Two gateways over one backend, PostgreSQL, Redis and NATS, with a fault proxy on each link. */
export const startTwo = async (options: {
  readonly nats: boolean
  readonly env?: Readonly<Record<string, string>>
  /** Receives each line of the log of the gateways. */
  readonly onLog?: (line: string) => void
}): Promise<World> => {
  const fleet = await Fleet.start({
    gateways: 2,
    nats: options.nats,
    proxied: true,
    env: { ...SETTINGS, ...options.env },
    backendEnv: POOLS,
    ...(options.onLog === undefined ? {} : { say: options.onLog })
  })
  const { members, nats, proxies } = fleet
  const allReady = () =>
    until("both gateways are ready", async () =>
      (await Promise.all(members.map(({ url }) => isReady(url)))).every(Boolean)
    )
  const disturbances: Array<Disturbance> = members.flatMap((member) => [
    {
      name: `restart of ${member.name}`,
      run: async () => {
        await member.stop()
        await member.start()
      }
    },
    {
      name: `kill of ${member.name}`,
      run: async () => {
        await member.kill()
        await member.start()
      }
    }
  ])
  disturbances.push({
    name: "kill of the backend",
    run: async () => {
      await fleet.backend.kill()
      await fleet.startBackend()
    }
  })
  for (const link of ["postgres", "sequencer", "nats"] as const) {
    const proxy = proxies[link]
    if (proxy === undefined) continue
    const during = (name: string, begin: () => void, ms: number): void =>
      void disturbances.push({
        name: `${name} ${link}`,
        run: async () => {
          begin()
          await sleep(ms)
          proxy.open()
        }
      })
    during("slow", () => proxy.slow(SLOW_BY_MS), SLOW_MS)
    during("stalled", () => proxy.stall(), STALLED_MS)
    during("cut", () => proxy.cut(), 0)
  }
  if (nats !== undefined)
    disturbances.push({
      name: "frozen NATS",
      run: async () => {
        nats.freeze()
        await sleep(2 * STALLED_MS)
        nats.thaw()
      }
    })
  return {
    gateways: members,
    dataDir: fleet.backendDir,
    disturbances: disturbances.map(({ name, run }) => ({
      name,
      run: () =>
        run()
          .then(allReady)
          .then(() => {})
    })),
    setIndex: (symbol, price) => setIndexAt(fleet.backend.port, symbol, price),
    close: () => fleet.close()
  }
}

/** A gateway whose clients are cut off, and what it tells of a user when all is quiet. */
import { Schedule } from "effect"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import type { Standing } from "./Follower.ts"
import type { Trader } from "../harness/Trader.ts"

/** Longest wait for all clients to be level with REST, in ms. */
export const LEVEL_MS = 120_000
export const LOOK_MS = 20
/** Time that a gateway may take to start, in ms: on a busy machine, with everybody asking for it. */
const START_MS = 120_000

/** Requests that a busy machine did not answer in time are made again. */
export const PATIENT = { times: 20, schedule: Schedule.spaced("500 millis") }

/** What goes on while connections are cut. */
export interface Load {
  readonly seed: number
  readonly users: number
  /** Private connections of each user, and connections that follow a book. */
  readonly connections: number
  readonly books: number
  /** Events that the gateway keeps of each user. */
  readonly kept: number
  /** A round in so many has the gateway killed in it. */
  readonly killEvery: number
  readonly round_ms: number
  readonly say: (line: string) => void
}

/** Starts a gateway that keeps only so many events of each user; `port`: the one it had before. */
export const startToCut = (options: {
  readonly dataDir: string
  readonly kept: number
  readonly port: number | undefined
}): Promise<GatewayProcess> =>
  startGateway({
    dataDir: options.dataDir,
    ready_ms: START_MS,
    ...(options.port === undefined ? {} : { port: options.port }),
    env: {
      RATE_LIMIT_MODE: "off",
      CONNECTIONS_PER_IP: "0",
      WS_CONNECTIONS_PER_IP: "0",
      WS_CONNECTIONS_PER_USER: "0",
      USER_EVENTS_KEPT: String(options.kept),
      USER_EVENTS_KEPT_MS: "0",
      SIM_MAKER: "off",
      INDEX_SOURCE: "manual",
      FAUCET_DAILY_LIMIT: "1000000",
      LOG_LEVEL: "error"
    }
  })

/** What REST tells of a user, read until nothing happened meanwhile. */
export const standingOf = async (url: string, { token }: Pick<Trader, "token">): Promise<Standing> => {
  const headers = { authorization: `Bearer ${token}` }
  const read = async (path: string) => {
    // a connection of before a kill may break under the first request
    const answer = await fetch(`${url}/api/v1${path}`, { headers }).catch(() => undefined)
    if (answer?.status !== 200) return undefined
    return (await answer.json()) as { readonly list: Array<object>; readonly stream_id: string; readonly seq: number }
  }
  const deadline = performance.now() + LEVEL_MS
  while (performance.now() < deadline) {
    const lists = [
      await read("/order/realtime?limit=200"),
      await read("/position/list"),
      await read("/account/balances")
    ]
    const [orders, positions, balances] = lists
    if (orders && positions && balances && orders.seq === positions.seq && orders.seq === balances.seq) {
      const { seq, stream_id } = orders
      return { stream_id, seq, orders: orders.list, positions: positions.list, balances: balances.list }
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  throw new Error("the lists of REST do not come to rest")
}

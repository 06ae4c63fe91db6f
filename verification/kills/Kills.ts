/**
 * An exchange that is killed at random moments under full load, its backend and database with it. Every acknowledged order is
 * stored, the private stream of a follower is complete, and the histories have the rows of a gateway that nobody killed.
 */
import { Effect } from "effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Client } from "../../src/client/index.ts"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { startLoad } from "../harness/LoadProcess.ts"
import { freePort, temporaryFolder } from "../harness/Programs.ts"
import { random } from "../harness/Random.ts"
import { sleep, until } from "../harness/Wait.ts"
import { fundedUsers, LOAD_ENV } from "../overload/Overload.ts"
import type { Calls, User } from "../overload/Plan.ts"
import { headOf, type Outcome as Rebuilt, rebuild } from "../rebuild/Rebuild.ts"
import { compareUser } from "../streams/Comparison.ts"
import { follow } from "../streams/Follower.ts"
import { Findings, UserEvents } from "../streams/StreamChecker.ts"

export interface Options {
  readonly kills: number
  readonly callers: number
  readonly seed: number
  readonly say?: (line: string) => void
}
export interface Outcome extends Rebuilt {
  /** Acknowledged orders, and those that are not stored. */
  readonly acknowledged: number
  readonly missing: ReadonlyArray<string>
  /** Messages of the follower, and how often it resumed. */
  readonly messages: number
  readonly resumed: number
  /** Times that the gateway announced a gap to the follower. */
  readonly unrecovered: number
  /** Faults of the stream, as text. */
  readonly faults: ReadonlyArray<string>
  /** The longest start after a kill, in ms. */
  readonly slowest_ms: number
}

const USERS = 8
/** A kill comes so many ms after the first acknowledgement, at most. */
const LOADED_MS = 600

const cancelAll = async (url: string, { token, vault }: User): Promise<void> => {
  await until("all orders are canceled", async () => {
    const answer = await fetch(`${url}/api/v1/order/cancel-all`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ sub_account_address: vault })
    })
    return answer.status === 200
  })
}

/** The ids that no stored order has. */
const missingIn = (dataDir: string, order_ids: ReadonlyArray<string>): ReadonlyArray<string> => {
  const db = new DatabaseSync(join(dataDir, "history.sqlite"), { readOnly: true })
  try {
    const stored = new Set(
      db
        .prepare("SELECT order_id FROM orders")
        .all()
        .map(({ order_id }) => order_id)
    )
    return order_ids.filter((order_id) => !stored.has(order_id))
  } finally {
    db.close()
  }
}

const killed = Effect.fnUntraced(function* (options: Options, dataDir: string) {
  const { callers, kills, say = () => {}, seed } = options
  const next = random(seed)
  const port = yield* Effect.promise(() => freePort())
  const start = () => startGateway({ dataDir, port, env: LOAD_ENV })
  const load = yield* Effect.acquireRelease(
    Effect.sync(() => startLoad<Calls>(join(import.meta.dirname, "../overload/Load.ts"))),
    ({ stop }) => Effect.promise(stop)
  )
  let gateway: GatewayProcess = yield* Effect.acquireRelease(Effect.promise(start), () =>
    Effect.promise(() => gateway.kill())
  )
  const { url } = gateway
  const users = yield* Effect.promise(() => fundedUsers(url, USERS))
  const findings = new Findings()
  const [followed] = users
  const client = yield* Client.make({ baseUrl: url, credential: { type: "token", token: followed!.token } })
  const follower = yield* follow("the follower", client, new UserEvents(), findings)
  const acknowledged: Array<string> = []
  let slowest_ms = 0
  const head = yield* Effect.promise(async () => {
    for (let i = 0; i < kills; i++) {
      await load.call("begin", { pid: gateway.pid, port, users, callers })
      await sleep(next() * LOADED_MS)
      await gateway.kill()
      const order_ids = await load.call("end", null)
      acknowledged.push(...order_ids)
      const began = performance.now()
      gateway = await start()
      const ready_ms = performance.now() - began
      slowest_ms = Math.max(slowest_ms, ready_ms)
      for (const user of users) await cancelAll(url, user)
      await compareUser(url, followed!, [follower], findings)
      const faults = findings.faults.length
      say(`kill ${i + 1}: ${order_ids.length} orders, ready after ${ready_ms.toFixed(0)} ms, ${faults} faults`)
    }
    const events = await headOf(gateway)
    await gateway.stop()
    return events
  })
  const { faults, messages, resumed, unrecovered } = findings
  return { acknowledged, faults, head, messages, resumed, slowest_ms, unrecovered }
}, Effect.scoped)

export const run = async (options: Options): Promise<Outcome> => {
  const folder = temporaryFolder("kills")
  try {
    const { acknowledged, head, ...found } = await Effect.runPromise(killed(options, folder.path))
    const missing = missingIn(folder.path, acknowledged)
    const rebuilt = await rebuild(folder.path, LOAD_ENV, head)
    return { ...rebuilt, ...found, acknowledged: acknowledged.length, missing }
  } finally {
    folder.remove()
  }
}

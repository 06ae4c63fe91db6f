/**
 * Changes of credentials, each raced against authentications and orders with the changed credential. After the answer to the
 * change no use may have an effect: no order is accepted, and no connection stays open.
 * Source: docs/contract/authentication.md#revocation.
 */
import { Agent } from "node:http"
import { Effect } from "effect"
import { Client, Wallet } from "../../src/client/index.ts"
import { random } from "../harness/Random.ts"
import { orderOf, pause, TRIES_MAX } from "../fleet/Orders.ts"
import { type Outcome, send } from "../harness/HttpRequest.ts"
import { count, type Counts } from "../harness/Statistics.ts"
import { sleep, until } from "../harness/Wait.ts"
import { connection, connectionTransports, type Credential, order, orderTransports } from "./Uses.ts"

export const kinds = ["delete key", "narrow scopes", "ban", "logout"] as const
export type Kind = (typeof kinds)[number]

export interface Gateways {
  /** Addresses: the first gateway receives the changes, the last one the uses. */
  readonly urls: ReadonlyArray<string>
  readonly admin: { readonly username: string; readonly password: string }
  /** Time after the answer in which a use may still have an effect, in ms. */
  readonly grace_ms: number
}
export interface Options {
  readonly changes: number
  /** Authentications, and as many orders, a change. */
  readonly uses: number
  /** Concurrent races, each of another user. */
  readonly lanes: number
  readonly seed: number
}
export interface Tally {
  changes: number
  orders: number
  /** Accepted orders. */
  accepted: number
  /** Orders accepted after the answer to the change and the grace. */
  lateOrders: number
  authentications: number
  /** Connections that were authenticated. */
  letIn: number
  /** Connections that stayed open after the answer to the change and the grace. */
  survivors: number
}
export interface Report {
  readonly byKind: Readonly<Record<Kind, Tally>>
  /** Violations, by kind and transport. */
  readonly violations: Readonly<Counts>
  /** Longest time from the answer to a change to the acceptance of an order, in ms; below 0: all were before it. */
  readonly latest_ms: number
  readonly answers: Readonly<Counts>
  readonly seconds: number
}

/** The span of the uses, and the part of it in which the change is sent, in ms. */
const SPREAD_MS = 40
const CHANGE_FROM_MS = 5
const CHANGE_TO_MS = 35
/** Longest time until a close arrives on a busy machine, in ms. */
const ARRIVAL_MS = 8_000
const FUNDS = "1000000"

const emptyTally = (): Tally => ({
  changes: 0,
  orders: 0,
  accepted: 0,
  lateOrders: 0,
  authentications: 0,
  letIn: 0,
  survivors: 0
})

/** A user whose credentials are revoked one after another. */
export class Subject {
  private readonly gateways: Gateways
  private readonly wallet = Wallet.generate().wallet
  vault = ""
  client!: Client.Client
  constructor(gateways: Gateways) {
    this.gateways = gateways
  }
  async login(): Promise<string> {
    const baseUrl = this.gateways.urls[0]!
    const client = await Effect.runPromise(Client.make({ baseUrl }))
    const { token } = await Effect.runPromise(client.login(this.wallet))
    this.client = client
    return token
  }
  async enlist(): Promise<void> {
    await this.login()
    const { client } = this
    this.vault = (await Effect.runPromise(client.user.subAccounts())).list[0]!.sub_account_address
    const payload = { sub_account_address: this.vault, asset: "USDC", amount: FUNDS }
    await Effect.runPromise(client.account.faucet({ payload }))
  }
  get root(): string {
    return this.wallet.root_address
  }
  async newKey(): Promise<{ readonly key: Wallet.Wallet; readonly api_key_id: string }> {
    const key = Wallet.generate().wallet
    const payload = { public_key: key.public_key, scopes: ["read", "trade"] as const }
    const { api_key_id } = await Effect.runPromise(this.client.user.createApiKey({ payload }))
    return { key, api_key_id }
  }
}

/** Runs the races and reports. */
export const run = async (gateways: Gateways, { changes, lanes, seed, uses }: Options): Promise<Report> => {
  const next = random(seed)
  const agent = new Agent({ keepAlive: true, maxSockets: 512 })
  const byKind = Object.fromEntries(kinds.map((kind) => [kind, emptyTally()])) as Record<Kind, Tally>
  const violations: Counts = {}
  const answers: Counts = {}
  let latest_ms = -Infinity

  const [here, there] = [gateways.urls[0]!, gateways.urls.at(-1)!]
  const basic = `Basic ${btoa(`${gateways.admin.username}:${gateways.admin.password}`)}`
  const must = async (what: string, method: string, path: string, headers: Record<string, string>, body?: object) => {
    for (let tries = 1; ; tries++) {
      const response = await fetch(`${here}${path}`, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const answered_ms = Date.now()
      const text = await response.text()
      // a busy gateway may fail; after a repetition the key may be gone
      if (response.ok || (tries > 1 && response.status === 404)) return answered_ms
      if (response.status !== 503 || tries > TRIES_MAX) throw new Error(`${what}: ${response.status} ${text}`)
      await pause()
    }
  }

  const race = async (subject: Subject, kind: Kind, name: string): Promise<void> => {
    const tally = byKind[kind]
    const bearer = await subject.login()
    const owner = { authorization: `Bearer ${bearer}` }
    let credential: Credential
    let change: () => Promise<number>
    let after: () => Promise<unknown> = () => Promise.resolve()
    if (kind === "logout") {
      const token = await subject.login()
      credential = { token }
      change = () => must(kind, "POST", "/api/v1/authorize/logout", { authorization: `Bearer ${token}` })
    } else {
      const { api_key_id, key } = await subject.newKey()
      const path = `/api/v1/user/api-keys/${api_key_id}`
      credential = kind === "ban" && next() < 0.5 ? { token: await subject.login() } : { key }
      if (kind === "ban") {
        const ban = `/api/v1/admin/bans/${subject.root}`
        change = () => must(kind, "PUT", ban, { authorization: basic }, {})
        after = () => must("lift", "DELETE", ban, { authorization: basic })
      } else if (kind === "delete key") {
        change = () => must(kind, "DELETE", path, owner)
      } else {
        change = () => must(kind, "PATCH", path, owner, { scopes: ["account"] })
        after = () => must("delete", "DELETE", path, owner)
      }
    }

    const connections = await Promise.all(
      Array.from({ length: uses }, (_, i) => connection(connectionTransports[i % 4 === 3 ? 1 : 0], there, credential))
    )
    const sends = await Promise.all(
      Array.from({ length: uses }, async (_, i) => {
        const transport = orderTransports[i % orderTransports.length]!
        const link = `${name}-${i}`
        return { transport, link, send: await order(transport, agent, there, credential, orderOf(subject.vault, link)) }
      })
    )
    const later = async <A>(ms: number, act: () => A | Promise<A>): Promise<A> => {
      await sleep(ms)
      return act()
    }
    const [answered_ms] = await Promise.all([
      later(CHANGE_FROM_MS + next() * (CHANGE_TO_MS - CHANGE_FROM_MS), change),
      ...connections.map(({ authenticate }) => later(next() * SPREAD_MS, authenticate)),
      ...sends.map(({ send, transport }) =>
        later(next() * SPREAD_MS, async () => void count(answers, `${transport}: ${await send()}`))
      )
    ])

    await sleep(Math.max(0, answered_ms + gateways.grace_ms - Date.now()))
    await until("no connection stays open", () => connections.every(({ isIn }) => !isIn()), ARRIVAL_MS).catch(() => {})
    for (const { close, isIn, transport, wasIn } of connections) {
      if (wasIn()) tally.letIn++
      if (isIn()) {
        tally.survivors++
        count(violations, `${kind}: a connection over ${transport} stayed`)
      }
      close()
    }
    await after()
    const token = await subject.login()
    const accepted = await acceptedOf(token, subject.vault, name, sends.length)
    for (const { link, transport } of sends) {
      const created_ms = accepted.get(link)
      if (created_ms === undefined) continue
      tally.accepted++
      latest_ms = Math.max(latest_ms, created_ms - answered_ms)
      if (created_ms <= answered_ms + gateways.grace_ms) continue
      tally.lateOrders++
      count(violations, `${kind}: an order over ${transport} was accepted`)
    }
    tally.changes++
    tally.orders += sends.length
    tally.authentications += connections.length
  }

  /** Orders of a race, with the times of their acceptance, from the newest of the history. */
  const acceptedOf = async (token: string, vault: string, name: string, limit: number) => {
    const path = `/api/v1/order/history?sub_account_address=${vault}&limit=${Math.min(200, 2 * limit)}`
    let outcome: Outcome = { status: 0, text: "no request", ms: 0 }
    // the gateway of the orders has them first, and may apply the lifted ban a little later
    for (let tries = 0; tries < TRIES_MAX && outcome.status !== 200; tries++) {
      if (tries > 0) await pause()
      outcome = await send(there, { method: "GET", path, token }, { agent })
    }
    if (outcome.status !== 200) throw new Error(`history: ${JSON.stringify(outcome)}`)
    const { list } = JSON.parse(outcome.text) as {
      readonly list: ReadonlyArray<{ readonly order_link_id?: string; readonly created_time: string }>
    }
    return new Map(
      list
        .filter(({ order_link_id }) => order_link_id?.startsWith(`${name}-`))
        .map(({ created_time, order_link_id }) => [order_link_id!, Number(created_time)])
    )
  }

  const began = performance.now()
  let started = 0
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      const subject = new Subject(gateways)
      await subject.enlist()
      for (let i = started++; i < changes; i = started++) await race(subject, kinds[i % kinds.length]!, `r${seed}-${i}`)
    })
  )
  agent.destroy()
  return { byKind, violations, answers, latest_ms, seconds: (performance.now() - began) / 1_000 }
}

/** Every violation, as text. */
export const violationsOf = ({ byKind, violations }: Report, { changes }: Options): ReadonlyArray<string> => {
  const wrong = Object.entries(violations).map(([name, times]) => `${times} × ${name}`)
  const made = Object.values(byKind).reduce((sum, tally) => sum + tally.changes, 0)
  if (made !== changes) wrong.push(`${made} of ${changes} changes were made`)
  return wrong
}

/**
 * A gateway and a backend whose system clocks are set, forward and back (libfaketime): prices move, orders are taken, an order
 * that is good till a time does not expire early, and tokens and nonces follow the clock without a second use.
 */
import { join } from "node:path"
import { type BackendProcess, startBackend } from "../harness/BackendProcess.ts"
import { fakeTime, shownBy } from "../harness/FakeTime.ts"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { type Answer, apiKeyHeaders, call, funded, type Keys, newKeys, type Session } from "../harness/RestClient.ts"
import { eventually, sleep } from "../harness/Wait.ts"

export type Subject = "gateway" | "backend"
export interface Options {
  /** Steps of each clock from the true time, in s. After each the clock is set back to it. */
  readonly steps: ReadonlyArray<number>
  readonly subjects: ReadonlyArray<Subject>
  readonly onStep?: (line: string) => void
}

const SYMBOL = "BTC-USDC"
const ME = "/api/v1/user/me"
const ORDERS = "/api/v1/order"
/** Longest time in which a price must move, in ms. */
const MOVES_MS = 2_000
/** Life of an order with an end, if the clocks agree, in ms. */
const LIFE_MS = 3_000
/** Longest life whose end is waited for, in ms. */
const WAIT_MS = 12_000
/** Engine time is at most 0.5 % fast and 10 % slow. Source: docs/contract/exchange.md#engine-time. */
const FAST = 0.995
const SLOW = 1.1
/** What a request takes, and time in which an order that has ended is not listed any more, in ms. */
const SLACK_MS = 200
const GONE_MS = 3_000
/** Tolerated difference of a token's time of issue, and its life, in s. */
const LEEWAY_S = 5
const TOKEN_LIFE_S = 7 * 86_400
/** What a sign-in may take: the time of issue is not shown. */
const ISSUE_S = 4
/** Time for which a clock may show a time whose nonces are deleted: their retention, and two pauses of the deletion, in ms. */
const NONCES_MS = 130_000
/** The longest life of an order with an end, in s. */
const LIFE_S_MAX = 90 * 86_400

class Exchange {
  readonly gateway: GatewayProcess
  private readonly session: Session
  private readonly key: Keys
  /** When its token was issued, Unix ms. */
  private readonly issued_ms = Date.now()
  constructor(gateway: GatewayProcess, session: Session, key: Keys) {
    this.gateway = gateway
    this.session = session
    this.key = key
  }

  /** A request that is signed at the gateway's time. */
  private async signed(method: string, path: string, body?: object): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const at_ms = await shownBy(this.gateway)
    const headers = apiKeyHeaders(this.key, method, path, { at_ms, ...(text === undefined ? {} : { body: text }) })
    return call(this.gateway, method, path, {
      headers: { ...headers, ...(text === undefined ? {} : { "content-type": "application/json" }) },
      ...(text === undefined ? {} : { body: text })
    })
  }

  private async open(order_id: string): Promise<{ readonly created_time: string } | undefined> {
    const { body } = await this.signed("GET", `${ORDERS}/realtime?symbol=${SYMBOL}`)
    return (body.list ?? []).find((order: { readonly order_id: string }) => order.order_id === order_id)
  }

  private async place(terms: object): Promise<Answer> {
    const order = { sub_account_address: this.session.vault, symbol: SYMBOL, side: "Buy", order_type: "Limit" }
    return this.signed("POST", `${ORDERS}/create`, { ...order, qty: "0.001", price: "58000", ...terms })
  }

  private cancel(order_id: string): Promise<Answer> {
    return this.signed("POST", `${ORDERS}/cancel`, {
      sub_account_address: this.session.vault,
      symbol: SYMBOL,
      order_id
    })
  }

  private async price(): Promise<string> {
    const { body } = await call(this.gateway, "GET", `/api/v1/market/tickers?symbol=${SYMBOL}`)
    return body.list[0].index_price
  }

  /** What does not hold with the clocks as they are. `gateway_s`: the gateway's clock, from the true time, in s. */
  async check(gateway_s: number): Promise<ReadonlyArray<string>> {
    const found: Array<string> = []
    const expect = (what: string, is: unknown, should: unknown) => {
      if (is !== should) found.push(`${what}: ${String(is)}, not ${String(should)}`)
    }
    const before = await this.price()
    const began = performance.now()
    while ((await this.price()) === before && performance.now() - began < MOVES_MS) await sleep(50)
    if ((await this.price()) === before) found.push(`no price moves within ${MOVES_MS} ms`)

    const bearer = (await call(this.gateway, "GET", ME, { token: this.session.token })).status
    const age_s = ((await shownBy(this.gateway)) - this.issued_ms) / 1_000
    const isExpired = age_s > TOKEN_LIFE_S
    if (isExpired || Math.abs(age_s + LEEWAY_S) > ISSUE_S)
      expect("the token", bearer, isExpired || age_s < -LEEWAY_S ? 401 : 200)
    // nonces of this time may be deleted: then keys are refused until the clock has passed it
    const refused = performance.now()
    const signature = async () => {
      const headers = apiKeyHeaders(this.key, "GET", ME, { at_ms: await shownBy(this.gateway) })
      return { headers, status: (await call(this.gateway, "GET", ME, { headers })).status }
    }
    let { headers, status } = await signature()
    while (status === 503 && performance.now() - refused < NONCES_MS) {
      await sleep(500)
      ;({ headers, status } = await signature())
    }
    expect("a signature", status, 200)
    expect("the same signature again", (await call(this.gateway, "GET", ME, { headers })).status, 401)

    const lives_from = performance.now()
    const plain = await this.place({})
    if (plain.status !== 200) return [...found, `an order: ${plain.status} ${JSON.stringify(plain.body)}`]
    const { order_id } = plain.body
    const { created_time } = (await eventually(
      "the order",
      () => this.open(order_id),
      (order) => order !== undefined
    ))!
    // ahead of both clocks: the gateway refuses a time that has passed by its own, and the engine by its own
    const expire_time = Math.max(Number(created_time), await shownBy(this.gateway)) + LIFE_MS
    const life_ms = expire_time - Number(created_time)
    if (Math.abs(gateway_s) >= LIFE_S_MAX) {
      // no time is within 90 days by both clocks
      expect("a cancel", (await this.cancel(order_id)).status, 200)
      return found
    }
    const placed = performance.now()
    const timed = await this.place({ time_in_force: "GTT", expire_time })
    if (timed.status !== 200) return [...found, `an order with an end: ${timed.status} ${JSON.stringify(timed.body)}`]
    const isOpen = async () => (await this.open(timed.body.order_id)) !== undefined
    const age = () => Math.round(performance.now() - placed)
    await eventually("the order with an end", isOpen, Boolean)
    // a life begins after `lives_from`
    const life = () => performance.now() - lives_from
    await sleep(Math.min(life_ms, WAIT_MS) * FAST - SLACK_MS - life())
    // on a busy machine the response may come after the end
    if (!(await isOpen()) && life() < life_ms * FAST)
      found.push(`an order expired after ${Math.round(life())} of ${life_ms} ms`)
    if (life_ms <= WAIT_MS) {
      while ((await isOpen()) && age() < life_ms * SLOW + GONE_MS) await sleep(50)
      if (await isOpen()) found.push(`an order is open after ${age()} ms, with a life of ${life_ms} ms`)
    } else await this.cancel(timed.body.order_id)
    expect("a cancel", (await this.cancel(order_id)).status, 200)
    return found
  }
}

/** Sets each clock by each step and back, and checks the exchange after each. Returns what did not hold. */
export const run = async ({ onStep = () => {}, steps, subjects }: Options): Promise<ReadonlyArray<string>> => {
  const folder = temporaryFolder("clocks")
  const clocks = { gateway: fakeTime(folder.path, "gateway"), backend: fakeTime(folder.path, "backend") }
  const violations: Array<string> = []
  let backend: BackendProcess | undefined
  let gateway: GatewayProcess | undefined
  try {
    backend = await startBackend({
      dataDir: join(folder.path, "backend"),
      env: { ...clocks.backend.env, INDEX_SOURCE: "simulated", SIM_TAKERS: "off" }
    })
    gateway = await startGateway({
      dataDir: join(folder.path, "gateway"),
      env: {
        ...clocks.gateway.env,
        BACKEND: "grpc",
        SEQUENCER_URL: `127.0.0.1:${backend.port}`,
        RATE_LIMIT_MODE: "off"
      }
    })
    const session = await funded(gateway)
    const key = newKeys()
    await call(gateway, "POST", "/api/v1/user/api-keys", {
      token: session.token,
      body: { public_key: key.publicKey, scopes: ["read", "trade"] }
    })
    const exchange = new Exchange(gateway, session, key)
    for (const subject of subjects)
      for (const by_s of steps)
        for (const offset_s of [by_s, 0]) {
          clocks[subject].set(offset_s)
          const gateway_ms = subject === "gateway" ? offset_s * 1_000 : 0
          // the clock takes effect with the next look at it
          await eventually(
            "the clock",
            () => shownBy(gateway!),
            (shown) => Math.abs(shown - Date.now() - gateway_ms) < 1_500
          )
          const found = await exchange.check(subject === "gateway" ? offset_s : 0)
          const where = `${subject} ${offset_s === 0 ? `back from ${by_s}` : offset_s} s`
          for (const each of found) violations.push(`${where}: ${each}`)
          onStep(`${where}: ${found.length === 0 ? "all well" : found.join("; ")}`)
        }
    return violations
  } finally {
    await gateway?.kill()
    await backend?.kill()
    folder.remove()
  }
}

/** A simulated environment for the SDK: REST responses, sockets, time and randomness. */
import type { Environment } from "../../src/sdk/Environment.ts"
import { connect, type Exchange, type Options } from "../../src/sdk/index.ts"
import { FakeSocket, type Message, polite } from "../client/FakeSockets.ts"

export interface Asked {
  readonly method: string
  /** Path and query. */
  readonly uri: string
  readonly path: string
  readonly headers: Headers
  readonly body: string
}
/** `undefined`: the connection breaks before the response. */
export type Reply =
  { readonly status?: number; readonly body?: object | string; readonly headers?: Record<string, string> } | undefined

/** Unix time of the gateway at the start. */
export const EPOCH_MS = 1_767_225_600_000
export const seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
export const login = {
  token: "TK",
  user_id: "00000000-0000-5000-8000-000000000000",
  expires_at_ms: EPOCH_MS + 604_800_000,
  root_address: `0x${"1".repeat(64)}`
}

/** Waits for a condition that only a slow machine delays. */
export const until = async (look: () => boolean, what: string): Promise<void> => {
  for (const deadline = Date.now() + 30_000; !look();) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

export class World {
  /** Requests, without those for the time. */
  readonly asked: Array<Asked> = []
  /** Responses by path, relative to the base path. */
  readonly answers = new Map<string, (asked: Asked, times: number) => Reply>()
  readonly sockets: Array<FakeSocket> = []
  /** How far the gateway's clock is ahead of the machine's. */
  ahead_ms = 0
  now_ms = 0
  /** All sleeps so far, in ms. */
  readonly slept: Array<number> = []
  /** Whether new sockets open or fail. */
  reachable = true
  private sleepers: Array<Sleeper> = []
  private readonly onMessage: (message: Message, socket: FakeSocket, connection: number) => void
  /** Sleeps end immediately and advance the clock; else only {@link skip} advances it. */
  private readonly fast: boolean

  constructor(onMessage: (message: Message, socket: FakeSocket, connection: number) => void = polite, fast = false) {
    this.onMessage = onMessage
    this.fast = fast
    this.answers.set("/authorize", () => ({ body: login }))
  }
  get last(): FakeSocket {
    return this.sockets.at(-1)!
  }
  /** Pending sleeps. */
  get asleep(): number {
    return this.sleepers.length
  }
  /** Unix time by the gateway's clock. */
  gatewayTime(): number {
    return EPOCH_MS + this.now_ms + this.ahead_ms
  }
  asks(path: string): ReadonlyArray<Asked> {
    return this.asked.filter((one) => one.path === path)
  }

  /** Advances the clock; each sleep ends at its time. */
  async skip(ms: number): Promise<void> {
    const to = this.now_ms + ms
    for (;;) {
      const next = this.sleepers.filter(({ at }) => at <= to).toSorted((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.sleepers = this.sleepers.filter((one) => one !== next)
      this.now_ms = next.at
      next.wake()
      // let the code run; it may sleep again
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    this.now_ms = to
  }

  private readonly sleep = (ms: number, signal: AbortSignal): Promise<void> => {
    this.slept.push(ms)
    if (this.fast) this.now_ms += ms
    if (this.fast) return new Promise((resolve) => setImmediate(resolve))
    return new Promise((resolve, reject) => {
      const sleeper = { at: this.now_ms + ms, wake: resolve }
      this.sleepers.push(sleeper)
      signal.addEventListener("abort", () => {
        this.sleepers = this.sleepers.filter((one) => one !== sleeper)
        reject(signal.reason)
      })
    })
  }

  private readonly answer = async (url: string, init: RequestInit): Promise<Response> => {
    const { pathname, search } = new URL(url)
    const headers = new Headers(init.headers)
    const path = pathname.replace("/api/v1", "")
    const asked = { method: init.method!, uri: pathname + search, path, headers, body: String(init.body ?? "") }
    if (path === "/market/time") return Response.json({ server_ts_ms: this.gatewayTime() })
    this.asked.push(asked)
    const reply = this.answers.get(path)?.(asked, this.asks(path).length) ?? undefined
    if (reply === undefined) throw new TypeError("fetch failed")
    const { body = {}, headers: own = {}, status = 200 } = reply
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers: own })
  }

  readonly environment: Environment = {
    fetch: (url, init) => this.answer(url, init),
    WebSocket: this.socketClass(),
    now: () => this.now_ms,
    wall: () => EPOCH_MS + this.now_ms,
    chance: () => 0.5,
    sleep: (ms, signal) => this.sleep(ms, signal)
  }

  private socketClass(): Environment["WebSocket"] {
    // oxlint-disable-next-line typescript/no-this-alias, unicorn/no-this-assignment
    const world = this
    return class extends FakeSocket {
      constructor() {
        const connection = world.sockets.length + 1
        super((message, socket) => world.onMessage(message, socket, connection))
        world.sockets.push(this)
        queueMicrotask(() => (world.reachable ? this.open() : this.drop()))
      }
    }
  }

  connect(options: Partial<Options> = {}): Promise<Exchange> {
    return connect({ url: "http://gateway/", environment: this.environment, ...options })
  }
}

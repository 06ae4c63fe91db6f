/** A whole exchange in this process, on free ports and an empty directory, and raw callers that know no client code. */
import { Clock, ConfigProvider, Effect, Layer, ManagedRuntime, References } from "effect"
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign as edSign
} from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert } from "vitest"
import { WebSocket } from "ws"
import { NodeServer } from "../../src/layers/node/NodeServer.ts"
import * as Gateway from "../../src/Gateway.ts"
import * as Cluster from "../../src/layers/Cluster.ts"
import * as Otlp from "../../src/layers/otlp/Otlp.ts"
import { settings } from "../../src/layers/Settings.ts"
import type { Endpoints } from "../../src/rpc/handlers/Endpoints.ts"
import type { InProcessFeeds } from "../../src/services/operations/InProcessFeeds.ts"
import type { RateLimitStore } from "../../src/services/operations/RateLimitStore.ts"
import * as MetricsRegistry from "../../src/services/operations/MetricsRegistry.ts"
import type { NonceStore } from "../../src/services/identity/NonceStore.ts"
import type { Signatures } from "../../src/services/identity/Signatures.ts"
import * as Standalone from "../../src/layers/Standalone.ts"
import { asTold } from "./documents/OpenApi.ts"
import { messageOf } from "./documents/AsyncApi.ts"

/** Wall time stands still at `at_ms`; sleeping takes real time. */
export const frozenClock = (at_ms: number): Layer.Layer<never> =>
  Layer.effect(
    Clock.Clock,
    Effect.map(Clock.Clock, (real) => ({
      currentTimeMillisUnsafe: () => at_ms,
      currentTimeMillis: Effect.succeed(at_ms),
      currentTimeNanosUnsafe: () => BigInt(at_ms) * 1_000_000n,
      currentTimeNanos: Effect.succeed(BigInt(at_ms) * 1_000_000n),
      monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: real.monotonicTimeNanos,
      sleep: (duration) => real.sleep(duration)
    }))
  )

/**
 * Wall time that a test can move forward, so that it need not wait for minutes; sleeping takes real time. `passes`: time itself has
 * passed then, as limits measure it, and the clock was not only set.
 */
export const movableClock = ({ passes = false } = {}) => {
  let ahead_ms = 0
  return {
    /** Moves wall time forward. */
    skip: (ms: number): void => {
      ahead_ms += ms
    },
    now: (): number => Date.now() + ahead_ms,
    layer: Layer.effect(
      Clock.Clock,
      Effect.map(Clock.Clock, (real) => {
        const millis = () => real.currentTimeMillisUnsafe() + ahead_ms
        const nanos = () => real.currentTimeNanosUnsafe() + BigInt(ahead_ms) * 1_000_000n
        const monotonic = () => real.monotonicTimeNanosUnsafe() + (passes ? BigInt(ahead_ms) * 1_000_000n : 0n)
        return {
          currentTimeMillisUnsafe: millis,
          currentTimeMillis: Effect.sync(millis),
          currentTimeNanosUnsafe: nanos,
          currentTimeNanos: Effect.sync(nanos),
          monotonicTimeNanosUnsafe: monotonic,
          monotonicTimeNanos: Effect.sync(monotonic),
          sleep: (duration) => real.sleep(duration)
        }
      })
    )
  }
}

export interface Exchange {
  readonly url: string
  readonly wsUrl: string
  readonly dataDir: string
  /** The door, for tests that count what comes through it. */
  readonly server: Server
  /** Runs an effect inside the process, on what the gateway is made of. */
  readonly inside: <A, E>(effect: Effect.Effect<A, E, Endpoints | InProcessFeeds>) => Promise<A>
  readonly close: () => Promise<void>
}

/** Time that anything may take, a busy machine's pauses included, in ms. */
const PATIENCE_MS = 20_000

export const ADMIN = { username: "admin", password: "correct-horse-battery" }

/** Starts an exchange. Rate limits are off, the index stands still and the maker sleeps unless the environment says otherwise. */
export const startExchange = async (
  options: {
    readonly env?: Record<string, string>
    readonly clock?: Layer.Layer<never>
    /** In place of the store that counts rates. */
    readonly rates?: Layer.Layer<RateLimitStore>
    readonly dataDir?: string
    /** Puts doubles around two of its ports, whose waits a test stops. */
    readonly around?: Layer.Layer<NonceStore | Signatures, never, NonceStore | Signatures>
    /** `false`: answer as soon as it listens. */
    readonly awaitReady?: false
  } = {}
): Promise<Exchange> => {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "gateway-e2e-"))
  const environment = {
    PORT: "0",
    HOST: "127.0.0.1",
    DATA_DIR: dataDir,
    RATE_LIMIT_MODE: "off",
    CONNECTIONS_PER_IP: "0",
    WS_CONNECTIONS_PER_IP: "0",
    WS_CONNECTIONS_PER_USER: "0",
    SIM_MAKER: "off",
    INDEX_SOURCE: "manual",
    LOG_LEVEL: "error",
    DRAIN_MS: "50",
    ADMIN_USERNAME: ADMIN.username,
    ADMIN_PASSWORD: ADMIN.password,
    ...options.env
  }
  const runtime = ManagedRuntime.make(
    Layer.unwrap(
      Effect.map(settings, (settings) =>
        Gateway.layer(settings).pipe(
          Layer.provide(options.around ?? (Layer.empty as never)),
          Layer.provide(options.rates ?? (Layer.empty as Layer.Layer<RateLimitStore>)),
          Layer.provide(settings.databaseUrl === undefined ? Standalone.layer(settings) : Cluster.layer(settings)),
          Layer.provide(Otlp.layer(settings))
        )
      )
    ).pipe(
      Layer.provide(MetricsRegistry.layer),
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error")),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment))),
      Layer.provide(options.clock ?? Layer.empty)
    )
  )
  const server = await runtime.runPromise(NodeServer)
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  for (let i = 0; options.awaitReady !== false && (await fetch(`${url}/ready`)).status !== 200; i++) {
    if (i > 1_000) throw new Error(`not ready: ${await (await fetch(`${url}/ready`)).text()}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return {
    url,
    wsUrl: `ws://127.0.0.1:${port}`,
    dataDir,
    server,
    inside: (effect) => runtime.runPromise(effect),
    close: async () => {
      await runtime.dispose()
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
    }
  }
}

export interface Answer {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
  readonly headers: Headers
}

/** Names the exchange that a request is for, where it goes through a proxy. */
export const UPSTREAM = "x-upstream"
/** A validating proxy in front of all exchanges (`npm run third-party`). */
const PROXY = process.env["E2E_PROXY"]

/** Sends a request, through the proxy where there is one; fails where that finds the answer in breach of the document. */
const send = async (url: string, path: string, init: RequestInit & { readonly headers: Record<string, string> }) => {
  const direct = () => fetch(`${url}${path}`, init)
  if (PROXY === undefined) return direct()
  const response = await fetch(`${PROXY}${path}`, { ...init, headers: { ...init.headers, [UPSTREAM]: url } })
  // what the proxy could not read has reached nobody
  if (!response.headers.has("x-request-id")) return direct()
  const found = JSON.parse(response.headers.get("sl-violations") ?? "[]") as ReadonlyArray<{
    readonly location: ReadonlyArray<string>
    readonly message: string
  }>
  const violations = found.filter(({ location }) => location[0] === "response").map(({ message }) => message)
  if (violations.length > 0) throw new Error(`${init.method} ${path}: ${violations.join("; ")}`)
  return response
}

/**
 * One request; `path` is below the host, `body` is sent as JSON unless it is text. Fails where the answer is not what
 * the OpenAPI document tells of it.
 */
export const call = async (
  exchange: Pick<Exchange, "url">,
  method: string,
  path: string,
  options: { readonly token?: string; readonly body?: unknown; readonly headers?: Record<string, string> } = {}
): Promise<Answer> => {
  const response = await send(exchange.url, path, {
    method,
    headers: {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers
    },
    ...(options.body === undefined
      ? {}
      : { body: typeof options.body === "string" ? options.body : JSON.stringify(options.body) })
  })
  const text = await response.text()
  asTold({ method, target: path, status: response.status, headers: response.headers, text })
  return {
    status: response.status,
    body: response.headers.get("content-type")?.startsWith("application/json") ? JSON.parse(text) : text,
    headers: response.headers
  }
}

export const basic = {
  authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString("base64")}`
}

export interface Keys {
  readonly publicKey: string
  readonly sign: (message: string) => string
}

const keysOf = (privateKey: KeyObject, publicKey: string): Keys => ({
  publicKey,
  sign: (message) => edSign(null, Buffer.from(message), privateKey).toString("hex")
})

/** The credentials of an API key for one request. */
export const apiKeyHeaders = (
  keys: Keys,
  method: string,
  uri: string,
  options: { readonly at_ms?: number; readonly nonce?: string; readonly body?: string } = {}
): Record<string, string> => {
  const at_ms = options.at_ms ?? Date.now()
  const fresh = options.nonce ?? nonce()
  const hash = options.body === undefined ? undefined : createHash("sha256").update(options.body).digest("hex")
  const message = `SERVICE_API|${method}|${uri}|${at_ms}|${fresh}${hash === undefined ? "" : `|${hash}`}`
  return {
    "x-api-key": keys.publicKey,
    "x-signature": keys.sign(message),
    "x-timestamp-ms": String(at_ms),
    "x-nonce": fresh,
    ...(hash === undefined ? {} : { "x-body-sha256": hash })
  }
}

/** A fresh key pair, its public key as hex. */
export const newKeys = (): Keys => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  return keysOf(privateKey, publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex"))
}

/** The key pair of a seed; the public key is given in the form in which it shall be sent. */
export const keysOfSeed = (seed: string, publicKey: string): Keys =>
  keysOf(
    createPrivateKey({
      key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from(seed, "hex")]),
      format: "der",
      type: "pkcs8"
    }),
    publicKey
  )

export const nonce = (): string => randomBytes(16).toString("base64url")

export interface Session {
  readonly token: string
  readonly user_id: string
  readonly root_address: string
  readonly vault: string
}

/** Logs a wallet in, gives its first sub-account money, and answers both. */
export const funded = async (exchange: Pick<Exchange, "url">, amount = "10000", now = Date.now()): Promise<Session> => {
  const session = await login(exchange, newKeys(), now)
  const { status, body } = await call(exchange, "POST", "/api/v1/account/faucet", {
    token: session.token,
    body: { sub_account_address: session.vault, asset: "USDC", amount }
  })
  if (status !== 200) throw new Error(`faucet: ${status} ${JSON.stringify(body)}`)
  return session
}

/** Logs a wallet in and answers its token and its first sub-account. */
export const login = async (exchange: Pick<Exchange, "url">, keys: Keys, now = Date.now()): Promise<Session> => {
  const fresh = nonce()
  const { status, body } = await call(exchange, "POST", "/api/v1/authorize", {
    body: {
      public_key: keys.publicKey,
      signature: keys.sign(`SERVICE_AUTH|LOGIN|${keys.publicKey}|${now}|${fresh}`),
      timestamp_ms: now,
      nonce: fresh
    }
  })
  if (status !== 200) throw new Error(`login: ${status} ${JSON.stringify(body)}`)
  const accounts = await call(exchange, "GET", "/api/v1/user/sub-accounts", { token: body.token })
  return {
    token: body.token,
    user_id: body.user_id,
    root_address: body.root_address,
    vault: accounts.body.list[0].sub_account_address
  }
}

// oxlint-disable-next-line typescript/no-explicit-any
export type Frame = any

/** Every record of a list, page after page. A gateway that catches up with its backend (503) is asked again. */
export const listAll = async (exchange: Pick<Exchange, "url">, path: string, token: string): Promise<Array<Frame>> => {
  const all: Array<Frame> = []
  for (let cursor = ""; ;) {
    const page = `${path}${path.includes("?") ? "&" : "?"}limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`
    const { body, status } = await eventually(
      page,
      () => call(exchange, "GET", page, { token }),
      (answer) => answer.status !== 503
    )
    if (status !== 200) throw new Error(`${page}: ${status} ${JSON.stringify(body)}`)
    all.push(...body.list)
    cursor = body.next_page_cursor
    if (cursor === "") return all
  }
}

/** Asks again until the answer is the wanted one; fails with the last one after `limit_ms`. */
export const eventually = async <A>(
  what: string,
  ask: () => Promise<A>,
  is: (answer: A) => boolean,
  limit_ms = PATIENCE_MS
): Promise<A> => {
  const deadline = Date.now() + limit_ms
  for (;;) {
    const answer = await ask()
    if (is(answer)) return answer
    if (Date.now() > deadline) throw new Error(`${what}: not in ${limit_ms} ms, but ${JSON.stringify(answer)}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** A WebSocket that keeps every frame, in order, and waits for the one that is asked for. Each is held against the document. */
export class Socket {
  readonly frames: Array<Frame> = []
  readonly ws: WebSocket
  closed: { readonly code: number; readonly reason: string } | undefined
  private waiting: Array<() => void> = []
  private fault: unknown

  private constructor(ws: WebSocket) {
    this.ws = ws
    const path = new URL(ws.url).pathname
    ws.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString())
      this.frames.push(frame)
      try {
        messageOf(path, frame)
      } catch (fault) {
        this.fault ??= fault
      }
      this.wake()
    })
    ws.on("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() }
      this.wake()
    })
  }
  private wake() {
    const waiting = this.waiting
    this.waiting = []
    for (const resume of waiting) resume()
  }
  static open(exchange: Pick<Exchange, "url">, path: string): Promise<Socket> {
    const ws = new WebSocket(`${exchange.url.replace("http", "ws")}${path}`)
    const socket = new Socket(ws)
    return new Promise((resolve, reject) => {
      ws.once("open", () => resolve(socket))
      ws.once("error", reject)
    })
  }
  send(frame: unknown): void {
    this.ws.send(typeof frame === "string" ? frame : JSON.stringify(frame))
  }
  /** Waits until `read` answers something; fails after `limit_ms` with what was seen. */
  private async until<A>(what: string, read: () => A | undefined, limit_ms: number): Promise<A> {
    const deadline = Date.now() + limit_ms
    for (;;) {
      if (this.fault !== undefined) throw this.fault
      const found = read()
      if (found !== undefined) return found
      const left = deadline - Date.now()
      if (left <= 0) {
        throw new Error(
          `no ${what} in ${limit_ms} ms; seen:\n${this.frames
            .slice(-10)
            .map((frame) => JSON.stringify(frame))
            .join("\n")}`
        )
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left)
        this.waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }
  /** Takes the first frame that matches, and every frame before it, out of the queue. */
  next(what: string, match: (frame: Frame) => boolean, limit_ms = PATIENCE_MS): Promise<Frame> {
    return this.until(
      what,
      () => {
        const at = this.frames.findIndex(match)
        return at === -1 ? undefined : this.frames.splice(0, at + 1).at(-1)
      },
      limit_ms
    )
  }
  event(topic: string, match: (data: Frame) => boolean = () => true, limit_ms = PATIENCE_MS): Promise<Frame> {
    return this.next(
      `event of ${topic}`,
      (frame) => frame.op === "event" && frame.topic === topic && match(frame.data),
      limit_ms
    )
  }
  closing(limit_ms = PATIENCE_MS): Promise<{ readonly code: number; readonly reason: string }> {
    return this.until("close", () => this.closed, limit_ms)
  }
  close(): void {
    this.ws.terminate()
    if (this.fault !== undefined) throw this.fault
  }
}

/** Creates an order of 0.001 BTC that rests far below the market. */
export const create = (
  exchange: Pick<Exchange, "url">,
  { token, vault }: Session,
  order_link_id: string,
  fields: object = {}
) =>
  call(exchange, "POST", "/api/v1/order/create", {
    token,
    body: {
      sub_account_address: vault,
      symbol: "BTC-USDC",
      side: "Buy",
      order_type: "Limit",
      qty: "0.001",
      price: "58000",
      order_link_id,
      ...fields
    }
  })
export const cancel = (exchange: Pick<Exchange, "url">, { token, vault }: Session, order_link_id: string) =>
  call(exchange, "POST", "/api/v1/order/cancel", {
    token,
    body: { sub_account_address: vault, symbol: "BTC-USDC", order_link_id }
  })

/** What a 503 says of a request: surely not sequenced, or perhaps. */
export const UNSENT = ["SERVICE_UNAVAILABLE", "BackendUnavailable", undefined]
export const UNKNOWN = ["SERVICE_UNAVAILABLE", "DeadlineExceeded", "unknown"]
export const whatOf = ({ body }: Answer) => [body.code, body.details?.reason, body.details?.outcome]
/** Asserts that it was answered 503, and what is known of it. */
export const isUnavailable = (answer: Answer): void => {
  assert.strictEqual(answer.status, 503, JSON.stringify(answer.body))
  assert.deepInclude([UNSENT, UNKNOWN], whatOf(answer))
  assert.strictEqual(answer.headers.get("retry-after"), "1")
}

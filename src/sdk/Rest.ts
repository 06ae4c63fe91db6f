/**
 * One call over REST, from its input to its answer: it goes as fast as the gateway's headers allow, shows a credential, mends its
 * clock or its token once, and asks again where that surely does no harm. Source: docs/contract/conventions.md#errors,
 * docs/contract/authentication.md#api-keys, docs/contract/limits.md.
 */
import { pauseOf } from "../client/Backoff.ts"
import { type Environment, joined } from "./Environment.ts"
import { errorOf, ExchangeError } from "./ExchangeError.ts"
import type { Identity } from "./Identity.ts"
import { Pace, retryAfterOf } from "./RatePacer.ts"
import type { ServerClock } from "./ServerClock.ts"

/** Tries of one call that are not answered, or that the gateway could not take; how long one may take, in ms. */
export const TRIES_MAX = 8
export const TRY_MS = 10_000
/** How long one call may wait, for its turn under the rate limits and between tries, in ms: a window of theirs, and some. */
export const PATIENCE_MS = 65_000

export interface Limits {
  readonly tries_max: number
  readonly try_ms: number
  readonly patience_ms: number
}

export interface Call {
  readonly method: string
  /** Below the base path, with `:name` where a field of the input goes. */
  readonly path: string
  /** Needs no credential. */
  readonly open: boolean
  /** May be asked again though it may have had its effect. */
  readonly repeatable: boolean
  /** Made anew for each try. */
  readonly input: () => object | Promise<object>
  readonly signal?: AbortSignal | undefined
  /** A try of it may have had its effect, and another one follows. */
  readonly onUnanswered?: () => void
}

/** One request that failed: when it was sent, and the token that it showed. */
interface Failed {
  readonly failure: ExchangeError
  readonly sent: number
  readonly token: string | undefined
  /** Time that the gateway names for the next try, in ms. */
  readonly retry_ms: number
}

const BASE = "/api/v1"
const RENEWABLE: ReadonlySet<string | undefined> = new Set(["ExpiredToken", "RevokedToken", "InvalidToken"])
/** Calls that the gateway counts apart from the others with a credential. Source: docs/contract/limits.md. */
const CANCELS: ReadonlySet<string> = new Set([
  "POST /order/cancel",
  "POST /order/cancel-all",
  "POST /order/cancel-batch",
  "POST /order/disconnect-cancel-all"
])
/** Calls that share buckets of the gateway. */
type Budget = "login" | "open" | "cancels" | "own"
const budgetOf = ({ method, open, path }: Call): Budget => {
  if (path === "/authorize") return "login"
  if (open) return "open"
  return CANCELS.has(`${method} ${path}`) ? "cancels" : "own"
}

const hasBody = (method: string): boolean => method !== "GET" && method !== "DELETE"

/** Path and query, and the body, of a call. */
const targetOf = ({ method, path }: Call, input: object): { readonly uri: string; readonly body: string } => {
  const left = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const filled = path.replace(/:(\w+)/gu, (_, name: string) => {
    const value = encodeURIComponent(String(left.get(name)))
    left.delete(name)
    return value
  })
  if (hasBody(method))
    return { uri: `${BASE}${filled}`, body: left.size === 0 ? "" : JSON.stringify(Object.fromEntries(left)) }
  const query = new URLSearchParams()
  for (const [name, value] of left) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one))
  }
  return { uri: `${BASE}${filled}${left.size === 0 ? "" : `?${query}`}`, body: "" }
}

export class Rest {
  identity: Identity | undefined
  private readonly url: string
  private readonly environment: Environment
  private readonly clock: ServerClock
  private readonly limits: Limits
  /** Ends everything. */
  private readonly signal: AbortSignal
  private readonly paces: Readonly<Record<Budget, Pace>>

  constructor(url: string, environment: Environment, clock: ServerClock, limits: Limits, signal: AbortSignal) {
    this.url = url
    this.environment = environment
    this.clock = clock
    this.limits = limits
    this.signal = signal
    const { now } = environment
    this.paces = { login: new Pace(now), open: new Pace(now), cancels: new Pace(now), own: new Pace(now) }
  }

  /** Asks, as often as it is sensible; answers the body as it came. The caller names its type, which is the gateway's word. */
  async ask<A>(call: Call): Promise<A> {
    const { environment, limits } = this
    const pace = this.paces[budgetOf(call)]
    const { free, signal } = joined(this.signal, call.signal)
    const patient_until = environment.now() + limits.patience_ms
    /** Waits for so long, and for the caller's turn; `false`: it would take longer than the caller's patience. */
    const pause = async (ms: number): Promise<boolean> => {
      const wait = Math.max(ms, pace.wait_ms)
      const isNear = environment.now() + wait <= patient_until
      if (isNear && wait > 0) await environment.sleep(wait, signal)
      return isNear
    }
    const mended = new Set<string>()
    let isUnsure = false
    try {
      signal.throwIfAborted()
      await pause(0)
      for (let tries = 1, refusals = 1; ;) {
        const outcome = await this.once<A>(call, pace, signal)
        if ("answer" in outcome) return outcome.answer
        const { failure } = outcome
        if (await this.mends(outcome, mended)) continue
        const isFull = failure.status === 429
        const isUnknown = failure.outcome === "unknown"
        const isSafe = isFull || (isUnknown ? call.repeatable : failure.status >= 500)
        if (!isSafe || tries >= limits.tries_max) throw failure
        const count = isFull ? refusals++ : tries++
        if (!(await pause(outcome.retry_ms + pauseOf(count, environment.chance())))) throw failure
        if (!isUnknown || call.method === "GET") continue
        isUnsure = true
        call.onUnanswered?.()
      }
    } catch (error) {
      throw isUnsure && error instanceof ExchangeError ? error.repeated() : error
    } finally {
      free()
    }
  }

  /** Mends what a refusal complains of, each thing once in a call; answers whether to ask again. */
  private async mends({ failure: { details, reason }, sent, token }: Failed, mended: Set<string>): Promise<boolean> {
    const isStale = reason === "StaleTimestamp"
    // no new token helps a wallet that is banned
    if (!isStale && (!RENEWABLE.has(reason) || details["cause"] === "banned")) return false
    const what = isStale ? "clock" : "token"
    if (mended.has(what)) return false
    mended.add(what)
    if (!isStale) return token !== undefined && (await this.identity!.renew(token)) === "renewed"
    const server_time_ms = Number(details["server_time_ms"])
    if (!Number.isFinite(server_time_ms)) return false
    this.clock.set(server_time_ms, sent)
    return true
  }

  /** One request, and what came of it. Rejects where the caller gave up, or has no credential to show. */
  private async once<A>(call: Call, pace: Pace, ended: AbortSignal): Promise<{ readonly answer: A } | Failed> {
    const { body, uri } = targetOf(call, await call.input())
    const { href, pathname, search } = new URL(this.url + uri)
    const { method } = call
    const own = call.open ? {} : await this.identity?.headers({ method, uri: pathname + search, body })
    const token = own?.["authorization"]?.slice("Bearer ".length)
    const sent = this.environment.now()
    const limit = joined(ended)
    const timer = setTimeout(
      () => limit.abort(new Error(`no answer within ${this.limits.try_ms} ms`)),
      this.limits.try_ms
    )
    try {
      const response = await this.environment.fetch(href, {
        method,
        headers: { ...own, ...(body === "" ? {} : { "content-type": "application/json" }) },
        signal: limit.signal,
        ...(body === "" ? {} : { body })
      })
      pace.heard(response.headers, response.status)
      const text = await response.text()
      const retry_ms = response.status === 503 ? retryAfterOf(response.headers) : 0
      if (!response.ok) return { failure: errorOf(response.status, text), sent, token, retry_ms }
      return { answer: JSON.parse(text) as A }
    } catch (cause) {
      ended.throwIfAborted()
      const message = `no answer to ${method} ${pathname}`
      return { failure: new ExchangeError({ status: 0, code: "UNANSWERED", message, cause }), sent, token, retry_ms: 0 }
    } finally {
      clearTimeout(timer)
      limit.free()
    }
  }
}

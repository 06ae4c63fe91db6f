/**
 * One REST call, from input to response: it respects the gateway's rate limits, authenticates, corrects its clock or renews its token
 * once, and retries if that is safe. Source: docs/contract/conventions.md#errors,
 * docs/contract/authentication.md#api-keys, docs/contract/limits.md.
 */
import { pauseOf } from "../client/Backoff.ts"
import { type Environment, joined, unlessAborted } from "./Environment.ts"
import { errorOf, ExchangeError } from "./ExchangeError.ts"
import type { Identity } from "./Identity.ts"
import type { Limits } from "./Limits.ts"
import { Pace, retryAfterOf } from "./RatePacer.ts"
import type { ServerClock } from "./ServerClock.ts"

export interface Call {
  readonly method: string
  /** Relative to the base path, with `:name` for path parameters. */
  readonly path: string
  /** Needs no credential. */
  readonly open: boolean
  /** Safe to repeat, even if an earlier attempt had its effect. */
  readonly repeatable: boolean
  /** Called for each attempt. */
  readonly input: () => object | Promise<object>
  readonly signal?: AbortSignal | undefined
  /** Called before a retry of an attempt that may have had its effect. */
  readonly onUnanswered?: () => void
  /** Called with each response; whether the next `input` repeats parts of it, which a 503 refused without effect. */
  readonly isPartial?: (body: unknown) => boolean
}

/** A failed attempt, with its send time and its token. */
interface Failed {
  readonly failure: ExchangeError
  readonly sent: number
  readonly token: string | undefined
  /** `Retry-After` of the gateway, in ms. */
  readonly retry_ms: number
}

/** Pause before the refused parts of a response are repeated, in ms. Source: docs/contract/boundary.md#overload. */
const PARTIAL_MS = 1_000
const BASE = "/api/v1"
const RENEWABLE: ReadonlySet<string | undefined> = new Set(["ExpiredToken", "RevokedToken", "InvalidToken"])
/** Calls with rate limit buckets of their own. Source: docs/contract/limits.md. */
const CANCELS: ReadonlySet<string> = new Set([
  "POST /order/cancel",
  "POST /order/cancel-all",
  "POST /order/cancel-batch",
  "POST /order/disconnect-cancel-all"
])
/** Groups of calls that share rate limit buckets. */
type Budget = "login" | "open" | "cancels" | "own"
const budgetOf = ({ method, open, path }: Call): Budget => {
  if (path === "/authorize") return "login"
  if (open) return "open"
  return CANCELS.has(`${method} ${path}`) ? "cancels" : "own"
}

const hasBody = (method: string): boolean => method !== "GET" && method !== "DELETE"

/** Path, query and body of a call. */
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
  /** Ends all calls. */
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

  /** Sends a call, with retries; resolves to the response body, which has the type of the operation's schema. */
  async call<A>(call: Call): Promise<A> {
    const { environment, limits } = this
    const pace = this.paces[budgetOf(call)]
    const { free, signal } = joined(this.signal, call.signal)
    const patient_until = environment.now() + limits.patience_ms
    /** Waits for `ms` and for the rate limit; `false`: the total wait would exceed `patience_ms`. */
    const pause = async (ms: number): Promise<boolean> => {
      const wait = Math.max(ms, pace.wait_ms)
      const isNear = environment.now() + wait <= patient_until
      if (isNear && wait > 0) await environment.sleep(wait, signal)
      return isNear
    }
    const repaired = new Set<string>()
    let isUnsure = false
    try {
      signal.throwIfAborted()
      await pause(0)
      for (let tries = 1, refusals = 1; ;) {
        const outcome = await this.attempt<A>(call, pace, signal)
        if ("body" in outcome) {
          const isLast = call.isPartial?.(outcome.body) !== true || tries >= limits.tries_max
          if (isLast || !(await pause(PARTIAL_MS + pauseOf(tries++, environment.chance())))) return outcome.body
          continue
        }
        const { failure } = outcome
        if (await unlessAborted(this.repairs(outcome, repaired), signal)) continue
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

  /** Corrects the clock or renews the token, each once per call; resolves to whether to retry. */
  private async repairs(
    { failure: { details, reason }, sent, token }: Failed,
    repaired: Set<string>
  ): Promise<boolean> {
    const isStale = reason === "StaleTimestamp"
    // a new token does not help a banned wallet
    if (!isStale && (!RENEWABLE.has(reason) || details["cause"] === "banned")) return false
    const what = isStale ? "clock" : "token"
    if (repaired.has(what)) return false
    repaired.add(what)
    if (!isStale) return token !== undefined && (await this.identity!.renew(token)) === "renewed"
    const server_time_ms = Number(details["server_time_ms"])
    if (!Number.isFinite(server_time_ms)) return false
    this.clock.set(server_time_ms, sent)
    return true
  }

  /** Sends one request. Rejects if the caller aborted or there is no credential. */
  private async attempt<A>(call: Call, pace: Pace, ended: AbortSignal): Promise<{ readonly body: A } | Failed> {
    const { body, uri } = targetOf(call, await call.input())
    const { href, pathname, search } = new URL(this.url + uri)
    const { method } = call
    const { identity } = this
    // it may log in, which other calls share
    const own: Record<string, string> =
      call.open || identity === undefined
        ? {}
        : await unlessAborted(identity.headers({ method, uri: pathname + search, body }), ended)
    const token = own["authorization"]?.slice("Bearer ".length)
    const sent = this.environment.now()
    const limit = joined(ended)
    const timer = setTimeout(
      () => limit.abort(new Error(`no response within ${this.limits.try_ms} ms`)),
      this.limits.try_ms
    )
    try {
      const response = await this.environment.fetch(href, {
        method,
        headers: { ...own, ...(body === "" ? {} : { "content-type": "application/json" }) },
        signal: limit.signal,
        ...(body === "" ? {} : { body })
      })
      pace.update(response.headers, response.status)
      const text = await response.text()
      const retry_ms = response.status === 503 ? retryAfterOf(response.headers) : 0
      if (!response.ok) return { failure: errorOf(response.status, text), sent, token, retry_ms }
      return { body: JSON.parse(text) as A }
    } catch (cause) {
      ended.throwIfAborted()
      const message = `no response to ${method} ${pathname}`
      return { failure: new ExchangeError({ status: 0, code: "UNANSWERED", message, cause }), sent, token, retry_ms: 0 }
    } finally {
      clearTimeout(timer)
      limit.free()
    }
  }
}

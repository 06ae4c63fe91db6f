/** Refusals for too many requests (429) in words: what is limited, that nothing changed, and when requests are accepted again. */
import * as Format from "./Format.ts"

export interface Throttled {
  /** Name of the bucket that is full. Source: docs/contract/limits.md#buckets. */
  readonly bucket: string
  /** Requests a minute. */
  readonly limit: string
  /** When requests are accepted again, by this machine's clock. */
  readonly until_ms: number
}

/** What the limit of a bucket allows, by its name. */
const allowances: Readonly<Record<string, (limit: string) => string>> = {
  public: (limit) => `one address may make ${limit} requests a minute without signing in`,
  token: (limit) => `one session may make ${limit} requests a minute`,
  user: (limit) => `one user may make ${limit} requests a minute with all sessions together`,
  "api-key": (limit) => `one API key may make ${limit} requests a minute`,
  "token-cancels": (limit) => `one session may cancel ${limit} times a minute`,
  "user-cancels": (limit) => `one user may cancel ${limit} times a minute with all sessions together`,
  "api-key-cancels": (limit) => `one API key may cancel ${limit} times a minute`,
  "authorize-ip": (limit) => `one address may sign in ${limit} times a minute`,
  "authorize-key": (limit) => `one key may sign in ${limit} times a minute`,
  "auth-failures": (limit) => `one address may send ${limit} wrong credentials a minute`
}
/** Buckets whose cancels are counted apart. */
const withCancels: ReadonlySet<string> = new Set(["token", "user", "api-key"])

/** The refusal that the headers of a 429 describe: `ratelimit-policy: "api-key";q=600;w=60` and `retry-after: 12`. */
export const throttledOf = (headers: Pick<Headers, "get">, now_ms: number): Throttled => ({
  bucket: /^"([^"]*)"/u.exec(headers.get("ratelimit-policy") ?? "")?.[1] ?? "",
  limit: headers.get("ratelimit-limit") ?? "",
  until_ms: now_ms + Math.max(1, Number(headers.get("retry-after") ?? "1") || 1) * 1_000
})

/** `Throttled: one API key may make 600 requests a minute. The request changed nothing. …` */
export const throttledText = ({ bucket, limit, until_ms }: Throttled, now_ms: number): string => {
  const seconds = Math.max(1, Math.ceil((until_ms - now_ms) / 1_000))
  return [
    `Throttled: ${allowances[bucket]?.(limit) ?? "there are too many requests"}.`,
    "The request changed nothing.",
    `The next one is accepted at ${Format.clock(until_ms)}, in ${seconds} s.`,
    ...(withCancels.has(bucket) ? ["Cancels have a limit of their own."] : [])
  ].join(" ")
}

/** The text after a throttled time. */
export const RESUMED = "Requests are accepted again."

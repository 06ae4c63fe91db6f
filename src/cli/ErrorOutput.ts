/** Why a command did not do what it was asked to: what is wrong, and what to do about it. */
import { Schema } from "effect"

/** A failure of the command line itself. */
export class CliError extends Schema.TaggedError<CliError>()("Refused", {
  /** Stable, for programs. */
  code: Schema.String,
  message: Schema.String,
  /** What to do now. */
  hint: Schema.optionalKey(Schema.String)
}) {}

/** The command failed, and has told all there is to tell. */
export class OutputFinished extends Schema.TaggedError<OutputFinished>()("AllTold", {}) {}

/** What is told of any failure; with --json as it stands. */
export interface PrintedError {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** What to do about a reason that a gateway gives, or else about its code. */
const hints: Readonly<Record<string, string>> = {
  BadCredentials:
    "ADMIN_USERNAME and ADMIN_PASSWORD (or ADMIN_PASSWORD_FILE) must be those that the gateway was started with",
  StaleTimestamp: "set this machine's clock",
  InsufficientBalance: "gateway balances tells what there is; on a test network gateway faucet gives more",
  SymbolNotFound: "markets are written as BTC-USDC",
  UNAUTHORIZED: "log in with gateway login",
  RateLimitExceeded: "wait, then ask again",
  SERVICE_UNAVAILABLE: "ask again in a moment; before you place an order anew, see gateway order list"
}

interface ApiError {
  readonly code: string
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}
const isApiError = (error: object): error is ApiError =>
  "code" in error && typeof error.code === "string" && "message" in error && typeof error.message === "string"

/** Makes words of any failure; none of them shows a secret, because no failure of ours carries one. */
export const tell = (error: unknown, url: string): PrintedError => {
  if (typeof error !== "object" || error === null) return { code: "INTERNAL", message: String(error) }
  if (error instanceof CliError) {
    const { code, hint, message } = error
    return { code, message, ...(hint === undefined ? {} : { hint }) }
  }
  const { _tag, message } = error as { readonly _tag?: unknown; readonly message?: unknown }
  if (_tag === "HttpClientError") {
    return {
      code: "UNREACHABLE",
      message: `no gateway answers at ${url}`,
      hint: "start one with gateway serve, or name another with --url or GATEWAY_URL"
    }
  }
  if (_tag === "FeedEnded") return { code: "FEED_ENDED", message: `the feed ended: ${String(message)}` }
  if (isApiError(error)) {
    const { code, details } = error
    const reason = typeof details?.["reason"] === "string" ? details["reason"] : undefined
    const hint = hints[reason ?? ""] ?? hints[code]
    return { code, message: error.message, ...(hint && { hint }), ...(details && { details }) }
  }
  return {
    code: typeof _tag === "string" ? _tag : "INTERNAL",
    message: typeof message === "string" ? message : "failed"
  }
}

/** The same for a person. */
export const printed = ({ code, details, hint, message }: PrintedError): string => {
  const facts = Object.entries(details ?? {}).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  return [
    `error: ${message}`,
    `       ${[code, ...facts].join(", ")}`,
    ...(hint === undefined ? [] : [`       ${hint}`])
  ].join("\n")
}

/** Errors of commands: what is wrong, and what to do about it. */
import { Schema } from "effect"

/** An error that the command line detects itself, before or without a request. */
export class CliError extends Schema.TaggedError<CliError>()("Refused", {
  /** Stable, for programs. */
  code: Schema.String,
  message: Schema.String,
  /** What the user can do about it. */
  hint: Schema.optionalKey(Schema.String)
}) {}

/** The command failed and has already printed everything. */
export class OutputFinished extends Schema.TaggedError<OutputFinished>()("AllTold", {}) {}

/** The printed form of an error; `--json` prints it as it is. */
export interface PrintedError {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** Hints by `details.reason` of the gateway's error, else by its code. */
const hints: Readonly<Record<string, string>> = {
  BadCredentials:
    "set ADMIN_USERNAME and ADMIN_PASSWORD (or ADMIN_PASSWORD_FILE) to the values that the gateway was started with",
  StaleTimestamp: "synchronize the clock of this machine",
  InsufficientBalance: "see gateway balances; on a test network, gateway faucet adds test money",
  SymbolNotFound: "write a market as BTC-USDC",
  UNAUTHORIZED: "log in with gateway login",
  RateLimitExceeded: "wait, then try again",
  SERVICE_UNAVAILABLE: "try again in a moment; before you place an order again, check gateway order list"
}

interface ApiError {
  readonly code: string
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}
const isApiError = (error: object): error is ApiError =>
  "code" in error && typeof error.code === "string" && "message" in error && typeof error.message === "string"

/** A request or a response that does not match its schema: the library writes each fault and, in the next line, its path. */
const inOneLine = ({ message }: Schema.SchemaError): string =>
  message.replace(/(.+)\n +at (.+)/gu, (_, what: string, path: string) => {
    const names = Array.from(path.matchAll(/\["?([^"\]]+)"?\]/gu), ([, name]) => name)
    return `${names.join(".")}: ${what.replace(/^Expected/u, "expected")}`
  })

/** Converts any error to its printed form. It contains no secret, because no error of the client carries one. */
export const toPrinted = (error: unknown, url: string): PrintedError => {
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
      hint: "start one with gateway serve, or set --url or GATEWAY_URL to another"
    }
  }
  if (Schema.isSchemaError(error)) return { code: "SchemaError", message: inOneLine(error) }
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

/** The printed form of an error of this program, such as a value of the gateway that it cannot print. */
export const ofDefect = (defect: unknown): PrintedError => ({
  code: "INTERNAL",
  message: defect instanceof Error ? `${defect.name}: ${defect.message}` : String(defect)
})

/** The text form, for a person. */
export const printed = ({ code, details, hint, message }: PrintedError): string => {
  const facts = Object.entries(details ?? {}).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  return [
    `error: ${message}`,
    `       ${[code, ...facts].join(", ")}`,
    ...(hint === undefined ? [] : [`       ${hint}`])
  ].join("\n")
}

/** One HTTP request without the client's code, and its outcome. Nothing is sent twice. */
import { type Agent, request } from "node:http"

export interface Request {
  readonly method: string
  /** Below the host. */
  readonly path: string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, unless it is text. */
  readonly body?: string | object
  /** Sends the body without its length. */
  readonly isChunked?: boolean
}

/** The fields of answers that suites read. */
export interface Body {
  readonly order_id?: string
  readonly token?: string
  readonly list?: ReadonlyArray<Readonly<Record<string, string>>>
  readonly next_page_cursor?: string
  readonly details?: { readonly reason?: string; readonly outcome?: string; readonly order_id?: string }
}

export interface Outcome {
  /** 0: no complete answer arrived, so the request's fate is unknown. */
  readonly status: number
  /** The answer, or the error code of the connection. */
  readonly text: string
  readonly ms: number
}

/** Longest wait for an answer, in ms. */
const ANSWER_MS = 60_000

/** Sends a request once. Never fails. Without `agent` each request has a connection of its own. */
export const send = (
  url: string,
  { body, headers, isChunked = false, method, path, token }: Request,
  { agent, limit_ms = ANSWER_MS }: { readonly agent?: Agent; readonly limit_ms?: number } = {}
): Promise<Outcome> =>
  new Promise((resolve) => {
    const began = performance.now()
    const done = (status: number, text: string) => resolve({ status, text, ms: performance.now() - began })
    const lost = (error: Error & { readonly code?: string }) => done(0, error.code ?? error.message)
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body)
    const sent = request(
      `${url}${path}`,
      {
        agent: agent ?? false,
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
          ...(text === undefined ? {} : { "content-type": "application/json" }),
          ...(text === undefined || isChunked ? {} : { "content-length": String(Buffer.byteLength(text)) }),
          ...(isChunked ? { "transfer-encoding": "chunked" } : {})
        }
      },
      (response) => {
        let answer = ""
        response.setEncoding("utf8").on("data", (chunk: string) => (answer += chunk))
        response.once("end", () => done(response.statusCode!, answer))
        response.once("error", lost)
      }
    )
    const late = setTimeout(() => sent.destroy(new Error(`no answer within ${limit_ms} ms`)), limit_ms)
    sent.once("close", () => clearTimeout(late))
    sent.once("error", lost)
    sent.end(text)
  })

/** The JSON of an answer; empty where it is not the gateway's. */
export const bodyOf = ({ status, text }: Outcome): Body => {
  if (status === 0) return {}
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** An outcome in a few words: `200`, `503 BackendLagging`, `502 of the balancer`, `no answer (ECONNRESET)`. */
export const inWords = (outcome: Outcome): string => {
  const { status, text } = outcome
  if (status === 0) return `no answer (${text})`
  if (status < 400) return String(status)
  const origin = text.startsWith("<") ? "of the balancer" : "without a reason"
  return `${status} ${bodyOf(outcome).details?.reason ?? origin}`
}

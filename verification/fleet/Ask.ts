/** One HTTP request over kept connections, and what became of it. Nothing is sent twice. */
import { type Agent, request } from "node:http"

export interface Asked {
  readonly method: "GET" | "POST"
  /** Below the host. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Sends the body without its length. */
  readonly isChunked?: boolean
}

export type Outcome =
  | { readonly status: number; readonly text: string }
  /** No answer came, or not all of one. */
  | { readonly lost: string }

/** Time an answer may take, in ms. */
const ANSWER_MS = 60_000

export const ask = (
  agent: Agent,
  url: string,
  { body, headers, isChunked = false, method, path }: Asked
): Promise<Outcome> =>
  new Promise((resolve) => {
    const lost = (error: Error & { readonly code?: string }) => resolve({ lost: error.code ?? error.message })
    const sent = request(
      `${url}${path}`,
      {
        agent,
        method,
        timeout: ANSWER_MS,
        headers: {
          ...headers,
          ...(body === undefined
            ? {}
            : {
                "content-type": "application/json",
                ...(isChunked
                  ? { "transfer-encoding": "chunked" }
                  : { "content-length": String(Buffer.byteLength(body)) })
              })
        }
      },
      (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
        response.once("end", () => resolve({ status: response.statusCode!, text }))
        response.once("error", lost)
      }
    )
    sent.once("timeout", () => sent.destroy(new Error(`no answer in ${ANSWER_MS} ms`)))
    sent.once("error", lost)
    sent.end(body)
  })

/** What a body tells, as far as it is that of the gateway. */
export const told = (
  text: string
): { readonly order_id?: string; readonly details?: { readonly reason?: string; readonly order_id?: string } } => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** An outcome in a few words: `200`, `503 BackendLagging`, `502 of the balancer`, `no answer (ECONNRESET)`. */
export const inWords = (outcome: Outcome): string => {
  if ("lost" in outcome) return `no answer (${outcome.lost})`
  const { status, text } = outcome
  if (status < 400) return String(status)
  return `${status} ${told(text).details?.reason ?? (text.startsWith("<") ? "of the balancer" : "without a reason")}`
}

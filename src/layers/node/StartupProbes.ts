/**
 * Answers of a gateway that starts, for `GET /health` and `GET /ready`: a supervisor must not take a long start for a dead
 * process, and a load balancer gets its answer at once. Every other request is held.
 * Source: docs/contract/rest.md#service-endpoints.
 *
 * It depends on no package, because it answers before any is loaded.
 */
import { VERSION } from "../../domain/Version.ts"

const json = (status: string, body: object): string => {
  const text = JSON.stringify(body)
  return (
    `HTTP/1.1 ${status}\r\nConnection: close\r\nCache-Control: no-store\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${text.length}\r\n\r\n${text}`
  )
}

const link = { connected: false, lag_events: 0, lag_ms: 0 }

const health = json("200 OK", { status: "ok", version: VERSION })
const ready = json("503 Service Unavailable", {
  status: "not_ready",
  reasons: ["Starting"],
  warnings: [],
  sequencer: link,
  referee: link,
  database: { connected: false }
})

/** The response to the first bytes of a connection; undefined where they are not one whole request of a probe. */
export const answerTo = (bytes: Buffer): string | undefined => {
  const text = bytes.toString("latin1")
  if (!text.endsWith("\r\n\r\n")) return undefined
  if (text.startsWith("GET /health HTTP/1.")) return health
  return text.startsWith("GET /ready HTTP/1.") ? ready : undefined
}

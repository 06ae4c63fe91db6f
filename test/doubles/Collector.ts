/** A collector of OTLP over HTTP: keeps the requests, and returns a configured response or none. */
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code: number }
}
export interface LogRecord {
  readonly severityText: string
  readonly body: unknown
  readonly traceId?: string
  readonly spanId?: string
  readonly attributes: Readonly<Record<string, unknown>>
}

interface Value {
  readonly stringValue?: string
  readonly intValue?: number | string
}
const valueOf = ({ intValue, stringValue }: Value) =>
  stringValue ?? (intValue === undefined ? undefined : Number(intValue))
const plain = (attributes: ReadonlyArray<{ readonly key: string; readonly value: Value }>) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]))

// oxlint-disable-next-line typescript/no-explicit-any
type Body = any

export class Collector {
  readonly spans: Array<Span> = []
  readonly logs: Array<LogRecord> = []
  /** Posts as they came, taken or not. */
  readonly posts: Array<{ readonly path: string; readonly headers: Record<string, unknown>; readonly text: string }> =
    []
  /** What posts are answered; `undefined`: nothing, ever. */
  status: number | undefined = 200
  private readonly server: Server
  private constructor(server: Server) {
    this.server = server
  }

  static async start(): Promise<Collector> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const collector = new Collector(server)
    server.on("request", async (request, response) => {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      collector.take(request.url!, request.headers, Buffer.concat(chunks).toString())
      if (collector.status !== undefined) response.writeHead(collector.status).end("{}")
    })
    return collector
  }
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }
  private take(path: string, headers: Record<string, unknown>, text: string): void {
    this.posts.push({ path, headers, text })
    if (this.status !== 200) return
    const body = JSON.parse(text) as Body
    for (const { scopeSpans } of body.resourceSpans ?? []) {
      for (const { spans } of scopeSpans) {
        for (const span of spans) this.spans.push({ ...span, attributes: plain(span.attributes) })
      }
    }
    for (const { scopeLogs } of body.resourceLogs ?? []) {
      for (const { logRecords } of scopeLogs) {
        for (const record of logRecords) {
          this.logs.push({ ...record, body: valueOf(record.body), attributes: plain(record.attributes) })
        }
      }
    }
  }
  close(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}

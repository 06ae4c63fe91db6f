/** Two gateways over equal doubles, one with the front and one without: every request is asked of both, as bytes. */
import { Context, Effect, Layer, Logger, ManagedRuntime } from "effect"
import { HttpRouter } from "effect/http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type { AddressInfo } from "node:net"
import { connect } from "node:net"
import { gunzipSync } from "node:zlib"
import { FastRoutes } from "../../../src/http/fast/FastRoutes.ts"
import * as Http from "../../../src/http/Http.ts"
import { NodeServer, putBefore } from "../../../src/layers/node/NodeServer.ts"
import { CommandAdmission } from "../../../src/services/trading/CommandAdmission.ts"
import { type Doubles, policies } from "../Fixture.ts"

/** A final response without what differs between any two: the time, and ids that nobody asked for. */
export interface Answer {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string
}

/** The bytes after an interim response (100 Continue). */
const finalOf = (bytes: Buffer): Buffer => {
  const end = bytes.indexOf("\r\n\r\n")
  return end !== -1 && bytes.toString("latin1", 0, 12) === "HTTP/1.1 100" ? bytes.subarray(end + 4) : bytes
}

const SILENCE_MS = 400
const exchange = (port: number, bytes: string | Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1")
    const chunks: Array<Buffer> = []
    socket.setTimeout(5_000, () => socket.destroy())
    socket.on("data", (chunk) => {
      chunks.push(chunk)
      const text = finalOf(Buffer.concat(chunks)).toString("latin1")
      if (text === "") return
      const head = text.indexOf("\r\n\r\n")
      const length = /\r\ncontent-length: (\d+)/iu.exec(text)?.[1]
      if (head !== -1 && length !== undefined && text.length >= head + 4 + Number(length)) socket.destroy()
      else if (text.endsWith("0\r\n\r\n") || (head !== -1 && /^HTTP\/1\.1 (?:204|304)/u.test(text))) socket.destroy()
      else socket.setTimeout(SILENCE_MS)
    })
    socket.on("error", reject)
    socket.on("close", () => resolve(finalOf(Buffer.concat(chunks))))
    socket.write(bytes)
  })

const unchunked = (bytes: Buffer): Buffer => {
  const parts: Array<Buffer> = []
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf("\r\n", at)
    const size = Number.parseInt(bytes.toString("latin1", at, end), 16)
    parts.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 4 + size
  }
  return Buffer.concat(parts)
}

const read = (bytes: Buffer): Answer => {
  const end = bytes.indexOf("\r\n\r\n")
  const [first, ...lines] = bytes.toString("latin1", 0, end).split("\r\n")
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(":")
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  let content = bytes.subarray(end + 4)
  if (headers["transfer-encoding"] === "chunked") content = unchunked(content)
  const body = headers["content-encoding"] === "gzip" ? gunzipSync(content).toString() : content.toString()
  delete headers["date"]
  return { status: Number(first!.split(" ")[1]), headers, body }
}

export class Pair {
  /** Requests that the front took. */
  taken = 0
  private readonly runtimes: ReadonlyArray<ManagedRuntime.ManagedRuntime<NodeServer, never>>
  /** `atOnce` is laid over the doubles of the gateway with the front alone. */
  constructor(doubles: () => Doubles, clock: Layer.Layer<never> = Layer.empty, atOnce: Doubles = {}) {
    this.runtimes = [true, false].map((hot) => this.gateway({ ...doubles(), ...(hot && atOnce) }, hot, clock))
  }

  private gateway(doubles: Doubles, hot: boolean, clock: Layer.Layer<never>) {
    const trustedProxies = doubles.trustedProxies ?? 0
    const front = hot
      ? Layer.effectDiscard(
          Effect.gen({ self: this }, function* () {
            const server = yield* NodeServer
            const { offer } = yield* FastRoutes
            putBefore(server, (request, response) => {
              const took = offer(request, response)
              if (took) this.taken++
              return took
            })
          })
        ).pipe(
          Layer.provide(FastRoutes.layer({ trustedProxies })),
          Layer.provide(
            Layer.mock(CommandAdmission)({ isBusy: () => false, refusesNow: () => false, ...doubles.commandAdmission })
          )
        )
      : Layer.empty
    const requests = HttpRouter.serve(Http.layer({ trustedProxies }), {
      disableLogger: true,
      disableListenLog: true,
      routerConfig: Http.routerConfig
    })
    const listening = Layer.unwrap(
      Effect.map(NodeServer, (server) => NodeHttpServer.layer(() => server, { port: 0, host: "127.0.0.1" }))
    )
    return ManagedRuntime.make(
      front.pipe(
        Layer.provideMerge(requests),
        Layer.provide(policies(doubles)),
        Layer.provide(listening),
        Layer.provideMerge(NodeServer.layer),
        Layer.provide(Logger.layer([])),
        Layer.provide(clock)
      ) as Layer.Layer<NodeServer>
    )
  }

  private async port(runtime: ManagedRuntime.ManagedRuntime<NodeServer, never>): Promise<number> {
    const server = Context.get(await runtime.context(), NodeServer)
    return (server.address() as AddressInfo).port
  }

  /** Both answers: that of the gateway with the front first. */
  async ask(bytes: string | Buffer): Promise<readonly [Answer, Answer]> {
    const answers: Array<Answer> = []
    for (const runtime of this.runtimes) answers.push(read(await exchange(await this.port(runtime), bytes)))
    return answers as unknown as readonly [Answer, Answer]
  }

  /** Sends a request to the gateway with the front, and leaves when something holds, without an answer. */
  async leave(bytes: string | Buffer, when: Promise<void>): Promise<void> {
    const socket = connect(await this.port(this.runtimes[0]!), "127.0.0.1")
    socket.write(bytes)
    await when
    socket.destroy()
  }

  readonly dispose = async (): Promise<void> => {
    for (const runtime of this.runtimes) await runtime.dispose()
  }
}

/** Bytes of a request; every one has an id, so that its answer has no random one. */
export const bytesOf = (
  method: string,
  target: string,
  headers: { readonly [name: string]: string | ReadonlyArray<string> },
  body?: string | Buffer
): Buffer => {
  const lines = [`${method} ${target} HTTP/1.1`, "Host: gateway", "X-Request-Id: asked-1"]
  for (const [name, value] of Object.entries(headers)) {
    for (const each of typeof value === "string" ? [value] : value) lines.push(`${name}: ${each}`)
  }
  if (body !== undefined && !("Content-Length" in headers) && !("Transfer-Encoding" in headers)) {
    lines.push(`Content-Length: ${Buffer.byteLength(body)}`)
  }
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), Buffer.from(body ?? "")])
}

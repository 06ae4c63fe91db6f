/**
 * A hot public read over REST: the best five levels of a book, about 300 bytes of JSON.
 *
 * Floor: node:http and constant bytes. Peers: Fastify with a response schema, and plain HttpApi with a response schema. All
 * send the headers of the gateway. Subject: the gateway as shipped; its rate limiter counts every request but only reports;
 * its book does not change. Left out: TLS, a real network, a changing book.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { compare, header, load, print, type Row, type Server, start } from "./Harness.ts"
import { freePort, gatewayEnv, type Options } from "./OrderEntry.bench.ts"

const PATH = "/api/v1/market/orderbook?symbol=BTC-USDC&depth=5"
export const request = Buffer.from(`GET ${PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
/** Headers that the transport adds, or that each variant sets itself. */
const OWN = new Set(["date", "connection", "keep-alive", "content-type", "content-length", "transfer-encoding"])

/** The gateway's response once its book is present. */
export const answerOf = async (port: number) => {
  for (let i = 0; i < 200; i++) {
    const response = await fetch(`http://127.0.0.1:${port}${PATH}`)
    if (response.status === 200) {
      const headers = Object.fromEntries([...response.headers].filter(([name]) => !OWN.has(name)))
      return { BENCH_BODY: await response.text(), BENCH_HEADERS: JSON.stringify(headers) }
    }
    await response.arrayBuffer()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error("the gateway has no book")
}

export const run = async (options: Options): Promise<ReadonlyArray<Row>> => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-bench-"))
  const servers: Array<Server> = []
  const up = async (name: string, module: string, env: Record<string, string>, core = 0): Promise<Server> => {
    const server = await start(name, module, core, env)
    servers.push(server)
    return server
  }
  try {
    const backend = await up("backend", "backend.ts", {}, 1)
    const env = gatewayEnv(await freePort(), directory, `127.0.0.1:${backend.port}`)
    const gateway = await up("gateway", "gateway.ts", { ...env, RATE_LIMIT_MODE: "report" })
    const answer = await answerOf(gateway.port)
    const peers = [
      await up("floor", "read-floor.ts", answer),
      await up("fastify", "read-fastify.ts", answer),
      await up("http-api", "read-http-api.ts", answer)
    ]
    // everything except the time of the response
    const shape = (body: string) => body.replace(/"ts":\d+/u, "")
    const expected = shape(answer.BENCH_BODY)
    return await compare({
      servers: [...peers, gateway],
      rounds: options.rounds,
      run: (server) =>
        load({
          port: server.port,
          connections: options.connections,
          seconds: options.seconds,
          requests_max: options.requests_max,
          next: () => request,
          correct: (body) => shape(body) === expected
        })
    })
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    rmSync(directory, { recursive: true, force: true })
  }
}

export const main = async (): Promise<void> => {
  const options: Options = { rounds: 6, seconds: 3, connections: 64, requests_max: Number.POSITIVE_INFINITY }
  const head = header("npm run bench -- rest-read", options.rounds, "TLS, a real network, a moving book")
  print(head, await run(options))
}

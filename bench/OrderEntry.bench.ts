/**
 * Order entry over REST with a token: a POST of ten fields is validated, sent to a backend over gRPC, and acknowledged.
 *
 * Floor: node:http, manual validation, HS256, one unary call. Peer: Fastify with its JSON schema and JWT plug-in, one unary
 * call. Subject: the gateway as shipped, with a warm cache of verified tokens. Left out: TLS, a real network, matching.
 */
import { createHmac, generateKeyPairSync, randomBytes, sign } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { compare, header, load, print, type Row, type Server, start } from "./Harness.ts"
import { SECRET, SUB_ACCOUNT } from "./servers/peer.ts"

export interface Options {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  /** Most requests per round; small in the smoke run. */
  readonly requests_max: number
}

export const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
const hs256 = () => {
  const unsigned = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: "bench", exp: Math.floor(Date.now() / 1_000) + 3_600 })}`
  return `${unsigned}.${createHmac("sha256", SECRET).update(unsigned).digest("base64url")}`
}

/** Logs a new wallet in and returns its token. */
export const login = async (port: number): Promise<string> => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519")
  const key = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex")
  const nonce = randomBytes(16).toString("base64url")
  const timestamp_ms = Date.now()
  const signature = sign(null, Buffer.from(`SERVICE_AUTH|LOGIN|${key}|${timestamp_ms}|${nonce}`), privateKey).toString(
    "hex"
  )
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/authorize`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ public_key: key, signature, timestamp_ms, nonce })
  })
  const answer = (await response.json()) as { readonly token?: string }
  if (answer.token === undefined) throw new Error(`login failed: ${JSON.stringify(answer)}`)
  return answer.token
}

/** The gateway as shipped, except for limits, with a backend. */
export const gatewayEnv = (port: number, dataDir: string, backend: string) => ({
  PORT: String(port),
  HOST: "127.0.0.1",
  DATA_DIR: dataDir,
  BACKEND: "grpc",
  SEQUENCER_URL: backend,
  RATE_LIMIT_MODE: "off",
  LOG_LEVEL: "error"
})

let orders = 0
export const nextOrder = (token: string) => (): Buffer => {
  const body =
    `{"sub_account_address":"${SUB_ACCOUNT}","symbol":"BTC-USDC","side":"Buy","order_type":"Limit","qty":"0.5",` +
    `"price":"60000.1","time_in_force":"GTC","post_only":false,"reduce_only":false,"order_link_id":"bench-${orders++}"}`
  return Buffer.from(
    `POST /api/v1/order/create HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
}

export const run = async (options: Options): Promise<ReadonlyArray<Row>> => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-bench-"))
  const servers: Array<Server> = []
  try {
    const backend = await start("backend", "backend.ts", 1)
    servers.push(backend)
    const url = `127.0.0.1:${backend.port}`
    const floor = await start("floor", "floor.ts", 0, { BENCH_BACKEND: url })
    servers.push(floor)
    const fastify = await start("fastify", "fastify.ts", 0, { BENCH_BACKEND: url })
    servers.push(fastify)
    const gateway = await start("gateway", "gateway.ts", 0, gatewayEnv(await freePort(), directory, url))
    servers.push(gateway)
    const tokens = new Map([
      ["floor", hs256()],
      ["fastify", hs256()],
      ["gateway", await login(gateway.port)]
    ])
    return await compare({
      servers: [floor, fastify, gateway],
      rounds: options.rounds,
      run: (server) =>
        load({
          port: server.port,
          connections: options.connections,
          seconds: options.seconds,
          requests_max: options.requests_max,
          next: nextOrder(tokens.get(server.name)!),
          correct: (body) => body.includes('"order_id"') && body.includes('"order_link_id"')
        })
    })
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    rmSync(directory, { recursive: true, force: true })
  }
}

export const main = async (): Promise<void> => {
  const options: Options = { rounds: 6, seconds: 3, connections: 64, requests_max: Number.POSITIVE_INFINITY }
  const head = header("npm run bench -- order-entry", options.rounds, "TLS, a real network, matching and journal")
  print(head, await run(options))
}

/**
 * Order entry over REST with an API key: each request has its own nonce and Ed25519 signature.
 *
 * Floor: node:http, the key parsed once, the signature verified on the main thread, one unary call. Peer: Fastify, the key
 * parsed for each request. Subject: the gateway as shipped; its nonces are durable, the others keep theirs in memory or not
 * at all. Left out: TLS, a real network, matching.
 */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { compare, header, load, print, type Row, type Server, start } from "./Harness.ts"
import { freePort, gatewayEnv, login, type Options } from "./OrderEntry.bench.ts"
import { signedText, SUB_ACCOUNT } from "./servers/peer.ts"

const PATH = "/api/v1/order/create"
const { privateKey, publicKey } = generateKeyPairSync("ed25519")
const key = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex")

/** Registers the key with the gateway. */
export const register = async (port: number): Promise<void> => {
  const token = await login(port)
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/user/api-keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ public_key: key, label: "bench", scopes: ["trade"] })
  })
  if (!response.ok) throw new Error(`no key: ${await response.text()}`)
}

let orders = 0
/** An order with a unique nonce and signature. */
export const nextSigned = (): Buffer => {
  const body =
    `{"sub_account_address":"${SUB_ACCOUNT}","symbol":"BTC-USDC","side":"Buy","order_type":"Limit","qty":"0.5",` +
    `"price":"60000.1","time_in_force":"GTC","post_only":false,"reduce_only":false,"order_link_id":"bench-${orders++}"}`
  const [timestamp, nonce] = [String(Date.now()), randomUUID()]
  const signature = sign(null, Buffer.from(signedText("POST", PATH, timestamp, nonce)), privateKey).toString("hex")
  return Buffer.from(
    `POST ${PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${key}\r\nx-signature: ${signature}\r\n` +
      `x-timestamp-ms: ${timestamp}\r\nx-nonce: ${nonce}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
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
    const url = `127.0.0.1:${backend.port}`
    const floor = await up("floor", "floor.ts", { BENCH_BACKEND: url })
    const fastify = await up("fastify", "fastify.ts", { BENCH_BACKEND: url })
    const gateway = await up("gateway", "gateway.ts", gatewayEnv(await freePort(), directory, url))
    await register(gateway.port)
    return await compare({
      servers: [floor, fastify, gateway],
      rounds: options.rounds,
      run: (server) =>
        load({
          port: server.port,
          connections: options.connections,
          seconds: options.seconds,
          requests_max: options.requests_max,
          next: nextSigned,
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
  const head = header("npm run bench -- signed-order", options.rounds, "TLS, a real network, matching and journal")
  print(head, await run(options))
}

/**
 * The processor time of the most expensive request of each kind, from a client without credentials. Other clients wait for the
 * longest turn of the event loop, so that is measured, too, without the collections of garbage. Figures are medians.
 */
import { randomBytes } from "node:crypto"
import { connect } from "node:net"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { QUIET_MARKET } from "../harness/Settings.ts"
import { median } from "../harness/Statistics.ts"
import { sleep } from "../harness/Wait.ts"
import type { Cost, Order } from "./CostProbe.ts"

/** Longest turn of the event loop, in ms. */
export const TURN_MS = 5
/** A response is complete after this time without a byte, in ms. */
const SETTLE_MS = 60
/** Requests of a kind before its measurement: then its code is compiled, also where other processes delay the compiler. */
const WARM_UP = 30
const KIB = 1024

const lines = (...parts: ReadonlyArray<string>): string => `${parts.join("\r\n")}\r\n\r\n`
const get = (path: string, ...headers: ReadonlyArray<string>): string =>
  lines(`GET ${path} HTTP/1.1`, "Host: g", ...headers)
const post = (path: string, body: string, ...headers: ReadonlyArray<string>): string =>
  lines(`POST ${path} HTTP/1.1`, "Host: g", `Content-Length: ${Buffer.byteLength(body)}`, ...headers) + body
const upgrade = (path: string, ...headers: ReadonlyArray<string>): string =>
  get(
    path,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
    ...headers
  )
const calls = (count: number, line: (id: number) => object): string =>
  Array.from(
    { length: count },
    (_, id) => `${JSON.stringify({ _tag: "Request", id: String(id), headers: [], ...line(id) })}\n`
  ).join("")
const lists = () =>
  post(
    "/rpc",
    calls(256, () => ({ tag: "market.tickers", payload: { query: {} } }))
  )

const deep = "[".repeat(100_000) + "]".repeat(100_000)
const wide = `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":1`).join(",")}}`
const login = (fields: object) => JSON.stringify({ timestamp_ms: Date.now(), ...fields })
const key = "0x" + "ab".repeat(32)

/** The most expensive request of each kind, as bytes on a connection of its own. */
export const kinds: Readonly<Record<string, () => string>> = {
  "GET /health": () => get("/health"),
  "GET /api/v1/market/tickers": () => get("/api/v1/market/tickers"),
  "16 KiB of headers, 100 of them": () =>
    get("/api/v1/user/me", ...Array.from({ length: 98 }, (_, i) => `X-${i}: ${"v".repeat(150)}`)),
  "a query of 15 KiB": () => get(`/api/v1/market/tickers?${"a=1&".repeat(3_800)}`),
  "a path of 15 KiB, encoded": () => get(`/api/v1/authorize/whitelist/${"%3A".repeat(5_000)}`),
  "a weighed coding list": () => get("/api/v1/market/time", `Accept-Encoding: ${"gzip;q=0.1,".repeat(1_400)}`),
  "256 KiB of JSON, deep, login": () => post("/api/v1/authorize", deep),
  "256 KiB of JSON, wide, login": () => post("/api/v1/authorize", wide),
  "256 KiB of one text, login": () => post("/api/v1/authorize", JSON.stringify({ public_key: "x".repeat(250 * KIB) })),
  "256 KiB of JSON, order": () => post("/api/v1/order/create", wide),
  "a login with a signature that is wrong": () =>
    post("/api/v1/authorize", login({ public_key: key, signature: "cd".repeat(64), nonce: "n".repeat(32) })),
  "a signed request with a body of 256 KiB": () =>
    post(
      "/api/v1/order/create",
      wide,
      `X-API-Key: ${key}`,
      `X-Signature: ${"cd".repeat(64)}`,
      `X-Timestamp-Ms: ${Date.now()}`,
      "X-Nonce: nnnnnnnnnnnn"
    ),
  "a token of 12 KiB": () => get("/api/v1/user/me", `Authorization: Bearer ${"e.".repeat(6_000)}`),
  "the OpenAPI document": () => get("/api-docs/openapi.json"),
  "the OpenAPI document, compressed": () => get("/api-docs/openapi.json", "Accept-Encoding: gzip"),
  "the AsyncAPI document": () => get("/api-docs/asyncapi.json"),
  "Swagger UI": () => get("/swagger-ui"),
  "Swagger UI, compressed": () => get("/swagger-ui", "Accept-Encoding: gzip"),
  "the market page": () => get("/"),
  "kline, 1,000 candles, compressed": () =>
    get("/api/v1/market/kline?symbol=BTC-USDC&interval=1&limit=1000", "Accept-Encoding: gzip"),
  metrics: () => get("/metrics"),
  "64 requests at once": () => get("/api/v1/market/time").repeat(64),
  "POST /rpc, 256 calls of service.ready": () =>
    post(
      "/rpc",
      calls(256, () => ({ tag: "service.ready", payload: null }))
    ),
  "POST /rpc, 256 calls of market.tickers": lists,
  "POST /rpc, 256 calls of market.tickers, abandoned": lists,
  "POST /rpc, 256 KiB of unknown calls": () =>
    post("/rpc", calls(3_900, () => ({ tag: "x", payload: 1 })).slice(0, 256 * KIB)),
  "POST /rpc, 256 KiB of empty lines": () => post("/rpc", "\n".repeat(256 * KIB)),
  "POST /rpc, 256 KiB of one deep line": () => post("/rpc", `${deep}\n`),
  "POST /rpc, 256 KiB of broken lines": () => post("/rpc", "{\n".repeat(128 * KIB)),
  "an upgrade with a long deflate offer": () =>
    upgrade(
      "/ws/public",
      `Sec-WebSocket-Extensions: ${"permessage-deflate; client_max_window_bits=10, ".repeat(320)}x`
    ),
  "an upgrade with many subprotocols": () =>
    upgrade("/rpc", `Sec-WebSocket-Protocol: ${Array.from({ length: 2_000 }, (_, i) => `p${i}`).join(",")}`)
}

/** Requests whose client disconnects at the first byte of the response. */
const abandoned: ReadonlySet<string> = new Set(["POST /rpc, 256 calls of market.tickers, abandoned"])

/** Sends a request on a connection of its own, and closes it after the response. */
const send = async (port: number, kind: string): Promise<void> => {
  const socket = connect({ port, host: "127.0.0.1" })
  let received_at = performance.now()
  socket
    .on("error", () => {})
    .on("data", () => {
      received_at = performance.now()
      if (abandoned.has(kind)) socket.destroy()
    })
  socket.write(kinds[kind]!())
  while (performance.now() - received_at < SETTLE_MS) await sleep(SETTLE_MS / 4)
  socket.destroy()
}

export interface Row {
  readonly kind: string
  /** Processor time of the event loop's thread for one request, in ms. */
  readonly cpu_ms: number
  /** Longest turn without collections, in ms. */
  readonly longest_ms: number
  /** Longest collection during the request, in ms. */
  readonly collection_ms: number
}

const costOf = async ({ ask, port }: GatewayProcess, order: Order, kind?: string): Promise<Cost> => {
  await ask({ order })
  await (kind === undefined ? sleep(SETTLE_MS) : send(port, kind))
  return ask<Cost>({ order: "end" })
}

/** Measures some kinds, each in so many rounds. */
export const measure = async (names = Object.keys(kinds), rounds = 15): Promise<ReadonlyArray<Row>> => {
  const folder = temporaryFolder("request-cost")
  const gateway = await startGateway({
    dataDir: folder.path,
    env: { ...QUIET_MARKET, RATE_LIMIT_MODE: "off", CONNECTIONS_PER_IP: "0" },
    preload: new URL("CostProbe.ts", import.meta.url).href
  })
  try {
    const rows: Array<Row> = []
    const idle = async (order: Order) => {
      const costs: Array<Cost> = []
      for (let i = 0; i < rounds; i++) costs.push(await costOf(gateway, order))
      return costs
    }
    const idleCpu = median((await idle("begin")).map(({ cpu_ms }) => cpu_ms))
    for (const kind of names) {
      for (let i = 0; i < WARM_UP; i++) await send(gateway.port, kind)
      const cpu: Array<number> = []
      const watched: Array<Cost> = []
      for (let i = 0; i < rounds; i++) {
        cpu.push((await costOf(gateway, "begin", kind)).cpu_ms)
        watched.push(await costOf(gateway, "watch", kind))
      }
      rows.push({
        kind,
        cpu_ms: Math.max(0, median(cpu) - idleCpu),
        longest_ms: median(watched.map(({ longest_ms }) => longest_ms)),
        collection_ms: Math.max(...watched.map(({ collection_ms }) => collection_ms))
      })
    }
    return rows
  } finally {
    await gateway.kill()
    folder.remove()
  }
}

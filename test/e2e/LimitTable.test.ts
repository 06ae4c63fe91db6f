/**
 * The table of limits: every limit has its value in force on every transport, or a reason why not. Every operation counts in
 * the same rate buckets on each transport. Source: docs/contract/limits.md#transports.
 */
import { Effect, Layer } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { readFileSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import {
  exceptionOf,
  type LimitName,
  rates,
  type Transport,
  type TransportLimit,
  transportLimits,
  transports
} from "../../src/domain/TransportLimits.ts"
import * as MemoryRateLimitStore from "../../src/layers/memory/MemoryRateLimitStore.ts"
import { defaults as doorDefaults } from "../../src/layers/node/NodeServer.ts"
import { settings } from "../../src/layers/Settings.ts"
import { type Derived, derived } from "../../src/rpc/api/Operations.ts"
import { defaultLimits } from "../../src/services/operations/RateLimiter.ts"
import { type Log, RateLimitStore } from "../../src/services/operations/RateLimitStore.ts"
import { BODY_BYTES_MAX } from "../../src/services/operations/RequestBody.ts"
import { defaults as socketDefaults } from "../../src/ws/Limits.ts"
import { callOf, post, RawCalls } from "../rpc/RawCalls.ts"
import { rows } from "../spec/Endpoints.ts"
import { makeWorld, type World } from "../spec/World.ts"
import { frame, RawSocket, upgrade } from "../ws/RawSocket.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { exchangeBytes } from "./RawHttp.ts"
import { basic } from "../../verification/harness/Settings.ts"

const TIMEOUT = 120_000
const names = Object.keys(transportLimits) as ReadonlyArray<LimitName>
const figureOf = (name: LimitName): number => transportLimits[name].figure

/** A test of another file that covers a limit. */
interface Elsewhere {
  readonly file: string
  readonly title: string
}
type Shown = (() => Promise<void>) | Elsewhere

let exchange: Exchange
let port: number

const lines = (...parts: ReadonlyArray<string>): string => `${parts.join("\r\n")}\r\n\r\n`
const statusOf = (answer: string | undefined): string => answer?.split(" ")[1] ?? "none"
const send = async (bytes: string): Promise<string> =>
  statusOf((await exchangeBytes(port, [bytes], { until: "\r\n\r\n" }))[0])

/** A request of each transport without a body, with additional headers. */
const opened: Readonly<Record<Transport, (...headers: ReadonlyArray<string>) => string>> = {
  rest: (...headers) => lines("GET /api/v1/user/me HTTP/1.1", "Host: g", ...headers),
  fast: (...headers) => lines("GET /api/v1/market/time HTTP/1.1", "Host: g", ...headers),
  "rpc-http": (...headers) => lines("POST /rpc HTTP/1.1", "Host: g", "Content-Length: 0", ...headers),
  "rpc-ws": (...headers) => upgrade("/rpc", headers),
  ws: (...headers) => upgrade("/ws/public", headers)
}
/** A request of each HTTP transport with a body. */
const bodied: Readonly<Record<"rest" | "fast" | "rpc-http", (body: string) => string>> = {
  rest: (body) => lines("POST /api/v1/authorize HTTP/1.1", "Host: g", `Content-Length: ${body.length}`) + body,
  fast: (body) => lines("POST /api/v1/order/create HTTP/1.1", "Host: g", `Content-Length: ${body.length}`) + body,
  "rpc-http": (body) => lines("POST /rpc HTTP/1.1", "Host: g", `Content-Length: ${body.length}`) + body
}

const headersAt = (transport: Transport) => async () => {
  const { figure } = transportLimits.header_bytes
  const most = opened[transport](`X: ${"x".repeat(figure - opened[transport]().length - 64)}`)
  assert.notStrictEqual(await send(most), "431", transport)
  assert.strictEqual(await send(opened[transport](`X: ${"x".repeat(figure)}`)), "431", transport)
}
const bodyAt = (transport: keyof typeof bodied) => async () => {
  const { figure } = transportLimits.body_bytes
  assert.notStrictEqual(await send(bodied[transport](" ".repeat(figure))), "413", transport)
  assert.strictEqual(await send(bodied[transport](" ".repeat(figure + 1))), "413", transport)
  const chunked = bodied[transport]("")
    .replace("Content-Length: 0", "Transfer-Encoding: chunked")
    .concat(`${(figure + 1).toString(16)}\r\n${" ".repeat(figure + 1)}\r\n0\r\n\r\n`)
  assert.strictEqual(await send(chunked), "413", `${transport}, chunked`)
}
/** Texts that nest too deeply or have too many members, and are long enough to be checked. */
const complex = ["[".repeat(5_000), `[${"1,".repeat(transportLimits.json_members.figure)}1]`]
const jsonAt = (transport: keyof typeof bodied) => async () => {
  for (const text of complex) {
    const [answer] = await exchangeBytes(port, [
      bodied[transport](`{"x":${text}}`).replace("Host: g", "Host: g\r\nConnection: close")
    ])
    if (transport === "rpc-http") assert.include(answer, "expected at most 32 levels and 4096 members")
    // an order is refused for its credentials before its body is read
    else assert.include(answer, transport === "rest" ? '"reason":"MalformedJson"' : '"reason":"MissingToken"')
  }
}
const callAt = async (): Promise<void> => {
  for (const text of complex) {
    const calls = await RawCalls.open(exchange.url)
    calls.send(`{"x":${text}}\n`)
    await calls.raw.until("a defect", () => calls.answers.some(({ _tag }) => _tag === "Defect"))
    calls.raw.socket.destroy()
  }
}
const messageAt = (path: string, text: (length: number) => string) => async () => {
  const { figure } = transportLimits.message_bytes
  const raw = await RawSocket.open(exchange.url, path)
  raw.write(frame(text(figure)))
  await raw.until("an answer", () => raw.texts.length > 0)
  raw.write(frame(text(figure + 1)))
  assert.strictEqual(await raw.over(), 1009, path)
}
/** Concurrent requests on one connection: as many as the limit get a response, one more closes it. */
const pipelinedAt = (transport: keyof typeof bodied) => async () => {
  const { figure } = transportLimits.requests_in_flight
  const one = transport === "fast" ? opened.fast() : transport === "rest" ? opened.rest() : opened["rpc-http"]()
  const last = one.replace("Host: g", "Host: g\r\nConnection: close")
  assert.lengthOf(await exchangeBytes(port, [one.repeat(figure - 1) + last]), figure, transport)
  assert.isBelow((await exchangeBytes(port, [one.repeat(figure) + last])).length, figure + 1, transport)
}
const onAll = (make: (transport: Transport) => Shown): Readonly<Record<Transport, Shown>> =>
  Object.fromEntries(transports.map((transport) => [transport, make(transport)])) as Record<Transport, Shown>

const elsewhere = (file: string, title: string): Elsewhere => ({ file, title })
const rpcLimits = (title: string) => elsewhere("test/rpc/Limits.test.ts", title)
const hostile = (title: string) => elsewhere("test/ws/Hostile.test.ts", title)
const server = (title: string) => elsewhere("test/layers/node/NodeServer.test.ts", title)

/** The test of a limit on a transport; without one only the value in force is compared. */
const shown: Partial<Readonly<Record<LimitName, Partial<Readonly<Record<Transport, Shown>>>>>> = {
  header_bytes: onAll(headersAt),
  body_bytes: { rest: bodyAt("rest"), fast: bodyAt("fast"), "rpc-http": bodyAt("rpc-http") },
  message_bytes: {
    ws: messageAt("/ws/public", (length) => `{"op":"ping","req_id":"a"}${" ".repeat(length - 26)}`),
    "rpc-ws": messageAt("/rpc", (length) => callOf(1, "market.time").padStart(length))
  },
  unfinished_bytes: { "rpc-ws": rpcLimits("an unfinished call at most 256 KiB") },
  unfinished_total_bytes: onAll(() => elsewhere("test/verification/Memory.test.ts", "hold no memory")),
  json_depth: { rest: jsonAt("rest"), fast: jsonAt("fast"), "rpc-http": jsonAt("rpc-http"), "rpc-ws": callAt },
  json_members: { rest: jsonAt("rest"), fast: jsonAt("fast"), "rpc-http": jsonAt("rpc-http"), "rpc-ws": callAt },
  requests_in_flight: { rest: pipelinedAt("rest"), fast: pipelinedAt("fast"), "rpc-http": pipelinedAt("rpc-http") },
  calls_in_flight: {
    "rpc-http": rpcLimits("calls of a connection are in flight, over HTTP"),
    "rpc-ws": rpcLimits("calls of a connection are in flight, over WebSocket")
  },
  calls_per_message: {
    "rpc-http": rpcLimits("of a message are refused by ${name}, each by its id"),
    "rpc-ws": rpcLimits("of a message are refused by ${name}, each by its id")
  },
  message_burst: {
    "rpc-ws": rpcLimits("calls over the message rate are refused, and a flood ends the connection"),
    ws: hostile("is answered at the rate of messages, and ends with 4029")
  },
  sockets_per_address: {
    "rpc-ws": rpcLimits("sockets of an address are counted together on every path"),
    ws: rpcLimits("sockets of an address are counted together on every path")
  },
  connections_per_address: onAll(() => server("are closed beyond the address's limit")),
  silence_ms: {
    "rpc-ws": rpcLimits("a silent connection is pinged, and closed with 4000"),
    ws: hostile("is found by the keepalive, closed with 4000")
  }
}

describe("the table of limits", () => {
  beforeAll(async () => {
    exchange = await startExchange()
    port = (exchange.server.address() as AddressInfo).port
  }, TIMEOUT)
  afterAll(() => exchange?.close())

  it("Amendment 17: gives a reason for each transport without the limit", () => {
    for (const name of names) {
      const limit: TransportLimit = transportLimits[name]
      assert.isAbove(limit.figure, 0, name)
      assert.isNotEmpty(limit.over, name)
      const reasons = transports.flatMap((transport) => exceptionOf(name, transport) ?? [])
      for (const reason of reasons) assert.isAtLeast(reason.length, 12, `${name}: ${reason}`)
      assert.isBelow(reasons.length, transports.length, `${name} applies nowhere`)
      for (const transport of transports) {
        if (exceptionOf(name, transport) !== undefined)
          assert.isUndefined(shown[name]?.[transport], `${name} ${transport}`)
      }
    }
    for (const kind of ["size", "in flight", "rate", "connections", "deadline", "idle"]) {
      for (const transport of transports) {
        const some = names.filter((name) => transportLimits[name].kind === kind)
        const stated = some.some(
          (name) => exceptionOf(name, transport) === undefined || exceptionOf(name, transport) !== ""
        )
        assert.isTrue(stated, `${kind} ${transport}`)
      }
    }
  })

  it("Amendment 17: matches the running gateway", async () => {
    const values = await Effect.runPromise(Effect.orDie(settings))
    const { server } = exchange
    const inForce: Readonly<Record<LimitName, number>> = {
      header_bytes: figureOf("header_bytes"), // shown on every transport below
      headers: server.maxHeadersCount!,
      body_bytes: BODY_BYTES_MAX,
      message_bytes: socketDefaults.inbound_frame_bytes,
      unfinished_bytes: figureOf("unfinished_bytes"),
      unfinished_total_bytes: figureOf("unfinished_total_bytes"),
      outbound_bytes: socketDefaults.outbound_bytes,
      unread_bytes: doorDefaults.unread_bytes,
      json_depth: figureOf("json_depth"),
      json_members: figureOf("json_members"),
      topics_per_connection: socketDefaults.topics_per_connection,
      requests_in_flight: figureOf("requests_in_flight"),
      calls_in_flight: figureOf("calls_in_flight"),
      calls_per_message: figureOf("calls_per_message"),
      messages_per_s: socketDefaults.messages_per_s,
      message_burst: socketDefaults.message_burst,
      flood_ms: socketDefaults.flood_ms,
      arrivals_per_s: values.arrivalsPerIp,
      connections: server.maxConnections,
      connections_per_address: values.connectionsPerIp,
      sockets_per_address: values.wsConnectionsPerIp,
      sockets_per_user: values.wsConnectionsPerUser,
      headers_ms: server.headersTimeout,
      request_ms: server.requestTimeout,
      auth_deadline_ms: socketDefaults.auth_deadline_ms,
      auth_tries: socketDefaults.auth_tries,
      reading_ms: doorDefaults.reading_ms,
      outbound_age_ms: socketDefaults.outbound_age_ms,
      close_timeout_ms: socketDefaults.close_timeout_ms,
      keep_alive_ms: server.keepAliveTimeout,
      ping_interval_ms: values.wsPingIntervalMs,
      silence_ms: values.wsKeepaliveTimeoutMs
    }
    for (const name of names) assert.strictEqual(inForce[name], figureOf(name), name)
  })

  for (const name of names) {
    for (const transport of transports) {
      const way = shown[name]?.[transport]
      if (way === undefined) continue
      if (typeof way === "function") it(`Amendment 17: ${name} holds on ${transport}`, way, TIMEOUT)
      else {
        it(`Amendment 17: ${name} on ${transport} has a test`, () => {
          assert.include(readFileSync(way.file, "utf8"), way.title)
        })
      }
    }
  }
})

describe("the rate of every operation", () => {
  /** Buckets that were taken from since the last check. */
  const taken: Array<string> = []
  const spied = Layer.effect(
    RateLimitStore,
    Effect.map(RateLimitStore, (store) => {
      const { take, takeAll, takeAllNow } = store
      const noted = (logs: ReadonlyArray<Log>): void => void taken.push(...logs.map(({ bucket }) => bucket))
      const one =
        <A>(answer: (log: Log) => A) =>
        (log: Log) => (noted([log]), answer(log))
      const all =
        <A>(answer: (logs: ReadonlyArray<Log>, count?: number) => A) =>
        (logs: ReadonlyArray<Log>, count?: number) => (noted(logs), answer(logs, count))
      return {
        ...store,
        take: one(take),
        takeAll: all(takeAll),
        ...(takeAllNow && { takeAllNow: all(takeAllNow) })
      }
    })
  ).pipe(Layer.provide(MemoryRateLimitStore.layer()))
  let world: World
  beforeAll(async () => {
    world = await makeWorld({ rates: spied })
  }, TIMEOUT)
  afterAll(() => world?.exchange.close())

  const keyOf = ({ method, path }: HttpApiEndpoint.Top): string =>
    `${method} ${path
      .replace(/^\/api\/v1(?=\/)/u, "")
      .replaceAll(/:(\w+)/gu, "{$1}")
      .replace(/(?<=.)\/$/u, "")}`

  /** Calls an operation over one transport; returns the buckets that it was counted in. */
  const countedBy = async (
    transport: Exclude<Transport, "ws">,
    { endpoint, rpc }: Derived
  ): Promise<ReadonlyArray<string>> => {
    const { access, ok } = rows[keyOf(endpoint)]!
    const { body, path = {}, query, token = world.alice.token } = await ok(world)
    const authorization = access === "none" ? undefined : access === "basic" ? basic.authorization : `Bearer ${token}`
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    const { url } = world.exchange
    taken.length = 0
    if (transport === "rest" || transport === "fast") {
      const search = query === undefined ? "" : `?${new URLSearchParams(query)}`
      const target = endpoint.path.replaceAll(/:(\w+)/gu, (_, name: string) => encodeURIComponent(path[name]!))
      const response = await fetch(`${url}${target}${search}`, {
        method: endpoint.method,
        // the fast path leaves a weighted Accept-Encoding to the router
        headers: {
          ...headers,
          ...(body && { "content-type": "application/json" }),
          "accept-encoding": transport === "fast" ? "identity" : "gzip;q=0.1"
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      await response.text()
      assert.isBelow(response.status, 400, `${transport} ${rpc._tag}`)
    } else {
      const line = callOf("1", rpc._tag, { params: path, query: query ?? {}, payload: body }, Object.entries(headers))
      const none = callOf("1", rpc._tag, null, Object.entries(headers))
      const text = (endpoint.params ?? endpoint.query ?? (endpoint.payload.size > 0 ? true : undefined)) ? line : none
      let answers
      if (transport === "rpc-http") answers = (await post(url, text)).answers
      else {
        const calls = await RawCalls.open(url)
        calls.send(text)
        answers = await calls.ends(1)
        calls.raw.socket.destroy()
      }
      assert.strictEqual(answers[0].exit._tag, "Success", `${transport} ${JSON.stringify(answers[0])}`)
    }
    return taken.toSorted()
  }

  it(
    "Amendment 17: is counted in the buckets of its REST endpoint, on every transport",
    async () => {
      const buckets = new Set<string>()
      for (const each of derived) {
        const twin = await countedBy("rest", each)
        for (const bucket of twin) buckets.add(bucket)
        for (const transport of ["fast", "rpc-http", "rpc-ws"] as const) {
          assert.strictEqual(rates[transport], true)
          assert.deepStrictEqual(await countedBy(transport, each), twin, `${each.rpc._tag} by ${transport}`)
        }
      }
      for (const bucket of buckets) assert.isTrue(Object.hasOwn(defaultLimits, bucket), bucket)
      assert.include([...buckets], "public")
      assert.include([...buckets], "token")
      assert.isString(rates.ws)
    },
    TIMEOUT
  )
})

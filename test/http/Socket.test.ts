/** What only a real socket shows: framing, doubled headers, bodies that come in pieces. */
import { createServer, type Server } from "node:http"
import { connect } from "node:net"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Logger, ManagedRuntime } from "effect"
import { HttpRouter } from "effect/http"
import type { AddressInfo } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import * as Http from "../../src/http/Http.ts"
import { publicVectors } from "../vectors.ts"
import { policies, v1 } from "./Fixture.ts"

let submitted = 0
let server: Server
let port: number
const runtime = ManagedRuntime.make(
  HttpRouter.serve(Http.layer({ trustedProxies: 0 }), {
    disableLogger: true,
    disableListenLog: true,
    routerConfig: Http.routerConfig
  }).pipe(
    Layer.provide(
      policies({
        sequencer: {
          submit: () =>
            Effect.sync(() => {
              submitted++
              return {
                seq: 1,
                accepted_at_ms: 1,
                orders: [{ order_id: "018f3f1e-5d5b-7a00-8000-000000000001", order_link_id: "" }],
                duplicate: false,
                version: undefined,
                result: undefined
              }
            })
        }
      })
    ),
    Layer.provide(
      NodeHttpServer.layer(
        () => {
          server = createServer()
          return server
        },
        { port: 0, host: "127.0.0.1" }
      )
    ),
    Layer.provide(Logger.layer([]))
  )
)
beforeAll(async () => {
  await runtime.runPromise(Effect.void)
  port = (server.address() as AddressInfo).port
})
afterAll(() => runtime.dispose())

/** Sends bytes and reads until the server closes the connection, or has answered and stays silent. */
const raw = (bytes: string | Uint8Array, silence_ms = 150, first_ms = 5_000) =>
  new Promise<string>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1")
    let text = ""
    socket.setTimeout(first_ms, () => socket.destroy())
    socket.on("data", (chunk) => {
      socket.setTimeout(silence_ms)
      text += chunk.toString("latin1")
    })
    socket.on("error", (error) => (text === "" ? reject(error) : undefined))
    socket.on("close", () => resolve(text))
    socket.write(bytes)
  })
const statusOf = (answer: string) => Number(answer.split(" ")[1])
const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)) as Record<string, unknown>

const order = JSON.stringify({
  sub_account_address: v1,
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000"
})
const head = "POST /api/v1/order/create HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer good\r\n"

describe("over a socket", () => {
  it("takes an order whole or in chunks", async () => {
    const before = submitted
    const whole = await raw(`${head}Content-Type: application/json\r\nContent-Length: ${order.length}\r\n\r\n${order}`)
    const middle = order.length >> 1
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
    const chunked = await raw(
      `${head}Transfer-Encoding: chunked\r\n\r\n${chunk(order.slice(0, middle))}${chunk(order.slice(middle))}0\r\n\r\n`
    )
    assert.deepStrictEqual([statusOf(whole), statusOf(chunked)], [200, 200])
    assert.strictEqual(submitted - before, 2)
  })
  it("refuses a body in a transfer coding beside its chunks", async () => {
    const statusWith = async (coding: string) => {
      const chunks = `${order.length.toString(16)}\r\n${order}\r\n0\r\n\r\n`
      return statusOf(await raw(`${head}Transfer-Encoding: ${coding}\r\n\r\n${chunks}`))
    }
    for (const coding of ["gzip, chunked", "deflate,chunked", "identity, chunked"])
      assert.strictEqual(await statusWith(coding), 415, coding)
    for (const coding of ["chunked", "Chunked", "chunked "]) assert.strictEqual(await statusWith(coding), 200, coding)
  })
  it("refuses two Authorization headers, even equal ones", async () => {
    const answer = await raw(
      "GET /api/v1/user/me HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer good\r\nauthorization: Bearer good\r\n\r\n"
    )
    assert.strictEqual(statusOf(answer), 400)
    assert.deepInclude(bodyOf(answer)["details"], { reason: "AmbiguousAuth" })
  })
  it("ends the connection after a body that is too large, with and without Content-Length", async () => {
    const declared = await raw(`${head}Content-Length: 262145\r\n\r\n`)
    const undeclared = await raw(
      `${head}Transfer-Encoding: chunked\r\n\r\n${(262_145).toString(16)}\r\n${" ".repeat(262_145)}\r\n0\r\n\r\n`
    )
    for (const answer of [declared, undeclared]) {
      assert.strictEqual(statusOf(answer), 413)
      assert.match(answer, /\r\nconnection: close\r\n/iu)
      assert.strictEqual(bodyOf(answer)["code"], "BAD_REQUEST")
    }
    assert.strictEqual(statusOf(await raw(`${head}Content-Length: 262144\r\n\r\n${" ".repeat(262_144)}`)), 400)
  })
  it("answers HEAD without a body", async () => {
    const answer = await raw("HEAD /api/v1/market/time HTTP/1.1\r\nHost: g\r\n\r\n")
    assert.strictEqual(statusOf(answer), 200)
    assert.isTrue(answer.endsWith("\r\n\r\n"))
  })
  it("compresses with what the platform brings", async () => {
    const response = await fetch(`http://127.0.0.1:${port}/api-docs/openapi.json`)
    assert.strictEqual(response.headers.get("content-encoding"), "gzip")
    assert.strictEqual(((await response.json()) as { readonly openapi: string }).openapi, "3.1.0")
  })
  it("keeps a connection over refusals", async () => {
    const bad = "GET /nope HTTP/1.1\r\nHost: g\r\n\r\n"
    const answer = await raw(`${bad}${bad}GET /health HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n`)
    assert.deepStrictEqual(
      [...answer.matchAll(/HTTP\/1\.1 (\d+)/gu)].map((match) => match[1]),
      ["404", "404", "200"]
    )
  })
})

const requests = publicVectors("llhttp-requests/requests.json") as
  { readonly cases: ReadonlyArray<Record<string, unknown>> } | undefined
const malformed = (requests?.cases ?? []).filter(
  (some) => some["type"] === "request" && some["error"] !== null && some["pause"] === undefined
)
describe.skipIf(requests === undefined)(`${malformed.length} requests that a strict parser refuses`, () => {
  it("are answered 400, or the connection is closed", async () => {
    for (const some of malformed) {
      const bytes = Buffer.from(some["base64"] as string, "base64")
      const answer = await raw(bytes, 60, 60).catch(() => "")
      const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d{3})/gu)].map((match) => Number(match[1]))
      // a head that is sound is answered at once, where no route takes it: before the fault in its body is seen
      for (const status of statuses) assert.include([400, 404, 405], status, String(some["title"]))
    }
  })
})

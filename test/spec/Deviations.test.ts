/** The check of every response over a socket: it finds each kind of deviation, and accepts conforming responses. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "vitest"
import { call } from "../../verification/harness/RestClient.ts"
import { deviations, type Received } from "../../verification/harness/documents/OpenApi.ts"

const ID = "req-1"
const common = {
  "content-type": "application/json",
  "x-request-id": ID,
  "access-control-allow-origin": "*",
  "cache-control": "no-store"
}
const answer = (
  fields: Partial<Omit<Received, "headers" | "text">> & {
    readonly headers?: Record<string, string>
    readonly body?: unknown
  } = {}
): Received => {
  const { body = { status: "ok", version: "0.1.1" }, headers = common, ...rest } = fields
  const text = body === "" ? "" : JSON.stringify(body)
  return { method: "GET", target: "/health", status: 200, headers: new Headers(headers), text, ...rest }
}
const without = (name: keyof typeof common) =>
  Object.fromEntries(Object.entries(common).filter(([each]) => each !== name))
const refusal = (status: number, code: string, reason: string, target = "/api/v1/user/me"): Received =>
  answer({
    target,
    status,
    headers: { ...common, "www-authenticate": "Bearer", "retry-after": "1" },
    body: { code, message: "…", details: { reason }, request_id: ID }
  })
const instruments = { target: "/api/v1/market/instruments-info?limit=1" }

describe("a response that conforms", () => {
  const sound: Record<string, Received> = {
    "of an operation": answer(),
    "of an operation that fails": refusal(404, "NOT_FOUND", "SubAccountNotFound", "/api/v1/position/list"),
    "without a body, for a cached response": answer({
      ...instruments,
      status: 304,
      headers: { ...without("content-type"), etag: '"x"' },
      body: ""
    }),
    "of no operation": answer({ target: "/nowhere", status: 404, body: { code: "NOT_FOUND", message: "…" } }),
    "of a page": answer({ target: "/metrics", headers: {}, body: "" })
  }
  for (const [name, each] of Object.entries(sound)) {
    // a header of another status is a deviation too, so each response keeps its own only
    for (const header of each.status === 404 ? ["www-authenticate", "retry-after"] : []) each.headers.delete(header)
    it(`passes ${name}`, () => assert.deepStrictEqual(deviations(each), []))
  }
})

describe("a response that deviates", () => {
  const planted: ReadonlyArray<readonly [name: string, answer: Received, found: RegExp]> = [
    ["a status", answer({ status: 418 }), /the status 418 is undocumented/u],
    ["an absent header", answer({ headers: without("x-request-id") }), /header x-request-id is missing/u],
    [
      "an undeclared header",
      answer({ headers: { ...common, "retry-after": "1" } }),
      /the header retry-after is undocumented/u
    ],
    [
      "a header of another form",
      answer({ target: "/api/v1/market/time", headers: { ...common, "ratelimit-limit": "many" } }),
      /ratelimit-limit: string in place of integer/u
    ],
    ["another type of body", answer({ headers: { ...common, "content-type": "text/html" } }), /in place of JSON/u],
    ["an absent field", answer({ body: { status: "ok" } }), /\$\.version: missing/u],
    [
      "an undeclared field",
      answer({ body: { status: "ok", version: "1", extra: "fine" } }),
      /\$\.extra: not in the document/u
    ],
    ["a field of another type", answer({ body: { status: "ok", version: 1 } }), /integer in place of string/u],
    ["a value outside its enumeration", answer({ body: { status: "bad", version: "1" } }), /bad is none of ok/u],
    [
      "a reason",
      refusal(401, "UNAUTHORIZED", "OrderNotFound"),
      /the reason OrderNotFound is undocumented|the header retry-after is undocumented/u
    ],
    ["an operation", answer({ target: "/api/v1/market/nothing" }), /the operation is undocumented/u],
    ["a method", answer({ method: "PATCH", status: 405, body: { code: "BAD_REQUEST" } }), /\$\.message: missing/u],
    [
      "a body of a 304",
      answer({ ...instruments, status: 304, headers: { ...common, etag: '"x"' } }),
      /the body is undocumented/u
    ]
  ]
  for (const [name, each, found] of planted) {
    it(`is found by ${name}`, () => assert.match(deviations(each).join("\n"), found))
  }

  it("fails the call, with the deviation", async () => {
    const server = createServer((_, response) => {
      response.writeHead(200, common)
      response.end('{"status":"ok","version":"0.1.1","extra":"fine"}')
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    try {
      const failed: unknown = await call({ url: `http://127.0.0.1:${port}` }, "GET", "/health").catch((error) => error)
      assert.instanceOf(failed, Error)
      assert.match(String(failed), /GET \/health: the answer 200 differs from docs\/openapi\.json:\n- \$\.extra/u)
    } finally {
      server.close()
    }
  })
})

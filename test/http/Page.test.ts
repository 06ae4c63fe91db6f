/** The market page as it is served: forms, caching, security; and what `/` says where it was not built. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { brotliCompressSync, gzipSync } from "node:zlib"
import { afterAll, assert, describe, it } from "vitest"
import * as Page from "../../src/http/Page.ts"
import { gateway } from "./Fixture.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-page-"))
const at = pathToFileURL(`${folder}/`)
const script = Buffer.from(`console.log("${"x".repeat(2_000)}")`)
const SCRIPT = "/page/main-0123456789.js"

const write = (name: string, bytes: Uint8Array): void => writeFileSync(join(folder, name), bytes)
write("index.html", Buffer.from('<html data-environment="{{environment}}">'))
write("main-0123456789.js", script)
write("main-0123456789.js.gz", gzipSync(script))
write("main-0123456789.js.br", brotliCompressSync(script))

const served = gateway({ page: Page.read("staging", at) })
afterAll(async () => {
  await served.dispose()
  rmSync(folder, { recursive: true, force: true })
})
const get = (path: string, headers: Record<string, string> = {}) =>
  served.fetch("GET", path, { headers, authorization: null })
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())

describe("the market page", () => {
  it("is at /, has its environment, and is revalidated each time", async () => {
    const response = await get("/")
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.headers.get("content-type"), "text/html; charset=utf-8")
    assert.strictEqual(response.headers.get("cache-control"), "no-cache")
    assert.strictEqual(await response.text(), '<html data-environment="staging">')
  })

  it("lets nothing in that this gateway does not serve", async () => {
    const policy = (await get("/")).headers.get("content-security-policy")!
    assert.notInclude(policy, "unsafe")
    for (const rule of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"])
      assert.include(policy, rule)
    for (const path of ["/", SCRIPT]) {
      const { headers } = await get(path)
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
      assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
      assert.strictEqual(headers.get("cross-origin-opener-policy"), "same-origin")
    }
  })

  it("keeps assets for good, in the smallest form that the client takes", async () => {
    for (const [accept, coding, bytes] of [
      ["gzip, deflate, br", "br", brotliCompressSync(script)],
      ["gzip", "gzip", gzipSync(script)],
      ["br;q=0, gzip", "gzip", gzipSync(script)],
      ["identity", null, script]
    ] as const) {
      const response = await get(SCRIPT, { "accept-encoding": accept })
      assert.strictEqual(response.headers.get("content-encoding"), coding, accept)
      assert.strictEqual(response.headers.get("cache-control"), "public, max-age=31536000, immutable")
      assert.strictEqual(response.headers.get("vary"), "Accept-Encoding")
      assert.deepStrictEqual(await bytesOf(response), bytes)
    }
  })

  it("is 304 for a client that has it, in each encoding", async () => {
    for (const path of ["/", SCRIPT]) {
      const etag = (await get(path, { "accept-encoding": "br" })).headers.get("etag")!
      const again = await get(path, { "accept-encoding": "gzip", "if-none-match": etag })
      assert.strictEqual(again.status, 304)
      // the forms share the tag, so that of a compressed one is weak
      assert.strictEqual(etag, `W/${again.headers.get("etag")}`)
      assert.strictEqual(again.headers.get("vary"), "Accept-Encoding")
      assert.strictEqual((await bytesOf(again)).length, 0)
      assert.strictEqual((await get(path, { "if-none-match": '"other"' })).status, 200)
    }
  })

  it("has its paths in the table: other methods get the allowed ones, other paths 404", async () => {
    const response = await served.fetch("POST", "/", { authorization: null })
    assert.strictEqual(response.status, 405)
    assert.strictEqual(response.headers.get("allow"), "GET, HEAD, OPTIONS")
    for (const path of ["/page/", "/page/index.html", "/page/main-0123456789.js.br", "/page/../package.json"])
      assert.strictEqual((await get(path)).status, 404, path)
  })

  it("explains how to build it where it was not built", async () => {
    mkdirSync(join(folder, "empty"))
    const bare = gateway({ page: Page.read("testnet", new URL("empty/", at)) })
    const response = await bare.fetch("GET", "/", { authorization: null })
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.headers.get("content-type"), "text/plain; charset=utf-8")
    assert.include(await response.text(), "npm run page")
    await bare.dispose()
  })
})

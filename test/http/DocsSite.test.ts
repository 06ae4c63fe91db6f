/** The documentation site as it is served: index files, compressed forms, and a policy that allows the scripts of a page. */
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, assert, describe, it } from "vitest"
import * as DocsSite from "../../src/http/DocsSite.ts"
import { gateway } from "./Fixture.ts"

const folder = mkdtempSync(join(tmpdir(), "gateway-docs-site-"))
const SCRIPT = "window.a = 1"
const page = Buffer.from(
  `<html><script>${SCRIPT}</script><script type="module" src="/docs/assets/app.js"></script></html>`
)
mkdirSync(join(folder, "contract"))
mkdirSync(join(folder, "assets"))
for (const name of ["index.html", "contract/index.html", "contract/orders.html"])
  writeFileSync(join(folder, name), page)
writeFileSync(join(folder, "contract/orders.md"), "# Orders")
writeFileSync(join(folder, "assets/app.abc.js"), SCRIPT)
writeFileSync(join(folder, "assets/app.abc.js.gz"), gzipSync(SCRIPT))
writeFileSync(join(folder, "assets/app.abc.js.br"), "br")

const built = gateway({ page: DocsSite.read(folder) })
const notBuilt = gateway({ page: DocsSite.read(join(folder, "nothing")) })
afterAll(async () => {
  await Promise.all([built.dispose(), notBuilt.dispose()])
  rmSync(folder, { recursive: true, force: true })
})

describe("the documentation site", () => {
  it("has its pages at their names and at their folders, and the Markdown beside them", async () => {
    for (const path of [
      "/docs",
      "/docs/",
      "/docs/contract/",
      "/docs/contract/index.html",
      "/docs/contract/orders.html"
    ]) {
      const response = await built.fetch("GET", path, { authorization: null })
      assert.strictEqual(response.status, 200, path)
      assert.strictEqual(response.headers.get("cache-control"), "no-cache")
    }
    const markdown = await built.fetch("GET", "/docs/contract/orders.md", { authorization: null })
    assert.strictEqual(markdown.headers.get("content-type"), "text/markdown; charset=utf-8")
    assert.strictEqual(await markdown.text(), "# Orders")
    assert.strictEqual((await built.fetch("GET", "/docs/../package.json", { authorization: null })).status, 404)
  })

  it("has no page at a folder without its slash, and takes no POST at one with it", async () => {
    assert.strictEqual((await built.fetch("GET", "/docs/contract", { authorization: null })).status, 404)
    const response = await built.fetch("POST", "/docs/contract/", { authorization: null })
    assert.strictEqual(response.status, 405)
    assert.strictEqual(response.headers.get("allow"), "GET, HEAD, OPTIONS")
  })

  it("allows the inline scripts of a page by their hashes, and no others", async () => {
    const response = await built.fetch("GET", "/docs/", { authorization: null })
    const hash = createHash("sha256").update(SCRIPT).digest("base64")
    const policy = response.headers.get("content-security-policy")!
    assert.include(policy, `script-src 'self' 'sha256-${hash}';`)
    // colours of code are inline styles
    assert.include(policy, "style-src 'self' 'unsafe-inline';")
  })

  it("keeps assets for good, compressed", async () => {
    for (const [accepted, coding] of [
      ["gzip", "gzip"],
      ["gzip, deflate, br", "br"]
    ] as const) {
      const headers = { "accept-encoding": accepted }
      const response = await built.fetch("GET", "/docs/assets/app.abc.js", { headers, authorization: null })
      assert.strictEqual(response.headers.get("content-encoding"), coding)
      assert.strictEqual(response.headers.get("cache-control"), "public, max-age=31536000, immutable")
    }
  })

  it("shows how to build it where it is not built", async () => {
    const response = await notBuilt.fetch("GET", "/docs", { authorization: null })
    assert.strictEqual(response.status, 200)
    assert.include(await response.text(), "npm run build --prefix docs/site")
  })
})

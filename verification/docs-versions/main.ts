/**
 * Two versions of the documentation side by side on a static host, in Chromium: the root leads to the newest one, and the menu of each leads
 * to the other, also that of the older one, which was built before. `node verification/docs-versions/main.ts`, after `npm ci` in docs/site.
 */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, statSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { extname, join } from "node:path"
import { assert } from "@effect/vitest"
import { launch } from "../harness/Chromium.ts"
import { root } from "../harness/NodeProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"

const PATH = "/project/"
const VERSIONS = ["0.1.1", "0.2.0"] as const
const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json"
}

const folder = temporaryFolder("docs-versions")
const host = createServer((request, response) => {
  const path = join(folder.path, decodeURI(request.url!.split("?")[0]!.slice(PATH.length)))
  const file = existsSync(path) && statSync(path).isDirectory() ? join(path, "index.html") : path
  if (!existsSync(file)) return response.writeHead(404).end()
  return response
    .writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" })
    .end(readFileSync(file))
})
const browser = await launch()
try {
  for (const version of VERSIONS)
    execFileSync("npm", ["run", "-s", "export", "--", folder.path, PATH], {
      cwd: join(root, "docs/site"),
      env: { ...process.env, DOCS_VERSION: version },
      stdio: ["ignore", "ignore", "inherit"]
    })
  await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve))
  const at = `http://127.0.0.1:${(host.address() as AddressInfo).port}${PATH}`
  const page = await browser.newPage()
  const errors: Array<string> = []
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text())
  })
  const menu = page.locator(".VPNavBarMenuGroup")
  await page.goto(at)
  await page.waitForURL(`${at}${VERSIONS[1]}/`)
  console.log(`the root leads to ${VERSIONS[1]}`)
  await page.goto(`${at}${VERSIONS[0]}/recipes/place-a-stop.html`)
  for (const to of [VERSIONS[1], VERSIONS[0]]) {
    await menu.hover()
    await menu.getByText(`Version ${to}`).click()
    await page.waitForURL(`${at}${to}/`)
    assert.include(await menu.locator("button").innerText(), `Version ${to}`)
    console.log(`the menu leads to ${to}`)
  }
  assert.deepStrictEqual(errors, [])
} finally {
  await browser.close()
  host.close()
  folder.remove()
}

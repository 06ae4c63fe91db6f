/** The start of the program: its port answers probes while it loads. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterEach, assert, beforeEach, it } from "vitest"

const main = fileURLToPath(new URL("../../../src/main.ts", import.meta.url))

/**
 * Runs before the program, in its process: sends a probe as soon as the port is open, and ends the process with the status line
 * of the response and the modules that are loaded by then.
 */
const PRELOAD = `
import { registerHooks } from "node:module"
import { connect, Server } from "node:net"
const loaded = []
registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
const { listen } = Server.prototype
Server.prototype.listen = function (...args) {
  this.once("listening", () => {
    const socket = connect(this.address().port, "127.0.0.1")
    socket.write("GET /health HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
    socket.once("data", (bytes) => {
      process.stdout.write(JSON.stringify({ status: String(bytes).split("\\r\\n")[0], loaded }))
      process.exit()
    })
  })
  return listen.apply(this, args)
}
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "gateway-early-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it("answers a probe before the gateway is loaded", { timeout: 60_000 }, async () => {
  const preload = `data:text/javascript,${encodeURIComponent(PRELOAD)}`
  const env = { ...process.env, PORT: "0", DATA_DIR: folder, NODE_OPTIONS: "" }
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", preload, main], { env, timeout: 50_000 })
  const { loaded, status } = JSON.parse(stdout) as { readonly status: string; readonly loaded: ReadonlyArray<string> }
  assert.strictEqual(status, "HTTP/1.1 200 OK")
  const names = loaded.map((url) => url.slice(url.lastIndexOf("/src/") + 1))
  assert.include(names, "src/layers/node/EarlyListen.ts")
  assert.notInclude(names, "src/Gateway.ts")
})

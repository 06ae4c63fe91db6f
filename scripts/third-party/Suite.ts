/**
 * The calls of the suite over sockets through a validating proxy. The proxy knows one server, and every test starts an
 * exchange of its own: between them stands a router that hands each request to the exchange which its header names.
 */
import { createServer, request as ask, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { UPSTREAM } from "../../verification/harness/RestClient.ts"
import { freePort } from "./Prism.ts"
import { run, start } from "./Tools.ts"

/** All but the files that count requests, send broken bodies or stop what they ask: those are left to `npm test`. */
const files = [
  "Auth",
  "Commands",
  "Competition",
  "Conditional",
  "Expiry",
  "Foreign",
  "Holdings",
  "KeyRotation",
  "Reads",
  "Story",
  "Users"
]

interface Router {
  readonly server: Server
  readonly url: string
  readonly passed: () => number
}

const route = (): Promise<Router> =>
  new Promise((resolve) => {
    let passed = 0
    const server = createServer((request, response) => {
      const { [UPSTREAM]: upstream, ...headers } = request.headers
      if (typeof upstream !== "string") return void response.writeHead(502).end()
      passed++
      const onward = ask(
        new URL(request.url!, upstream),
        { method: request.method, headers, path: request.url },
        (answer) => {
          response.writeHead(answer.statusCode!, answer.headers)
          answer.pipe(response)
        }
      )
      onward.once("error", () => response.destroy())
      request.pipe(onward)
    }).listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resolve({ server, url: `http://127.0.0.1:${port}`, passed: () => passed })
    })
  })

/** Runs the suite through the proxy; a violation fails the test that met it. */
export const suiteThroughPrism = async (
  home: string,
  document: string
): Promise<{ readonly ok: boolean; readonly calls: number; readonly output: string }> => {
  const root = fileURLToPath(new URL("../../", import.meta.url))
  const router = await route()
  const port = await freePort()
  const stop = await start(
    home,
    ["prism", "proxy", document, router.url, "-h", "127.0.0.1", "-p", String(port)],
    /Prism is listening/u
  )
  try {
    const tests = files.map((name) => `test/e2e/${name}.test.ts`)
    const { ok, output } = await run(root, root, ["vitest", "run", "--maxWorkers=1", ...tests], {
      E2E_PROXY: `http://127.0.0.1:${port}`
    })
    return { ok, calls: router.passed(), output }
  } finally {
    await stop()
    router.server.closeAllConnections()
    router.server.close()
  }
}

/** Connections during start-up: the port is open before anything is loaded, and each request gets a response. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "vitest"
import { defaults } from "../../src/layers/node/HttpServer.ts"
import { startGateway } from "../../verification/harness/GatewayProcess.ts"
import { freePort } from "../../verification/harness/Programs.ts"

/** Clients that connect before the gateway is loaded, and as many during the load. */
const CLIENTS = 100
/** Time between two connections during the load, in ms. */
const STEP_MS = 10
/** Time limit for the open port and for each response, in ms. */
const WAIT_MS = 60_000
/** Time after which a held connection may be closed, in ms; its timer may begin a little before the client's. */
const HELD_MS = defaults.early_ms - 100

const folder = mkdtempSync(join(tmpdir(), "gateway-start-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
/** The gateway is loaded as soon as this file exists. */
const word = join(folder, "word")
const preload = join(folder, "preload.mjs")
writeFileSync(
  preload,
  `import { existsSync } from "node:fs"
   import { registerHooks } from "node:module"
   const pause = new Int32Array(new SharedArrayBuffer(4))
   registerHooks({
     load(url, context, next) {
       if (url.endsWith("/src/Gateway.ts")) while (!existsSync(${JSON.stringify(word)})) Atomics.wait(pause, 0, 0, 5)
       return next(url, context)
     }
   })`
)

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

interface Client {
  /** Resolves when it is connected or refused. */
  readonly connected: Promise<boolean>
  /** Everything that it received, and the time until its connection was closed, in ms. */
  readonly answer: Promise<{ readonly text: string; readonly ms: number }>
}

const ask = (port: number): Client => {
  const began = performance.now()
  const socket = connect(port, "127.0.0.1", () =>
    socket.write("GET /api/v1/market/time HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n")
  )
  let text = ""
  socket.setTimeout(WAIT_MS, () => socket.destroy())
  socket.setEncoding("utf8").on("data", (some: string) => (text += some))
  return {
    connected: new Promise((resolve) =>
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
    ),
    answer: new Promise((resolve) => socket.once("close", () => resolve({ text, ms: performance.now() - began })))
  }
}

describe("a start", () => {
  it("refuses no connection from the first moment on, and responds to each request", { timeout: 180_000 }, async () => {
    const port = await freePort()
    const env = { RATE_LIMIT_MODE: "off", DRAIN_MS: "0" }
    const starting = startGateway({ dataDir: join(folder, "data"), port, preload, env })
    try {
      const since = performance.now()
      let first = ask(port)
      for (; !(await first.connected); first = ask(port)) {
        if (performance.now() - since > WAIT_MS) throw new Error("the port is not open before the gateway is loaded")
        await sleep(STEP_MS)
      }
      const clients = [first]
      while (clients.length < CLIENTS) clients.push(ask(port))
      assert.notInclude(await Promise.all(clients.map(({ connected }) => connected)), false)
      writeFileSync(word, "")
      while (clients.length < 2 * CLIENTS) {
        clients.push(ask(port))
        await sleep(STEP_MS)
      }
      const answers = await Promise.all(clients.map(({ answer }) => answer))
      assert.strictEqual(answers.length, 2 * CLIENTS)
      // on a busy machine the load takes longer than a connection is held
      assert.deepStrictEqual(
        answers.filter(({ ms, text }) => !text.startsWith("HTTP/1.1 200 OK\r\n") && !(text === "" && ms >= HELD_MS)),
        []
      )
      assert.isTrue(answers.some(({ text }) => text !== ""))
    } finally {
      writeFileSync(word, "")
      await (await starting).stop()
    }
  })
})

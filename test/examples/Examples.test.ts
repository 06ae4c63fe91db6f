import { ConfigProvider, Effect, Layer, ManagedRuntime, References } from "effect"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { bot } from "../../examples/bot.ts"
import { Exchange } from "../../examples/embed.ts"
import { NodeServer } from "../../src/index.ts"

describe("the examples", () => {
  it("embed the gateway with a swapped layer, and trade on it with a bot", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "gateway-example-"))
    const deposits: Array<string> = []
    const runtime = ManagedRuntime.make(
      Exchange((amount) => deposits.push(amount)).pipe(
        Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error")),
        Layer.provide(
          ConfigProvider.layer(
            ConfigProvider.fromUnknown({
              PORT: "0",
              HOST: "127.0.0.1",
              DATA_DIR: dataDir,
              LOG_LEVEL: "error",
              DRAIN_MS: "50"
            })
          )
        )
      )
    )
    try {
      const server = await runtime.runPromise(NodeServer)
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      while ((await fetch(`${url}/ready`)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20))
      assert.isAtLeast(await Effect.runPromise(bot(url, 2)), 1)
      assert.deepStrictEqual(deposits, ["1000"])
    } finally {
      await runtime.dispose()
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  it("are what the embedding page shows", () => {
    const page = readFileSync("docs/embedding.md", "utf8")
    const code = readFileSync("examples/embed.ts", "utf8")
    const shown = /```ts\n([\s\S]*?)```/u.exec(page)![1]!
    assert.include(code.replaceAll("../src/index.ts", "trading-gateway"), shown.trim())
  })
})

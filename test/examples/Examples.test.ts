import { NodeSocket } from "@effect/platform-node"
import { ConfigProvider, Effect, Layer, ManagedRuntime, References } from "effect"
import { HttpServer } from "effect/http"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { bot } from "../../examples/bot.ts"
import { bot as plainBot } from "../../examples/bot-plain.ts"
import { Exchange } from "../../examples/embed.ts"
import { App } from "../../examples/own-router.ts"
import { NodeServer, Rpcs } from "../../src/index.ts"
import { eventually } from "../e2e/Exchange.ts"

/** Runs an example on a directory of its own, until the test is done with it. */
const running = async <R, E>(
  example: Layer.Layer<R, E>,
  test: (runtime: ManagedRuntime.ManagedRuntime<R, E>) => Promise<void>
): Promise<void> => {
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-example-"))
  const environment = { PORT: "0", HOST: "127.0.0.1", DATA_DIR: dataDir, LOG_LEVEL: "error", DRAIN_MS: "50" }
  const runtime = ManagedRuntime.make(
    example.pipe(
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error")),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment)))
    )
  )
  try {
    await test(runtime)
  } finally {
    await runtime.dispose()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

describe("the examples", () => {
  it("embed the gateway with a swapped layer, and trade on it with a bot, with Effect and without", async () => {
    const told: Array<string> = []
    await running(
      Exchange((type) => told.push(type)),
      async (runtime) => {
        const server = await runtime.runPromise(NodeServer)
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        await eventually(
          "a ready gateway",
          async () => (await fetch(`${url}/ready`)).status,
          (status) => status === 200
        )
        assert.isAtLeast(await Effect.runPromise(bot(url, 2)), 1)
        assert.strictEqual(told.filter((type) => type === "deposit").length, 1)
        await plainBot(url, 2)
        assert.strictEqual(told.filter((type) => type === "deposit").length, 2)
      }
    )
  }, 60_000)

  it("compose the procedures into a router of their own", async () => {
    await running(App, async (runtime) => {
      const { address } = await runtime.runPromise(HttpServer.HttpServer)
      assert("port" in address)
      const host = `127.0.0.1:${address.port}`
      assert.strictEqual(await (await fetch(`http://${host}/mine`)).text(), "mine")
      const socket = NodeSocket.layerWebSocket(`ws://${host}/exchange`)
      const protocol = RpcClient.layerProtocolSocket().pipe(Layer.provide([socket, RpcSerialization.layerNdjson]))
      const program = Effect.gen(function* () {
        const client = yield* RpcClient.make(Rpcs)
        const { code } = yield* Effect.flip(client["user.me"]().pipe(Effect.catchTag("RpcClientError", Effect.die)))
        const { status } = yield* client["service.health"]()
        return [code, status]
      })
      const answers = await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(protocol)))
      assert.deepStrictEqual(answers, ["UNAUTHORIZED", "ok"])
    })
  }, 30_000)

  it("are of at most 15 lines where they embed the gateway", () => {
    for (const name of ["embed", "own-router"]) {
      assert.isAtMost(readFileSync(`examples/${name}.ts`, "utf8").trimEnd().split("\n").length, 15, name)
    }
  })

  it("are what the embedding page shows", () => {
    const page = readFileSync("docs/embedding.md", "utf8")
    const shown = [...page.matchAll(/```ts\n([\s\S]*?)```/gu)].map((match) => match[1]!)
    for (const name of ["embed", "own-router"]) {
      const code = readFileSync(`examples/${name}.ts`, "utf8").replaceAll("../src/index.ts", "trading-gateway")
      assert.isTrue(
        shown.some((part) => code.includes(part.trim())),
        name
      )
    }
  })
})

import { NodeHttpServer, NodeSocket } from "@effect/platform-node"
import { ConfigProvider, Effect, Layer, ManagedRuntime, References } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { RpcClient, RpcSerialization, RpcServer } from "effect/rpc"
import { once } from "node:events"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { WebSocket } from "ws"
import { bot } from "../../examples/bot.ts"
import { bot as plainBot } from "../../examples/bot-plain.ts"
import { Exchange } from "../../examples/embed.ts"
import { App } from "../../examples/own-router.ts"
import { NodeServer, Rpc, Rpcs } from "../../src/index.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { exchangeBytes } from "../e2e/RawHttp.ts"
import { callOf } from "../rpc/RawCalls.ts"

/** Runs an example on a directory of its own, until the test is done with it. */
const running = async <R, E>(
  example: Layer.Layer<R, E>,
  test: (runtime: ManagedRuntime.ManagedRuntime<R, E>) => Promise<void>,
  settings: Record<string, string> = {}
): Promise<void> => {
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-example-"))
  const environment = {
    PORT: "0",
    HOST: "127.0.0.1",
    DATA_DIR: dataDir,
    LOG_LEVEL: "error",
    DRAIN_MS: "50",
    ...settings
  }
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
    const types: Array<string> = []
    await running(
      Exchange((type) => types.push(type)),
      async (runtime) => {
        const server = await runtime.runPromise(NodeServer)
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
        await eventually(
          "a ready gateway",
          async () => (await fetch(`${url}/ready`)).status,
          (status) => status === 200
        )
        assert.isAtLeast(await Effect.runPromise(bot(url, 2)), 1)
        assert.strictEqual(types.filter((type) => type === "deposit").length, 1)
        await plainBot(url, 2)
        assert.strictEqual(types.filter((type) => type === "deposit").length, 2)
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

  for (const [settings, callers] of [
    [{}, { one: { from: "127.0.0.1" }, other: { from: "127.0.0.2" } }],
    // behind a proxy, which appends the address of its client
    [
      { TRUSTED_PROXIES: "1" },
      { one: { forwarded: "198.51.100.7, 203.0.113.1" }, other: { forwarded: "203.0.113.1, 203.0.113.2" } }
    ]
  ] as const)
    it(`count each caller of a router of their own by its address, with ${JSON.stringify(settings)}`, async () => {
      const routes = Layer.merge(
        RpcServer.layerHttp({ group: Rpcs, path: "/own/rpc" }),
        RpcServer.layerHttp({ group: Rpcs, path: "/post", protocol: "http" })
      )
      const own = HttpRouter.serve(routes).pipe(
        Layer.provide([Rpc.handlers, RpcSerialization.layerNdjson]),
        Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0 })),
        Layer.provide(Exchange(() => {}))
      )
      await running(
        own,
        async (runtime) => {
          const { address } = await runtime.runPromise(HttpServer.HttpServer)
          assert("port" in address)
          const { port } = address
          const call = callOf(1, "market.time")
          interface Peer {
            readonly from?: string
            readonly forwarded?: string
          }
          const overHttp = async ({ forwarded, ...options }: Peer) => {
            const header = forwarded === undefined ? "" : `X-Forwarded-For: ${forwarded}\r\n`
            const head = `POST /post HTTP/1.1\r\nHost: g\r\nConnection: close\r\n${header}Content-Length: ${call.length}`
            return (await exchangeBytes(port, [`${head}\r\n\r\n${call}`], options))[0]!
          }
          const overWebSocket = async ({ forwarded, from }: Peer) => {
            const socket = new WebSocket(`ws://127.0.0.1:${port}/own/rpc`, {
              ...(from === undefined ? {} : { localAddress: from }),
              ...(forwarded === undefined ? {} : { headers: { "x-forwarded-for": forwarded } })
            })
            await once(socket, "open")
            socket.send(call)
            const [message] = await once(socket, "message")
            socket.close()
            return String(message)
          }
          const refused: Array<boolean> = []
          for (const ask of [overHttp, overWebSocket, overHttp, overWebSocket, overHttp])
            refused.push((await ask(callers.one)).includes('"RateLimitExceeded"'))
          assert.deepStrictEqual(refused, [false, false, false, true, true])
          for (const ask of [overHttp, overWebSocket]) assert.include(await ask(callers.other), '"_tag":"Success"')
        },
        { RATE_PUBLIC: "3", ...settings }
      )
    }, 30_000)

  it("keep the routes of an app beside the gateway apart from those of the gateway", async () => {
    const beside = HttpRouter.serve(HttpRouter.add("GET", "/mine", HttpServerResponse.text("mine"))).pipe(
      Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0 })),
      Layer.provideMerge(Exchange(() => {}))
    )
    await running(beside, async (runtime) => {
      const addresses = [
        (await runtime.runPromise(HttpServer.HttpServer)).address,
        (await runtime.runPromise(NodeServer)).address()
      ]
      const statuses = []
      for (const address of addresses) {
        assert(address !== null && typeof address === "object" && "port" in address)
        for (const path of ["/mine", "/api/v1/market/time"])
          statuses.push((await fetch(`http://127.0.0.1:${address.port}${path}`)).status)
      }
      assert.deepStrictEqual(statuses, [200, 404, 404, 200])
    })
  }, 30_000)

  it("are of at most 15 lines where they embed the gateway", () => {
    for (const name of ["embed", "own-router"]) {
      assert.isAtMost(readFileSync(`examples/${name}.ts`, "utf8").trimEnd().split("\n").length, 15, name)
    }
  })

  it("are run, each by a test or by a page whose commands are run", () => {
    const examples = readdirSync("examples").filter((name) => /\.[a-z]+$/u.test(name))
    const tests = readdirSync("test", { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => join("test", name))
    const pages = readdirSync("docs/guides").map((name) => join("docs/guides", name))
    const said = [...tests, ...pages].map((path) => readFileSync(path, "utf8")).join("\n")
    assert.deepStrictEqual(
      examples.filter((name) => !new RegExp(`(?:node|python3|"\\$\\() ?examples/${name}|[/"]${name}"`, "u").test(said)),
      []
    )
    assert.isAbove(examples.length, 6)
  })
})

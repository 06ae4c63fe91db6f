/** Servers that stop to answer at one step of a session: each step has a time limit, after which the session begins again. */
import { Context, Effect, Exit, Layer, Logger, Redacted } from "effect"
import { Redis } from "effect/persistence"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { assert, it, onTestFinished } from "vitest"
import * as RedisLink from "../../../src/layers/redis/RedisLink.ts"
import * as MetricsRegistry from "../../../src/services/operations/MetricsRegistry.ts"
import { until, WAIT_MS } from "../../../verification/harness/Wait.ts"

/** Commands of a text in the protocol of Redis: arrays of texts. */
const commandsOf = (text: string): ReadonlyArray<string> =>
  text
    .split(/^\*\d+\r\n/mu)
    .slice(1)
    .map((command) => command.split("\r\n")[1]!.toUpperCase())

const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`
const answers: Readonly<Record<string, string>> = {
  PING: "+PONG\r\n",
  INFO: bulk("run_id:r\r\naof_enabled:0\r\n"),
  CONFIG: `*2\r\n${bulk("appendfsync")}${bulk("always")}`,
  SUBSCRIBE: `*3\r\n${bulk("subscribe")}${bulk("channel")}:1\r\n`,
  WRONG: "-WRONGTYPE no list\r\n"
}

/** A server that answers all commands but `silent`, of which it counts how often it received them. */
const fake = async (silent: string | undefined) => {
  const state = { silent, received: 0, open: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    state.open++
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => {
      state.open--
      sockets.delete(socket)
    })
    // replies have the order of their commands: none follows one that is missing
    let isSilent = false
    socket.on("data", (bytes) => {
      for (const command of commandsOf(bytes.toString())) {
        if (command === state.silent) {
          state.received++
          isSilent = true
        } else if (!isSilent) socket.write(answers[command] ?? "+OK\r\n")
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = Redacted.make(`redis://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return { state, url }
}

/** Runs with a link, whose start must not wait for the server. */
const linked = (
  url: Redacted.Redacted<string>,
  test: (
    link: (typeof RedisLink.RedisLink)["Service"],
    redis: Redis.Redis["Service"],
    meter: MetricsRegistry.MetricsRegistry
  ) => Promise<void>
) => {
  const meter = new MetricsRegistry.MetricsRegistry()
  return Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const context = yield* Layer.build(RedisLink.layer({ url, command_timeout: "300 millis" }))
        yield* Effect.promise(() =>
          test(Context.get(context, RedisLink.RedisLink), Context.get(context, Redis.Redis), meter)
        )
      })
    ).pipe(Effect.provideService(MetricsRegistry.CurrentMetricsRegistry, meter), Effect.provide(Logger.layer([])))
  )
}

it.each([["CLIENT"], ["INFO"], ["CONFIG"]])(
  "a server that is silent at %s is left after a time, and connected to once it answers",
  async (silent) => {
    const { state, url } = await fake(silent)
    await linked(url, async (link) => {
      assert.isUndefined(link.server())
      await until("another try", () => state.received >= 2, WAIT_MS)
      state.silent = undefined
      await until("it is connected", () => link.server()?.run_id === "r", WAIT_MS)
      await until("the connections before are closed", () => state.open === 1, WAIT_MS)
    })
    await until("its own is closed too", () => state.open === 0, WAIT_MS)
  }
)

it("a server that is silent at a subscription is left after a time, and subscribed to once it answers", async () => {
  const { state, url } = await fake("SUBSCRIBE")
  await linked(url, (link) =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          let isSubscribed = false
          yield* link.listen("channel", { message: () => {}, subscribed: (is) => void (isSubscribed = is) })
          yield* Effect.promise(async () => {
            await until("another try", () => state.received >= 2, WAIT_MS)
            assert.isFalse(isSubscribed)
            state.silent = undefined
            await until("it is subscribed", () => isSubscribed, WAIT_MS)
          })
        })
      ).pipe(Effect.provide(Logger.layer([])))
    )
  )
})

it("a command fails at once after three without a reply; error replies are replies", async () => {
  const { state, url } = await fake("SLOW")
  await linked(url, async (_, redis, meter) => {
    const isOpen = async () => (await Effect.runPromise(meter.text)).includes('gateway_breaker_open{breaker="redis"} 1')
    const fails = async (command: string) =>
      assert.isTrue(Exit.isFailure(await Effect.runPromiseExit(redis.send(command))), command)
    for (let i = 0; i < 10; i++) await fails("WRONG")
    assert.isFalse(await isOpen())
    for (let i = 0; i < 3; i++) await fails("SLOW")
    assert.isTrue(await isOpen())
    const { received } = state
    await fails("SLOW")
    assert.strictEqual(state.received, received)
  })
})

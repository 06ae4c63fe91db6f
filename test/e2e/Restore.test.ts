/**
 * A backend that is restored below a gateway which was ahead of the backup: the gateway shows exactly what the backend
 * holds, and says that it met another history. Source: docs/contract/boundary.md#one-event-stream.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Effect, Exit, Logger, References, Scope } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import * as Backend from "../../src/backend/Backend.ts"
import { backup } from "../../src/backend/journal/Backup.ts"
import { restore } from "../../src/backend/Restore.ts"
import { settings } from "../../src/backend/Settings.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, create, funded } from "../../verification/harness/RestClient.ts"
import { type Frame, Socket } from "../../verification/harness/Socket.ts"
import { eventually } from "../../verification/harness/Wait.ts"

describe("a restored backend", { timeout: 60_000 }, () => {
  const root = mkdtempSync(join(tmpdir(), "restore-e2e-"))
  const directory = join(root, "data")
  let scope = Effect.runSync(Scope.make())
  let port = 0
  let exchange: Exchange

  const start = async () => {
    const environment = {
      DATA_DIR: directory,
      BACKEND_PORT: String(port),
      SIM_MAKER: "off",
      INDEX_SOURCE: "manual"
    }
    scope = Effect.runSync(Scope.make())
    const serving = Effect.gen(function* () {
      return yield* Backend.serve(yield* settings)
    }).pipe(
      Scope.provide(scope),
      Effect.provide([Logger.layer([]), ConfigProvider.layer(ConfigProvider.fromUnknown(environment))]),
      Effect.provideService(References.MinimumLogLevel, "Error")
    )
    port = (await Effect.runPromise(serving)).port
  }
  const stop = () => Effect.runPromise(Scope.close(scope, Exit.void))
  beforeAll(async () => {
    await start()
    exchange = await startExchange({ env: { BACKEND: "grpc", SEQUENCER_URL: `127.0.0.1:${port}` } })
  })
  afterAll(async () => {
    await exchange?.close()
    await stop()
    rmSync(root, { recursive: true, force: true })
  })

  it("shows no order of the lost history, each order of the new one, and continues", async () => {
    const user = await funded(exchange)
    const open = async () => {
      const { body, status } = await call(exchange, "GET", "/api/v1/order/realtime?symbol=BTC-USDC", {
        token: user.token
      })
      return status === 200
        ? (body.list as ReadonlyArray<{ order_link_id: string }>).map(({ order_link_id }) => order_link_id).sort()
        : status
    }
    const metric = async () => (await fetch(`${exchange.url}/metrics`)).text()
    for (const link of ["kept-1", "kept-2"]) await create(exchange, user, link)
    await Effect.runPromise(backup(directory, join(root, "backup")))
    for (const link of ["lost-1", "lost-2", "lost-3"]) await create(exchange, user, link)
    assert.lengthOf((await open()) as ReadonlyArray<string>, 5)
    await stop()
    const restored = await Effect.runPromise(restore(directory, join(root, "backup")))
    assert.strictEqual(restored.lost?.commands, 3)
    assert.notStrictEqual(restored.fork, restored.epoch)

    await start()
    await eventually("the orders of the backup", open, (list) => `${list}` === "kept-1,kept-2", 20_000)
    assert.strictEqual((await create(exchange, user, "new-1")).status, 200)
    assert.deepStrictEqual(await open(), ["kept-1", "kept-2", "new-1"])
    assert.include(await metric(), 'gateway_read_model_rebuilds_total{reason="Forked"} 1')
  })
  it("sends each trade to its followers once", async () => {
    const [maker, taker] = [await funded(exchange), await funded(exchange)]
    const trade = async (link: string) => {
      await create(exchange, maker, `${link}-maker`, { side: "Sell", price: "60000" })
      assert.strictEqual((await create(exchange, taker, `${link}-taker`, { price: "60000" })).status, 200)
    }
    const { body } = await call(exchange, "GET", "/api/v1/market/instruments-info?symbol=BTC-USDC")
    const aggregated = `trade/${body.list[0].market_addr}`
    const [trades, kline] = ["trade.BTC-USDC", "kline.1.BTC-USDC"]
    await trade("kept-a")
    const socket = await Socket.open(exchange, "/ws/public")
    socket.send({ op: "subscribe", args: [trades, aggregated, kline] })
    const [first] = (await socket.event(trades)).data.list
    await trade("kept-b")
    await socket.event(trades, ({ type }) => type === "update")
    await Effect.runPromise(backup(directory, join(root, "second")))
    await trade("lost")
    const lost = (await socket.event(trades, ({ type }) => type === "update")).data.list[0]
    await stop()
    await Effect.runPromise(restore(directory, join(root, "second")))
    socket.frames.length = 0
    await start()
    await eventually(
      "a trade after the restore",
      () => create(exchange, maker, "new-maker", { side: "Sell", price: "60000" }),
      ({ status }) => status === 200,
      20_000
    )
    await create(exchange, taker, "new-taker", { price: "60000" })
    const frames: Array<Frame> = []
    const isNew = ({ data, topic }: Frame) => topic === aggregated && data.list[0].timestamp > lost.timestamp
    while (!frames.some(isNew)) frames.push(await socket.next("frame", ({ op }) => op === "event"))
    const of = (topic: string) =>
      frames.filter((frame) => frame.topic === topic).map(({ data }) => [data.type, data.list.length])
    assert.deepStrictEqual(of(aggregated), [["update", 1]])
    assert.deepStrictEqual(of(trades), [
      ["snapshot", 2],
      ["update", 1]
    ])
    assert.strictEqual(frames.find(({ topic }) => topic === trades).data.list[0].trade_id, first.trade_id)
    assert.deepInclude(of(kline), ["snapshot", 1])
    socket.close()
  })
})

/** The backend in a thread of the gateway's process is supervised. */
import { ConfigProvider, Effect, Exit, Redacted, References, Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import * as Embedded from "../../src/backend/Embedded.ts"
import { startExchange } from "../../verification/harness/Exchange.ts"
import { create, funded, listAll } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { isUnavailable } from "./Unavailable.ts"

describe("the embedded backend", () => {
  it("is restarted when its thread dies, and nothing else is", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "gateway-e2e-"))
    const scope = Scope.makeUnsafe()
    const embedded = await Effect.runPromise(
      Embedded.make.pipe(
        Scope.provide(scope),
        Effect.provideService(References.MinimumLogLevel, "None"),
        Effect.provide(
          ConfigProvider.layer(ConfigProvider.fromUnknown({ DATA_DIR: dataDir, SIM_MAKER: "off", LOG_LEVEL: "error" }))
        )
      )
    )
    const exchange = await startExchange({
      env: {
        BACKEND: "grpc",
        SEQUENCER_URL: embedded.address,
        BACKEND_SECRET: Redacted.value(embedded.secret)
      }
    })
    try {
      const user = await funded(exchange)
      const kept = await create(exchange, user, "kept")
      assert.strictEqual(kept.status, 200)
      const first = embedded.worker()!
      await first.terminate()
      // an order during the restart waits for the next thread, up to the deadline of an order
      const between = await create(exchange, user, "between")
      if (between.status !== 200) isUnavailable(between)
      await eventually(
        "an order",
        () => create(exchange, user, "after"),
        ({ status }) => status === 200
      )
      assert.notStrictEqual(embedded.worker(), first)
      const wanted = ["after", ...(between.status === 200 ? ["between"] : []), "kept"]
      const open = await eventually(
        "all orders",
        () => listAll(exchange, "/api/v1/order/realtime", user.token),
        (list) => list.length >= wanted.length
      )
      assert.deepStrictEqual(open.map((order) => order.order_link_id).sort(), wanted)
    } finally {
      await exchange.close()
      await Effect.runPromise(Scope.close(scope, Exit.void))
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})

/**
 * A backend that refuses every order, or whose clock is off, as /ready reports it.
 * Source: docs/contract/rest.md#service-endpoints.
 */
import { Effect, Exit, Logger, Redacted, Scope } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { machine } from "../../src/backend/engine/EngineMachine.ts"
import { reads } from "../../src/backend/EngineReads.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { serve } from "../../src/backend/server/Serve.ts"
import { SPACE_BYTES_MIN } from "../../src/backend/server/Writer.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, create, funded } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { isUnavailable } from "./Unavailable.ts"
import { movableClock } from "../../verification/harness/Clocks.ts"

const SECRET = Redacted.make("between-gateway-and-backend")

describe("Amendment 25: a gateway whose backend refuses orders", { timeout: 60_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-e2e-"))
  const clock = movableClock()
  const scope = Effect.runSync(Scope.make())
  let space = Number.POSITIVE_INFINITY
  let broken = false
  let exchange: Exchange

  beforeAll(async () => {
    const { port } = await Effect.runPromise(
      serve({
        machine: {
          ...machine,
          start: (state, input) => {
            if (broken) throw new Error("assertion broken")
            return machine.start!(state, input)
          }
        },
        reads,
        config: {
          markets: shippedMarkets,
          simMaker: false,
          indexSource: "simulated",
          faucetDailyLimit: "100000",
          openOrdersMax: 1_000_000,
          poolBaseEquity: "1000000"
        },
        directory,
        host: "127.0.0.1",
        port: 0,
        secret: Redacted.value(SECRET),
        tls: undefined,
        space: () => space
      }).pipe(Scope.provide(scope), Effect.provide([Logger.layer([]), clock.layer]))
    )
    exchange = await startExchange({
      env: { BACKEND: "grpc", SEQUENCER_URL: `127.0.0.1:${port}`, BACKEND_SECRET: Redacted.value(SECRET) }
    })
  })
  afterAll(async () => {
    await exchange?.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(directory, { recursive: true, force: true })
  })

  const becomes = (status: number, reasons: ReadonlyArray<string>, limit_ms?: number) =>
    eventually(
      `/ready ${status} ${reasons.join()}`,
      () => call(exchange, "GET", "/ready"),
      (answer) => answer.status === status && JSON.stringify(answer.body.reasons) === JSON.stringify(reasons),
      limit_ms
    )

  it("reports a full disk within two seconds, as long as orders are refused", async () => {
    const user = await funded(exchange)
    await becomes(200, [])
    space = SPACE_BYTES_MIN - 1
    const notReady = await becomes(503, ["DiskFull"])
    assert.strictEqual(notReady.body.status, "not_ready")
    isUnavailable(await create(exchange, user, "full"))
    space = SPACE_BYTES_MIN
    await becomes(200, [])
    assert.strictEqual((await create(exchange, user, "space")).status, 200)
  })

  for (const by_ms of [-3_600_000, 3_600_000])
    it(`moves prices and warns while the backend's clock is set by ${by_ms} ms`, async () => {
      const ready = () => call(exchange, "GET", "/ready")
      const warns = (warnings: ReadonlyArray<string>) =>
        eventually(`warnings ${warnings.join()}`, ready, ({ body }) => `${body.warnings}` === `${warnings}`)
      const price = async () =>
        (await call(exchange, "GET", "/api/v1/market/tickers?symbol=BTC-USDC")).body.list[0].mark_price as string
      clock.skip(by_ms)
      await warns(["ClockOffset"])
      const before = await price()
      await eventually("another price", price, (now) => now !== before, 2_000)
      assert.strictEqual((await ready()).status, 200)
      clock.skip(-by_ms)
      await warns([])
    })

  it("reports a journal that stopped", async () => {
    broken = true
    const reasonsNow = async () => (await call(exchange, "GET", "/ready")).body.reasons as ReadonlyArray<string>
    await eventually("JournalStopped", reasonsNow, (reasons) => reasons.includes("JournalStopped"))
  })
})

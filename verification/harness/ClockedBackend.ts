/** The backend in this thread, by a clock of the test's: an exchange whose days pass when the test says so. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Effect, Layer, ManagedRuntime, References } from "effect"
import * as Backend from "../../src/backend/Backend.ts"
import { settings } from "../../src/backend/Settings.ts"
import { type Exchange, startExchange } from "./Exchange.ts"

/** Starts a backend and a gateway in front of it; both go by the same clock. `dataDir`: that of both; default: new ones. */
export const startClocked = async (
  clock: Layer.Layer<never>,
  env: Readonly<Record<string, string>> = {},
  dataDir?: string
): Promise<Exchange> => {
  const directory = dataDir ?? mkdtempSync(join(tmpdir(), "backend-e2e-"))
  const environment = { DATA_DIR: directory, BACKEND_PORT: "0", SIM_MAKER: "off", INDEX_SOURCE: "manual", ...env }
  const provided = Layer.mergeAll(
    clock,
    Layer.succeed(References.MinimumLogLevel, "Error"),
    ConfigProvider.layer(ConfigProvider.fromUnknown(environment))
  )
  let port = 0
  const serving = Layer.effectDiscard(
    Effect.gen(function* () {
      port = (yield* Backend.serve(yield* settings)).port
    })
  )
  const backend = ManagedRuntime.make(serving.pipe(Layer.provide(provided)))
  const stop = async () => {
    await backend.dispose()
    if (dataDir === undefined) rmSync(directory, { recursive: true, force: true })
  }
  try {
    await backend.runPromise(Effect.void)
    const exchange = await startExchange({
      clock,
      ...(dataDir === undefined ? {} : { dataDir }),
      env: { BACKEND: "grpc", SEQUENCER_URL: `127.0.0.1:${port}`, ...env }
    })
    return {
      ...exchange,
      close: async () => {
        await exchange.close()
        await stop()
      }
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The suite against a backend, and the embedded one in this thread to run it against. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ConfigProvider, Effect, Layer, ManagedRuntime, References } from "effect"
import type { Case } from "../../conformance/Case.ts"
import { cases, type Outcome, run } from "../../conformance/Suite.ts"
import * as Backend from "../../src/backend/Backend.ts"
import { settings } from "../../src/backend/Settings.ts"

/** Generous: a machine may be busy. A backend that is right never takes it. */
const PATIENCE_MS = 30_000

/** Runs cases against the backend at an address; answers those that failed, with why. */
export const failures = async (
  address: string,
  chosen: ReadonlyArray<Case> = cases,
  patience_ms = PATIENCE_MS
): Promise<Readonly<Record<string, string>>> => {
  const endpoint = { address, secret: undefined, tls: undefined }
  const commands = Number(process.env["CONFORMANCE_COMMANDS"] ?? 200)
  const options = { sequencer: endpoint, referee: endpoint, symbol: undefined, patience_ms, commands }
  const outcomes: ReadonlyArray<Outcome> = await Effect.runPromise(run(options, chosen))
  return Object.fromEntries(
    outcomes.flatMap(({ failure, name }) => (failure === undefined ? [] : [[name, failure] as const]))
  )
}

/** Starts the embedded backend with nobody else in its markets. */
export const startEmbedded = async () => {
  const directory = mkdtempSync(join(tmpdir(), "conformance-"))
  const environment = { DATA_DIR: directory, BACKEND_PORT: "0", SIM_MAKER: "off", INDEX_SOURCE: "manual" }
  let port = 0
  const serving = Layer.effectDiscard(
    Effect.gen(function* () {
      port = (yield* Backend.serve(yield* settings)).port
    })
  )
  const runtime = ManagedRuntime.make(
    serving.pipe(
      Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error")),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(environment)))
    )
  )
  await runtime.runPromise(Effect.void)
  const stop = async () => {
    await runtime.dispose()
    rmSync(directory, { recursive: true, force: true })
  }
  return { address: `127.0.0.1:${port}`, stop }
}

/** The gateway as a program: serves on the listener that main.ts opened, until it receives a stop signal. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import type { GatewayHttpServer } from "./layers/node/HttpServer.ts"
import { Early } from "./layers/node/NodeServer.ts"
import { endAtSecondSignal, serve } from "./Serve.ts"
import { teardown } from "./Teardown.ts"

/**
 * Runs the process. Exit code 0 after an orderly stop. Where the gateway cannot start, exit code 1 and one line that says
 * what to change. `listener`: the server that listens already; undefined: the gateway opens its own.
 */
export const launch = (listener: GatewayHttpServer | undefined): void => {
  endAtSecondSignal()
  NodeRuntime.runMain(
    serve.pipe(
      Effect.tapError(({ message }) => Effect.sync(() => process.stderr.write(`\n${message}\n`))),
      Effect.provideService(Early, listener)
    ),
    { disableErrorReporting: true, teardown }
  )
}

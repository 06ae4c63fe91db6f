/** The gateway as a program: serves behind the door that is open already, until it is told to stop. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import type { GatewayHttpServer } from "./layers/node/HttpServer.ts"
import { Early } from "./layers/node/NodeServer.ts"
import { endAtSecondSignal, serve } from "./Serve.ts"
import { teardown } from "./Teardown.ts"

/**
 * Runs the process: exit code 0 after an orderly stop, 1 with a line that says what to change where it could not start. `door`:
 * what listens already; undefined: the gateway opens its own.
 */
export const launch = (door: GatewayHttpServer | undefined): void => {
  endAtSecondSignal()
  NodeRuntime.runMain(
    serve.pipe(
      Effect.tapError(({ message }) => Effect.sync(() => process.stderr.write(`\n${message}\n`))),
      Effect.provideService(Early, door)
    ),
    { disableErrorReporting: true, teardown }
  )
}

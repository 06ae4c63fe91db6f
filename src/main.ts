/** `npm start`: serves until it is told to stop. */
import { endAtSecondSignal, serve } from "./Serve.ts"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { teardown } from "./Teardown.ts"

endAtSecondSignal()
NodeRuntime.runMain(
  Effect.tapError(serve, ({ message }) => Effect.sync(() => process.stderr.write(`\n${message}\n`))),
  { disableErrorReporting: true, teardown }
)

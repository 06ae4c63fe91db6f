/** Exit codes of the project's programs: a stop by signal is a success. */
import { Cause, Exit, Runtime } from "effect"

/** Exit code 0 after success and after an interruption by a signal; otherwise the code of the failure, 1 by default. */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  !Exit.isSuccess(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

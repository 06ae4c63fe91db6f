/** How a program of ours ends: a stop that was asked for is a success. */
import { Cause, Exit, Runtime } from "effect"

/** Exit code 0 after success and after a stop by a signal; else what the failure asks for, 1 by default. */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  !Exit.isSuccess(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

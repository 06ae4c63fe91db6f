/** Runs the command line of this process and sets its exit code. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { teardown } from "../Teardown.ts"
import { cli } from "./Cli.ts"

// EPIPE: the reader of a pipe has closed it, which is no failure
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => process.exit(code === "EPIPE" ? 0 : 1))

NodeRuntime.runMain(cli(process.argv.slice(2)), {
  disableErrorReporting: true,
  // an open handle, such as a keep-alive connection, does not keep the process running
  teardown: (exit, onExit) =>
    teardown(exit, (code) => {
      process.exitCode = code
      onExit(code)
    })
})

/** Runs the command line. A failure is printed as text, or as JSON with --json, and sets the exit code. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Config, Console, Effect, Layer } from "effect"
import { CliConfig, CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import { VERSION } from "../http/api/Api.ts"
import { teardown } from "../Teardown.ts"
import { ofDefect, OutputFinished, printed, toPrinted } from "./ErrorOutput.ts"
import { root } from "./Root.ts"

const args = process.argv.slice(2)
const flags = args.includes("--") ? args.slice(0, args.indexOf("--")) : args
const json = flags.includes("--json")

/** The gateway's URL for error messages, read from the raw arguments. */
const url = Effect.suspend(() => {
  const at = flags.indexOf("--url")
  const joined = flags.find((flag) => flag.startsWith("--url="))?.slice("--url=".length)
  const named = at === -1 ? joined : flags[at + 1]
  return named !== undefined
    ? Effect.succeed(named)
    : Effect.orElseSucceed(Config.String("GATEWAY_URL"), () => "http://127.0.0.1:3010")
})

/** Prints only the errors of a wrong call, because a page of help would hide them. */
const presenter: CliOutput.Presenter = {
  present: (event) => {
    switch (event._tag) {
      case "InvalidInvocation": {
        const messages = event.errors.map(({ message }) => message)
        const help = `${event.commandPath.join(" ")} --help`
        return Console.error(
          json
            ? JSON.stringify({ error: { code: "USAGE", message: messages.join("; "), hint: help } })
            : [...messages.map((message) => `error: ${message}`), `       see ${help}`].join("\n")
        )
      }
      case "Help":
        return json ? Console.log(JSON.stringify(event.helpDoc)) : CliOutput.defaultPresenter.present(event)
      case "Version":
        return json
          ? Console.log(JSON.stringify({ name: event.name, version: event.version }))
          : CliOutput.defaultPresenter.present(event)
    }
  }
}

/** Prints a failure, and an error of the program (a defect) in the same way; an interruption prints nothing. */
const report = (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Cause.hasInterruptsOnly(cause) || error instanceof OutputFinished || CliError.isCliError(error)
    ? Effect.void
    : Effect.flatMap(url, (url) => {
        const shown = Cause.hasFails(cause) ? toPrinted(error, url) : ofDefect(error)
        return Console.error(json ? JSON.stringify({ error: shown }) : printed(shown))
      })
}

const program = Command.run(root, { version: VERSION }).pipe(
  Effect.tapCause(report),
  Effect.provide(
    Layer.mergeAll(
      NodeServices.layer,
      CliOutput.layerPresenter(presenter),
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
    )
  )
)

// EPIPE: the reader of a pipe has closed it, which is no failure
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => process.exit(code === "EPIPE" ? 0 : 1))

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  // an open handle, such as a keep-alive connection, does not keep the process running
  teardown: (exit, onExit) =>
    teardown(exit, (code) => {
      process.exitCode = code
      onExit(code)
    })
})

/** The command line as an effect. A failure is printed as text, or as JSON with --json, before the effect fails with it. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Config, Console, Effect, Layer } from "effect"
import { CliConfig, CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import { VERSION } from "../domain/Version.ts"
import { ofDefect, OutputFinished, printed, toPrinted } from "./ErrorOutput.ts"
import { root } from "./Root.ts"

/** The gateway's URL for error messages, read from the raw arguments. */
const urlOf = (flags: ReadonlyArray<string>) =>
  Effect.suspend(() => {
    const at = flags.indexOf("--url")
    const joined = flags.find((flag) => flag.startsWith("--url="))?.slice("--url=".length)
    const named = at === -1 ? joined : flags[at + 1]
    return named !== undefined
      ? Effect.succeed(named)
      : Effect.orElseSucceed(Config.String("GATEWAY_URL"), () => "http://127.0.0.1:3010")
  })

/** The text of a wrong call, without the words that the library puts before the text of a schema or a filter. */
const messageOf = ({ message }: { readonly message: string }): string =>
  message.replace(/Expected: (?:Schema validation failed: )?expected /u, "Expected: ")

/** Prints only the errors of a wrong call, because a page of help would hide them. */
const presenter = (json: boolean): CliOutput.Presenter => ({
  present: (event) => {
    switch (event._tag) {
      case "InvalidInvocation": {
        const messages = event.errors.map(messageOf)
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
})

/** Prints a failure, and an error of the program (a defect) in the same way; an interruption prints nothing. */
const report = (flags: ReadonlyArray<string>, json: boolean) => (cause: Cause.Cause<unknown>) => {
  const error = Cause.squash(cause)
  return Cause.hasInterruptsOnly(cause) || error instanceof OutputFinished || CliError.isCliError(error)
    ? Effect.void
    : Effect.flatMap(urlOf(flags), (url) => {
        const shown = Cause.hasFails(cause) ? toPrinted(error, url) : ofDefect(error)
        return Console.error(json ? JSON.stringify({ error: shown }) : printed(shown))
      })
}

/** Runs a command line; `args` are the words after the program's name. */
export const cli = (args: ReadonlyArray<string>) => {
  const flags = args.includes("--") ? args.slice(0, args.indexOf("--")) : args
  const json = flags.includes("--json")
  return Command.runWith(root, { version: VERSION })(args).pipe(
    Effect.tapCause(report(flags, json)),
    Effect.provide(
      Layer.mergeAll(
        NodeServices.layer,
        CliOutput.layerPresenter(presenter(json)),
        CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
      )
    )
  )
}

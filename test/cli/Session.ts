/** The program of {@link startSession}: runs the commands of standard input, and prints each exit code between two separators. */
import "effect/schema/SchemaJITCompiler/enable"
import { createInterface } from "node:readline"
import { ConfigProvider, Effect } from "effect"
import { cli } from "../../src/cli/Cli.ts"
import { teardown } from "../../src/Teardown.ts"
import { SEPARATOR, type Typed } from "./Commands.ts"

const print = (code: number) => void process.stdout.write(`${SEPARATOR}${code}${SEPARATOR}`)

const runCommands = async (): Promise<void> => {
  // the terminal does not repeat what it reads
  process.stdin.setRawMode(true)
  const own = { ...process.env }
  print(0)
  for await (const line of createInterface({ input: process.stdin })) {
    const { args, env } = JSON.parse(line) as Typed
    process.env = { ...own, ...env }
    const exit = await Effect.runPromiseExit(Effect.provide(cli(args), ConfigProvider.layer(ConfigProvider.fromEnv())))
    teardown(exit, print)
  }
}

await runCommands()

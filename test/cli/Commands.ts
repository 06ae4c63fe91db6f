/** Runs commands in a terminal, all in one process: a start of the program for each would be most of what they cost. */
import { fileURLToPath } from "node:url"
import { onTerminal, screenOf, type TerminalOptions } from "./Terminal.ts"

/** A command as the session reads it: a line of JSON. */
export interface Typed {
  readonly args: ReadonlyArray<string>
  /** Environment variables beside those of the session. */
  readonly env: Readonly<Record<string, string>>
}

/** Stands before and after an exit code in the output of the session. */
export const SEPARATOR = "\u001e"

export interface Session {
  /** Runs a command to its end. */
  readonly run: (
    args: ReadonlyArray<string>,
    env?: Readonly<Record<string, string>>
  ) => Promise<{ readonly code: number; readonly screen: string }>
  readonly close: () => Promise<void>
}

export const startSession = async (options: TerminalOptions): Promise<Session> => {
  const terminal = onTerminal([process.execPath, fileURLToPath(new URL("Session.ts", import.meta.url))], options)
  // the parts between separators: output and exit code in turn, and at last what follows the last exit code
  const parts = () => terminal.output().split(SEPARATOR)
  const done = async (commands: number) => terminal.prints(() => parts().length > 2 * commands)
  await done(1)
  let commands = 1
  return {
    run: async (args, env = {}) => {
      terminal.type(`${JSON.stringify({ args, env } satisfies Typed)}\n`)
      await done(++commands)
      const [output, code] = parts().slice(2 * commands - 2)
      return { code: Number(code), screen: screenOf(output!) }
    },
    close: async () => {
      // Ctrl-D does not end it: the session reads a raw terminal
      terminal.kill()
      await terminal.ended
    }
  }
}

/** Runs a program in a terminal of 110 columns and 60 rows, if not given otherwise, and reads its screen. */
import { spawn } from "node:child_process"

/** Runs its arguments in a new pseudo-terminal; standard input is typed into it. */
const PTY = `
import fcntl, os, pty, select, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", int(sys.argv[1]), 110, 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
typing = [0]
while True:
    ready, _, _ = select.select([terminal, *typing], [], [])
    if 0 in ready:
        typed = os.read(0, 1024)
        if typed: os.write(terminal, typed)
        else: typing = []
    if terminal in ready:
        try: data = os.read(terminal, 65536)
        except OSError: break
        if not data: break
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
`

/** The text on the screen: cursor movements are applied, colours are removed. */
export const screenOf = (output: string): string => {
  const lines: Array<string> = [""]
  let row = 0
  let column = 0
  for (const part of output.match(/\u001b\[[0-9;?]*[A-Za-z]|\r|\n|[^\u001b\r\n]+|\u001b/gu) ?? []) {
    const move = /^\u001b\[([0-9;?]*)([A-Za-z])$/u.exec(part)
    if (part === "\r") column = 0
    else if (part === "\n") {
      row++
      lines[row] ??= ""
    } else if (move !== null) {
      const [, number, letter] = move
      if (letter === "A") row = Math.max(0, row - Number(number || "1"))
      if (letter === "K") lines[row] = lines[row]!.slice(0, column)
      if (letter === "J") {
        lines[row] = lines[row]!.slice(0, column)
        lines.length = row + 1
      }
    } else {
      const line = lines[row]!.padEnd(column)
      lines[row] = line.slice(0, column) + part + line.slice(column + part.length)
      column += part.length
    }
  }
  return lines
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd()
}

export interface TerminalOptions {
  readonly cwd?: string
  readonly env: Readonly<Record<string, string>>
  /** Default: 60. */
  readonly rows?: number
}

export interface Run {
  /** Everything that was printed. */
  readonly output: () => string
  /** The screen now. */
  readonly screen: () => string
  /** Waits until `isSeen`, which is called after each output; fails as `shows` does. */
  readonly prints: (isSeen: () => boolean) => Promise<void>
  /** Waits until the screen matches; fails if the program ends first, or after {@link LIMIT_MS}. */
  readonly shows: (what: RegExp) => Promise<void>
  readonly type: (text: string) => void
  /** Types Ctrl-C. */
  readonly interrupt: () => void
  /** The exit code, after the program has ended. */
  readonly ended: Promise<number | null>
  /** As `ended`; kills the program and fails with its screen after {@link LIMIT_MS}. */
  readonly ends: () => Promise<number | null>
  /** Closes the terminal, which ends the program. */
  readonly kill: () => void
}

/** Longest wait for a screen or an end, in ms; long enough for a busy machine. */
const LIMIT_MS = 60_000

/** Starts a program in a terminal. */
export const onTerminal = (command: ReadonlyArray<string>, options: TerminalOptions): Run => {
  const child = spawn("/usr/bin/python3", ["-c", PTY, String(options.rows ?? 60), ...command], {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, TERM: "xterm-256color", NO_COLOR: "", ...options.env },
    stdio: ["pipe", "pipe", "inherit"]
  })
  let output = ""
  let isOver = false
  const waiting = new Set<() => void>()
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text
    for (const look of waiting) look()
  })
  const ended = new Promise<number | null>((resolve) =>
    child.once("close", (code) => {
      isOver = true
      for (const look of waiting) look()
      resolve(code)
    })
  )
  const screen = () => screenOf(output)
  const kill = () => void child.kill("SIGKILL")
  const waitFor = (what: string, isSeen: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const done = (settle: () => void) => {
        clearTimeout(timer)
        waiting.delete(look)
        settle()
      }
      const look = () => {
        if (isSeen()) done(resolve)
        else if (isOver) done(() => reject(new Error(`the program ended before it showed ${what}:\n${screen()}`)))
      }
      const timer = setTimeout(
        () => done(() => reject(new Error(`no ${what} in ${LIMIT_MS} ms:\n${screen()}`))),
        LIMIT_MS
      )
      waiting.add(look)
      look()
    })
  return {
    output: () => output,
    screen,
    prints: (isSeen) => waitFor("the output that is waited for", isSeen),
    ended,
    type: (text) => void child.stdin.write(text),
    interrupt: () => void child.stdin.write("\u0003"),
    kill,
    ends: () =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          kill()
          reject(new Error(`the program did not end in ${LIMIT_MS} ms:\n${screen()}`))
        }, LIMIT_MS)
        void ended.then((code) => {
          clearTimeout(timer)
          resolve(code)
        })
      }),
    shows: (what) => waitFor(String(what), () => what.test(screen()))
  }
}

/** What a process did to the files below a directory, as strace saw it: writes, syncs and names in their order. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

/** One thing that happened. Paths are relative to the directory; `""` is the directory itself. */
export type Operation =
  | { readonly kind: "create"; readonly path: string; readonly directory: boolean }
  | { readonly kind: "write"; readonly path: string; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly path: string; readonly size: number }
  | { readonly kind: "sync"; readonly path: string }
  | { readonly kind: "rename"; readonly path: string; readonly to: string }
  | { readonly kind: "unlink"; readonly path: string }
  /** What it wrote on its standard output. */
  | { readonly kind: "say"; readonly text: string }

/** Whether programs can be traced here. */
export const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0

const CALLS =
  "openat,close,pwrite64,write,fsync,fdatasync,ftruncate,?rename,?renameat,renameat2,?unlink,unlinkat,?mkdir,mkdirat"

/** Characters of a write that strace shows at most. */
const BYTES_MAX = 64 * 1024 * 1024

/** Runs a program of the project under strace, which writes down what it does. */
export const record = (file: string, program: string, argument: string): { readonly killed: boolean } => {
  const options = ["-f", "--seccomp-bpf", "-o", file, "-e", `trace=${CALLS}`, "-e", "signal=none", "-xx"]
  const { signal, status, stderr } = spawnSync(
    "strace",
    [...options, "-s", String(BYTES_MAX), process.execPath, program, argument],
    { encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] }
  )
  if (status !== 0 && signal !== "SIGKILL") throw new Error(`${program} ended with ${status ?? signal}: ${stderr}`)
  return { killed: signal === "SIGKILL" }
}

const bytesOf = (argument: string): Buffer => Buffer.from(argument.slice(1, -1).replaceAll("\\x", ""), "hex")
const textOf = (argument: string): string => bytesOf(argument).toString("utf8")

/** Calls as they returned; one that another thread came between is put together again. */
function* callsOf(
  trace: string
): Generator<{ readonly name: string; readonly args: Array<string>; readonly result: number }> {
  const unfinished = new Map<string, string>()
  for (const line of trace.split("\n")) {
    const space = line.indexOf(" ")
    const thread = line.slice(0, space)
    let call = line.slice(space).trimStart()
    if (call.endsWith("<unfinished ...>")) {
      unfinished.set(thread, call.slice(0, -"<unfinished ...>".length))
      continue
    }
    const resumed = /^<\.\.\. \w+ resumed>/u.exec(call)
    if (resumed !== null) call = (unfinished.get(thread) ?? "") + call.slice(resumed[0].length)
    const open = call.indexOf("(")
    const close = call.lastIndexOf(") ")
    const result = /^\)\s+= (-?\d+)/u.exec(call.slice(close))
    if (open < 0 || close < 0 || result === null) continue
    const args = call.slice(open + 1, close).split(", ")
    yield { name: call.slice(0, open), args: args.map((arg) => arg.trim()), result: Number(result[1]) }
  }
}

/** Reads a trace. `isKept` says which paths below the directory matter; `there` are those that exist, before and after. */
export const operationsOf = (
  file: string,
  directory: string,
  isKept: (path: string) => boolean,
  there: Set<string>
): ReadonlyArray<Operation> => {
  const operations: Array<Operation> = []
  const files = new Map<number, { path: string; at: number }>()
  const inside = (path: string): string | undefined => {
    if (path === directory) return ""
    if (!path.startsWith(`${directory}/`)) return undefined
    const name = path.slice(directory.length + 1)
    return isKept(name) ? name : undefined
  }
  const unlink = (path: string | undefined) => {
    if (path === undefined) return
    there.delete(path)
    operations.push({ kind: "unlink", path })
  }
  const rename = (from: string | undefined, to: string | undefined) => {
    if (from === undefined || to === undefined) return
    there.delete(from)
    there.add(to)
    for (const open of files.values()) if (open.path === from) open.path = to
    operations.push({ kind: "rename", path: from, to })
  }
  const mkdir = (path: string | undefined) => {
    if (path === undefined) return
    there.add(path)
    operations.push({ kind: "create", path, directory: true })
  }
  for (const { name, args, result } of callsOf(readFileSync(file, "latin1"))) {
    if (result < 0) continue
    const number = Number(args[0])
    const open = files.get(number)
    switch (name) {
      case "openat": {
        const path = inside(textOf(args[1]!))
        if (path === undefined) break
        files.set(result, { path, at: 0 })
        if (args[2]!.includes("O_CREAT") && !there.has(path)) {
          there.add(path)
          operations.push({ kind: "create", path, directory: false })
        } else if (args[2]!.includes("O_TRUNC")) operations.push({ kind: "truncate", path, size: 0 })
        there.add(path)
        break
      }
      case "close":
        files.delete(number)
        break
      case "pwrite64":
        if (open === undefined) break
        operations.push({
          kind: "write",
          path: open.path,
          at: Number(args[3]),
          bytes: bytesOf(args[1]!).subarray(0, result)
        })
        break
      case "write": {
        if (number === 1) operations.push({ kind: "say", text: textOf(args[1]!) })
        if (open === undefined) break
        operations.push({ kind: "write", path: open.path, at: open.at, bytes: bytesOf(args[1]!).subarray(0, result) })
        open.at += result
        break
      }
      case "ftruncate":
        if (open !== undefined) operations.push({ kind: "truncate", path: open.path, size: Number(args[1]) })
        break
      case "fsync":
      case "fdatasync":
        if (open !== undefined) operations.push({ kind: "sync", path: open.path })
        break
      case "rename":
        rename(inside(textOf(args[0]!)), inside(textOf(args[1]!)))
        break
      case "renameat":
      case "renameat2":
        rename(inside(textOf(args[1]!)), inside(textOf(args[3]!)))
        break
      case "unlink":
        unlink(inside(textOf(args[0]!)))
        break
      case "unlinkat":
        unlink(inside(textOf(args[1]!)))
        break
      case "mkdir":
        mkdir(inside(textOf(args[0]!)))
        break
      case "mkdirat":
        mkdir(inside(textOf(args[1]!)))
        break
      default:
    }
  }
  return operations
}

/** Executes a Dockerfile in an empty folder, as far as that needs no container engine: COPY and RUN. */
import { execFileSync } from "node:child_process"
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { delimiter, dirname, join, resolve } from "node:path"
import { PREFIX } from "../Bundle.ts"

interface Stage {
  readonly folder: string
  workdir: string
  readonly env: Record<string, string>
  readonly exposed: Array<string>
  user: string
  entrypoint: ReadonlyArray<string>
  command: ReadonlyArray<string>
  healthcheck: ReadonlyArray<string>
}

/** The last stage, its files below `folder`. */
export interface Image extends Readonly<Stage> {
  /** The working directory as a path of this machine. */
  readonly home: string
}

/** Time limit of one step on a busy machine, in ms. */
const STEP_MS = 480_000

/** The environment of a program of the image: this test's Node is first in PATH. */
export const PATH = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter)

/** The top-level names that `.dockerignore` allows into the context. */
const contextOf = (root: string): ReadonlySet<string> => {
  const lines = readFileSync(join(root, ".dockerignore"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
  if (lines[0] !== "*" || lines.slice(1).some((line) => !/^![\w.-]+$/u.test(line))) {
    throw new Error(".dockerignore: expected * and then the names that are let in")
  }
  return new Set(lines.slice(1).map((line) => line.slice(1)))
}

const stepsOf = (text: string): ReadonlyArray<{ readonly instruction: string; readonly rest: string }> =>
  text
    .replaceAll(/\\\n/gu, " ")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, instruction, rest] = /^([A-Z]+)\s+(.*)$/u.exec(line) ?? []
      if (instruction === undefined || rest === undefined) throw new Error(`Dockerfile: cannot read ${line}`)
      return { instruction, rest }
    })

const list = (json: string): ReadonlyArray<string> => JSON.parse(json) as ReadonlyArray<string>

/** Executes all steps below `folder`, which is empty. A step that needs an engine, or is unknown, fails. */
export const build = (root: string, folder: string): Image => {
  const context = contextOf(root)
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  const current = (): Stage => {
    if (stage === undefined) throw new Error("Dockerfile: a step before FROM")
    return stage
  }
  const inside = (of: Stage, path: string): string => join(of.folder, resolve(of.workdir, path))

  const copy = (rest: string): void => {
    const words = rest.split(/\s+/u)
    const paths = words.filter((word) => !word.startsWith("--"))
    const from = words.find((word) => word.startsWith("--from="))?.slice("--from=".length)
    const target = paths.at(-1)!
    for (const source of paths.slice(0, -1)) {
      const origin = from === undefined ? undefined : stages.get(from)
      if (from !== undefined && origin === undefined) throw new Error(`Dockerfile: no stage ${from}`)
      if (origin === undefined && !context.has(source.split("/")[0]!)) {
        throw new Error(`Dockerfile: ${source} is not in the context`)
      }
      const found = origin === undefined ? join(root, source) : join(origin.folder, source)
      const to = target.endsWith("/") ? join(target, source.split("/").at(-1)!) : target
      cpSync(found, inside(current(), to), { recursive: true, verbatimSymlinks: true })
    }
  }
  /** The packages of `npm ci` here, which has the same lockfile: hard links, because an installation takes half a minute. Without the bundles of the tests. */
  const link = (): void => {
    const to = inside(current(), "node_modules")
    const canLink = statSync(root).dev === statSync(folder).dev
    execFileSync("cp", [canLink ? "-al" : "-a", join(root, "node_modules"), to])
    for (const name of readdirSync(to)) if (name.startsWith(PREFIX)) rmSync(join(to, name), { recursive: true })
    // npm writes this file in place
    const lock = ".package-lock.json"
    rmSync(join(to, lock))
    copyFileSync(join(root, "node_modules", lock), join(to, lock))
  }
  const run = (command: string): void => {
    if (command.startsWith("npm ci ")) return link()
    if (/(?:^|\s)[/~]/u.test(command)) throw new Error(`Dockerfile: leaves its folder: ${command}`)
    execFileSync("sh", ["-c", command], {
      cwd: inside(current(), "."),
      env: { ...process.env, PATH, ...current().env },
      stdio: ["ignore", "ignore", "pipe"],
      timeout: STEP_MS
    })
  }

  for (const { instruction, rest } of stepsOf(readFileSync(join(root, "Dockerfile"), "utf8"))) {
    switch (instruction) {
      case "FROM": {
        const name = / AS (\S+)$/u.exec(rest)?.[1] ?? "last"
        const made = join(folder, name)
        mkdirSync(made)
        stage = {
          folder: made,
          workdir: "/",
          env: {},
          exposed: [],
          user: "root",
          entrypoint: [],
          command: [],
          healthcheck: []
        }
        stages.set(name, stage)
        break
      }
      case "WORKDIR":
        current().workdir = resolve(current().workdir, rest)
        mkdirSync(inside(current(), "."), { recursive: true })
        break
      case "ENV":
        for (const pair of rest.split(/\s+/u)) current().env[pair.split("=")[0]!] = pair.slice(pair.indexOf("=") + 1)
        break
      case "COPY":
        copy(rest)
        break
      case "RUN":
        run(rest)
        break
      case "USER":
        current().user = rest
        break
      case "EXPOSE":
        current().exposed.push(...rest.split(/\s+/u))
        break
      case "HEALTHCHECK":
        current().healthcheck = list(rest.slice(rest.indexOf("CMD ") + 4))
        break
      case "ENTRYPOINT":
        current().entrypoint = list(rest)
        break
      case "CMD":
        current().command = list(rest)
        break
      case "VOLUME":
        break
      default:
        throw new Error(`Dockerfile: ${instruction} is not supported`)
    }
  }
  return { ...current(), home: inside(current(), ".") }
}

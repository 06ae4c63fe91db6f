/**
 * The benchmark protocol: servers and peers alternate, the server on one core, load and backends on another. Rounds are
 * interleaved (A B C, C B A), the first one is a discarded warm-up. Figures are CPU microseconds per correct response, and
 * ratios within a round.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { connect } from "node:net"
import { cpus, loadavg, release } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))

/** A server's usage, over IPC. */
interface Usage {
  readonly cpu_us: number
  /** Of the main thread alone. */
  readonly main_us: number
  readonly rss_mb: number
  /** Heap and external memory. */
  readonly heap_mb: number
  readonly gc_ms: number
}

/** A program under test, or one that a test needs, in a separate process. */
export interface Server {
  readonly name: string
  readonly port: number
  readonly pid: number
  /** Its first message, besides its port. */
  readonly ready: Readonly<Record<string, unknown>>
  readonly usage: () => Promise<Usage>
  /** The same after a full garbage collection. */
  readonly settled: () => Promise<Usage>
  /** Sends a message and waits for the response. */
  readonly ask: <A>(message: unknown) => Promise<A>
  readonly stop: () => Promise<void>
}

/** Restricts a process and its threads to one core. */
export const pin = (pid: number, core: number) => {
  if (existsSync("/usr/bin/taskset")) execFileSync("taskset", ["-apc", String(core), String(pid)], { stdio: "ignore" })
}

/** Starts a server module; it sends `{ port }` when it serves, and its usage when asked. */
export const start = async (
  name: string,
  module: string,
  core: number,
  env: Readonly<Record<string, string>> = {}
): Promise<Server> => {
  const child: ChildProcess = fork(join(here, "servers", module), [], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    execArgv: ["--expose-gc"]
  })
  let fail: (error: Error) => void = () => {}
  child.on("exit", (code) => fail(new Error(`${name} ended with ${code}`)))
  const next = <A>(): Promise<A> =>
    new Promise((resolve, reject) => {
      fail = reject
      child.once("message", (message) => resolve(message as A))
    })
  const { port, ...ready } = await next<{ readonly port: number }>()
  pin(child.pid!, core)
  const ask = <A>(message: unknown): Promise<A> => {
    const answer = next<A>()
    child.send(message as object)
    return answer
  }
  return {
    name,
    port,
    pid: child.pid!,
    ready,
    usage: () => ask("usage"),
    settled: () => ask("settled"),
    ask,
    stop: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve())
        child.disconnect()
        child.kill("SIGTERM")
        setTimeout(() => child.kill("SIGKILL"), 8_000).unref()
      })
  }
}

/** The next request of a connection, as bytes. */
export type NextRequest = () => Buffer

export interface LoadResult {
  readonly completed: number
  readonly errors: number
  readonly seconds: number
  readonly latencies_us: Float64Array
  readonly hash: string
}

/**
 * Keeps `connections` requests in flight for `seconds`. A response counts if its status is 200 and its body passes `correct`;
 * the hash covers the shapes of a sample of bodies.
 */
export const load = async (options: {
  readonly port: number
  readonly connections: number
  readonly seconds: number
  readonly requests_max: number
  readonly next: NextRequest
  readonly correct: (body: string) => boolean
}): Promise<LoadResult> => {
  const latencies = new Float64Array(4_000_000)
  let completed = 0
  let errors = 0
  let sent = 0
  const hash = createHash("sha256")
  const began = process.hrtime.bigint()
  const deadline = began + BigInt(Math.round(options.seconds * 1e9))
  const connection = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(options.port, "127.0.0.1")
      socket.setNoDelay(true)
      let text = ""
      let at = 0n
      const send = () => {
        if (process.hrtime.bigint() >= deadline || sent >= options.requests_max) {
          socket.end()
          resolve()
          return
        }
        sent++
        at = process.hrtime.bigint()
        socket.write(options.next())
      }
      socket.on("connect", send)
      socket.on("error", reject)
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1")
        const head = text.indexOf("\r\n\r\n")
        if (head === -1) return
        const length = /content-length: (\d+)/iu.exec(text)
        if (length === null) return reject(new Error(`an answer without content-length: ${text.slice(0, 200)}`))
        const end = head + 4 + Number(length[1])
        if (text.length < end) return
        const body = text.slice(head + 4, end)
        if (text.startsWith("HTTP/1.1 200") && options.correct(body)) {
          if (completed < latencies.length) latencies[completed] = Number(process.hrtime.bigint() - at) / 1_000
          completed++
          if (completed % 1_000 === 1) hash.update(body.replace(/[0-9a-f-]{36}|bench-\d+/gu, "*"))
        } else {
          errors++
          if (errors === 1) console.error(text.slice(0, 400))
        }
        text = ""
        send()
      })
    })
  await Promise.all(Array.from({ length: options.connections }, connection))
  const seconds = Number(process.hrtime.bigint() - began) / 1e9
  return {
    completed,
    errors,
    seconds,
    latencies_us: latencies.slice(0, Math.min(completed, latencies.length)).toSorted(),
    hash: hash.digest("hex").slice(0, 16)
  }
}

export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
}
export const summary = (values: ReadonlyArray<number>): Summary => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >>> 1
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
  return { median, min: sorted[0]!, max: sorted.at(-1)! }
}

export const percentile = (sorted: Float64Array, p: number): number =>
  sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor((p / 100) * sorted.length))]!

export interface Row {
  readonly name: string
  readonly cpu_us: Summary
  /** Ratio to the floor, per round. */
  readonly ratio: Summary
  /** CPU of the main thread in relation to all of the floor's, per round; where other threads do the rest. */
  readonly main_ratio?: Summary
  readonly rate: Summary
  readonly p50_us: number
  readonly p99_us: number
  readonly rss_mb: number
  readonly gc_ms: number
  readonly errors: number
  readonly hash: string
}

/** Runs all variants in interleaved rounds; the first server is the floor. */
export const compare = async (options: {
  readonly servers: ReadonlyArray<Server>
  readonly rounds: number
  readonly run: (server: Server) => Promise<LoadResult>
}): Promise<ReadonlyArray<Row>> => {
  const cpu = new Map(options.servers.map((server) => [server.name, [] as Array<number>]))
  const rate = new Map(options.servers.map((server) => [server.name, [] as Array<number>]))
  const main = new Map(options.servers.map((server) => [server.name, [] as Array<number>]))
  const last = new Map<string, { result: LoadResult; usage: Usage }>()
  const errors = new Map<string, number>()
  for (let round = 0; round <= options.rounds; round++) {
    const order = round % 2 === 0 ? options.servers : options.servers.toReversed()
    for (const server of order) {
      const before = await server.usage()
      const result = await options.run(server)
      const after = await server.usage()
      errors.set(server.name, (errors.get(server.name) ?? 0) + result.errors)
      if (round === 0) continue // warm-up
      cpu.get(server.name)!.push((after.cpu_us - before.cpu_us) / result.completed)
      main.get(server.name)!.push((after.main_us - before.main_us) / result.completed)
      rate.get(server.name)!.push(result.completed / result.seconds)
      last.set(server.name, { result, usage: { ...after, gc_ms: after.gc_ms - before.gc_ms } })
    }
  }
  const floor = cpu.get(options.servers[0]!.name)!
  return options.servers.map(({ name }) => {
    const { result, usage } = last.get(name)!
    return {
      name,
      cpu_us: summary(cpu.get(name)!),
      ratio: summary(cpu.get(name)!.map((value, round) => value / floor[round]!)),
      main_ratio: summary(main.get(name)!.map((value, round) => value / floor[round]!)),
      rate: summary(rate.get(name)!),
      p50_us: percentile(result.latencies_us, 50),
      p99_us: percentile(result.latencies_us, 99),
      rss_mb: usage.rss_mb,
      gc_ms: usage.gc_ms,
      errors: errors.get(name)!,
      hash: result.hash
    }
  })
}

const steal = () => {
  const line = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]!.split(/\s+/u)
  return Number(line[8] ?? 0)
}

/** The head of a report: place and method of the measurement. */
export const header = (command: string, rounds: number, leftOut: string) => {
  const commit = (() => {
    try {
      return execFileSync("git", ["describe", "--always", "--dirty"], { cwd: here, encoding: "utf8" }).trim()
    } catch {
      return "unknown"
    }
  })()
  return {
    commit,
    node: process.version,
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    kernel: release(),
    command,
    rounds,
    load: loadavg()[0],
    steal: steal(),
    leftOut
  }
}

const fixed = (value: number, digits: number) => value.toFixed(digits)

export const print = (head: ReturnType<typeof header>, rows: ReadonlyArray<Row>): void => {
  console.log(JSON.stringify({ ...head, load_after: loadavg()[0], steal_after: steal() }))
  for (const row of rows) console.log(JSON.stringify(row))
  const noisy = rows[0]!.cpu_us.max / rows[0]!.cpu_us.min > 1.35
  console.log(
    `\n| variant | CPU µs | ratio to ${rows[0]!.name} | main thread | rate/s | p50 µs | p99 µs | RSS MB | GC ms | errors |`
  )
  console.log("|---|---|---|---|---|---|---|---|---|---|")
  for (const row of rows) {
    console.log(
      `| ${row.name} | ${fixed(row.cpu_us.median, 1)} [${fixed(row.cpu_us.min, 1)}-${fixed(row.cpu_us.max, 1)}] | ` +
        `${fixed(row.ratio.median, 2)} [${fixed(row.ratio.min, 2)}-${fixed(row.ratio.max, 2)}] | ${row.main_ratio === undefined ? "" : fixed(row.main_ratio.median, 2)} | ${fixed(row.rate.median, 0)} | ` +
        `${fixed(row.p50_us, 0)} | ${fixed(row.p99_us, 0)} | ${fixed(row.rss_mb, 0)} | ${fixed(row.gc_ms, 0)} | ${row.errors} |`
    )
  }
  if (noisy) console.log("\nnoisy: the floor's own CPU spread is above 1.35; run again")
}

/**
 * `node verification/attacks/main.ts [NAME] [--count N] [--pairs N] [--requests N]`: what an attack costs the others. A gateway in a
 * process of its own is asked by a good client while nobody attacks and while everybody does, in turns, and the figures of
 * each pair are printed. Attackers come from another address than the good client. `constant-time` measures comparisons of
 * secrets; without a name all of them run, one after another.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import * as Http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { cpuOf } from "../harness/Cpu.ts"
import * as AccessCode from "../../src/domain/AccessCode.ts"
import { sameSecret } from "../../src/domain/Secrets.ts"
import { attacks, type Kind } from "./Attackers.ts"
import { type Welch, welch } from "./Welch.ts"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import type { Held } from "../harness/MemoryProbe.ts"

/** Time that a start may take on a busy machine, in ms. */
const START_MS = 180_000
/** Time the attackers may take to be all there, in ms. */
const GATHER_MS = 120_000
/** Pause between two requests of the good client, in ms. */
const PAUSE_MS = 5
/** Heap of the gateway, in MB. */
const HEAP_MB = 512
const PROBE = new URL("../harness/MemoryProbe.ts", import.meta.url).href
const PATH = "/api/v1/market/tickers?symbol=BTC-USDC"

export interface Options {
  readonly count: number
  readonly pairs: number
  /** Of the good client, in either half of a pair. */
  readonly requests: number
}
export interface Half {
  readonly p50_ms: number
  readonly p99_ms: number
  /** Requests that were not answered 200. */
  readonly refused: number
  /** Cores that the gateway had, all of its threads. */
  readonly cores: number
  /** Largest resident memory meanwhile, all of its threads: garbage that is not collected yet counts. */
  readonly rss_bytes: number
  /** What its heaps and buffers held at the end, after a collection. */
  readonly held_bytes: number
}
export interface Pair {
  readonly quiet: Half
  readonly attacked: Half
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Memory of a process, in bytes. */
const rssOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024

/** Asks one after another over a kept connection. */
const ask = async (gateway: GatewayProcess, requests: number): Promise<Half> => {
  const { pid, url } = gateway
  const [began, cpu] = [performance.now(), cpuOf(pid)]
  const agent = new Http.Agent({ keepAlive: true, maxSockets: 1 })
  const times: Array<number> = []
  let refused = 0
  let rss_bytes = 0
  for (let i = 0; i < requests; i++) {
    const start = performance.now()
    const status = await new Promise<number | undefined>((resolve) => {
      const request = Http.get(`${url}${PATH}`, { agent }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode))
      })
      request.once("error", () => resolve(undefined))
    })
    times.push(performance.now() - start)
    if (status !== 200) refused++
    rss_bytes = Math.max(rss_bytes, rssOf(pid))
    await sleep(PAUSE_MS)
  }
  agent.destroy()
  const cores = (cpuOf(pid) - cpu) / 1_000 / (performance.now() - began)
  const sorted = times.sort((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
  const { main_bytes, threads_bytes } = await gateway.ask<Held>({})
  return { p50_ms: at(0.5), p99_ms: at(0.99), refused, cores, rss_bytes, held_bytes: main_bytes + threads_bytes }
}

/** Attackers, once they are at work. */
const gather = async (kind: Kind, count: number, url: string): Promise<ChildProcess> => {
  const file = join(fileURLToPath(new URL(".", import.meta.url)), "Attackers.ts")
  const child = fork(file, [kind, String(count), url])
  await once(child, "message", { signal: AbortSignal.timeout(GATHER_MS) })
  return child
}
const dismiss = async (child: ChildProcess): Promise<void> => {
  const gone = once(child, "exit")
  child.kill("SIGKILL")
  await gone
}

/** Pairs of one attack, quiet half first and last in turns. */
export const run = async (kind: Kind, options: Partial<Options> = {}): Promise<ReadonlyArray<Pair>> => {
  const { count = attacks[kind].count, pairs = 5, requests = 400 } = options
  const dataDir = mkdtempSync(join(tmpdir(), "attacks-"))
  const env = {
    SIM_MAKER: "off",
    INDEX_SOURCE: "manual",
    LOG_LEVEL: "error",
    RATE_LIMIT_MODE: "off",
    // attackers of many addresses keep to what each may have; one of one address may have all
    ...("perAddress" in attacks[kind] ? {} : { CONNECTIONS_PER_IP: "0", WS_CONNECTIONS_PER_IP: "0" }),
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`
  }
  const gateway = await startGateway({ dataDir, env, preload: PROBE, ready_ms: START_MS })
  try {
    await ask(gateway, requests)
    const found: Array<Pair> = []
    for (let i = 0; i < pairs; i++) {
      const attacked = async () => {
        const child = await gather(kind, count, gateway.url)
        try {
          return await ask(gateway, requests)
        } finally {
          await dismiss(child)
        }
      }
      const first = i % 2 === 0 ? await ask(gateway, requests) : undefined
      const under = await attacked()
      found.push({ quiet: first ?? (await ask(gateway, requests)), attacked: under })
    }
    return found
  } finally {
    await gateway.kill()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Guesses that differ from a secret in their first character, and only in their last. */
const guessesOf = (secret: string): readonly [string, string] => {
  const changed = (at: number) => {
    const bytes = Buffer.from(secret)
    bytes[at] = bytes[at] === 65 ? 66 : 65
    return bytes.toString()
  }
  return [changed(0), changed(secret.length - 1)]
}

/** The comparisons that decide on a secret that a stranger sends. */
export const comparisons = (samples = 100_000): Readonly<Record<string, Welch>> => {
  const password = "correct-horse-battery-staple-0123456789"
  const code = "0123-4567-89AB"
  return {
    "Basic, by sameSecret": welch((guess) => sameSecret(guess, password), guessesOf(password), samples),
    "access code, by its digest": welch((guess) => AccessCode.hashOfCode(guess), guessesOf(code), samples)
  }
}

const mib = (bytes: number) => (bytes / 1024 / 1024).toFixed(0)
const show = ({ cores, held_bytes, p50_ms, p99_ms, refused, rss_bytes }: Half) =>
  `p50 ${p50_ms.toFixed(2)}, p99 ${p99_ms.toFixed(2)} ms, ${refused} refused, ${cores.toFixed(2)} cores, ` +
  `${mib(held_bytes)} MiB held, ${mib(rss_bytes)} MiB resident`
/** What the attack added to the memory that the gateway had before it, in bytes. */
export const growthOf = (pairs: ReadonlyArray<Pair>): number =>
  Math.max(...pairs.map(({ attacked }) => attacked.held_bytes)) - pairs[0]!.quiet.held_bytes
const middle = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

const main = async (): Promise<void> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { count: { type: "string" }, pairs: { type: "string" }, requests: { type: "string" } }
  })
  const options = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]))
  const known = Object.keys(attacks) as Array<Kind>
  for (const name of positionals.length > 0 ? positionals : [...known, "constant-time"]) {
    console.log(name)
    if (name === "constant-time") {
      for (const [what, { means_ns, samples, t }] of Object.entries(comparisons())) {
        console.log(
          `  ${what}: t ${t.toFixed(2)}, ${means_ns.map((ns) => ns.toFixed(0)).join(" and ")} ns, ${samples} samples`
        )
      }
      continue
    }
    const kind = known.find((each) => each === name)
    if (kind === undefined) throw new Error(`no such attack: ${name}; there are ${known.join(", ")}, constant-time`)
    const pairs = await run(kind, options)
    for (const { attacked, quiet } of pairs) console.log(`  ${show(quiet)}   attacked ${show(attacked)}`)
    const ratio = (of: (half: Half) => number) => middle(pairs.map(({ attacked, quiet }) => of(attacked) / of(quiet)))
    const added = middle(pairs.map(({ attacked, quiet }) => attacked.cores - quiet.cores))
    const quiet = pairs.map(({ quiet }) => quiet.p99_ms)
    console.log(
      `  ratio, median of the pairs: p50 ${ratio(({ p50_ms }) => p50_ms).toFixed(2)}, p99 ${ratio(({ p99_ms }) => p99_ms).toFixed(2)}; ${added.toFixed(2)} cores more; ` +
        `p99 of the quiet halves ${Math.min(...quiet).toFixed(2)} to ${Math.max(...quiet).toFixed(2)} ms; ` +
        `${mib(growthOf(pairs))} MiB more memory`
    )
  }
}
if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

/**
 * The cost of an attack for other clients. A gateway in a process of its own answers a good client while nobody attacks and
 * while attackers do, by turns. Attackers use other addresses than the good client.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import * as Http from "node:http"
import { join } from "node:path"
import * as AccessCode from "../../src/domain/AccessCode.ts"
import { sameSecret } from "../../src/domain/Secrets.ts"
import { cpuOf } from "../harness/Cpu.ts"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import type { Held } from "../harness/MemoryProbe.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { QUIET_MARKET } from "../harness/Settings.ts"
import { percentile } from "../harness/Statistics.ts"
import { sleep } from "../harness/Wait.ts"
import { attacks, type Kind } from "./Attackers.ts"
import { type Welch, welch } from "./Welch.ts"

/** Longest time until all attackers are at work, in ms. */
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
  /** Requests of the good client in each half of a pair. */
  readonly requests: number
}
export interface Half {
  readonly p50_ms: number
  readonly p99_ms: number
  /** Requests with another answer than 200. */
  readonly refused: number
  /** Cores that the gateway used, all of its threads. */
  readonly cores: number
  /** Largest resident memory, garbage included. */
  readonly rss_bytes: number
  /** Heaps and buffers at the end, after a garbage collection. */
  readonly held_bytes: number
}
export interface Pair {
  readonly quiet: Half
  readonly attacked: Half
}

/** Resident memory of a process, in bytes. */
const rssOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024

/** Sends one request after another over one kept connection. */
const measure = async (gateway: GatewayProcess, requests: number): Promise<Half> => {
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
  const { main_bytes, threads_bytes } = await gateway.ask<Held>({})
  return {
    p50_ms: percentile(times, 0.5),
    p99_ms: percentile(times, 0.99),
    refused,
    cores,
    rss_bytes,
    held_bytes: main_bytes + threads_bytes
  }
}

/** Starts attackers and waits until all are at work. */
const gather = async (kind: Kind, count: number, url: string): Promise<ChildProcess> => {
  const file = join(import.meta.dirname, "Attackers.ts")
  const child = fork(file, [kind, String(count), url])
  await once(child, "message", { signal: AbortSignal.timeout(GATHER_MS) })
  return child
}
const dismiss = async (child: ChildProcess): Promise<void> => {
  const exited = once(child, "exit")
  child.kill("SIGKILL")
  await exited
}

/** Runs the gateway that is attacked. Attackers of many addresses stay below the limits of each; those of one address have no limit. */
export const serve = async <A>(kind: Kind, use: (gateway: GatewayProcess) => Promise<A>): Promise<A> => {
  const folder = temporaryFolder("attacks")
  const env = {
    ...QUIET_MARKET,
    RATE_LIMIT_MODE: "off",
    ...("perAddress" in attacks[kind] ? {} : { CONNECTIONS_PER_IP: "0", WS_CONNECTIONS_PER_IP: "0" }),
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`
  }
  const gateway = await startGateway({ dataDir: folder.path, env, preload: PROBE })
  try {
    return await use(gateway)
  } finally {
    await gateway.kill()
    folder.remove()
  }
}

/** Pairs of one attack on a gateway. The quiet half is first and last by turns. */
export const attack = async (
  gateway: GatewayProcess,
  kind: Kind,
  { count, pairs, requests }: Options
): Promise<ReadonlyArray<Pair>> => {
  await measure(gateway, requests)
  const found: Array<Pair> = []
  for (let i = 0; i < pairs; i++) {
    const attacked = async () => {
      const child = await gather(kind, count, gateway.url)
      try {
        return await measure(gateway, requests)
      } finally {
        await dismiss(child)
      }
    }
    const first = i % 2 === 0 ? await measure(gateway, requests) : undefined
    const under = await attacked()
    found.push({ quiet: first ?? (await measure(gateway, requests)), attacked: under })
  }
  return found
}

/** Pairs of one attack on a gateway of its own. */
export const run = (kind: Kind, options: Partial<Options> = {}): Promise<ReadonlyArray<Pair>> =>
  serve(kind, (gateway) => attack(gateway, kind, { count: attacks[kind].count, pairs: 5, requests: 400, ...options }))

/** Two guesses of a secret: one differs in its first character, one only in its last. */
const guessesOf = (secret: string): readonly [string, string] => {
  const changed = (at: number) => {
    const bytes = Buffer.from(secret)
    bytes[at] = bytes[at] === 65 ? 66 : 65
    return bytes.toString()
  }
  return [changed(0), changed(secret.length - 1)]
}

/** The comparisons of secrets that clients send. */
export const comparisons = (samples = 100_000): Readonly<Record<string, Welch>> => {
  const password = "correct-horse-battery-staple-0123456789"
  const code = "0123-4567-89AB"
  return {
    "Basic, by sameSecret": welch((guess) => sameSecret(guess, password), guessesOf(password), samples),
    "access code, by its digest": welch((guess) => AccessCode.hashOfCode(guess), guessesOf(code), samples)
  }
}

/** Memory that the attack added, in bytes. */
export const growthOf = (pairs: ReadonlyArray<Pair>): number =>
  Math.max(...pairs.map(({ attacked }) => attacked.held_bytes)) - pairs[0]!.quiet.held_bytes

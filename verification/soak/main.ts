/**
 * `node verification/soak/main.ts [minutes = 20]`: a whole exchange under steady load, looked at every ten seconds. Users trade, with
 * tokens and with API keys that come and go, read, and follow markets and their own accounts over sockets that are lost and
 * come back. Prints how fast what it holds grows, and ends with 1 where something surely grows faster than its bound.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Latch } from "effect"
import { Client, Wallet } from "../../src/client/index.ts"
import { pick, random } from "../harness/SimulatedUsers.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import { SYMBOL } from "../streams/Follower.ts"
import { trade, type Trader } from "../harness/Trader.ts"
import type { Held } from "../harness/MemoryProbe.ts"
import { type Sample, type Slope, slopeOf } from "./Slope.ts"
import { Findings, Returner } from "../storm/ReconnectingClient.ts"
import { enlistAll, wishOf } from "../storm/SubscriptionMix.ts"

export interface Options {
  readonly minutes: number
  readonly users: number
  readonly sockets: number
  /** How often what it holds is looked at, in ms. */
  readonly sample_ms: number
  readonly say: (line: string) => void
}

/** Growth an hour that is taken for a leak, by what is looked at. */
export const bounds = {
  /** Heap of the gateway's thread, and what it holds outside, in MiB. */
  main_mib: 16,
  /** Of the backend, in MiB, beyond {@link KEPT_BYTES} a command. */
  threads_mib: 16,
  /** All memory of the process, in MiB, beyond the same: pages that the allocator keeps are in it. */
  rss_mib: 128,
  handles: 10,
  descriptors: 10
} as const
/**
 * What the backend keeps of a command on purpose, for longer than a soak: its order among 1,000,000 closed ones, its id for
 * 24 hours, in bytes.
 */
export const KEPT_BYTES = 512
export type What = keyof typeof bounds

export interface Outcome {
  readonly slopes: Readonly<Record<What, Slope & { readonly first: number; readonly last: number }>>
  readonly samples: number
  readonly minutes: number
  /** Medians over the samples of how late the event loop was, and the most. */
  readonly lag: { readonly p99_ms: number; readonly max_ms: number }
  readonly commands: number
  readonly reads: number
  /** Reads that were not answered 200. */
  readonly readFaults: number
  readonly keys: number
  readonly sockets: { readonly messages: number; readonly lost: number; readonly refused: number }
  readonly recovered: number
  readonly unrecovered: number
  readonly gaps: number
}

/** Share of the time until caches and windows are full, which is looked at and not counted. */
const WARM_UP = 0.25
/** Mean pauses between two of a kind, in ms. */
const READ_MS = 100
const DROP_MS = 500
const KEY_MS = 5_000
/** Time that a start may take on a busy machine, in ms. */
const START_MS = 180_000
/** Longest wait until everything is under way, in ms. */
const BEGIN_MS = 120_000
/** A slope needs as many. */
const SAMPLES_MIN = 3
const MIB = 2 ** 20

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const paths = [
  `/market/tickers?symbol=${SYMBOL}`,
  `/market/orderbook?symbol=${SYMBOL}&depth=50`,
  "/order/history?limit=50",
  "/order/realtime?limit=50",
  "/position/list",
  "/account/balances"
]

const median = (values: ReadonlyArray<number>) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

export const run = async ({ minutes, sample_ms, say, sockets, users }: Options): Promise<Outcome> => {
  const dataDir = mkdtempSync(join(tmpdir(), "soak-"))
  const gateway = await startGateway({
    dataDir,
    ready_ms: START_MS,
    preload: new URL("../harness/MemoryProbe.ts", import.meta.url).href,
    env: {
      RATE_LIMIT_MODE: "off",
      CONNECTIONS_PER_IP: "0",
      WS_CONNECTIONS_PER_IP: "0",
      WS_CONNECTIONS_PER_USER: "0",
      ARRIVALS_PER_IP: "0",
      // windows that are full before the warm-up is over
      EVENTS_KEPT: "20000",
      USER_EVENTS_KEPT: "200",
      USER_EVENTS_KEPT_MS: "0",
      SIM_MAKER: "off",
      INDEX_SOURCE: "manual",
      FAUCET_DAILY_LIMIT: "1000000",
      LOG_LEVEL: "error"
    }
  })
  const stop = new AbortController()
  const next = random(1)
  const findings = new Findings()
  const counts = { commands: 0, reads: 0, readFaults: 0, keys: 0 }
  const returners: Array<Returner> = []
  /** Does one thing after another, with pauses, until the end. */
  const steadily = async (pause_ms: number, one: () => Promise<void>): Promise<void> => {
    while (!stop.signal.aborted) {
      await one()
      await sleep(next() * 2 * pause_ms)
    }
  }
  const work: Array<Promise<unknown>> = []
  try {
    const { url } = gateway
    const traders = await enlistAll(url, users)
    // every second user trades with an API key
    const acting = await Effect.runPromise(
      Effect.all(
        traders.map((trader, i) =>
          Effect.gen(function* () {
            if (i % 2 === 0) return trader
            const key = Wallet.generate().wallet
            const payload = { public_key: key.public_key, label: "trader", scopes: ["read", "trade"] as const }
            yield* trader.client.user.createApiKey({ payload })
            const client = yield* Client.make({ baseUrl: url, credential: { type: "api-key", key } })
            return { ...trader, client }
          })
        )
      )
    )
    const gate = Latch.makeUnsafe(true)
    /** Counts who begins a command. */
    const busy = new (class extends Set<Trader> {
      override add(trader: Trader): this {
        counts.commands++
        return super.add(trader)
      }
    })()
    const trading = Effect.all(
      acting.map((trader) => trade(trader, next, gate, busy, trader)),
      { concurrency: "unbounded", discard: true }
    )
    work.push(Effect.runPromise(trading, { signal: stop.signal }).catch(() => {}))
    for (let i = 0; i < sockets; i++) {
      const returner = new Returner(wishOf(traders, i), [url.replace("http", "ws")], 0, findings)
      returners.push(returner)
      returner.open()
    }
    work.push(
      steadily(READ_MS, async () => {
        const headers = { authorization: `Bearer ${pick(next, traders).token}` }
        const answer = await fetch(`${url}/api/v1${pick(next, paths)}`, { headers }).catch(() => undefined)
        await answer?.arrayBuffer()
        counts.reads++
        if (answer?.status !== 200) counts.readFaults++
      }),
      steadily(DROP_MS, async () => pick(next, returners).drop()),
      steadily(KEY_MS, async () => {
        const { client } = pick(next, traders)
        const { public_key } = Wallet.generate().wallet
        const payload = { public_key, label: "passing", scopes: ["read"] as const }
        await Effect.runPromise(
          client.user.createApiKey({ payload }).pipe(
            Effect.andThen(({ api_key_id }) => client.user.revokeApiKey({ params: { api_key_id } })),
            Effect.tap(() => Effect.sync(() => counts.keys++)),
            Effect.ignore
          )
        )
      })
    )

    for (const deadline = Date.now() + BEGIN_MS; findings.live < sockets || counts.reads === 0; await sleep(50)) {
      if (Date.now() > deadline) throw new Error(`not all under way in ${BEGIN_MS} ms: ${findings.live} sockets live`)
    }
    const held: Record<What, Array<Sample>> = {
      main_mib: [],
      threads_mib: [],
      rss_mib: [],
      handles: [],
      descriptors: []
    }
    const lags: Array<Held> = []
    const began = performance.now()
    const length_ms = minutes * 60_000
    for (let i = 1; performance.now() - began < length_ms || lags.length < SAMPLES_MIN; i++) {
      await sleep(Math.max(0, began + i * sample_ms - performance.now()))
      const told = await gateway.ask<Held>({ tell: "held" })
      const at_ms = performance.now() - began
      const values: Record<What, number> = {
        main_mib: told.main_bytes / MIB,
        threads_mib: told.threads_bytes / MIB,
        rss_mib: told.rss_bytes / MIB,
        handles: told.handles,
        descriptors: readdirSync(`/proc/${gateway.pid}/fd`).length
      }
      const line = Object.entries(values).map(([what, value]) => `${what} ${value.toFixed(1)}`)
      say(`${Math.round(at_ms / 1_000)} s  ${line.join("  ")}  lag p99 ${told.lag_p99_ms.toFixed(1)} ms`)
      if (at_ms < WARM_UP * length_ms) continue
      lags.push(told)
      for (const what of Object.keys(bounds) as Array<What>) held[what].push({ at_ms, value: values[what] })
    }
    const slopes = Object.fromEntries(
      Object.entries(held).map(([what, samples]) => [
        what,
        { ...slopeOf(samples), first: samples[0]!.value, last: samples.at(-1)!.value }
      ])
    ) as Outcome["slopes"]
    const { gaps, lost, messages, recovered, refused, unrecovered } = findings
    return {
      slopes,
      samples: lags.length,
      minutes: (performance.now() - began) / 60_000,
      lag: {
        p99_ms: median(lags.map(({ lag_p99_ms }) => lag_p99_ms)),
        max_ms: Math.max(...lags.map((l) => l.lag_max_ms))
      },
      ...counts,
      sockets: { messages, lost, refused },
      recovered,
      unrecovered,
      gaps
    }
  } finally {
    stop.abort()
    for (const returner of returners) returner.end()
    await Promise.all(work)
    await gateway.kill()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** The bound of what is looked at, with what is kept on purpose. */
export const boundOf = (what: What, { commands, minutes }: Pick<Outcome, "commands" | "minutes">): number => {
  const kept = ((commands / minutes) * 60 * KEPT_BYTES) / MIB
  return bounds[what] + (what === "threads_mib" || what === "rss_mib" ? kept : 0)
}

/** What surely grows faster than its bound: the whole interval lies above it. */
export const faultsOf = (outcome: Pick<Outcome, "slopes" | "commands" | "minutes">): ReadonlyArray<string> =>
  (Object.keys(bounds) as Array<What>).flatMap((what) => {
    const { per_hour, plus_minus } = outcome.slopes[what]
    const isSure = per_hour - plus_minus > boundOf(what, outcome)
    return isSure ? [`${what} grows by ${per_hour.toFixed(1)} ± ${plus_minus.toFixed(1)} an hour`] : []
  })

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const minutes = Number(process.argv[2] ?? 20)
  const outcome = await run({
    minutes,
    users: 8,
    sockets: 500,
    sample_ms: Math.min(10_000, (minutes * 60_000) / 20),
    say: (line) => console.log(line)
  })
  const { slopes, ...rest } = outcome
  console.log(JSON.stringify(rest))
  for (const what of Object.keys(bounds) as Array<What>) {
    const { first, last, per_hour, plus_minus } = slopes[what]
    const slope = `${per_hour.toFixed(1)} ± ${plus_minus.toFixed(1)} an hour, bound ${boundOf(what, outcome).toFixed(1)}`
    console.log(`  ${what}: ${first.toFixed(1)} -> ${last.toFixed(1)}, ${slope}`)
  }
  const faults = faultsOf(outcome)
  for (const fault of faults) console.log(`  above its bound: ${fault}`)
  process.exit(faults.length === 0 ? 0 : 1)
}

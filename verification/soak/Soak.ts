/**
 * A whole exchange under steady load, measured at intervals. Users trade with tokens and with API keys that come and go, read,
 * and follow markets and their accounts over sockets that are dropped and reconnect.
 */
import { readdirSync } from "node:fs"
import { Effect, Latch } from "effect"
import { Client, Wallet } from "../../src/client/index.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import type { Held } from "../harness/MemoryProbe.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { pick, random } from "../harness/Random.ts"
import { QUIET_MARKET, UNLIMITED } from "../harness/Settings.ts"
import { median } from "../harness/Statistics.ts"
import { enlistAll, SYMBOL, trade, type Trader } from "../harness/Trader.ts"
import { sleep, until } from "../harness/Wait.ts"
import { Findings, ReconnectingClient } from "../storm/ReconnectingClient.ts"
import { subscriptionOf } from "../storm/SubscriptionMix.ts"
import { type Sample, type Slope, slopeOf } from "./Slope.ts"

export interface Options {
  readonly minutes: number
  readonly users: number
  readonly sockets: number
  /** Pause between two samples, in ms. */
  readonly sample_ms: number
  readonly say: (line: string) => void
}

/** Growth an hour that counts as a leak, by figure. */
export const bounds = {
  /** Heap and external memory of the gateway's thread, in MiB. */
  main_mib: 16,
  /** The same of the backend, in MiB, beyond {@link KEPT_BYTES} a command. */
  threads_mib: 16,
  /** Resident memory of the process, in MiB, beyond the same. It includes pages that the allocator keeps. */
  rss_mib: 128,
  handles: 10,
  descriptors: 10
} as const
/** Memory that the backend keeps of a command for longer than a soak, in bytes: a closed order of 1,000,000, an id for 24 hours. */
export const KEPT_BYTES = 512
export type Figure = keyof typeof bounds

export interface Outcome {
  readonly slopes: Readonly<Record<Figure, Slope & { readonly first: number; readonly last: number }>>
  readonly samples: number
  readonly minutes: number
  /** Delay of the event loop: the median of the p99 of the samples, and the longest. */
  readonly lag: { readonly p99_ms: number; readonly max_ms: number }
  readonly commands: number
  readonly reads: number
  /** Reads with another answer than 200. */
  readonly readFaults: number
  readonly keys: number
  readonly sockets: { readonly messages: number; readonly lost: number; readonly refused: number }
  readonly recovered: number
  readonly unrecovered: number
  readonly gaps: number
}

/** Share of the time that does not count: caches and windows fill up. */
const WARM_UP = 0.25
/** Mean pauses between two reads, drops of a socket, and changes of an API key, in ms. */
const READ_MS = 100
const DROP_MS = 500
const KEY_MS = 5_000
/** Samples that a slope needs. */
const SAMPLES_MIN = 3
const MIB = 2 ** 20

const paths = [
  `/market/tickers?symbol=${SYMBOL}`,
  `/market/orderbook?symbol=${SYMBOL}&depth=50`,
  "/order/history?limit=50",
  "/order/realtime?limit=50",
  "/position/list",
  "/account/balances"
]

export const run = async ({ minutes, sample_ms, say, sockets, users }: Options): Promise<Outcome> => {
  const folder = temporaryFolder("soak")
  const gateway = await startGateway({
    dataDir: folder.path,
    preload: new URL("../harness/MemoryProbe.ts", import.meta.url).href,
    env: {
      ...UNLIMITED,
      ...QUIET_MARKET,
      // windows that are full before the warm-up ends
      EVENTS_KEPT: "20000",
      USER_EVENTS_KEPT: "200",
      USER_EVENTS_KEPT_MS: "0"
    }
  })
  const stop = new AbortController()
  const next = random(1)
  const findings = new Findings()
  const counts = { commands: 0, reads: 0, readFaults: 0, keys: 0 }
  const clients: Array<ReconnectingClient> = []
  /** Repeats an action, with pauses, until the end. */
  const steadily = async (pause_ms: number, one: () => Promise<void>): Promise<void> => {
    while (!stop.signal.aborted) {
      await one()
      await sleep(next() * 2 * pause_ms)
    }
  }
  const work: Array<Promise<unknown>> = []
  try {
    const { url } = gateway
    const traders = await Effect.runPromise(enlistAll(url, users, ["read", "trade"]))
    // every second user trades with an API key
    const acting = await Effect.runPromise(
      Effect.all(
        traders.map((trader, i) =>
          Effect.gen(function* () {
            if (i % 2 === 0) return trader
            const client = yield* Client.make({ baseUrl: url, credential: { type: "api-key", key: trader.key } })
            return { ...trader, client }
          })
        )
      )
    )
    const latch = Latch.makeUnsafe(true)
    /** Counts commands as they begin. */
    const busy = new (class extends Set<Trader> {
      override add(trader: Trader): this {
        counts.commands++
        return super.add(trader)
      }
    })()
    const trading = Effect.all(
      acting.map((trader) => trade(trader, next, latch, busy)),
      { concurrency: "unbounded", discard: true }
    )
    work.push(Effect.runPromise(trading, { signal: stop.signal }).catch(() => {}))
    for (let i = 0; i < sockets; i++) {
      const client = new ReconnectingClient(subscriptionOf(traders, i), [url.replace("http", "ws")], 0, findings)
      clients.push(client)
      client.open()
    }
    work.push(
      steadily(READ_MS, async () => {
        const headers = { authorization: `Bearer ${pick(next, traders).token}` }
        const answer = await fetch(`${url}/api/v1${pick(next, paths)}`, { headers }).catch(() => undefined)
        await answer?.arrayBuffer()
        counts.reads++
        if (answer?.status !== 200) counts.readFaults++
      }),
      steadily(DROP_MS, async () => pick(next, clients).drop()),
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

    await until(
      () => `${sockets} live sockets, of which ${findings.live} are live`,
      () => findings.live >= sockets && counts.reads > 0
    )
    const held: Record<Figure, Array<Sample>> = {
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
      const memory = await gateway.ask<Held>({})
      const at_ms = performance.now() - began
      const values: Record<Figure, number> = {
        main_mib: memory.main_bytes / MIB,
        threads_mib: memory.threads_bytes / MIB,
        rss_mib: memory.rss_bytes / MIB,
        handles: memory.handles,
        descriptors: readdirSync(`/proc/${gateway.pid}/fd`).length
      }
      const line = Object.entries(values).map(([figure, value]) => `${figure} ${value.toFixed(1)}`)
      say(`${Math.round(at_ms / 1_000)} s  ${line.join("  ")}  lag p99 ${memory.lag_p99_ms.toFixed(1)} ms`)
      if (at_ms < WARM_UP * length_ms) continue
      lags.push(memory)
      for (const figure of Object.keys(bounds) as Array<Figure>) held[figure].push({ at_ms, value: values[figure] })
    }
    const slopes = Object.fromEntries(
      Object.entries(held).map(([figure, samples]) => [
        figure,
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
    for (const client of clients) client.end()
    await Promise.all(work)
    await gateway.kill()
    folder.remove()
  }
}

/** The bound of a figure, with the memory that is kept of each command. */
export const boundOf = (figure: Figure, { commands, minutes }: Pick<Outcome, "commands" | "minutes">): number => {
  const kept = ((commands / minutes) * 60 * KEPT_BYTES) / MIB
  return bounds[figure] + (figure === "threads_mib" || figure === "rss_mib" ? kept : 0)
}

/** Figures that grow faster than their bound, with the whole confidence interval above it. */
export const violations = (outcome: Pick<Outcome, "slopes" | "commands" | "minutes">): ReadonlyArray<string> =>
  (Object.keys(bounds) as Array<Figure>).flatMap((figure) => {
    const { per_hour, plus_minus } = outcome.slopes[figure]
    const isSure = per_hour - plus_minus > boundOf(figure, outcome)
    return isSure ? [`${figure} grows by ${per_hour.toFixed(1)} ± ${plus_minus.toFixed(1)} an hour`] : []
  })

/**
 * Matching in one thread: 60 % resting orders, 30 % cancellations, 10 % marketable orders, on one book.
 *
 * Subject: the engine's order book with integer handles, and with text ids. Peer: nodejs-order-book. Left out: money, events,
 * journal, network.
 */
import { type ChildProcess, fork } from "node:child_process"
import { join } from "node:path"
import { loadavg } from "node:os"
import { header, pin, summary, type Summary } from "./Harness.ts"
import type { Cost, FlowOptions, Latency, Request } from "./matching/Variant.ts"

export interface Options {
  readonly rounds: number
  readonly seconds: number
  readonly flow: FlowOptions
  /** A flow that is short enough to compare it with the naive book. */
  readonly oracle: FlowOptions
}

export interface Row {
  readonly name: string
  readonly cpu_us: Summary
  /** How many times faster than the peer, per round; absent without a peer. */
  readonly times: Summary | undefined
  readonly rate: Summary
  readonly latency: Latency
  readonly gc_count: number
  readonly gc_ms: number
  readonly heap_bytes: number
  /** Resting orders at the end of the mix, of the flow and of the oracle's flow. */
  readonly hash: string
  readonly oracle: number
}

export const PEER = "nodejs-order-book"

interface Variant {
  readonly name: string
  readonly ask: <A>(request: Request) => Promise<A>
  readonly stop: () => void
}

const start = (name: string): Variant => {
  const child: ChildProcess = fork(join(import.meta.dirname, "matching/Variant.ts"), [name], {
    execArgv: ["--expose-gc"],
    stdio: ["ignore", "ignore", "inherit", "ipc"]
  })
  pin(child.pid!, 0)
  let fail: (error: Error) => void = () => {}
  child.on("exit", (code) => fail(new Error(`${name} ended with ${code}`)))
  return {
    name,
    ask: <A>(request: Request) =>
      new Promise<A>((resolve, reject) => {
        fail = reject
        child.once("message", (answer) => resolve(answer as A))
        child.send(request)
      }),
    stop: () => child.disconnect()
  }
}

/** Runs the variants in interleaved rounds. `names`: the subject first; ratios are computed if the peer is among them. */
export const run = async (options: Options, names: ReadonlyArray<string>): Promise<ReadonlyArray<Row>> => {
  const { flow, oracle, rounds, seconds } = options
  const variants = names.map(start)
  try {
    const costs = new Map(names.map((name) => [name, [] as Array<Cost>]))
    const rest = new Map<string, Pick<Row, "hash" | "latency" | "oracle">>()
    for (const { ask, name } of variants) {
      const small = await ask<number>({ type: "verify", flow: oracle })
      const hash = (await ask<number>({ type: "verify", flow })).toString(16)
      await ask<Cost>({ type: "run", flow, seconds }) // warm-up
      rest.set(name, { oracle: small, hash, latency: await ask<Latency>({ type: "latency", flow }) })
    }
    for (let round = 0; round < rounds; round++)
      for (const { ask, name } of round % 2 === 0 ? variants : variants.toReversed())
        costs.get(name)!.push(await ask<Cost>({ type: "run", flow, seconds }))
    const perOperation = (name: string) => costs.get(name)?.map(({ cpu_us, operations }) => cpu_us / operations)
    const peer = perOperation(PEER)
    return names.map((name) => {
      const own = costs.get(name)!
      const cpu = perOperation(name)!
      return {
        name,
        cpu_us: summary(cpu),
        times: peer === undefined ? undefined : summary(cpu.map((value, round) => peer[round]! / value)),
        rate: summary(own.map(({ operations, seconds }) => operations / seconds)),
        gc_count: Math.max(...own.map(({ gc_count }) => gc_count)),
        gc_ms: Math.max(...own.map(({ gc_ms }) => gc_ms)),
        heap_bytes: Math.max(...own.map(({ heap_bytes }) => heap_bytes)),
        ...rest.get(name)!
      }
    })
  } finally {
    for (const { stop } of variants) stop()
  }
}

const spread = ({ max, median, min }: Summary, digits: number) =>
  `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`

export const main = async (): Promise<void> => {
  const options: Options = {
    rounds: 5,
    seconds: 2,
    flow: { seed: 1, mixed: 1_000_000, resting: 10_000 },
    oracle: { seed: 2, mixed: 20_000, resting: 500 }
  }
  const head = header("npm run bench -- matching", options.rounds, "money, events, journal, network")
  const rows = await run(options, ["book", "book, text ids", PEER])
  console.log(JSON.stringify({ ...head, load_after: loadavg()[0] }))
  for (const row of rows) console.log(JSON.stringify(row))
  console.log("\n| variant | CPU µs | times | M/s | p50 ns | p99 ns | p99.9 ns | GC runs | GC ms | heap KB | state |")
  console.log("|---|---|---|---|---|---|---|---|---|---|---|")
  for (const { name, cpu_us, times, rate, latency, gc_count, gc_ms, hash, heap_bytes } of rows)
    console.log(
      `| ${name} | ${spread(cpu_us, 3)} | ${times === undefined ? "" : spread(times, 1)} | ` +
        `${(rate.median / 1e6).toFixed(2)} | ${latency.p50_ns.toFixed(0)} | ${latency.p99_ns.toFixed(0)} | ` +
        `${latency.p999_ns.toFixed(0)} | ${gc_count} | ${gc_ms.toFixed(0)} | ${(heap_bytes / 1024).toFixed(0)} | ${hash} |`
    )
  console.log(`\ntaking the time twice costs ${rows[0]!.latency.clock_ns.toFixed(0)} ns, which the latencies include`)
  if (new Set(rows.map(({ hash }) => hash)).size > 1) throw new Error("the books differ")
}

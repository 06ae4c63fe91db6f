/**
 * `npm run replay -- FILE [--steps N] [--pauses N] [--subscribers N] [--crashes N] [--seed N]`: plays a recorded exchange
 * session through a gateway of its own. A file that ends with `.ndjson.gz` is a depth feed, of which only the number of
 * subscribers can be said.
 *
 * Subscribers keep the book at its four depths; at every pause each of their books is compared with REST.
 * With --crashes the whole process is killed that many times at random moments, started again, and everything that was
 * acknowledged is looked for.
 */
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { holdIndex, prepare } from "./Gateway.ts"
import * as History from "./History.ts"
import * as Levels from "./Levels.ts"
import { futures, INDEX_PRICE } from "./Market.ts"
import { replay, type Report } from "./Replay.ts"
import { read, type Resting } from "./Session.ts"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
/** Opening auction of the session, Unix ns. */
const OPENS_AT = 1_703_545_200_000_000_000n

export interface Options {
  readonly file: string
  /** Orders of the opening book to place, those nearest to the market first; default: all. */
  readonly opening?: number
  readonly steps: number
  readonly pauses: number
  readonly subscribers: number
  readonly crashes: number
  readonly seed: number
  readonly onProgress: (done: number, total: number, report: Report) => void
}

export interface Outcome {
  readonly report: Report
  readonly history: History.Found
  /** Crashes, after each of which every acknowledged order was found in the history exactly once. */
  readonly crashes: number
  /** Hash of the state by a replay of the journal, which the checkpoints along it confirm. */
  readonly stateHash: string
  readonly entries: number
}

const nearest = (opening: ReadonlyArray<Resting>, count: number): ReadonlyArray<Resting> => {
  const distance = ({ price }: Resting) => Math.abs(Number(price) - Number(INDEX_PRICE))
  const kept = new Set(opening.toSorted((a, b) => distance(a) - distance(b)).slice(0, count))
  return opening.filter((order) => kept.has(order))
}

/** A small generator, so that a run can be repeated. */
const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

/** Replays the journal of a directory, beside a running backend or not. */
const verify = (dataDir: string): { readonly state_hash: string; readonly entries: number } =>
  JSON.parse(
    execFileSync(process.execPath, [join(root, "src/backend/main.ts"), "verify"], {
      env: { ...process.env, DATA_DIR: dataDir },
      encoding: "utf8"
    })
      .trim()
      .split("\n")
      .at(-1)!
  )

export const run = async (options: Options): Promise<Outcome> => {
  const place = prepare(futures)
  const { dataDir, env } = place
  let gateway: GatewayProcess = await startGateway({ dataDir, env })
  const { port, url } = gateway
  const whole = read(options.file, OPENS_AT)
  const session = options.opening === undefined ? whole : { ...whole, opening: nearest(whole.opening, options.opening) }
  const next = random(options.seed)
  const total = session.opening.length + Math.min(options.steps, session.steps.length)
  // fewer requests are sent than the record has rows, so the last part of it has no crash
  const crashAt = new Set<number>()
  while (crashAt.size < options.crashes) crashAt.add(1 + Math.floor(next() * total * 0.8))
  let crashes = 0
  let checked = 0
  let restarted: Promise<void> = Promise.resolve()
  const crash = async () => {
    await gateway.kill()
    crashes++
    gateway = await startGateway({ dataDir, env, port })
  }
  const program = Effect.gen(function* () {
    yield* holdIndex(url, futures)
    const { report, traders } = yield* replay({
      baseUrl: url,
      session,
      steps: options.steps,
      pauses: options.pauses,
      subscribers: options.subscribers,
      onProgress: options.onProgress,
      beforeRequest: async (request, traders, acknowledged) => {
        await restarted
        if (checked < crashes) {
          const { doubled, missing } = await Effect.runPromise(History.check(traders, acknowledged))
          if (doubled.length + missing.length > 0) {
            throw new Error(`after crash ${crashes}: ${missing.length} orders missing, ${doubled.length} doubled`)
          }
          checked = crashes
        }
        if (!crashAt.has(request)) return
        // the request and the kill race each other
        const wait = next() * 3
        restarted = new Promise<void>((resolve) => setTimeout(resolve, wait)).then(crash)
      }
    })
    yield* Effect.promise(() => restarted)
    return { report, history: yield* History.check(traders, report.acknowledged) }
  })
  try {
    const { history, report } = await Effect.runPromise(Effect.scoped(program))
    const code = await gateway.stop()
    if (code !== 0) throw new Error(`the gateway ended with ${code}:\n${gateway.output()}`)
    const { entries, state_hash } = verify(dataDir)
    return { report, history, crashes: checked, stateHash: state_hash, entries }
  } catch (error) {
    await gateway.kill()
    throw new Error(`the replay failed:\n${gateway.output()}`, { cause: error })
  } finally {
    place.remove()
  }
}

const list = (map: ReadonlyMap<string, number>): string =>
  map.size === 0 ? "none" : [...map].map(([reason, n]) => `${reason} ${n}`).join(", ")

const summary = ({ crashes, entries, history, report, stateHash }: Outcome): string => {
  const refused = [...report.refused.values()].reduce((a, b) => a + b, 0)
  return `
  requests           ${report.requests}: accepted ${report.accepted}, refused ${refused} (${list(report.refused)})
  rows without one   ${report.skipped}, corrections ${report.corrected}
  ended in sequence  ${list(report.ended)}
  fills              ${report.fills}
  same order hit     ${report.sameHits} of ${report.recordedHits} (${((100 * report.sameHits) / report.recordedHits).toFixed(1)} %)
  book checks        ${report.bookChecks} equal to REST, ${report.bookFaults} checksum or gap faults, ${report.crossed} crossed
  history            ${report.acknowledged.size} acknowledged orders, ${history.missing.length} missing, ${history.doubled.length} doubled
  crashes            ${crashes}, each followed by a walk of the whole history; requests sent again ${report.repeated}
  journal            ${entries} entries replay to state ${stateHash}
  speed              ${(report.requests / report.seconds).toFixed(0)} requests a second, one in flight, ${report.seconds.toFixed(0)} s
`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      steps: { type: "string" },
      pauses: { type: "string", default: "100" },
      subscribers: { type: "string", default: "4" },
      crashes: { type: "string", default: "0" },
      seed: { type: "string", default: "1" }
    }
  })
  const file = positionals[0]
  if (file === undefined || !existsSync(file)) {
    console.error("usage: npm run replay -- FILE [--steps N] [--pauses N] [--subscribers N] [--crashes N] [--seed N]")
    process.exit(2)
  }
  const subscribers = Number(values.subscribers)
  if (file.endsWith(".ndjson.gz")) {
    const told = await Levels.play({ messages: Levels.readFeed(file), subscribers, every: 1 })
    console.log(
      `${told.messages} messages of a depth feed, ${told.requests} requests: ${told.bookChecks} books equal to REST and to the feed, ${told.bookFaults} checksum or gap faults, ${told.crossed} crossed`
    )
    process.exit(told.bookFaults + told.crossed === 0 ? 0 : 1)
  }
  const bar = (done: number, total: number, report: Report) => {
    const width = 30
    const filled = Math.floor((done / total) * width)
    const line = `[${"#".repeat(filled)}${"-".repeat(width - filled)}] ${done}/${total}  ${(done / report.seconds).toFixed(0)}/s  fills ${report.fills}  checks ${report.bookChecks}`
    if (process.stderr.isTTY) process.stderr.write(`\r${line}`)
    else if (done % 5_000 === 0) process.stderr.write(`${line}\n`)
  }
  const outcome = await run({
    file,
    steps: Number(values.steps ?? Number.MAX_SAFE_INTEGER),
    pauses: Number(values.pauses),
    subscribers,
    crashes: Number(values.crashes),
    seed: Number(values.seed),
    onProgress: bar
  })
  console.log(summary(outcome))
  const sound =
    outcome.history.missing.length === 0 &&
    outcome.history.doubled.length === 0 &&
    outcome.report.bookFaults === 0 &&
    outcome.report.crossed === 0
  process.exit(sound ? 0 : 1)
}

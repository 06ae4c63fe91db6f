/**
 * Plays a recorded exchange session through a gateway of its own. Subscribers keep the book at its four depths; at every pause
 * each of their books is compared with REST. With crashes the process is killed at random moments and started again, and every
 * acknowledged order must be in the history.
 */
import { Effect } from "effect"
import { verifyJournal } from "../harness/BackendProcess.ts"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { random } from "../harness/Random.ts"
import { sleep } from "../harness/Wait.ts"
import { holdIndex, prepare } from "./Gateway.ts"
import * as History from "./History.ts"
import { futures, INDEX_PRICE } from "./Market.ts"
import { replay, type Report } from "./Replay.ts"
import { OPENS_AT, read, type Resting } from "./Session.ts"

export interface Options {
  readonly file: string
  /** Orders of the opening book to place, those closest to the market first; default: all. */
  readonly opening?: number
  readonly steps: number
  readonly pauses: number
  readonly subscribers: number
  /** Most steps at once. */
  readonly in_flight: number
  readonly crashes: number
  readonly seed: number
  readonly onProgress: (done: number, total: number, report: Report) => void
}

export interface Outcome {
  readonly report: Report
  readonly history: History.Found
  /** Crashes. After each, every acknowledged order is in the history exactly once. */
  readonly crashes: number
  /** Hash of the state by a replay of the journal, which its checkpoints confirm. */
  readonly stateHash: string
  readonly entries: number
}

const nearest = (opening: ReadonlyArray<Resting>, count: number): ReadonlyArray<Resting> => {
  const distance = ({ price }: Resting) => Math.abs(Number(price) - Number(INDEX_PRICE))
  const kept = new Set(opening.toSorted((a, b) => distance(a) - distance(b)).slice(0, count))
  return opening.filter((order) => kept.has(order))
}

export const run = async (options: Options): Promise<Outcome> => {
  const place = prepare(futures)
  const { dataDir, env } = place
  let gateway: GatewayProcess = await startGateway({ dataDir, env })
  const { port, url } = gateway
  const whole = read(options.file, OPENS_AT)
  const session = options.opening === undefined ? whole : { ...whole, opening: nearest(whole.opening, options.opening) }
  const next = random(options.seed)
  const total = session.opening.length + Math.min(options.steps, session.steps.length)
  // the record has more rows than requests are sent, so its last part has no crash
  const crashAt = new Set<number>()
  while (crashAt.size < options.crashes) crashAt.add(1 + Math.floor(next() * total * 0.8))
  let crashes = 0
  /** Crashes after which a check of the history has started. */
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
      in_flight: options.in_flight,
      onProgress: options.onProgress,
      beforeRequest: async (request, traders, acknowledged) => {
        await restarted
        if (checked < crashes) {
          checked = crashes
          const { doubled, missing } = await Effect.runPromise(History.check(traders, new Set(acknowledged)))
          if (doubled.length + missing.length > 0) {
            throw new Error(`after crash ${checked}: ${missing.length} orders missing, ${doubled.length} doubled`)
          }
        }
        if (!crashAt.has(request)) return
        // the request and the kill race each other
        const wait = next() * 3
        restarted = sleep(wait).then(crash)
      }
    })
    yield* Effect.promise(() => restarted)
    return { report, history: yield* History.check(traders, report.acknowledged) }
  })
  try {
    const { history, report } = await Effect.runPromise(Effect.scoped(program))
    const code = await gateway.stop()
    if (code !== 0) throw new Error(`the gateway ended with ${code}:\n${gateway.output()}`)
    const { entries, state_hash } = verifyJournal(dataDir)
    return { report, history, crashes: checked, stateHash: state_hash, entries }
  } catch (error) {
    await gateway.kill()
    throw new Error(`the replay failed:\n${gateway.output()}`, { cause: error })
  } finally {
    place.remove()
  }
}

/** Waiting in real time: one pause, one poll loop, and the limits that every suite and test shares. */
import { Schedule } from "effect"

/** Longest start of a program on a busy machine, in ms. */
export const START_MS = 180_000
/** Longest wait for a state that many clients under load must reach, in ms. */
export const LOAD_WAIT_MS = 120_000
/** Longest wait for one answer or event of one exchange, in ms: below the time limit of a test, so that the wait reports first. */
export const WAIT_MS = 20_000
/** Pause between two polls, in ms. */
const POLL_MS = 20

/** Repeats an effect that a busy or restarting gateway fails: every 500 ms, for two minutes. */
export const RETRY = { times: 240, schedule: Schedule.spaced("500 millis") }

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Polls until `look` returns something other than `undefined` and `false`, and returns it. Fails after `limit_ms` with the
 * name of what is missing; `what` may compute it from the last poll.
 */
export const until = async <A>(
  what: string | (() => string),
  look: () => A | Promise<A>,
  limit_ms = LOAD_WAIT_MS
): Promise<Exclude<A, undefined | false>> => {
  for (const deadline = performance.now() + limit_ms; ; await sleep(POLL_MS)) {
    const found = await look()
    if (found !== undefined && found !== false) return found as Exclude<A, undefined | false>
    if (performance.now() > deadline) {
      throw new Error(`not within ${limit_ms} ms: ${typeof what === "string" ? what : what()}`)
    }
  }
}

/** Repeats a request until `isWanted` accepts its answer. Fails after `limit_ms` with the last answer. */
export const eventually = async <A>(
  what: string,
  request: () => Promise<A>,
  isWanted: (answer: A) => boolean,
  limit_ms = WAIT_MS
): Promise<A> => {
  let last: A | undefined
  const look = async () => {
    last = await request()
    return isWanted(last) ? { answer: last } : undefined
  }
  return (await until(() => `${what}; the last answer is ${JSON.stringify(last)}`, look, limit_ms)).answer
}

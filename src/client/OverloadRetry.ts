/**
 * Calls that a busy gateway refused (503 `Overloaded`) are made again after the time that it names: they were surely not sequenced.
 * Source: docs/contract/boundary.md#overload.
 */
import { Effect, Random } from "effect"
import type { HttpClientResponse } from "effect/http"
import type { Reason } from "../domain/Reason.ts"
import { pauseOf } from "./Backoff.ts"

/** Tries of one call. */
export const TRIES_MAX = 8
/** Longest time that a gateway is believed to name, in seconds. */
const RETRY_S_MAX = 30

const OVERLOADED: Reason = "Overloaded"
/** Whether an error body is that of a busy gateway. */
const isOverloaded = (text: string): boolean => text.includes(`"reason":"${OVERLOADED}"`)

/** Repeats a call with growing pauses while the gateway is too busy. `ask` makes and signs the request anew each time. */
export const untilAdmitted = <E, R>(
  ask: Effect.Effect<HttpClientResponse.HttpClientResponse, E, R>,
  tries = 1
): Effect.Effect<HttpClientResponse.HttpClientResponse, E, R> =>
  Effect.flatMap(ask, (response) => {
    const seconds = Number(response.headers["retry-after"])
    if (response.status !== 503 || !(seconds <= RETRY_S_MAX) || tries === TRIES_MAX) return Effect.succeed(response)
    const text = Effect.catch(response.text, () => Effect.succeed(""))
    return Effect.flatMap(text, (body) =>
      isOverloaded(body)
        ? Effect.flatMap(Random.next, (chance) =>
            Effect.delay(untilAdmitted(ask, tries + 1), seconds * 1_000 + pauseOf(tries, chance))
          )
        : Effect.succeed(response)
    )
  })

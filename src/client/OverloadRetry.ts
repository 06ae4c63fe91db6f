/**
 * Retries calls that an overloaded gateway refused (503 `Overloaded`) after its `Retry-After`. A refused call was not sequenced.
 * Source: docs/contract/boundary.md#overload.
 */
import { Effect, Random } from "effect"
import type { HttpClientResponse } from "effect/http"
import type { Reason } from "../domain/Reason.ts"
import { pauseOf } from "./Backoff.ts"

/** Maximum attempts of one call. */
export const TRIES_MAX = 8
/** Longest `Retry-After` that is followed, in seconds. */
const RETRY_S_MAX = 30

const OVERLOADED: Reason = "Overloaded"
/** Whether an error body has the reason `Overloaded`. */
const isOverloaded = (text: string): boolean => text.includes(`"reason":"${OVERLOADED}"`)

/** Repeats a call with growing pauses while the gateway is overloaded. `send` builds and signs a new request each time. */
export const untilAdmitted = <E, R>(
  send: Effect.Effect<HttpClientResponse.HttpClientResponse, E, R>,
  tries = 1
): Effect.Effect<HttpClientResponse.HttpClientResponse, E, R> =>
  Effect.flatMap(send, (response) => {
    const seconds = Number(response.headers["retry-after"])
    if (response.status !== 503 || !(seconds <= RETRY_S_MAX) || tries === TRIES_MAX) return Effect.succeed(response)
    const text = Effect.catch(response.text, () => Effect.succeed(""))
    return Effect.flatMap(text, (body) =>
      isOverloaded(body)
        ? Effect.flatMap(Random.next, (chance) =>
            Effect.delay(untilAdmitted(send, tries + 1), seconds * 1_000 + pauseOf(tries, chance))
          )
        : Effect.succeed(response)
    )
  })

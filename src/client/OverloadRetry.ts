/**
 * Retries calls that an overloaded gateway refused (503 `Overloaded`) after its `Retry-After`. A refused call was not sequenced.
 * Source: docs/contract/boundary.md#overload.
 */
import { Effect, Random } from "effect"
import type { HttpClientResponse } from "effect/http"
import { codeOf, type Reason, textOf } from "../domain/Reason.ts"
import type { BatchResult } from "../http/api/OrderBodies.ts"
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

/** Pause before the refused orders of a batch are repeated, in ms. Source: docs/contract/boundary.md#overload. */
const BATCH_MS = 1_000

const UNANSWERED: Reason = "DeadlineExceeded"

type Results = { readonly list: ReadonlyArray<BatchResult> }

const isRefused = ({ details }: BatchResult): boolean => details?.["reason"] === OVERLOADED

/** The result of orders whose repetition failed: the error of the gateway, or that its answer did not arrive. */
const failed = (error: unknown, { order_link_id }: { readonly order_link_id?: string | undefined }): BatchResult => {
  const { code, details, message } = error as { readonly [K in keyof BatchResult]?: unknown }
  const link = order_link_id ?? ""
  return typeof code === "string"
    ? {
        code,
        message: String(message),
        order_link_id: link,
        ...(details === undefined ? {} : { details: details as NonNullable<BatchResult["details"]> })
      }
    : {
        code: codeOf(UNANSWERED),
        message: textOf(UNANSWERED),
        order_link_id: link,
        details: { reason: UNANSWERED, outcome: "unknown" }
      }
}

/**
 * Places the orders of a batch, and repeats those, and only those, that an overloaded gateway refused. A failure of a
 * repetition is the result of its orders, so that the results of the others are kept.
 */
export const batchUntilAdmitted = <O extends { readonly order_link_id?: string | undefined }, E, R>(
  send: (orders: ReadonlyArray<O>) => Effect.Effect<Results, E, R>,
  orders: ReadonlyArray<O>
): Effect.Effect<Results, E, R> =>
  Effect.gen(function* () {
    const list = [...(yield* send(orders)).list]
    for (let tries = 1; tries < TRIES_MAX; tries++) {
      const left = [...list.keys()].filter((place) => isRefused(list[place]!))
      if (left.length === 0) break
      yield* Effect.sleep(BATCH_MS + pauseOf(tries, yield* Random.next))
      const again = left.map((place) => orders[place]!)
      const results = yield* Effect.match(send(again), {
        onFailure: (error) => again.map((order) => failed(error, order)),
        onSuccess: (answer) => answer.list
      })
      for (const [i, place] of left.entries()) list[place] = results[i]!
    }
    return { list }
  })

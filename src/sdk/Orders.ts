/**
 * Orders that are placed exactly once, whatever the number of retries: each has an `order_link_id`, which the gateway accepts only
 * once. Source: docs/contract/conventions.md#identifiers, docs/contract/rest-trading.md#order-endpoints.
 */
import { nonce } from "../client/Signed.ts"
import type { CallOptions } from "./CallOptions.ts"
import { ExchangeError, UNCHANGED } from "./ExchangeError.ts"
import type { Input, Response } from "./Methods.ts"
import type { Rest } from "./Rest.ts"

const once = { open: false, repeatable: true } as const

/** The id of the existing order, if the error is `DuplicateOrderLinkId`. */
const orderIn = (details: Readonly<Record<string, unknown>> | undefined): string | undefined =>
  details?.["reason"] === "DuplicateOrderLinkId" ? String(details["order_id"]) : undefined

/**
 * Places an order, with a generated `order_link_id` if it has none. An unanswered request is repeated; if the reference is then in
 * use, the first request placed the order. (A caller's own reference that an earlier order used cannot be distinguished.)
 */
export const create =
  (rest: Rest) =>
  async (input: Input<"order", "create">, options?: CallOptions): Promise<Response<"order", "create">> => {
    const order = { ...input, order_link_id: input.order_link_id ?? nonce() }
    let isUnsure = false
    try {
      return await rest.call<Response<"order", "create">>({
        ...once,
        method: "POST",
        path: "/order/create",
        input: () => order,
        signal: options?.signal,
        onUnanswered: () => (isUnsure = true)
      })
    } catch (error) {
      const order_id = isUnsure && error instanceof ExchangeError ? orderIn(error.details) : undefined
      if (order_id === undefined) throw error
      return { order_id, order_link_id: order.order_link_id }
    }
  }

type Results = Response<"order", "createBatch">

/**
 * Places orders, each as {@link create} does. Orders that a 503 refused without effect are repeated alone, after a pause; a failure of
 * a repetition is their result.
 */
export const createBatch =
  (rest: Rest) =>
  async (input: Input<"order", "createBatch">, options?: CallOptions): Promise<Results> => {
    const orders = input.orders.map((order) => ({ ...order, order_link_id: order.order_link_id ?? nonce() }))
    const list: Array<Results["list"][number]> = []
    /** Places of the orders without a final result. */
    let left: ReadonlyArray<number> = orders.map((_, i) => i)
    let isUnsure = false
    const isPartial = (body: unknown): boolean => {
      for (const [i, result] of (body as Results).list.entries()) {
        const place = left[i]!
        const order_id = isUnsure ? orderIn(result.details) : undefined
        const { order_link_id } = orders[place]!
        list[place] = order_id === undefined ? result : { code: "OK", message: "", order_id, order_link_id }
      }
      left = left.filter((place) => UNCHANGED.has(list[place]?.details?.["reason"]))
      return left.length > 0
    }
    try {
      await rest.call<Results>({
        ...once,
        method: "POST",
        path: "/order/create-batch",
        input: () => ({ orders: left.map((place) => orders[place]!) }),
        signal: options?.signal,
        onUnanswered: () => (isUnsure = true),
        isPartial
      })
    } catch (error) {
      if (list.length === 0 || !(error instanceof ExchangeError)) throw error
      const { code, message, outcome } = error
      const details = { ...error.details, outcome }
      for (const place of left) list[place] = { code, message, details, order_link_id: orders[place]!.order_link_id }
    }
    return { list }
  }

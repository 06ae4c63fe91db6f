/**
 * Orders that are placed exactly once, whatever the number of retries: each has an `order_link_id`, which the gateway accepts only
 * once. Source: docs/contract/conventions.md#identifiers, docs/contract/rest-trading.md#order-endpoints.
 */
import { nonce } from "../client/Signed.ts"
import { ExchangeError } from "./ExchangeError.ts"
import type { Response, CallOptions, Input } from "./Operations.ts"
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

/** Places orders, each as {@link create} does. */
export const createBatch =
  (rest: Rest) =>
  async (input: Input<"order", "createBatch">, options?: CallOptions): Promise<Response<"order", "createBatch">> => {
    const orders = input.orders.map((order) => ({ ...order, order_link_id: order.order_link_id ?? nonce() }))
    let isUnsure = false
    const { list } = await rest.call<Response<"order", "createBatch">>({
      ...once,
      method: "POST",
      path: "/order/create-batch",
      input: () => ({ orders }),
      signal: options?.signal,
      onUnanswered: () => (isUnsure = true)
    })
    if (!isUnsure) return { list }
    return {
      list: list.map((result, i) => {
        const order_id = orderIn(result.details)
        const order_link_id = orders[i]!.order_link_id
        return order_id === undefined ? result : { code: "OK", message: "", order_id, order_link_id }
      })
    }
  }

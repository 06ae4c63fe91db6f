/**
 * Orders that are placed once, however often they have to be asked for: each carries an `order_link_id`, which the gateway takes
 * once for ever. Source: docs/contract/conventions.md#identifiers, docs/contract/rest-trading.md#order-endpoints.
 */
import { nonce } from "../client/Signed.ts"
import { ExchangeError } from "./ExchangeError.ts"
import type { Response, CallOptions, Input } from "./Operations.ts"
import type { Rest } from "./Rest.ts"

const once = { open: false, repeatable: true } as const

/** The order that is there already, where one refusal tells of it. */
const orderIn = (details: Readonly<Record<string, unknown>> | undefined): string | undefined =>
  details?.["reason"] === "DuplicateOrderLinkId" ? String(details["order_id"]) : undefined

/**
 * Places an order; one without `order_link_id` is given one. When no answer comes, the same is asked again, and a reference that
 * is in use by then is this order's. (A reference of the caller's own that another order used before cannot be told from it.)
 */
export const create =
  (rest: Rest) =>
  async (input: Input<"order", "create">, options?: CallOptions): Promise<Response<"order", "create">> => {
    const order = { ...input, order_link_id: input.order_link_id ?? nonce() }
    let isUnsure = false
    try {
      return await rest.ask<Response<"order", "create">>({
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
    const { list } = await rest.ask<Response<"order", "createBatch">>({
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

/**
 * Requests that must not act twice. One without a response may have acted, so the next click on the same thing repeats its id.
 * Source: docs/contract/rest-trading.md#safe-retries, docs/contract/rest-account.md#request-ids.
 */
import type { CreateOrderBody } from "../src/http/api/OrderBodies.ts"
import { ApiFailure } from "./Rest.ts"
import type { Session } from "./Session.ts"
import { toast } from "./Toasts.ts"

/** Ids of requests whose outcome is unknown, by what the user confirmed. */
const unanswered = new WeakMap<object, string>()

/** Whether a request for what the user confirmed may have acted, or may act yet. */
export const isUnanswered = (confirmed: object): boolean => unanswered.has(confirmed)

/** Whether a request may have acted. An error of a server before that uses no id up, so its id can be repeated too. */
const isUnknown = (error: unknown): boolean =>
  error instanceof ApiFailure && (error.status === 0 || error.status >= 500)

/**
 * Sends a request under a new id, or under the id of an earlier request whose outcome is unknown. `confirmed` is what the user
 * confirms: another object after each change. Returns whether the earlier request has placed the order.
 */
export const withRequestId = async (confirmed: object, send: (id: string) => Promise<unknown>): Promise<boolean> => {
  const earlier = unanswered.get(confirmed)
  const id = earlier ?? crypto.randomUUID()
  unanswered.set(confirmed, id)
  try {
    await send(id)
  } catch (error) {
    if (earlier === undefined && !isUnknown(error)) unanswered.delete(confirmed)
    // another refusal of a repetition says nothing about the earlier request
    if (earlier === undefined || !(error instanceof ApiFailure) || error.reason !== "DuplicateOrderLinkId") throw error
    unanswered.delete(confirmed)
    return true
  }
  unanswered.delete(confirmed)
  return false
}

/** Places what the user confirmed, once, whatever the number of clicks until the exchange responds. */
export const placeOnce = async (
  session: Session,
  confirmed: object,
  order: Omit<CreateOrderBody, "order_link_id">
): Promise<void> => {
  const wasPlaced = await withRequestId(confirmed, (order_link_id) => session.api().create({ ...order, order_link_id }))
  if (wasPlaced) toast("plain", "The exchange has this order already. It was not placed again.")
}

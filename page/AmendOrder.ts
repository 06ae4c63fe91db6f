/** An amend of an order as it is shown: the exchange refuses it if the order was changed meanwhile. */
import type { Order } from "../src/domain/Order.ts"
import type { AmendOrderBody } from "../src/http/api/OrderBodies.ts"
import { ApiFailure } from "./Rest.ts"
import type { Session } from "./Session.ts"

export const amendOrder = async (
  session: Session,
  { order_id, sub_account_address, symbol, version }: Order,
  change: Partial<AmendOrderBody>
): Promise<void> => {
  const body = { sub_account_address, symbol, order_id, order_iv: version, ...change }
  await session
    .api()
    .amend(body)
    .catch((error: unknown) => {
      throw error instanceof ApiFailure && error.reason === "OrderVersionMismatch"
        ? new Error("The order was changed meanwhile. Your change was not made.")
        : error
    })
}

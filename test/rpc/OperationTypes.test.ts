/**
 * A procedure has the errors of its endpoint. `npm run check` holds the lines marked `@ts-expect-error`: each is an error that the
 * procedure does not declare.
 */
import { Effect } from "effect"
import type { RpcClient } from "effect/rpc"
import { assert, describe, it } from "vitest"
import { catchReason } from "../../src/client/CatchReason.ts"
import { ofReason } from "../../src/domain/ApiError.ts"
import { Operations } from "../../src/rpc/api/Operations.ts"

type Client = RpcClient.FromGroup<typeof Operations>
type Cancel = Parameters<Client["order.cancel"]>[0]

/** Handlers and calls that are never run: the compiler reads them. */
const layers = [
  // reasons of the endpoint, of its access, of every endpoint, and of every call
  Operations.toLayerHandler("order.cancelAll", () => Effect.fail(ofReason("SymbolNotFound"))),
  Operations.toLayerHandler("order.cancelAll", () => Effect.fail(ofReason("NotWhitelisted"))),
  Operations.toLayerHandler("order.cancelAll", () => Effect.fail(ofReason("InvalidField"))),
  Operations.toLayerHandler("order.cancelAll", () => Effect.fail(ofReason("LimitReached"))),
  // @ts-expect-error cancelAll does not declare OrderNotFound
  Operations.toLayerHandler("order.cancelAll", () => Effect.fail(ofReason("OrderNotFound"))),
  // @ts-expect-error a read of the market has no caller
  Operations.toLayerHandler("market.tickers", () => Effect.fail(ofReason("InvalidToken"))),
  // @ts-expect-error an error needs a reason
  Operations.toLayerHandler("order.cancelAll", () => Effect.fail(new Error("no reason")))
]

const calls = (client: Client, request: Cancel) => [
  client["order.cancel"](request).pipe(catchReason("OrderAlreadyClosed", () => Effect.void)),
  client["order.cancel"](request).pipe(catchReason("ShuttingDown", () => Effect.void)),
  // @ts-expect-error a cancellation does not fail for this reason
  client["order.cancel"](request).pipe(catchReason("LeverageUnchanged", () => Effect.void))
]

describe("the errors of a procedure", () => {
  it("are those of its endpoint and those of every call", () => {
    assert.lengthOf(layers, 7)
    assert.isFunction(calls)
    assert.isTrue(Operations.requests.has("order.cancelAll"))
  })
})

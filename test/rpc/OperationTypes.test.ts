/**
 * A procedure has the errors of its endpoint. `npm run check` holds the lines marked `@ts-expect-error`: each is an error that the
 * procedure does not declare.
 */
import { Effect, type Schema } from "effect"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import type { HttpApiClient } from "effect/http-api"
import type { Rpc, RpcClient } from "effect/rpc"
import { assert, describe, it } from "vitest"
import { catchReason } from "../../src/client/CatchReason.ts"
import { ofReason } from "../../src/domain/ApiError.ts"
import type { Api } from "../../src/http/api/Api.ts"
import type { BodyTooLarge, WrongMediaType } from "../../src/http/api/Errors.ts"
import { type Operation, Operations } from "../../src/rpc/api/Operations.ts"

type Client = RpcClient.FromGroup<typeof Operations>
type Cancel = Parameters<Client["order.cancel"]>[0]

type Rest = HttpApiClient.ForApi<typeof Api>
type HttpErrors = HttpClientError.HttpClientError | Schema.SchemaError | BodyTooLarge | WrongMediaType
/** A success in every response mode of the client. */
type InAnyMode<A> = A | HttpClientResponse.HttpClientResponse | readonly [A, HttpClientResponse.HttpClientResponse]
/**
 * What the REST client's function of a procedure returns beyond the success and the errors of the procedure. The handlers map
 * the errors of HTTP itself to errors of every call.
 */
type MismatchOf<O extends Operation> = O["_tag"] extends `${infer G extends keyof Rest & string}.${infer E}`
  ? E extends keyof Rest[G]
    ? Rest[G][E] extends (request: infer _) => Effect.Effect<infer A, infer F>
      ? Exclude<A, InAnyMode<Rpc.Success<O>>> | Exclude<F, Rpc.Error<O> | HttpErrors>
      : "no function"
    : "no endpoint"
  : "no group"
type Mismatch = { readonly [O in Operation as O["_tag"]]: MismatchOf<O> }
type Mismatches = Mismatch[keyof Mismatch]

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

const isSame: [Mismatches] extends [never] ? true : Mismatches = true

describe("the errors of a procedure", () => {
  it("are those of its endpoint and those of every call", () => {
    assert.isTrue(isSame)
    assert.lengthOf(layers, 7)
    assert.isFunction(calls)
    assert.isTrue(Operations.requests.has("order.cancelAll"))
  })
})

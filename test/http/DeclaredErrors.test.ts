/**
 * An endpoint declares the reasons of its errors. `npm run check` holds the lines marked `@ts-expect-error`: each is an error that
 * an endpoint does not declare.
 */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { assert, describe, it } from "vitest"
import { catchReason } from "../../src/client/CatchReason.ts"
import type { Client } from "../../src/client/Client.ts"
import { Api } from "../../src/http/api/Api.ts"
import { endpointsOf, errorsOf, reasonsOf } from "../../src/http/api/EndpointErrors.ts"
import { named } from "../../src/http/ErrorMapping.ts"
import { asBadRequest, ofReason } from "../../src/http/WireError.ts"
import { AuthRefused } from "../../src/services/identity/AuthErrors.ts"
import { CommandRefused } from "../../src/services/Sequencer.ts"
import { DomainError } from "../../src/services/DomainError.ts"

const commandRefused = <R extends "OrderNotFound" | "SymbolNotFound">(reason: R) =>
  new CommandRefused({ reason, message: "", details: {} })

const unauthorized = () => named(Effect.fail(new AuthRefused({ reason: "InvalidToken", details: {} })))

/** Handlers that are never run: the compiler reads them. */
const handlers = [
  // reasons of the endpoint, of its body, of its access and of every endpoint
  HttpApiBuilder.handler(Api, "order", "cancelAll", () => named(Effect.fail(new DomainError("SymbolNotFound")))),
  HttpApiBuilder.handler(Api, "order", "cancelAll", () => named(Effect.fail(new DomainError("InvalidDecimal")))),
  HttpApiBuilder.handler(Api, "order", "cancelAll", () => named(Effect.fail(new DomainError("NotWhitelisted")))),
  HttpApiBuilder.handler(Api, "order", "cancelAll", () => named(Effect.fail(new DomainError("InvalidField")))),
  HttpApiBuilder.handler(Api, "order", "cancelAll", () => named(Effect.fail(commandRefused("SymbolNotFound")))),
  // @ts-expect-error cancelAll does not declare OrderNotFound
  HttpApiBuilder.handler(Api, "order", "cancelAll", () => named(Effect.fail(new DomainError("OrderNotFound")))),
  // @ts-expect-error nor as a refusal of the sequencer
  HttpApiBuilder.handler(Api, "order", "cancelAll", () => named(Effect.fail(commandRefused("OrderNotFound")))),
  // @ts-expect-error a read of the market has no caller
  HttpApiBuilder.handler(Api, "market", "tickers", unauthorized),
  // @ts-expect-error a login answers 400 where the catalogue says 401
  HttpApiBuilder.handler(Api, "authorize", "login", () => Effect.fail(ofReason("InvalidSignature"))),
  HttpApiBuilder.handler(Api, "authorize", "login", () => Effect.fail(asBadRequest(ofReason("InvalidSignature"))))
]

describe("the errors of an endpoint", () => {
  it("are those that it and its middlewares declare", () => {
    assert.lengthOf(handlers, 10)
    const endpoint = endpointsOf(Api).get("POST /order/cancel-all")!
    const own = errorsOf(endpoint).own.map(({ reason }) => reason)
    assert.deepStrictEqual(own, ["SymbolNotFound", "SubAccountNotFound"])
    assert.deepStrictEqual(reasonsOf(endpoint).get(404), own)
    assert.deepStrictEqual(reasonsOf(endpoint).get(429), ["RateLimitExceeded"])
  })

  it("keep the code that the endpoint declares", () => {
    const declared = errorsOf(endpointsOf(Api).get("POST /authorize")!).own
    assert.deepInclude(declared, { reason: "InvalidSignature", code: "BAD_REQUEST", status: 400 })
  })
})

describe("catchReason", () => {
  const failing = (reason: "OrderAlreadyClosed" | "SymbolNotFound") => Effect.fail(ofReason(reason))

  it("handles the reason that it names", async () => {
    const handled = failing("OrderAlreadyClosed").pipe(
      catchReason("OrderAlreadyClosed", ({ code, details }) => Effect.succeed(`${code} ${details.reason}`))
    )
    assert.strictEqual(await Effect.runPromise(handled), "CONFLICT OrderAlreadyClosed")
  })

  it("leaves the other reasons in the error channel", async () => {
    const rest: Effect.Effect<string, { readonly details: { readonly reason: "SymbolNotFound" } }> = catchReason(
      failing("SymbolNotFound"),
      "OrderAlreadyClosed",
      () => Effect.succeed("handled")
    )
    const { details } = await Effect.runPromise(Effect.flip(rest))
    assert.strictEqual(details.reason, "SymbolNotFound")
  })

  it("takes the reasons of an endpoint of the client, and no others", () => {
    const cancel = (client: Client, payload: Parameters<Client["order"]["cancel"]>[0]["payload"]) => [
      client.order.cancel({ payload }).pipe(catchReason("OrderAlreadyClosed", () => Effect.void)),
      client.order.cancel({ payload }).pipe(catchReason("RateLimitExceeded", () => Effect.void)),
      // @ts-expect-error a cancellation does not fail for this reason
      client.order.cancel({ payload }).pipe(catchReason("LeverageUnchanged", () => Effect.void))
    ]
    assert.isFunction(cancel)
  })
})

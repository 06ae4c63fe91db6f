/**
 * Types of the operations, from the gateway's schemas. Only types are imported; no schema runs here. The package has the same types
 * without Effect, written by scripts/packages/SdkTypes.ts.
 *
 * An input is one flat object: path parameters go into the path, the rest into the query or the body. Decimals are text, times
 * Unix ms. Source: docs/contract/rest.md.
 */
import type { HttpApiClient } from "effect/http-api"
import type { CallOptions } from "./CallOptions.ts"
import type { Endpoints, Operations } from "./Operations.ts"

type TypeOf<S> = [S] extends [never] ? unknown : S extends { readonly Type: infer T } ? T : unknown
type Flat<T> = { readonly [K in keyof T]: T[K] }
type Endpoint<G extends keyof Operations, N extends keyof Operations[G]> = N extends keyof Endpoints<G>
  ? Endpoints<G>[N]
  : never

/** Input of an operation. */
export type Input<G extends keyof Operations, N extends keyof Operations[G]> =
  Endpoint<G, N> extends {
    readonly "~Params": infer P
    readonly "~Query": infer Q
    readonly "~Payload": infer B
  }
    ? Flat<TypeOf<P> & TypeOf<Q> & TypeOf<B>>
    : never
/** Response of an operation. */
export type Response<G extends keyof Operations, N extends keyof Operations[G]> =
  Endpoint<G, N> extends { readonly "~Success": infer S } ? HttpApiClient.SuccessType<S> : never

type Method<I, A> = object extends I
  ? (input?: I, options?: CallOptions) => Promise<A>
  : (input: I, options?: CallOptions) => Promise<A>

/** Every operation as a function; it rejects with an `ExchangeError`. */
export type Methods = {
  readonly [G in keyof Operations]: {
    readonly [N in keyof Operations[G]]: Method<Input<G, N>, Response<G, N>>
  }
}

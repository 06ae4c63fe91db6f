/**
 * Every endpoint of the REST API as a procedure, derived from the endpoints: a new endpoint has its procedure at once.
 *
 * A procedure is named `group.endpoint`, takes what the typed client takes (`params`, `query`, `payload`, as far as the
 * endpoint has them), answers the endpoint's success, and fails with the errors that the endpoint declares or with a {@link CallError}.
 */
import { Schema } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"
import { Rpc, RpcGroup } from "effect/rpc"
import { Api } from "../../http/api/Api.ts"
import { ApiErrors, type CallError, type CallErrorSchema } from "./Errors.ts"

type Groups = typeof Api extends HttpApi.HttpApi<infer _, infer G> ? G : never

interface PartsOf<E extends HttpApiEndpoint.ConstraintRequest> {
  readonly params: E["~Params"]
  readonly query: E["~Query"]
  readonly payload: E["~Payload"]
}
/** The parts that an endpoint has. */
type Parts<P> = { readonly [K in keyof P as [P[K]] extends [never] ? never : K]: P[K] }
type PayloadOf<P> = [keyof P] extends [never] ? Schema.Void : P extends Schema.Struct.Fields ? Schema.Struct<P> : never
type SuccessOf<S> = S extends Schema.Top ? S : never

/** The errors that the endpoint declares, and those of every call. */
type ErrorOf<E> = CallErrorSchema<HttpApiEndpoint.Errors<E> | CallError>

type OperationOf<G extends string, E> = E extends HttpApiEndpoint.ConstraintRequest
  ? Rpc.Rpc<`${G}.${E["identifier"]}`, PayloadOf<Parts<PartsOf<E>>>, SuccessOf<E["~Success"]>, ErrorOf<E>>
  : never
type OperationsOf<G> = G extends HttpApiGroup.Constraint
  ? OperationOf<HttpApiGroup.Identifier<G>, HttpApiGroup.Endpoints<G>>
  : never
/** All procedures of the table. */
export type Operation = OperationsOf<Groups>

const payloadOf = ({ params, payload, query }: HttpApiEndpoint.Top): Schema.Top => {
  const body = [...payload.values()][0]?.schemas[0]
  const parts = Object.entries({ params, query, payload: body }).flatMap(([name, part]) =>
    part === undefined ? [] : [[name, part] as const]
  )
  return parts.length === 0 ? Schema.Void : Schema.Struct(Object.fromEntries(parts))
}

/** An endpoint with the procedure that calls it. */
export interface Derived {
  readonly group: string
  readonly endpoint: HttpApiEndpoint.Top
  readonly rpc: Rpc.AnyWithProps
}

const derive = (): ReadonlyArray<Derived> => {
  const found: Array<Derived> = []
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group }) => {
      const rpc = Rpc.make(`${group.identifier}.${endpoint.identifier}`, {
        payload: payloadOf(endpoint),
        success: Schema.Union([...endpoint.success]),
        error: ApiErrors
      })
      found.push({ group: group.identifier, endpoint, rpc })
    }
  })
  return found
}

/** Every endpoint, in the order of the table. */
export const derived = derive()

/**
 * The procedures as a group. The cast is sound: its type is computed from the endpoints' types as its value is from their values.
 * test/rpc/OperationTypes.test.ts compares its errors and results with those of the REST client.
 */
export const Operations = RpcGroup.make(...derived.map(({ rpc }) => rpc)) as unknown as RpcGroup.RpcGroup<Operation>

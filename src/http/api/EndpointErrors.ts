/**
 * The reasons of an endpoint, from its declaration and from those of its middlewares: for the OpenAPI document, the reference
 * and the procedures of RPC. Source: docs/contract/conventions.md#reasons, docs/contract/rest.md.
 */
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup, type HttpApiMiddleware } from "effect/http-api"
import type { Reason } from "../../domain/Reason.ts"
import { changes, type Declared, declarationOf, reads, signatures, takesBody, tokens } from "./OperationErrors.ts"
import { isGated } from "./Security.ts"

/** Reasons that an operation has by its kind, in the order in which documents list them. */
const general: ReadonlyArray<Reason> = [
  "MalformedRequest",
  "UnknownParameter",
  "MissingField",
  "InvalidField",
  "OutOfRange",
  ...takesBody,
  "BadCredentials",
  "InsufficientRole",
  "AmbiguousAuth",
  ...tokens,
  ...signatures,
  "IpNotAllowed",
  "BearerOnly",
  "InsufficientScope",
  "NotWhitelisted",
  "RateLimitExceeded",
  "InternalError",
  ...reads,
  ...changes
]
/** Those of them that an endpoint declares itself. */
const ofKind: ReadonlySet<Reason> = new Set([...takesBody, ...reads, ...changes])

/** What an endpoint and its middlewares declare. */
export interface EndpointErrors {
  /** Reasons that the endpoint has by its kind, in the order of {@link general}. */
  readonly general: ReadonlyArray<Declared>
  /** Reasons of the endpoint itself, in the order of its declaration. */
  readonly own: ReadonlyArray<Declared>
}

/** Whether an endpoint can meet a reason that its middlewares declare for all of theirs. */
const applies = ({ reason }: Declared, endpoint: HttpApiEndpoint.Top): boolean => {
  switch (reason) {
    case "MissingField":
    case "OutOfRange":
      return endpoint.payload.size > 0 || endpoint.params !== undefined || endpoint.query !== undefined
    case "NotWhitelisted":
      return isGated(endpoint)
    default:
      return true
  }
}

export const errorsOf = (endpoint: HttpApiEndpoint.Top): EndpointErrors => {
  const own = declarationOf(endpoint.error)
  const ofMiddlewares = declarationOf(
    [...endpoint.middlewares].flatMap((middleware) =>
      "error" in middleware ? [...(middleware as HttpApiMiddleware.AnyService).error] : []
    )
  )
  const isGeneral = ({ reason }: Declared): boolean => general.includes(reason)
  const byKind = [
    ...ofMiddlewares.filter((each) => isGeneral(each) && applies(each, endpoint)),
    ...own.filter(({ reason }) => ofKind.has(reason))
  ]
  return {
    general: byKind.toSorted((a, b) => general.indexOf(a.reason) - general.indexOf(b.reason)),
    own: [...ofMiddlewares.filter((each) => !isGeneral(each)), ...own.filter(({ reason }) => !ofKind.has(reason))]
  }
}

/** Reasons of an endpoint by HTTP status, those of its kind first. */
export const reasonsOf = (endpoint: HttpApiEndpoint.Top): ReadonlyMap<number, ReadonlyArray<Reason>> => {
  const found = new Map<number, Array<Reason>>()
  const { general, own } = errorsOf(endpoint)
  for (const { reason, status } of [...general, ...own]) {
    const list = found.get(status) ?? []
    if (!list.includes(reason)) list.push(reason)
    found.set(status, list)
  }
  return found
}

/** The name of an endpoint in the reference: its method, and its path below /api/v1 with parameters in braces. */
export const operationOf = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method} ${path
    .replace(/^\/api\/v1(?=\/)/u, "")
    .replaceAll(/:([a-z_]+)/gu, "{$1}")
    .replace(/(?<=.)\/$/u, "")}`

/** Every endpoint of an API by {@link operationOf}. */
export const endpointsOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyMap<string, HttpApiEndpoint.Top> => {
  const found = new Map<string, HttpApiEndpoint.Top>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => void found.set(operationOf(endpoint), endpoint)
  })
  return found
}

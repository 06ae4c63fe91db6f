/**
 * The paths that exist, each with its methods: for the response to a request that matches no route.
 * Source: docs/contract/conventions.md#paths-and-methods.
 */
import { CALLS_PATH } from "../services/operations/RpcConnections.ts"
import { HttpApi, type HttpApiGroup } from "effect/http-api"

export interface Route {
  readonly method: string
  /** With parameters as `:name`. */
  readonly path: string
}

export interface RouteTable {
  /** Methods of a path, in the order of an `Allow` header; `undefined`: no such path. */
  readonly methodsOf: (path: string) => ReadonlySet<string> | undefined
  /** The path of the endpoint that takes a path, parameters as `:name`; "": there is none. */
  readonly routeOf: (path: string) => string
}

/** Paths that speak WebSocket; their upgrades are taken before a router sees them. */
export const socketPaths: ReadonlyArray<string> = ["/ws", "/ws/public", "/ws/private", CALLS_PATH]
export const isSocket = (path: string): boolean => socketPaths.includes(path)

export const ofApi = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<Route> => {
  const routes: Array<Route> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      routes.push({ method: endpoint.method, path: endpoint.path })
    }
  })
  return routes
}

export const make = (routes: ReadonlyArray<Route>): RouteTable => {
  const exact = new Map<string, Set<string>>()
  const patterns: Array<{ readonly path: string; readonly pattern: RegExp; readonly methods: Set<string> }> = []
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = new Set(routes.filter((route) => route.path === path).map((route) => route.method))
    // a path that answers GET answers HEAD
    if (methods.has("GET")) methods.add("HEAD")
    methods.add("OPTIONS")
    if (path.includes("/:")) {
      patterns.push({ path, pattern: new RegExp(`^${path.replaceAll(/\/:[a-z_]+/gu, "/[^/]+")}$`, "u"), methods })
    } else exact.set(path, methods)
  }
  return {
    methodsOf: (path) => exact.get(path) ?? patterns.find(({ pattern }) => pattern.test(path))?.methods,
    routeOf: (path) => (exact.has(path) ? path : (patterns.find(({ pattern }) => pattern.test(path))?.path ?? ""))
  }
}

/**
 * Orders on the fast path: create, amend and cancel. While the gateway admits no more commands, all except cancels are refused
 * before their bodies are read. Source: docs/contract/rest-trading.md#order-endpoints;
 * docs/contract/boundary.md#overload.
 */
import type { Context } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Authenticator } from "../../services/identity/Authenticator.ts"
import type { CommandAdmission } from "../../services/trading/CommandAdmission.ts"
import type { Orders } from "../../services/trading/Orders.ts"
import { Api } from "../api/Api.ts"
import { commands } from "../handlers/OrderHandlers.ts"
import type { Budget } from "../../services/operations/InboundBudget.ts"
import * as RequestBody from "../../services/operations/RequestBody.ts"
import { RequestState } from "../RequestState.ts"
import { ofReason } from "../WireError.ts"
import { asServerRequest, FastRequest } from "../FastRequest.ts"
import * as FastPath from "./FastPath.ts"

/** Whether a command has the form of nearly all commands: one body of a declared length. */
const isPlain = (request: IncomingMessage): boolean => {
  const { headers, method } = request
  const length = Number(headers["content-length"])
  return (
    method === "POST" &&
    length > 0 &&
    length <= RequestBody.BODY_BYTES_MAX &&
    headers.host !== undefined &&
    headers["transfer-encoding"] === undefined &&
    headers["content-encoding"] === undefined &&
    FastPath.isCodingPlain(request)
  )
}

export interface Services {
  readonly admission: CommandAdmission["Service"]
  readonly authenticator: Authenticator["Service"]
  readonly budget: Budget
  readonly orders: Orders["Service"]
}

/** Endpoints that are served at any load. */
const always: ReadonlySet<string> = new Set(["cancel"])
const BEARER = "Bearer "

/** The body of the refusal up to the id of the request, the only part that differs. */
const refusal = (() => {
  const { code, details, message, status } = ofReason("Overloaded")
  const head = `${JSON.stringify({ code, message, details }).slice(0, -1)},"request_id":"`
  return { status, head, retryAfter: "1" }
})()

export const make = (services: Services, context: Context.Context<never>, trustedProxies: number) => {
  const { admission, authenticator, budget, orders } = services
  const around = FastPath.fastPathDeps(context, trustedProxies)
  const routes = new Map(
    Object.entries(commands(orders)).map(([endpoint, handler]) => {
      const route = FastPath.make(Api, { group: "order", endpoint }, handler, context)
      return [route.path, { served: route.guarded(route.handled), isAlways: always.has(endpoint) }]
    })
  )
  /** The user of a token that was verified before. */
  const userOf = ({ headers }: IncomingMessage): string | undefined => {
    const { authorization } = headers
    if (authorization?.startsWith(BEARER) !== true) return undefined
    return authenticator.bearerNow?.(authorization.slice(BEARER.length).trim())?.user_id
  }
  const stateOf = (request: IncomingMessage) =>
    new RequestState(asServerRequest(new FastRequest(request)), trustedProxies)
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const route = routes.get(request.url!)
    if (route === undefined || !isPlain(request)) return false
    const { isAlways, served } = route
    if (!isAlways && admission.isBusy() && admission.refusesNow(userOf(request))) {
      FastPath.refuse(response, stateOf(request), refusal)
      return true
    }
    const addressOf = () => stateOf(request).clientIp
    RequestBody.read(request, budget, addressOf, (body) => {
      // the parser holds the declared length, so the body is never too large; a request that was cut has no client left to answer
      if (typeof body !== "string") FastPath.run(request, response, served, around, body)
    })
    return true
  }
}

/**
 * The fast path: the most frequent requests, served before the framework sees them. Requests of any other form go to the
 * framework. Source: docs/decisions/0009.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { hostsOf } from "../../domain/RequestTarget.ts"
import { Authenticator } from "../../services/identity/Authenticator.ts"
import { BackendHealth } from "../../services/operations/BackendHealth.ts"
import { CommandAdmission } from "../../services/trading/CommandAdmission.ts"
import { InboundBudget } from "../../services/operations/InboundBudget.ts"
import { MarketQueries } from "../../services/markets/MarketQueries.ts"
import { MarketView } from "../../services/markets/MarketView.ts"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"
import { Orders } from "../../services/trading/Orders.ts"
import { RateLimiter } from "../../services/operations/RateLimiter.ts"
import type { BearerOrApiKey, PublicAccess, RequestBodyMiddleware } from "../api/Security.ts"
import type { HttpOptions } from "../Http.ts"
import * as AccessChecks from "../security/AccessChecks.ts"
import { Checks } from "../security/Checks.ts"
import * as RequestBody from "../security/RequestBody.ts"
import * as FastCommands from "./FastCommands.ts"
import * as FastReads from "./FastReads.ts"

export class FastRoutes extends Context.Service<
  FastRoutes,
  {
    /** Serves a request, or leaves it untouched and returns false. */
    readonly offer: (request: IncomingMessage, response: ServerResponse) => boolean
  }
>()("gateway/http/FastRoutes") {
  static readonly layer = ({ trustedProxies }: HttpOptions) =>
    Layer.effect(
      FastRoutes,
      Effect.gen(function* () {
        // the context of every request: its middlewares, the clock, the loggers
        const context = (yield* Effect.context<
          BearerOrApiKey | PublicAccess | RequestBodyMiddleware
        >()) as Context.Context<never>
        const takesCommand = FastCommands.make(
          {
            admission: yield* CommandAdmission,
            authenticator: yield* Authenticator,
            budget: yield* InboundBudget,
            orders: yield* Orders
          },
          context,
          trustedProxies
        )
        const limiter = yield* RateLimiter
        const clock = yield* Clock.Clock
        const services = {
          checks: yield* Checks,
          clock,
          limiter,
          markets: yield* MarketQueries,
          view: yield* MarketView,
          health: yield* BackendHealth,
          meter: yield* CurrentMetricsRegistry
        }
        const takesRead = FastReads.make(services, context, trustedProxies)
        return FastRoutes.of({
          offer: (request, response) =>
            hostsOf(request.rawHeaders) === 1 && (takesCommand(request, response) || takesRead(request, response))
        })
      })
    ).pipe(Layer.provide([AccessChecks.layer, Checks.layer, RequestBody.layer]))
}

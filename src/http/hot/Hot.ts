/**
 * The requests that come most often, answered before the framework sees them. What is not exactly of their form is left
 * to it. Source: docs/decisions/0009.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { hostsOf } from "../../domain/RequestTarget.ts"
import { Authenticator } from "../../services/Authenticator.ts"
import { BackendHealth } from "../../services/BackendHealth.ts"
import { CommandAdmission } from "../../services/CommandAdmission.ts"
import { InboundBudget } from "../../services/InboundBudget.ts"
import { Markets } from "../../services/Markets.ts"
import { MarketView } from "../../services/MarketView.ts"
import { CurrentMeter } from "../../services/Meter.ts"
import { Orders } from "../../services/Orders.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import type { BearerOrApiKey, Door as DoorTag, PublicAccess } from "../api/Security.ts"
import type { HttpOptions } from "../Http.ts"
import * as Access from "../security/Access.ts"
import * as Door from "../security/Door.ts"
import * as Commands from "./Commands.ts"
import * as Reads from "./Reads.ts"

export class Hot extends Context.Service<
  Hot,
  {
    /** Takes a request and answers it, or leaves it untouched. */
    readonly offer: (request: IncomingMessage, response: ServerResponse) => boolean
  }
>()("gateway/http/Hot") {
  static readonly layer = ({ trustedProxies }: HttpOptions) =>
    Layer.effect(
      Hot,
      Effect.gen(function* () {
        // what the checks find in the context of a request: their middlewares, the clock, the loggers
        const context = (yield* Effect.context<BearerOrApiKey | PublicAccess | DoorTag>()) as Context.Context<never>
        const takesCommand = Commands.make(
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
          clock,
          limiter,
          markets: yield* Markets,
          view: yield* MarketView,
          health: yield* BackendHealth,
          meter: yield* CurrentMeter
        }
        const takesRead = Reads.make(services, context, trustedProxies)
        return Hot.of({
          offer: (request, response) =>
            hostsOf(request.rawHeaders) === 1 && (takesCommand(request, response) || takesRead(request, response))
        })
      })
    ).pipe(Layer.provide(Access.layer), Layer.provide(Door.layer))
}

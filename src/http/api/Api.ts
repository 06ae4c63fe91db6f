/**
 * The whole REST surface as one value: server, client and the OpenAPI document are derived from it.
 *
 * Source: contract 3.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { AccountApi } from "./AccountApi.ts"
import { AdminApi } from "./AdminApi.ts"
import { AuthorizeApi } from "./AuthorizeApi.ts"
import { finish } from "./Document.ts"
import { ExecutionApi } from "./ExecutionApi.ts"
import { MarketApi } from "./MarketApi.ts"
import { OrderApi } from "./OrderApi.ts"
import { PositionApi } from "./PositionApi.ts"
import { Door } from "./Security.ts"
import { ServiceApi } from "./ServiceApi.ts"
import { UserApi } from "./UserApi.ts"

/** Version of the description. Source: specification, Versioning 3. */
export const VERSION = "0.1.1"

export class Api extends HttpApi.make("gateway")
  .add(AuthorizeApi, MarketApi, OrderApi, ExecutionApi, PositionApi, AccountApi, UserApi, AdminApi, ServiceApi)
  .middleware(Door)
  .annotateMerge(
    OpenApi.annotations({
      title: "Trading Gateway",
      version: VERSION,
      description:
        "REST API of the trading gateway. Prices and quantities are decimal text with up to 18 places; times are Unix milliseconds. Errors are `{code, message}` with a stable `details.reason`. Live data is on the WebSocket endpoints /ws/public, /ws/private and /ws.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      transform: finish
    })
  ) {}

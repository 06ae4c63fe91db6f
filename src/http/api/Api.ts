/**
 * The whole REST surface as one value. The server, the client and the OpenAPI document derive from it.
 *
 * Source: docs/contract/rest.md.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { VERSION } from "../../domain/Version.ts"
import { AccessApi } from "./AccessApi.ts"
import { AccessCodesApi } from "./AccessCodesApi.ts"
import { AccountApi } from "./AccountApi.ts"
import { AdminApi } from "./AdminApi.ts"
import { AuditApi } from "./AuditApi.ts"
import { AuthorizeApi } from "./AuthorizeApi.ts"
import { CompetitionApi } from "./CompetitionApi.ts"
import { ExecutionApi, TradeApi } from "./ExecutionApi.ts"
import { MarketApi } from "./MarketApi.ts"
import { MarketHistoryApi } from "./MarketHistoryApi.ts"
import { OrderApi } from "./OrderApi.ts"
import { PositionApi } from "./PositionApi.ts"
import { RewardApi } from "./RewardApi.ts"
import { RequestBodyMiddleware } from "./Security.ts"
import { SIGNING } from "./Signing.ts"
import { ServiceApi } from "./ServiceApi.ts"
import { StatementApi } from "./StatementApi.ts"
import { UserApi } from "./UserApi.ts"
import { WithdrawalAddressApi } from "./WithdrawalAddressApi.ts"

export class Api extends HttpApi.make("gateway")
  .add(AuthorizeApi, AccessApi, MarketApi, MarketHistoryApi, OrderApi, ExecutionApi, TradeApi)
  .add(PositionApi, AccountApi, WithdrawalAddressApi, StatementApi, UserApi, RewardApi, CompetitionApi)
  .add(AdminApi, AccessCodesApi, AuditApi, ServiceApi)
  .middleware(RequestBodyMiddleware)
  .annotateMerge(
    OpenApi.annotations({
      title: "Trading Gateway",
      version: VERSION,
      description:
        "REST API of the trading gateway. Prices and quantities are decimal text with up to 18 places; times are Unix milliseconds. Errors are `{code, message}` with a stable `details.reason`. Live data is on the WebSocket endpoints /ws/public, /ws/private and /ws.\n\n" +
        SIGNING,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" }
    })
  ) {}

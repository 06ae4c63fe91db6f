/** /admin: what the administrator may do. Source: contract 3.8. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { NotFound } from "../../domain/ApiError.ts"
import { Decimal } from "../../domain/Decimal.ts"
import { docs } from "./Docs.ts"
import { bodyErrors } from "./Errors.ts"
import { AnySymbol } from "./Fields.ts"
import { AdminAccess, NullCounts } from "./Security.ts"

const price = Schema.NullOr(Decimal).annotate({ description: "null: back to the index source" })

/** `price` is the one field of the API where `null` is a value of its own. */
export const IndexPriceBody = Schema.Struct({ symbol: AnySymbol, price }).annotate({ identifier: "IndexPriceBody" })
export const IndexPrice = Schema.Struct({ symbol: AnySymbol, price }).annotate({ identifier: "IndexPrice" })

export class AdminApi extends HttpApiGroup.make("admin")
  .add(
    HttpApiEndpoint.put("indexPrice", "/index-price", {
      payload: IndexPriceBody,
      success: IndexPrice,
      error: [NotFound, ...bodyErrors]
    })
      .middleware(AdminAccess)
      .annotate(NullCounts, true)
      .annotateMerge(
        docs({
          id: "setIndexPrice",
          summary: "Hold an index price",
          description: "Holds the index of a market of the embedded backend until `null` returns it to its source.",
          access: "basic",
          request: { symbol: "BTC-USDC", price: "60000" },
          response: { symbol: "BTC-USDC", price: "60000" }
        })
      )
  )
  .prefix("/api/v1/admin")
  .annotateMerge(OpenApi.annotations({ title: "Admin", description: "For the administrator" })) {}

/** Handlers of /admin. Source: contract 3.8. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { IndexPrices } from "../../services/IndexPrices.ts"
import { Api } from "../api/Api.ts"
import { named } from "../Refusals.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "admin",
  Effect.fnUntraced(function* (handlers) {
    const indexPrices = yield* IndexPrices
    return handlers.handleAll({
      indexPrice: ({ payload: { symbol, price } }) =>
        named(indexPrices.set(symbol, price ?? undefined)).pipe(Effect.map((held) => ({ symbol, price: held ?? null })))
    })
  })
)

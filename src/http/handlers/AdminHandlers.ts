/** Handlers of /admin. Source: contract 3.8. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Bans } from "../../services/Bans.ts"
import { Competitions } from "../../services/Competitions.ts"
import { IndexPrices } from "../../services/IndexPrices.ts"
import { Api } from "../api/Api.ts"
import { named } from "../Refusals.ts"
import { fullRootOf } from "./Wallet.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "admin",
  Effect.fnUntraced(function* (handlers) {
    const bans = yield* Bans
    const competitions = yield* Competitions
    const indexPrices = yield* IndexPrices
    return handlers.handleAll({
      indexPrice: ({ payload: { symbol, price } }) =>
        named(indexPrices.set(symbol, price ?? undefined)).pipe(
          Effect.map((held) => ({ symbol, price: held ?? null }))
        ),
      createCompetition: ({ payload }) => named(competitions.create({ description_md: "", ...payload })),
      changeCompetition: ({ params, payload }) => named(competitions.change(params.competition_id, payload)),
      ban: ({ params, payload }) =>
        named(
          Effect.flatMap(fullRootOf(params.root_address), (root_address) =>
            Effect.as(bans.ban(root_address, payload.reason ?? ""), { root_address, banned: true })
          )
        ),
      unban: ({ params }) =>
        named(
          Effect.flatMap(fullRootOf(params.root_address), (root_address) =>
            Effect.as(bans.lift(root_address), { root_address, banned: false })
          )
        )
    })
  })
)

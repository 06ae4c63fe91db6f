/** Handlers of /admin. Source: docs/contract/rest-user.md. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { BanList } from "../../services/identity/BanList.ts"
import { Bans } from "../../services/rewards/Bans.ts"
import { Competitions } from "../../services/rewards/Competitions.ts"
import { IndexPrices } from "../../services/markets/IndexPrices.ts"
import { MarketView } from "../../services/markets/MarketView.ts"
import { Api } from "../api/Api.ts"
import { named } from "../ErrorMapping.ts"
import { auditing } from "./Audited.ts"
import { fullRootOf } from "./Wallet.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "admin",
  Effect.fnUntraced(function* (handlers) {
    const audited = yield* auditing
    const banList = yield* BanList
    const bans = yield* Bans
    const competitions = yield* Competitions
    const indexPrices = yield* IndexPrices
    const markets = yield* MarketView

    /** Whether a wallet is banned, and why, as the trail shows it. */
    const banOf = (root_address: string) =>
      Effect.map(banList.stored(root_address), (ban) =>
        ban?.banned === true ? { banned: true, reason: ban.reason } : { banned: false }
      )

    return handlers.handleAll({
      indexPrice: ({ payload: { symbol, price } }) =>
        named(
          audited("setIndexPrice", symbol, { price })({
            before: Effect.sync(() => ({ index_price: markets.ticker(symbol)?.index_price ?? null })),
            effect: indexPrices.set(symbol, price ?? undefined),
            after: (held) => ({ price: held ?? null })
          }).pipe(Effect.map((held) => ({ symbol, price: held ?? null })))
        ),
      createCompetition: ({ payload }) =>
        named(
          audited("createCompetition", payload.slug, { ...payload })({
            effect: competitions.create({ description_md: "", ...payload }),
            after: (competition) => ({ ...competition })
          })
        ),
      changeCompetition: ({ params: { competition_id }, payload }) =>
        named(
          audited("changeCompetition", competition_id, { ...payload })({
            before: Effect.map(competitions.get(competition_id), (competition) => ({ ...competition })),
            effect: competitions.change(competition_id, payload),
            after: (competition) => ({ ...competition })
          })
        ),
      ban: ({ params, payload: { reason = "" } }) =>
        named(
          Effect.flatMap(fullRootOf(params.root_address), (root_address) =>
            audited("banWallet", root_address, { reason })({
              before: banOf(root_address),
              effect: Effect.as(bans.ban(root_address, reason), { root_address, banned: true }),
              after: () => ({ banned: true, reason })
            })
          )
        ),
      unban: ({ params }) =>
        named(
          Effect.flatMap(fullRootOf(params.root_address), (root_address) =>
            audited(
              "unbanWallet",
              root_address
            )({
              before: banOf(root_address),
              effect: Effect.as(bans.lift(root_address), { root_address, banned: false }),
              after: () => ({ banned: false })
            })
          )
        )
    })
  })
)

/** Handlers of /user/referral and /user/rewards. Source: docs/contract/rest-user.md#referral, #rewards. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Referrals } from "../../services/rewards/Referrals.ts"
import { Rewards } from "../../services/rewards/Rewards.ts"
import { Api } from "../api/Api.ts"
import { CurrentCaller } from "../api/Security.ts"
import { named } from "../ErrorMapping.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "reward",
  Effect.fnUntraced(function* (handlers) {
    const referrals = yield* Referrals
    const rewards = yield* Rewards
    return handlers.handleAll({
      referral: () => Effect.flatMap(CurrentCaller, (caller) => named(referrals.get(caller))),
      refer: ({ payload }) =>
        Effect.flatMap(CurrentCaller, (caller) => named(referrals.refer(caller, payload.referral_code))),
      rewards: ({ query }) => Effect.flatMap(CurrentCaller, (caller) => named(rewards.list(caller, query))),
      claim: ({ params, payload }) =>
        Effect.flatMap(CurrentCaller, (caller) =>
          named(rewards.claim(caller, params.reward_id, payload.sub_account_address))
        )
    })
  })
)

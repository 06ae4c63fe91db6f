/**
 * /user/referral and /user/rewards. Source: specification, POST /api/v1/user/referral;
 * docs/contract/rest-user.md#referral, #rewards, docs/contract/exchange.md#referrals.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RewardStatus } from "../../domain/Enumerations.ts"
import { field } from "../../domain/Field.ts"
import { Uuid } from "../../domain/Identity.ts"
import { page } from "../../domain/Page.ts"
import { Referral } from "../../domain/Referral.ts"
import { Reward } from "../../domain/Reward.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { anyAddress, paging } from "./Fields.ts"
import { changes, errors, takesBody } from "./OperationErrors.ts"
import { BearerOnly, BearerOrApiKey } from "./Security.ts"

export const ReferralBody = Schema.Struct({
  referral_code: field(
    Schema.String,
    "8 characters of 0-9 and A-Z without I, L, O and U; case and surrounding spaces are ignored"
  )
}).annotate({ identifier: "ReferralBody" })

export const ClaimBody = Schema.Struct({
  sub_account_address: anyAddress("Sub-account that receives the reward")
}).annotate({ identifier: "ClaimBody" })

const rewardsQuery = { status: Schema.optionalKey(RewardStatus), ...paging }

const referral = {
  downline_count: 0,
  referral_code: "7Q2MX9KD",
  referrer_code: "4TB0Z8WC",
  referrer_user_id: "0e5c5e30-1d3b-5f4c-9a3e-3a7b86a7c0de"
}
const reward = {
  reward_id: "9b2f5b0e-52a5-5f5c-8a53-6a0c1a4f6f10",
  kind: "referral",
  asset: "USDC",
  amount: "0.66",
  status: "claimable",
  source_id: "2026-01-01",
  created_time: 1767225600000
}
const v0 = "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"

export class RewardApi extends HttpApiGroup.make("reward")
  .add(
    HttpApiEndpoint.get("referral", "/referral", { success: Referral })
      .middleware(BearerOrApiKey)
      .annotateMerge(
        docs({
          id: "getReferral",
          summary: "Referral",
          description: "The caller's own code, who referred the caller, and how many users named the caller.",
          access: "read",
          response: { ...referral, referrer_code: "", referrer_user_id: "" }
        })
      ),
    HttpApiEndpoint.post("refer", "/referral", {
      payload: ReferralBody,
      success: Referral,
      error: errors(...takesBody, ...changes, "ReferralCodeNotFound", "ReferrerAlreadySet", "SelfReferral")
    })
      .middleware(BearerOnly)
      .annotateMerge(
        docs({
          id: "setReferrer",
          summary: "Name who referred you",
          description:
            "Once and for ever; the same code again answers 200. A code that leads back to the caller, over however many users, is refused (SelfReferral).",
          access: "bearer",
          request: { referral_code: "4TB0Z8WC" },
          response: referral
        })
      ),
    HttpApiEndpoint.get("rewards", "/rewards", {
      query: rewardsQuery,
      success: page(Reward),
      error: errors("InvalidCursor")
    })
      .middleware(BearerOrApiKey)
      .annotateMerge(
        docs({
          id: "getRewards",
          summary: "Rewards",
          description:
            "Newest first. `pending` ones still grow (referral fees of a day, until 00:00 UTC), `claimable` ones wait to be claimed.",
          access: "read",
          response: { list: [reward], next_page_cursor: "" }
        })
      ),
    HttpApiEndpoint.post("claim", "/rewards/:reward_id/claim", {
      params: { reward_id: field(Uuid, "Reward id") },
      payload: ClaimBody,
      success: Reward,
      error: errors(...takesBody, ...changes, "RewardNotFound", "SubAccountNotFound", "AlreadyClaimed", "RewardPending")
    })
      .middleware(BearerOnly)
      .annotateMerge(
        docs({
          id: "claimReward",
          summary: "Claim a reward",
          description:
            "Credited at once, and once: after a lost answer claim again, to the same result or AlreadyClaimed.",
          access: "bearer",
          request: { sub_account_address: v0 },
          response: { ...reward, status: "claimed", claimed_time: 1767312000000 }
        })
      )
  )
  .prefix("/api/v1/user")
  .annotateMerge(
    OpenApi.annotations({ title: "Rewards", description: "Referrals, and what they and competitions earn" })
  ) {}

/**
 * Rewards that a user may claim once.
 * Source: docs/contract/conventions.md#enumerations, docs/contract/rest-user.md#rewards,
 * docs/contract/exchange.md#referrals.
 */
import { Schema } from "effect"
import { Asset } from "./Account.ts"
import { NAMESPACE, uuidV5 } from "./Address.ts"
import { Decimal, mul, ONE, parse, type Scaled } from "./Decimal.ts"
import { RewardKind, RewardStatus } from "./Enumerations.ts"
import type { Execution } from "./Execution.ts"
import { field, measure } from "./Field.ts"
import { Uuid } from "./Identity.ts"
import { Millis } from "./Time.ts"

export const Reward = Schema.Struct({
  reward_id: field(Uuid, "Reward id"),
  kind: RewardKind,
  asset: field(Asset, "Asset, by its ticker"),
  amount: measure(Decimal, "Amount", "asset"),
  status: RewardStatus,
  source_id: field(Schema.String, "Its source: the id of a competition, or the day of referral fees, YYYY-MM-DD (UTC)"),
  created_time: field(Millis, "Creation time"),
  claimed_time: Schema.optionalKey(field(Millis, "Time of the claim"))
}).annotate({ identifier: "Reward" })
export type Reward = typeof Reward.Type

/** Deterministic id: the same cause yields the same reward, on every gateway and after every repetition. */
export const rewardIdOf = (kind: RewardKind, owner: string, source_id: string): string =>
  uuidV5(NAMESPACE, `reward:${kind}:${owner}:${source_id}`)

/** The referrer's share of a taker fee: one tenth. */
const REFERRAL_SHARE: Scaled = ONE / 10n

/** The referrer's share of a fill, truncated at 18 places; 0 for makers, rebates and forced trades without a fee. */
export const referralShare = (execution: Pick<Execution, "is_maker" | "exec_type" | "base_fee">): Scaled => {
  if (execution.is_maker || execution.exec_type !== "Trade") return 0n
  const fee = parse(execution.base_fee)
  return fee <= 0n ? 0n : mul(fee, REFERRAL_SHARE, "toward-zero")
}

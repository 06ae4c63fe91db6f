/** Who referred whom, in this process: a double for tests and trials, which forgets everything at its end. */
import { Effect, Layer } from "effect"
import { ReferralLoop, ReferralStore, type Referrer, ReferrerSet } from "../../services/rewards/ReferralStore.ts"

export const layer: Layer.Layer<ReferralStore> = Layer.sync(ReferralStore, () => {
  const referrers = new Map<string, Referrer>()
  const leadsTo = (from: string, user_id: string): boolean => {
    for (let at: string | undefined = from; at !== undefined; at = referrers.get(at)?.referrer_id) {
      if (at === user_id) return true
    }
    return false
  }
  return ReferralStore.of({
    referrer: (user_id) => Effect.sync(() => referrers.get(user_id)),
    referrers: (user_ids) =>
      Effect.sync(
        () =>
          new Map(
            user_ids.flatMap((user_id) => {
              const found = referrers.get(user_id)
              return found === undefined ? [] : [[user_id, found] as const]
            })
          )
      ),
    refer: (user_id, referrer) =>
      Effect.suspend((): Effect.Effect<void, ReferrerSet | ReferralLoop> => {
        const known = referrers.get(user_id)
        if (known !== undefined) return Effect.fail(new ReferrerSet({ referrer_id: known.referrer_id }))
        if (leadsTo(referrer.referrer_id, user_id)) return Effect.fail(new ReferralLoop())
        referrers.set(user_id, referrer)
        return Effect.void
      }),
    downline: (user_id) =>
      Effect.sync(() => [...referrers.values()].filter(({ referrer_id }) => referrer_id === user_id).length)
  })
})

/** Withdrawal addresses in this process: a double for tests and trials, which forgets everything at its end. */
import { Effect, Layer } from "effect"
import { openRules, type WithdrawalAddress, type WithdrawalRules } from "../../domain/WithdrawalAddress.ts"
import { TooManyAddresses, WithdrawalAddressStore } from "../../services/trading/WithdrawalAddressStore.ts"

const inOrder = (a: WithdrawalAddress, b: WithdrawalAddress): number =>
  a.created_time - b.created_time || (a.destination < b.destination ? -1 : 1)

export const layer: Layer.Layer<WithdrawalAddressStore> = Layer.sync(WithdrawalAddressStore, () => {
  const users = new Map<string, WithdrawalRules>()
  const attempts = new Map<string, Map<string, number>>()
  const of = (user_id: string) => users.get(user_id) ?? openRules
  return WithdrawalAddressStore.of({
    of: (user_id) => Effect.sync(() => of(user_id)),
    add: (user_id, address, max) =>
      Effect.suspend(() => {
        const rules = of(user_id)
        const listed = rules.list.find(({ destination }) => destination === address.destination)
        if (listed !== undefined) return Effect.succeed(listed)
        if (rules.list.length >= max) return Effect.fail(new TooManyAddresses({ max }))
        users.set(user_id, { ...rules, list: [...rules.list, address].sort(inOrder) })
        return Effect.succeed(address)
      }),
    remove: (user_id, destination) =>
      Effect.sync(() => {
        const rules = of(user_id)
        const list = rules.list.filter((address) => address.destination !== destination)
        users.set(user_id, { ...rules, list })
        return list.length < rules.list.length
      }),
    restrict: (user_id, only_listed, loosens_time) =>
      Effect.sync(() => void users.set(user_id, { ...of(user_id), only_listed, loosens_time })),
    begin: (user_id, attempt, until_ms) =>
      Effect.sync(() => {
        const own = attempts.get(user_id) ?? new Map<string, number>()
        attempts.set(user_id, own.set(attempt, until_ms))
      }),
    end: (user_id, attempt) => Effect.sync(() => void attempts.get(user_id)?.delete(attempt)),
    open: (user_id, now_ms) =>
      Effect.sync(() =>
        [...(attempts.get(user_id) ?? [])].filter(([, until_ms]) => until_ms > now_ms).map(([attempt]) => attempt)
      )
  })
})

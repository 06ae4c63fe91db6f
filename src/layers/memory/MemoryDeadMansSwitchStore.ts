/** Settings of the dead-man's switch in this process, which forgets them at its end. */
import { Effect, Layer } from "effect"
import type { Switch } from "../../domain/DeadMansSwitchWindow.ts"
import { DeadMansSwitchStore } from "../../services/trading/DeadMansSwitchStore.ts"

export const layer: Layer.Layer<DeadMansSwitchStore> = Layer.sync(DeadMansSwitchStore, () => {
  const users = new Map<string, Map<string, Switch>>()
  return DeadMansSwitchStore.of({
    of: (user_id) =>
      Effect.sync(() =>
        [...(users.get(user_id)?.values() ?? [])].sort((a, b) =>
          a.sub_account_address < b.sub_account_address ? -1 : 1
        )
      ),
    set: (user_id, setting) =>
      Effect.sync(() => {
        const own = users.get(user_id) ?? new Map<string, Switch>()
        users.set(user_id, own.set(setting.sub_account_address, setting))
      }),
    users: Effect.sync(() =>
      [...users].filter(([, own]) => [...own.values()].some(({ enabled }) => enabled)).map(([user_id]) => user_id)
    )
  })
})

/** Bans in this process: a double for tests and trials, which forgets everything at its end. */
import { Effect, Layer } from "effect"
import { type Ban, BanStore } from "../../services/identity/BanStore.ts"

export const layer: Layer.Layer<BanStore> = Layer.sync(BanStore, () => {
  const bans = new Map<string, Ban>()
  return BanStore.of({
    put: (ban) => Effect.sync(() => void bans.set(ban.root_address, ban)),
    since: (changed_time) => Effect.sync(() => [...bans.values()].filter((ban) => ban.changed_time >= changed_time))
  })
})

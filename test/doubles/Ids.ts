/** Sequential ids: the same run gives the same ids. */
import { Effect, Layer } from "effect"
import { Ids } from "../../src/services/operations/Ids.ts"

export const layer: Layer.Layer<Ids> = Layer.sync(Ids, () => {
  let count = 0
  return Ids.of({
    uuid: Effect.sync(() => `00000000-0000-4000-8000-${(++count).toString(16).padStart(12, "0")}`)
  })
})

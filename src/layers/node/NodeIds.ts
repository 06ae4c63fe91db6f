/** Identifiers from the platform's secure randomness. */
import { Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { Ids } from "../../services/operations/Ids.ts"

export const layer: Layer.Layer<Ids> = Layer.succeed(Ids, Ids.of({ uuid: Effect.sync(randomUUID) }))

/**
 * Policy: whoever was answered finds what was done.
 *
 * A sequencer whose answers to everything but orders wait until the read models hold the command's events, so that a list
 * read afterwards shows them. Orders are not waited for: they are asynchronous by specification, and speed is theirs.
 */
import { Effect, Layer } from "effect"
import { Projector } from "./Projector.ts"
import { type CommandBody, Sequencer } from "./Sequencer.ts"

const orders: ReadonlySet<CommandBody["type"]> = new Set(["place", "amend", "cancel", "cancel_all"])

export const layer: Layer.Layer<Sequencer, never, Sequencer | Projector> = Layer.effect(
  Sequencer,
  Effect.gen(function* () {
    const sequencer = yield* Sequencer
    const projector = yield* Projector
    return Sequencer.of({
      ...sequencer,
      submit: (command) =>
        orders.has(command.body.type)
          ? sequencer.submit(command)
          : Effect.tap(sequencer.submit(command), (ack) => projector.reached(ack.seq))
    })
  })
)

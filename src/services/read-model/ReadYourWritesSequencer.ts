/**
 * Policy: whoever was answered finds what was done.
 *
 * A sequencer whose answers to everything but orders wait until the read models hold the command's events, so that a list
 * read afterwards shows them. Orders are not waited for: they are asynchronous by specification, and speed is theirs. Their
 * acknowledgements are noted instead, and it is the lists that wait: {@link ReadYourWrites}.
 */
import { Effect, Layer } from "effect"
import { ReadYourWrites } from "./ReadYourWrites.ts"
import { Projector } from "./Projector.ts"
import { type CommandBody, Sequencer } from "../Sequencer.ts"

const orders: ReadonlySet<CommandBody["type"]> = new Set(["place", "amend", "cancel", "cancel_all"])

export const layer: Layer.Layer<Sequencer, never, ReadYourWrites | Sequencer | Projector> = Layer.effect(
  Sequencer,
  Effect.gen(function* () {
    const sequencer = yield* Sequencer
    const ownWrites = yield* ReadYourWrites
    const projector = yield* Projector
    return Sequencer.of({
      ...sequencer,
      submit: (command) =>
        orders.has(command.body.type)
          ? Effect.map(sequencer.submit(command), (ack) => {
              ownWrites.noted(command.user_id, ack.seq)
              return ack
            })
          : Effect.tap(sequencer.submit(command), (ack) => projector.reached(ack.seq))
    })
  })
)

/**
 * Policy: read-your-writes for commands.
 *
 * A sequencer whose acknowledgements, except those of orders, wait until the read models include the events of the
 * command, so that a later list shows them. Orders do not wait, because they are asynchronous by contract and need
 * the speed. Their acknowledgements are recorded, and the lists wait instead: {@link ReadYourWrites}.
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
    const readYourWrites = yield* ReadYourWrites
    const projector = yield* Projector
    return Sequencer.of({
      ...sequencer,
      submit: (command) =>
        orders.has(command.body.type)
          ? Effect.map(sequencer.submit(command), (ack) => {
              readYourWrites.record(command.user_id, ack.seq)
              return ack
            })
          : Effect.tap(sequencer.submit(command), (ack) => projector.reached(ack.seq))
    })
  })
)

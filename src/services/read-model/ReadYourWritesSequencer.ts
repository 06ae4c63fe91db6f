/**
 * Policy: read-your-writes for commands.
 *
 * A sequencer whose acknowledgements are recorded, so that later lists wait for the events of the command:
 * {@link ReadYourWrites}. All except those of orders also wait themselves until the read models include these events, at most
 * the maximum wait of {@link Projector}. Orders do not wait, because they are asynchronous by contract and need the speed.
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
      submit: (command) => {
        const recorded = Effect.map(sequencer.submit(command), (ack) => {
          readYourWrites.record(command.user_id, ack.seq)
          return ack
        })
        return orders.has(command.body.type) ? recorded : Effect.tap(recorded, (ack) => projector.reached(ack.seq))
      }
    })
  })
)

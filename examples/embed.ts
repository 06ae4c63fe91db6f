/**
 * The gateway inside a larger Effect app, with one layer swapped: every deposit from the faucet is announced.
 *
 * A port is a service, so a decorator of it is a layer like any other. The same way a double takes its place in a test.
 */
import { Effect, Layer } from "effect"
import { Gateway, Sequencer, Settings, Standalone } from "../src/index.ts"

/** The sequencer of the stack, with a listener in front of it. */
const Announced = (onDeposit: (amount: string) => void) =>
  Layer.effect(
    Sequencer,
    Effect.map(Sequencer, (sequencer) =>
      Sequencer.of({
        ...sequencer,
        submit: (command) => {
          const { body } = command
          return body.type === "deposit"
            ? Effect.tap(sequencer.submit(command), () => Effect.sync(() => onDeposit(body.amount)))
            : sequencer.submit(command)
        }
      })
    )
  )

/** A whole exchange that tells of its deposits; provide it to your app, or launch it. */
export const Exchange = (onDeposit: (amount: string) => void) =>
  Layer.unwrap(
    Effect.map(Settings.settings, (settings) =>
      Gateway.layer(settings).pipe(Layer.provide(Announced(onDeposit)), Layer.provide(Standalone.layer(settings)))
    )
  )

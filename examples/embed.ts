/** The gateway inside a larger Effect app, with one layer replaced: a sequencer that reports every command. */
import { Effect, Layer } from "effect"
import { Gateway, Sequencer, Settings, Standalone } from "../src/index.ts"

const Observed = (onCommand: (type: string) => void) =>
  Layer.effect(Sequencer)(
    Effect.map(Sequencer, ({ submit, ...rest }) => ({
      ...rest,
      submit: (command) => Effect.tap(submit(command), () => Effect.sync(() => onCommand(command.body.type)))
    }))
  )
export const Exchange = Effect.fnUntraced(function* (onCommand: (type: string) => void) {
  const settings = yield* Settings.settings
  return Gateway.layer(settings).pipe(Layer.provide(Observed(onCommand)), Layer.provide(Standalone.layer(settings)))
}, Layer.unwrap)

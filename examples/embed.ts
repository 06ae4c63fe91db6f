/** The gateway inside a larger Effect app, with one layer swapped: a sequencer that tells of every command it was given. */
import { Effect, Layer } from "effect"
import { Gateway, Sequencer, Settings, Standalone } from "../src/index.ts"

const Told = (tell: (type: string) => void) =>
  Layer.effect(Sequencer)(
    Effect.map(Sequencer, ({ submit, ...rest }) => ({
      ...rest,
      submit: (command) => Effect.tap(submit(command), () => Effect.sync(() => tell(command.body.type)))
    }))
  )
export const Exchange = Effect.fnUntraced(function* (tell: (type: string) => void) {
  const settings = yield* Settings.settings
  return Gateway.layer(settings).pipe(Layer.provide(Told(tell)), Layer.provide(Standalone.layer(settings)))
}, Layer.unwrap)

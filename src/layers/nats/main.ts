/** `npm run relay`: copies the events of an external sequencer to NATS until it receives a stop signal. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Effect, Exit, Layer, Logger } from "effect"
import { minimumLogLevel } from "../../domain/Setting.ts"
import { endpointsOf } from "../Backends.ts"
import { SettingUnusable, settings } from "../Settings.ts"
import * as NatsRelay from "./NatsRelay.ts"
import * as NatsStream from "./NatsStream.ts"

const Main = Layer.unwrap(
  Effect.gen(function* () {
    const all = yield* settings
    if (all.natsUrl === undefined) {
      return yield* new SettingUnusable({ message: "the relay requires NATS_URL, such as nats://127.0.0.1:4222" })
    }
    const { sequencer } = yield* endpointsOf(all)
    return NatsRelay.layer(sequencer).pipe(
      Layer.provide(NatsStream.layer({ url: all.natsUrl })),
      Layer.provide(minimumLogLevel(all.logLevel))
    )
  })
).pipe(Layer.provide(Logger.layer([Logger.consoleJson])))

NodeRuntime.runMain(Layer.launch(Main), {
  // a stop by signal is a success
  teardown: (exit, onExit) => onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
})

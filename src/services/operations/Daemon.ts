/**
 * Background work of a service, which lasts as long as its scope. Nothing awaits its fiber, so a defect would end the work
 * without a log line, and the service would run on without it. Here the defect is logged, and the work goes on.
 */
import { Effect, type Scope } from "effect"

/** Pause after a defect. */
const PAUSE = "1 second"

/** Repeats an effect until the scope closes. `work` names it in the log. */
export const repeat =
  (work: string) =>
  <R>(effect: Effect.Effect<unknown, never, R>): Effect.Effect<void, never, R | Scope.Scope> =>
    effect.pipe(
      Effect.catchCause((cause) =>
        Effect.logError("background work failed and goes on", cause).pipe(
          Effect.annotateLogs({ work }),
          Effect.andThen(Effect.sleep(PAUSE))
        )
      ),
      Effect.forever,
      Effect.forkScoped,
      Effect.asVoid
    )

/** A race by controlled interleaving: an effect stops at a point until the test lets it continue. */
import { Deferred, Effect, Fiber } from "effect"

export class Stop {
  private readonly arrived = Deferred.makeUnsafe<void>()
  private readonly released = Deferred.makeUnsafe<void>()
  /** Stops the fiber that runs it until the test releases it. */
  readonly here: Effect.Effect<void> = Effect.andThen(
    Deferred.succeed(this.arrived, undefined),
    Deferred.await(this.released)
  )
  /** Waits until something has stopped. */
  readonly reached: Effect.Effect<void> = Deferred.await(this.arrived)
  readonly release: Effect.Effect<void> = Effect.asVoid(Deferred.succeed(this.released, undefined))
  /** Interrupts a fiber that has stopped, then releases it, and waits for its end. */
  readonly interrupt = <A, E>(fiber: Fiber.Fiber<A, E>): Effect.Effect<void> =>
    Effect.gen({ self: this }, function* () {
      yield* this.reached
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      yield* this.release
      yield* Fiber.join(interruption)
    })
}

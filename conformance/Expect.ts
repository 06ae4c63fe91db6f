/** Assertions of the cases: each fails with a violation of the contract. */
import { Effect, Schema } from "effect"

/** The backend violates the contract. */
export class Broken extends Schema.TaggedError<Broken>()("Broken", { message: Schema.String }) {}

export const broken = (message: string): Effect.Effect<never, Broken> => Effect.fail(new Broken({ message }))

/** Fails unless a condition holds. */
export const expect = (holds: boolean, message: string): Effect.Effect<void, Broken> =>
  holds ? Effect.void : broken(message)

const show = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (part === undefined ? null : part)) ?? "nothing"

/** Compares plain values under a name. */
export const expectEqual = (what: string, actual: unknown, expected: unknown): Effect.Effect<void, Broken> =>
  expect(show(actual) === show(expected), `${what}: expected ${show(expected)}, got ${show(actual)}`)

/** Fails where a value is missing. */
export const present = <A>(what: string, value: A | undefined): Effect.Effect<A, Broken> =>
  value === undefined ? broken(`${what} is missing`) : Effect.succeed(value)

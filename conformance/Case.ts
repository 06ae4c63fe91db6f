/** What a case is, and how it says that the backend broke the contract. */
import { Effect, Schema } from "effect"
import type { World } from "./World.ts"

/** The backend did what the contract forbids, or did not do what it demands. */
export class Broken extends Schema.TaggedError<Broken>()("Broken", { message: Schema.String }) {}

/**
 * `core`: without it no gateway works. `full`: the whole market of docs/contract/orders.md, docs/contract/boundary.md,
 * docs/contract/exchange.md.
 */
export type Level = "core" | "full"

export interface Case {
  /** Unique; what `--only` takes. */
  readonly name: string
  readonly level: Level
  /** Where the contract or the comments in proto/gateway/v1 demand it. */
  readonly clause: string
  /** One sentence: what holds of a backend that passes. */
  readonly claim: string
  readonly run: Effect.Effect<void, Broken, World>
}

export const broken = (message: string): Effect.Effect<never, Broken> => Effect.fail(new Broken({ message }))

/** Goes on only if something holds. */
export const expect = (holds: boolean, message: string): Effect.Effect<void, Broken> =>
  holds ? Effect.void : broken(message)

const show = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (part === undefined ? null : part)) ?? "nothing"

/** Compares plain values, and names what is compared. */
export const expectEqual = (what: string, actual: unknown, expected: unknown): Effect.Effect<void, Broken> =>
  expect(show(actual) === show(expected), `${what}: expected ${show(expected)}, got ${show(actual)}`)

/** A value that must be there. */
export const present = <A>(what: string, value: A | undefined): Effect.Effect<A, Broken> =>
  value === undefined ? broken(`${what} is missing`) : Effect.succeed(value)

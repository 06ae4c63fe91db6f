/** A conformance case, and the error of a violated contract. */
import { Effect, Schema } from "effect"
import type { World } from "./World.ts"

/** The backend violated the contract. */
export class Broken extends Schema.TaggedError<Broken>()("Broken", { message: Schema.String }) {}

/**
 * `core`: every gateway needs it. `full`: the whole market of docs/contract/orders.md, docs/contract/boundary.md,
 * docs/contract/exchange.md.
 */
export type Level = "core" | "full"

export interface Case {
  /** Unique; an argument of `--only`. */
  readonly name: string
  readonly level: Level
  /** Source: a heading of the contract, or comments in proto/gateway/v1. */
  readonly clause: string
  /** The requirement, as one sentence about a conforming backend. */
  readonly claim: string
  readonly run: Effect.Effect<void, Broken, World>
}

export const broken = (message: string): Effect.Effect<never, Broken> => Effect.fail(new Broken({ message }))

/** Fails unless the condition holds. */
export const expect = (holds: boolean, message: string): Effect.Effect<void, Broken> =>
  holds ? Effect.void : broken(message)

const show = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (part === undefined ? null : part)) ?? "nothing"

/** Compares plain values; `what` names them in the failure. */
export const expectEqual = (what: string, actual: unknown, expected: unknown): Effect.Effect<void, Broken> =>
  expect(show(actual) === show(expected), `${what}: expected ${show(expected)}, got ${show(actual)}`)

/** A value that must be defined. */
export const present = <A>(what: string, value: A | undefined): Effect.Effect<A, Broken> =>
  value === undefined ? broken(`${what} is missing`) : Effect.succeed(value)

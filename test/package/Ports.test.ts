/** What an app needs to implement the ports of the gateway itself: each port and each error of a port is exported. */
import { type Effect, type Layer, Schema, type Stream } from "effect"
import { assert, describe, it } from "vitest"
import * as library from "../../src/index.ts"

type Library = typeof library
type Port = Layer.Services<ReturnType<Library["Gateway"]["layer"]>>

/** The key of a service; a key that is any text identifies nothing. */
type KeyOf<P> = P extends { readonly key: infer K extends string } ? (string extends K ? never : K) : never
type ExportedKey = { [Name in keyof Library]: KeyOf<Library[Name]> }[keyof Library]

/** The errors of a member of a port; those that a function passes through are its caller's. */
type ErrorOf<Member> = Member extends (...args: never) => infer Result
  ? ErrorOf<Result>
  : Member extends Effect.Effect<infer _A, infer E, infer _R> | Stream.Stream<infer _A, infer E, infer _R>
    ? unknown extends E
      ? never
      : E
    : never
type MembersOf<P> = P extends { readonly Service: infer S } ? S[keyof S] : never
type TagOf<E> = E extends { readonly _tag: infer Tag extends string } ? Tag : never
type ErrorTagOf<P> = P extends unknown ? TagOf<ErrorOf<MembersOf<P>>> : never

/** Names of the errors of all ports, as the compiler finds them: a new error does not compile until it is listed. */
const errors: { readonly [Tag in ErrorTagOf<Port>]: true } = {
  AccountsUnavailable: true,
  CodeExists: true,
  CodeUnusable: true,
  CommandRefused: true,
  CredentialUnchecked: true,
  FeedGone: true,
  HistoryUnavailable: true,
  KeyRegistered: true,
  NonceReused: true,
  NonceStoreUnavailable: true,
  OutcomeUnknown: true,
  Outpaced: true,
  Overloaded: true,
  ProjectionRefused: true,
  RateLimitStoreUnavailable: true,
  RefereeFault: true,
  RefereeUnavailable: true,
  ReferralLoop: true,
  ReferrerSet: true,
  SequencerFault: true,
  SequencerUnavailable: true,
  SlugTaken: true,
  TooManyAddresses: true,
  TooManyKeys: true,
  WalletActivated: true
}

describe("the exports of the library", () => {
  it("have every port that the gateway requires", () => {
    // a port without an export does not compile here
    const exported = (key: ExportedKey): string => key
    const required: (key: KeyOf<Port>) => string = exported
    assert.strictEqual(required(library.Sequencer.key), library.Sequencer.key)
  })
  it("have every error of a port, as a schema", () => {
    for (const name of Object.keys(errors)) {
      assert.isTrue(Schema.isSchema((library as Record<string, unknown>)[name]), name)
    }
  })
})

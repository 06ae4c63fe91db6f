/** Wallets that sign, and an Authenticator with its dependencies. */
import { getPublicKey, hashes, sign } from "@noble/ed25519"
import { sha512 } from "@noble/hashes/sha2.js"
import { Effect, Layer, Ref } from "effect"
import { Context, Redacted } from "effect"
import { subAccountAddress } from "../../src/domain/Address.ts"
import * as MemoryRateLimitStore from "../../src/layers/memory/MemoryRateLimitStore.ts"
import * as NodePasswordHashes from "../../src/layers/node/NodePasswordHashes.ts"
import * as NodeSignatures from "../../src/layers/node/NodeSignatures.ts"
import { ApiKeys, type ApiKeysOptions } from "../../src/services/identity/ApiKeys.ts"
import { Administrators } from "../../src/services/identity/Administrators.ts"
import { Authenticator } from "../../src/services/identity/Authenticator.ts"
import { BanList } from "../../src/services/identity/BanList.ts"
import { Grants } from "../../src/services/identity/Grants.ts"
import { History } from "../../src/services/History.ts"
import { RateLimiter, type RateLimiterOptions } from "../../src/services/operations/RateLimiter.ts"
import { type Command, Sequencer, type SubmitError } from "../../src/services/Sequencer.ts"
import { SigningKeys, type VerifyKey } from "../../src/services/operations/SigningKeys.ts"
import { Tokens } from "../../src/services/identity/Tokens.ts"
import * as Ids from "./Ids.ts"
import * as SqliteStores from "./SqliteStores.ts"

hashes.sha512 = sha512
const utf8 = new TextEncoder()

export interface Wallet {
  readonly seed: Uint8Array
  readonly publicKey: Uint8Array
  /** 64 hex digits. */
  readonly hex: string
  /** Signature in hex. */
  readonly sign: (message: string) => string
}

export const wallet = (seed: Uint8Array): Wallet => {
  const publicKey = getPublicKey(seed)
  return {
    seed,
    publicKey,
    hex: Buffer.from(publicKey).toString("hex"),
    sign: (message) => Buffer.from(sign(utf8.encode(message), seed)).toString("hex")
  }
}
/** A separate wallet for every number. */
export const walletNo = (n: number): Wallet => wallet(new Uint8Array(32).fill(n))

export const signingKeys = (seed: number, older: ReadonlyArray<VerifyKey> = []): Layer.Layer<SigningKeys> => {
  const own = walletNo(seed)
  const current = { kid: `key-${seed}`, publicKey: own.publicKey }
  return Layer.succeed(
    SigningKeys,
    SigningKeys.of({
      current,
      ring: [current, ...older],
      sign: (message) => sign(message, own.seed),
      cursorKey: Redacted.make(new Uint8Array(32))
    })
  )
}

/** A sequencer that records commands, and fails as the test sets. */
export class Submitted extends Context.Service<
  Submitted,
  {
    readonly commands: Ref.Ref<ReadonlyArray<Command>>
    readonly failure: Ref.Ref<SubmitError | undefined>
  }
>()("test/Submitted") {
  static readonly layer = Layer.effect(
    Submitted,
    Effect.gen(function* () {
      return Submitted.of({
        commands: yield* Ref.make<ReadonlyArray<Command>>([]),
        failure: yield* Ref.make<SubmitError | undefined>(undefined)
      })
    })
  )
}

/** The root address of `user_id` from which a test derives sub-accounts. */
export const rootOfUser = (user_id: string): string => `0x${user_id.replaceAll("-", "").padStart(64, "0")}`

/** The first `count` sub-accounts of a user, of which number 2 is deleted. */
const subAccounts = (user_id: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    sub_account_address: subAccountAddress(rootOfUser(user_id), index),
    user_id,
    root_address: rootOfUser(user_id),
    index,
    frozen: false,
    deleted: index === 2,
    created_time: 0
  }))

/** Every user has sub-accounts 0, 1 and 3. The read model does not have the last one yet. */
const history = Layer.mock(History)({ subAccounts: (user_id) => Effect.succeed(subAccounts(user_id, 3)) })

const sequencer = Layer.effect(
  Sequencer,
  Effect.gen(function* () {
    const submitted = yield* Submitted
    return Sequencer.of({
      commands_down_ms: () => 0,
      submit: (command) =>
        Effect.gen(function* () {
          const failure = yield* Ref.get(submitted.failure)
          if (failure !== undefined) return yield* Effect.fail(failure)
          yield* Ref.update(submitted.commands, (all) => [...all, command])
          return { seq: 1, accepted_at_ms: 0, orders: [], duplicate: false, version: undefined, result: undefined }
        }),
      orderBook: () => Effect.die("not asked here"),
      instruments: Effect.die("not asked here"),
      openOrders: Effect.die("not asked here"),
      subAccounts: (user_id) => Effect.succeed(subAccounts(user_id!, 4)),
      head: Effect.die("not asked here")
    })
  })
)

export interface Options {
  readonly rate?: RateLimiterOptions
  readonly apiKeys?: ApiKeysOptions
}

export const layer = (options: Options = {}) =>
  Layer.mergeAll(
    Authenticator.layer({}),
    Administrators.layer({
      admin: { username: "admin", password: Redacted.make("correct horse battery") },
      users: []
    })
  ).pipe(
    Layer.provideMerge(Tokens.layer({ environment: "testnet" })),
    Layer.provideMerge(ApiKeys.layer(options.apiKeys)),
    Layer.provideMerge(BanList.layer),
    Layer.provideMerge(Grants.layer),
    Layer.provideMerge(RateLimiter.layer(options.rate ?? { mode: "off" })),
    Layer.provideMerge(
      Layer.mergeAll(
        sequencer.pipe(Layer.provideMerge(Submitted.layer)),
        history,
        signingKeys(1),
        Ids.layer,
        NodeSignatures.layer(),
        NodePasswordHashes.layer,
        SqliteStores.nonces,
        SqliteStores.accounts,
        SqliteStores.bans,
        MemoryRateLimitStore.layer()
      )
    )
  )

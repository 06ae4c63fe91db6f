/**
 * The login of a wallet: the checks of its signature in the order of docs/contract/rest-access.md#authorize, then a token. The
 * first login creates the user and sub-account 0.
 */
import { Effect } from "effect"
import { Hex } from "effect/encoding"
import { rootOfKey, rootOfParty, subAccountAddress, userIdOf } from "../../domain/Address.ts"
import { fieldText } from "../../domain/InputText.ts"
import { bytesOfSignature, isKeyOfParty, isNonce, parseParty, type Rail } from "../../domain/Identity.ts"
import { History } from "../History.ts"
import { commandIdOf } from "../operations/Ids.ts"
import { RateLimiter } from "../operations/RateLimiter.ts"
import { Sequencer } from "../Sequencer.ts"
import { Accounts } from "./Accounts.ts"
import { AuthLimited, orUnavailable, refuse } from "./AuthErrors.ts"
import { readKey, type SignatureChecks } from "./SignatureChecks.ts"
import { Tokens } from "./Tokens.ts"

/** The body of a login. */
export interface Login {
  readonly public_key: string
  readonly signature: string
  readonly timestamp_ms: number
  readonly nonce: string
  readonly verifying_key: string | undefined
}

/** The wallet of a login. */
interface Wallet {
  readonly rail: Rail
  readonly root_address: string
  readonly party_id: string | undefined
  readonly publicKey: Uint8Array
  /** The key of the party is not stored yet; a valid signature binds it. */
  readonly binds: boolean
  /** Owner of the nonces. */
  readonly owner: Uint8Array
}

const utf8 = new TextEncoder()

const otherParty = () =>
  refuse(
    "InvalidPublicKey",
    { field: "verifying_key" },
    fieldText("verifying_key", "the key of this party, one with the fingerprint in the party id", "")
  )

/**
 * The login: fails with the reason of the refusal, if a rate limit refuses it, or as unavailable.
 * @param window_ms - accepted difference between `timestamp_ms` and the server's time
 */
export const make = Effect.fnUntraced(function* (check: SignatureChecks, window_ms: number) {
  const accounts = yield* Accounts
  const history = yield* History
  const limiter = yield* RateLimiter
  const sequencer = yield* Sequencer
  const tokens = yield* Tokens

  /** The wallet of `public_key`, which is a key or, if it contains `::`, a party. */
  const walletOf = Effect.fnUntraced(function* (public_key: string, verifying_key: string | undefined) {
    if (!public_key.includes("::")) {
      const publicKey = yield* readKey(public_key)
      const wallet: Wallet = {
        rail: "address",
        root_address: rootOfKey(publicKey),
        party_id: undefined,
        publicKey,
        binds: false,
        owner: publicKey
      }
      return wallet
    }
    const party = parseParty(public_key)
    if (party === undefined) return yield* refuse("InvalidPublicKey")
    const bound = yield* orUnavailable(accounts.partyKey(party.id))
    const text = verifying_key ?? bound
    if (text === undefined) return yield* refuse("UnknownPartyKey")
    const publicKey = yield* readKey(text)
    if (!isKeyOfParty(party, publicKey)) return yield* otherParty()
    const wallet: Wallet = {
      rail: "party",
      root_address: rootOfParty(party.id),
      party_id: party.id,
      publicKey,
      binds: bound === undefined,
      owner: utf8.encode(party.id)
    }
    return wallet
  })

  /** Counts a valid signature against the limit of its key. */
  const limited = (key: string) =>
    Effect.flatMap(limiter.take("authorize-key", key), (rate) =>
      rate === undefined || rate.allowed ? Effect.void : Effect.fail(new AuthLimited({ rate }))
    )

  /** Creates the wallet's user and sub-account 0 if necessary. */
  const admit = Effect.fnUntraced(function* (wallet: Wallet) {
    const { rail, root_address, party_id } = wallet
    const user_id = userIdOf(root_address)
    if (wallet.binds) yield* accounts.bindPartyKey(party_id!, Hex.encode(wallet.publicKey))
    yield* accounts.ensureUser({ user_id, root_address, rail, party_id })
    const isReady = yield* accounts.isReady(user_id)
    // a restore of the backend may have lost it
    if (!isReady || !(yield* history.subAccounts(user_id)).some(({ index }) => index === 0)) {
      yield* sequencer.submit({
        command_id: commandIdOf("create_sub_account", root_address, 0),
        user_id,
        sub_account_address: subAccountAddress(root_address, 0),
        body: { type: "create_sub_account", root_address, index: 0 }
      })
      yield* accounts.markReady(user_id)
    }
    return user_id
  }, orUnavailable)

  return Effect.fnUntraced(function* ({ nonce, public_key, signature, timestamp_ms, verifying_key }: Login) {
    if (!isNonce(nonce)) return yield* refuse("InvalidNonce", { field: "nonce" })
    const wallet = yield* walletOf(public_key, verifying_key)
    yield* check.time(timestamp_ms, window_ms)
    yield* check.trusted(timestamp_ms, window_ms)
    const message = `SERVICE_AUTH|LOGIN|${public_key}|${timestamp_ms}|${nonce}`
    yield* check.signature(wallet.publicKey, message, bytesOfSignature(signature))
    yield* limited(wallet.party_id ?? Hex.encode(wallet.publicKey))
    yield* check.nonce("login", wallet.owner, nonce)
    const user_id = yield* admit(wallet)
    const { root_address, rail } = wallet
    const issued = yield* tokens.issue({ user_id, root_address, rail })
    // a token that was issued before the database was replaced is itself not trusted; this one may be later
    yield* check.trusted(timestamp_ms, window_ms)
    return { ...issued, user_id, root_address }
  })
})

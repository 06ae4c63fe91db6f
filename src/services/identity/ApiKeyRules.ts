/**
 * The rules of API keys: validation of new keys and changes, and which changes end the current uses of a key.
 * Source: docs/contract/rest-user.md#api-keys.
 */
import { Clock, Effect, Schema } from "effect"
import { parseAddress } from "../../domain/Address.ts"
import type { Scope } from "../../domain/Enumerations.ts"
import { parseCidr, printCidr } from "../../domain/Ip.ts"
import { Details, Reason } from "../../domain/Reason.ts"
import { allScopes, type SubAccountState } from "../../domain/User.ts"
import { History } from "../History.ts"
import { Sequencer } from "../Sequencer.ts"
import type { ApiKeyPatch, ApiKeyRecord } from "./Accounts.ts"

/** An API-key request failed because of a rule; nothing changed. `details` name the field or limit. */
export class ApiKeyRefused<out R extends Reason = Reason> extends Schema.TaggedError<ApiKeyRefused>()("ApiKeyRefused", {
  reason: Reason,
  /** The accepted values, as `expected` and a noun phrase; `""` if the reason states them. */
  message: Schema.String,
  details: Details
}) {
  declare readonly reason: R
  constructor({ reason, ...rest }: { readonly reason: R; readonly message: string; readonly details: Details }) {
    super({ reason, ...rest })
  }
}
/** Why a field of a key is refused, whatever the key. */
export type ApiKeyFieldReason = "InvalidField" | "OutOfRange" | "SubAccountNotFound"

/** Fields of a new key or a change; `undefined`: the default on creation, unchanged in a change. */
export interface ApiKeyChange {
  readonly label: string | undefined
  readonly scopes: ReadonlyArray<Scope> | undefined
  readonly sub_account_addresses: ReadonlyArray<string> | undefined
  readonly ip_allowlist: ReadonlyArray<string> | undefined
  /** Unix ms. */
  readonly expires_time: number | undefined
  readonly require_body_hash: boolean | undefined
}
export interface NewApiKey extends ApiKeyChange {
  /** Any form of docs/contract/authentication.md#signatures. */
  readonly public_key: string
  readonly scopes: ReadonlyArray<Scope>
}

const LABEL_CHARS_MAX = 64
const BLOCKS_MAX = 20

export const refuse = <R extends Reason>(reason: R, details: Details = {}, message = "") =>
  new ApiKeyRefused({ reason, details, message })
const invalid = (field: string, accepted: string) => refuse("InvalidField", { field }, `expected ${accepted}`)

const label = (text: string) =>
  text.length <= LABEL_CHARS_MAX
    ? Effect.succeed(text)
    : Effect.fail(invalid("label", `text of at most ${LABEL_CHARS_MAX} characters`))
const scopesOf = (requested: ReadonlyArray<Scope>) =>
  requested.length === 0 || requested.some((scope) => !allScopes.includes(scope))
    ? Effect.fail(invalid("scopes", `some of ${allScopes.join(", ")}`))
    : Effect.succeed(allScopes.filter((scope) => requested.includes(scope)))
const blocksOf = (
  texts: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, ApiKeyRefused<"InvalidField">> => {
  if (texts.length > BLOCKS_MAX)
    return Effect.fail(
      refuse("InvalidField", { field: "ip_allowlist", max: BLOCKS_MAX }, `expected at most ${BLOCKS_MAX} items`)
    )
  const blocks = new Set<string>()
  for (const [i, text] of texts.entries()) {
    const block = parseCidr(text)
    if (block === undefined)
      return Effect.fail(invalid(`ip_allowlist.${i}`, "an IP address or a CIDR block, such as 203.0.113.0/24"))
    blocks.add(printCidr(block))
  }
  return Effect.succeed([...blocks])
}
const expiryOf = Effect.fnUntraced(function* (expires_time: number) {
  const now = yield* Clock.currentTimeMillis
  if (expires_time <= now)
    return yield* refuse("OutOfRange", { field: "expires_time", min: now + 1 }, "expected a time in the future")
  return expires_time
})
/** The newest sub-accounts may be missing in the read model; the sequencer has them. */
const ownSubAccounts = Effect.fnUntraced(function* (user_id: string, texts: ReadonlyArray<string>) {
  const history = yield* History
  const sequencer = yield* Sequencer
  if (texts.length === 0) return yield* invalid("sub_account_addresses", "addresses of own sub-accounts")
  const addresses: Array<string> = []
  for (const [i, text] of texts.entries()) {
    const address = parseAddress(text)
    if (address === undefined) return yield* invalid(`sub_account_addresses.${i}`, "an address")
    if (!addresses.includes(address)) addresses.push(address)
  }
  const isAllOf = (own: ReadonlyArray<SubAccountState>): boolean =>
    addresses.every((address) => own.some((state) => state.sub_account_address === address && !state.deleted))
  if (isAllOf(yield* history.subAccounts(user_id)) || isAllOf(yield* sequencer.subAccounts(user_id))) return addresses
  return yield* refuse(
    "SubAccountNotFound",
    { field: "sub_account_addresses" },
    "expected addresses of own sub-accounts"
  )
})

/** Validates a change and returns its canonical fields. */
export const checked = Effect.fnUntraced(function* (user_id: string, change: ApiKeyChange) {
  const patch: ApiKeyPatch = {
    ...(change.label === undefined ? {} : { label: yield* label(change.label) }),
    ...(change.scopes === undefined ? {} : { scopes: yield* scopesOf(change.scopes) }),
    ...(change.ip_allowlist === undefined ? {} : { ip_allowlist: yield* blocksOf(change.ip_allowlist) }),
    ...(change.expires_time === undefined ? {} : { expires_time: yield* expiryOf(change.expires_time) }),
    ...(change.require_body_hash === undefined ? {} : { require_body_hash: change.require_body_hash }),
    ...(change.sub_account_addresses === undefined
      ? {}
      : { sub_account_addresses: yield* ownSubAccounts(user_id, change.sub_account_addresses) })
  }
  return patch
})

const sameMembers = (a: ReadonlyArray<string> | undefined, b: ReadonlyArray<string> | undefined): boolean =>
  a?.length === b?.length && (a?.every((one) => b!.includes(one)) ?? true)

/** Whether a change narrows a key or alters its sub-accounts, so that its current uses must end. */
const isNarrower = (before: ApiKeyRecord, after: ApiKeyRecord): boolean =>
  before.scopes.some((scope) => !after.scopes.includes(scope)) ||
  !sameMembers(before.sub_account_addresses, after.sub_account_addresses) ||
  (after.ip_allowlist.length > 0 && after.ip_allowlist.join() !== before.ip_allowlist.join()) ||
  (after.expires_time !== undefined && after.expires_time < (before.expires_time ?? Infinity)) ||
  (after.require_body_hash && !before.require_body_hash)

/** Whether a change ends the current uses of a key. */
export const hasEnded = (before: ApiKeyRecord, after: ApiKeyRecord): boolean =>
  after.revoked || isNarrower(before, after)

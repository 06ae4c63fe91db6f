/** Users, keys and revocations in this process: a double for tests and trials, which forgets everything at its end. */
import { Clock, Effect, Layer } from "effect"
import { referralCodeOf } from "../../domain/Referral.ts"
import { MULTIPLIER_BPS_DEFAULT } from "../../domain/AccessCode.ts"
import {
  Accounts,
  type Activation,
  type ApiKeyRecord,
  KeyRegistered,
  TooManyKeys,
  type User
} from "../../services/identity/Accounts.ts"

export const layer: Layer.Layer<Accounts> = Layer.sync(Accounts, () => {
  const users = new Map<string, Omit<User, "activated" | keyof Activation>>()
  const codes = new Set<string>()
  const ready = new Set<string>()
  const partyKeys = new Map<string, string>()
  const whitelist = new Set<string>()
  const activations = new Map<string, Activation>()
  const keys = new Map<string, ApiKeyRecord>()
  const keyIds = new Map<string, string>()
  const keyChanges = new Map<string, number>()
  const labels = new Map<string, Map<string, string>>()
  const revoked = new Map<string, { readonly expires_at_ms: number; readonly revoked_time: number }>()

  const freeCode = (user_id: string): string => {
    for (let attempt = 0; ; attempt++) {
      const code = referralCodeOf(user_id, attempt)
      if (!codes.has(code)) return code
    }
  }
  const userOf = (user_id: string): User | undefined => {
    const user = users.get(user_id)
    if (user === undefined) return undefined
    const activation = activations.get(user.root_address)
    const { badge, multiplier_bps } = activation ?? { badge: false, multiplier_bps: MULTIPLIER_BPS_DEFAULT }
    return { ...user, activated: activation !== undefined, badge, multiplier_bps }
  }
  const keysOf = (user_id: string) => [...keys.values()].filter((key) => key.user_id === user_id && !key.revoked)

  return Accounts.of({
    ensureUser: ({ user_id, root_address, rail, party_id }) =>
      Effect.map(Clock.currentTimeMillis, (created_time) => {
        const known = userOf(user_id)
        if (known !== undefined) return { user: known, created: false }
        const referral_code = freeCode(user_id)
        codes.add(referral_code)
        users.set(user_id, { user_id, root_address, rail, party_id, referral_code, created_time })
        return { user: userOf(user_id)!, created: true }
      }),
    user: (user_id) => Effect.sync(() => userOf(user_id)),
    userOfCode: (referral_code) =>
      Effect.sync(() => {
        const found = [...users.values()].find((user) => user.referral_code === referral_code)
        return found && userOf(found.user_id)
      }),
    markReady: (user_id) => Effect.sync(() => void ready.add(user_id)),
    isReady: (user_id) => Effect.sync(() => ready.has(user_id)),

    partyKey: (party_id) => Effect.sync(() => partyKeys.get(party_id)),
    bindPartyKey: (party_id, public_key) =>
      Effect.sync(() => {
        if (!partyKeys.has(party_id)) partyKeys.set(party_id, public_key)
      }),

    isWhitelisted: (root_address) => Effect.sync(() => whitelist.has(root_address)),
    setWhitelisted: (root_address, whitelisted) =>
      Effect.sync(() => void (whitelisted ? whitelist.add(root_address) : whitelist.delete(root_address))),
    activate: (root_address, activation) =>
      Effect.sync(() => {
        if (whitelist.has(root_address) || activations.has(root_address)) return false
        whitelist.add(root_address)
        activations.set(root_address, activation)
        return true
      }),
    activation: (root_address) => Effect.sync(() => activations.get(root_address)),

    apiKeys: (user_id) => Effect.sync(() => keysOf(user_id)),
    apiKeyOf: (public_key) => Effect.sync(() => keys.get(keyIds.get(public_key) ?? "")),
    createApiKey: (key, max) =>
      Effect.suspend((): Effect.Effect<void, KeyRegistered | TooManyKeys> => {
        if (keyIds.has(key.public_key)) return Effect.fail(new KeyRegistered())
        if (keysOf(key.user_id).length >= max) return Effect.fail(new TooManyKeys({ max }))
        keys.set(key.api_key_id, key)
        keyIds.set(key.public_key, key.api_key_id)
        return Effect.void
      }),
    changeApiKey: (api_key_id, patch) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const known = keys.get(api_key_id)
        if (known === undefined || known.revoked) return undefined
        const changed = { ...known, ...patch }
        keys.set(api_key_id, changed)
        keyChanges.set(api_key_id, now)
        return changed
      }),
    changedApiKeys: (since) =>
      Effect.sync(() =>
        [...keyChanges].filter(([, changed_time]) => changed_time >= since).map(([api_key_id]) => keys.get(api_key_id)!)
      ),
    touchApiKey: (api_key_id, at_ms) =>
      Effect.sync(() => {
        const known = keys.get(api_key_id)
        if (known !== undefined)
          keys.set(api_key_id, { ...known, last_used_time: Math.max(at_ms, known.last_used_time ?? 0) })
      }),

    labels: (user_id) => Effect.sync(() => new Map(labels.get(user_id))),
    setLabel: (user_id, sub_account_address, label) =>
      Effect.sync(() => {
        const own = labels.get(user_id) ?? new Map<string, string>()
        labels.set(user_id, own.set(sub_account_address, label))
      }),

    revokeToken: (jti, expires_at_ms) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        if (!revoked.has(jti)) revoked.set(jti, { expires_at_ms, revoked_time: now })
      }),
    revokedTokens: (since) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        [...revoked]
          .filter(([, { expires_at_ms, revoked_time }]) => expires_at_ms > now && revoked_time >= since)
          .map(([jti, { expires_at_ms }]) => ({ jti, expires_at_ms }))
      )
  })
})

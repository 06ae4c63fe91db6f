/** An exchange with trading history and every kind of caller: the owner, another user, the administrator, keys of every kind. */
import { createPrivateKey, randomUUID, sign } from "node:crypto"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import type { Scope } from "../../src/domain/Enumerations.ts"
import * as NodeSqlite from "../../src/layers/sql/NodeSqlite.ts"
import * as SqlRewardStore from "../../src/layers/sql/SqlRewardStore.ts"
import { RewardStore } from "../../src/services/rewards/RewardStore.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import {
  type Answer,
  apiKeyHeaders,
  call,
  create,
  funded,
  type Keys,
  login,
  newKeys,
  type Session
} from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"

const SEED = "17".repeat(32)
export const scopes: ReadonlyArray<Scope> = ["read", "trade", "account", "transfer", "withdraw"]

export interface World {
  readonly exchange: Exchange
  readonly alice: Session
  /** Sub-accounts of Alice: a second one, an empty one, and a frozen one. */
  readonly second: string
  readonly empty: string
  readonly frozen: string
  readonly bob: Session
  /** API keys of Alice with one scope, or all but one. */
  readonly only: Readonly<Record<Scope, Keys>>
  readonly allBut: Readonly<Record<Scope, Keys>>
  readonly expiredKey: Keys
  readonly farKey: Keys
  readonly expiredToken: string
  readonly revokedToken: string
  /** A text that was never used. */
  readonly fresh: () => string
  /** Places a resting order of Alice; returns its order_link_id. */
  readonly resting: (vault?: string) => Promise<string>
  /** Grants Alice a new reward; returns its id. */
  readonly granted: (status: "claimable" | "pending") => Promise<string>
  readonly ask: (session: Session, method: string, path: string, body?: unknown) => Promise<Answer>
}

/** The same token, expired. */
const expiredOf = (token: string): string => {
  const [header, payload] = token.split(".") as [string, string]
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as { iat: number; iat_ms: number }
  const { iat, iat_ms } = claims
  const old = { ...claims, iat: iat - 700_000, iat_ms: iat_ms - 700_000_000, exp: iat - 1 }
  const text = `${header}.${Buffer.from(JSON.stringify(old)).toString("base64url")}`
  const key = createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from(SEED, "hex")]),
    format: "der",
    type: "pkcs8"
  })
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`
}

const must = ({ body, status }: Answer): Answer["body"] => {
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

export const makeWorld = async (
  options: Pick<NonNullable<Parameters<typeof startExchange>[0]>, "rates"> = {}
): Promise<World> => {
  const exchange = await startExchange({
    ...options,
    env: { RATE_LIMIT_MODE: "report", JWT_SIGNING_KEY: SEED, FAUCET_DAILY_LIMIT: "1000000" }
  })
  const ask: World["ask"] = (session, method, path, body) =>
    call(exchange, method, `/api/v1${path}`, { token: session.token, ...(body === undefined ? {} : { body }) })
  const [alice, bob] = [await funded(exchange, "200000"), await funded(exchange, "200000")]
  let count = 0
  const fresh = () => `n-${++count}`
  const opened = async () => must(await ask(alice, "POST", "/user/sub-accounts", {})).sub_account_address as string
  const [second, empty, frozen] = [await opened(), await opened(), await opened()]

  const keyOf = async (fields: { readonly scopes: ReadonlyArray<Scope> } & Record<string, unknown>): Promise<Keys> => {
    const keys = newKeys()
    must(await ask(alice, "POST", "/user/api-keys", { public_key: keys.publicKey, ...fields }))
    return keys
  }
  const perScope = async (of: (scope: Scope) => ReadonlyArray<Scope>) =>
    Object.fromEntries(
      await Promise.all(scopes.map(async (scope) => [scope, await keyOf({ scopes: of(scope) })] as const))
    ) as Record<Scope, Keys>
  const revoked = await login(exchange, newKeys())
  must(await ask(revoked, "POST", "/authorize/logout"))

  // the history: a deposit in the second sub-account, a trade, a resting order and a canceled one
  must(
    await ask(alice, "POST", "/account/transfer", {
      transfer_id: randomUUID(),
      from_sub_account_address: alice.vault,
      to_sub_account_address: second,
      asset: "USDC",
      amount: "1000"
    })
  )
  const resting: World["resting"] = async (vault = alice.vault) => {
    const order_link_id = fresh()
    must(await create(exchange, { ...alice, vault }, order_link_id, { price: "59000" }))
    await eventually(
      "a resting order",
      () => ask(alice, "GET", `/order/realtime?order_link_id=${order_link_id}`),
      ({ body }) => body.list.length === 1
    )
    return order_link_id
  }
  must(await create(exchange, bob, "ask", { side: "Sell", price: "60010", qty: "0.01" }))
  must(await create(exchange, alice, "taker", { price: "60010", qty: "0.005" }))
  must(await create(exchange, alice, "gone"))
  must(
    await ask(alice, "POST", "/order/cancel", {
      sub_account_address: alice.vault,
      symbol: "BTC-USDC",
      order_link_id: "gone"
    })
  )
  must(await ask(alice, "POST", "/account/faucet", { sub_account_address: frozen, asset: "USDC", amount: "1000" }))
  must(await create(exchange, { ...alice, vault: frozen }, "frozen-1", { price: "59000" }))
  must(await ask(alice, "PATCH", `/user/sub-accounts/${frozen}`, { frozen: true }))
  await eventually(
    "the past",
    () => ask(alice, "GET", "/execution/list"),
    ({ body }) => body.list.length >= 1
  )

  const expiredKey = await keyOf({ scopes, expires_time: Date.now() + 500 })
  await eventually(
    "the end of a key",
    () => call(exchange, "GET", "/api/v1/user/me", { headers: apiKeyHeaders(expiredKey, "GET", "/api/v1/user/me") }),
    ({ body }) => body.details?.reason === "ExpiredApiKey"
  )

  // a competition or a day of fees would take too long, so rewards are inserted through the port, as another gateway would
  const rewardsOf = SqlRewardStore.layer.pipe(
    Layer.provide(NodeSqlite.layer({ filename: join(exchange.dataDir, "accounts.sqlite"), synchronous: "FULL" }))
  )
  const granted: World["granted"] = async (status) => {
    const now = Date.now()
    const reward = {
      reward_id: randomUUID(),
      user_id: alice.user_id,
      kind: "referral" as const,
      asset: "USDC",
      amount: "0.66",
      source_id: fresh(),
      created_time: now,
      due_time: now + 60_000
    }
    const put = RewardStore.use((store) =>
      status === "claimable"
        ? store.grant([reward])
        : Effect.flatMap(store.counted("activation"), (from) =>
            store.accrue("activation", from, { ...from, to: from.to + 1, through: now }, [reward])
          )
    )
    await Effect.runPromise(put.pipe(Effect.provide(rewardsOf)))
    return reward.reward_id
  }

  return {
    exchange,
    granted,
    alice,
    bob,
    second,
    empty,
    frozen,
    only: await perScope((scope) => [scope]),
    allBut: await perScope((scope) => scopes.filter((other) => other !== scope)),
    expiredKey,
    farKey: await keyOf({ scopes, ip_allowlist: ["203.0.113.0/24"] }),
    expiredToken: expiredOf(alice.token),
    revokedToken: revoked.token,
    fresh,
    resting,
    ask
  }
}

/** Headers of an API key for one request. */
export const signedBy = (
  keys: Keys,
  method: string,
  target: string,
  options: { readonly at_ms?: number; readonly nonce?: string } = {}
) => apiKeyHeaders(keys, method, target, options)

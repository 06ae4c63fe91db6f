/** Users with money and an API key, who trade with each other: each command causes events of several topics. */
import { Effect, Latch } from "effect"
import { Client, Wallet } from "../../src/client/index.ts"
import type { Scope } from "../../src/domain/Enumerations.ts"
import { pick, type Random } from "./Random.ts"
import { RETRY } from "./Wait.ts"

export const SYMBOL = "BTC-USDC"
const FUNDS = "1000000"
/** Mean pause between two commands of a user, in ms. */
const PAUSE_MS = 200
/** Pause after a command that failed, in ms. */
const AWAY_MS = 100
/** Users that are created at the same time. */
const ENLISTING_MAX = 4

export interface Trader {
  readonly client: Client.Client
  readonly token: string
  readonly vault: string
  /** An API key of the user, and its seed. */
  readonly key: Wallet.Wallet
  readonly seed: string
}

/** Creates a user with money and an API key, repeating what a busy gateway fails. */
export const enlist = (baseUrl: string, scopes: ReadonlyArray<Scope> = ["read"]) =>
  Effect.retry(
    Effect.gen(function* () {
      const client = yield* Client.make({ baseUrl })
      const { token } = yield* client.login(Wallet.generate().wallet)
      const [account] = (yield* client.user.subAccounts()).list
      // the read model may lag behind the sign-in
      if (account === undefined) return yield* Effect.fail(new Error("the sub-account is not listed yet"))
      const vault = account.sub_account_address
      yield* client.account.faucet({ payload: { sub_account_address: vault, asset: "USDC", amount: FUNDS } })
      const { seed, wallet: key } = Wallet.generate()
      yield* client.user.createApiKey({ payload: { public_key: key.public_key, label: "trader", scopes } })
      return { client, token, vault, key, seed } satisfies Trader
    }),
    RETRY
  )

/** Creates so many users. */
export const enlistAll = (url: string, count: number, scopes?: ReadonlyArray<Scope>) =>
  Effect.all(
    Array.from({ length: count }, () => enlist(url, scopes)),
    { concurrency: ENLISTING_MAX }
  )

/** Prices of limit orders, close enough that orders meet. */
export const PRICES = ["59990", "59995", "60000", "60005", "60010"]

/** The next command of a user: one in ten cancels all orders, the others buy or sell a little around one price. */
export const nextCommand = (vault: string, next: Random) => {
  const kind = next()
  const market = { sub_account_address: vault, symbol: SYMBOL } as const
  if (kind < 0.1) return { name: "cancel-all", payload: market } as const
  const side = next() < 0.5 ? ("Buy" as const) : ("Sell" as const)
  const order = { ...market, side, order_type: "Limit" as const, qty: "0.001", price: pick(next, PRICES) }
  const time_in_force = kind < 0.3 ? ("IOC" as const) : ("GTC" as const)
  return { name: "create", payload: { ...order, time_in_force } } as const
}

/** Sends commands while the latch is open, without repeating those that fail. `busy` holds users with a command in flight. */
export const trade = (trader: Trader, next: Random, latch: Latch.Latch, busy: Set<Trader>) => {
  const { client, vault } = trader
  const one = Effect.suspend((): Effect.Effect<unknown, unknown> => {
    const { name, payload } = nextCommand(vault, next)
    return name === "create" ? client.order.create({ payload }) : client.order.cancelAll({ payload })
  })
  return Effect.gen(function* () {
    while (true) {
      yield* latch.await
      busy.add(trader)
      yield* Effect.catch(one, () => Effect.sleep(AWAY_MS))
      busy.delete(trader)
      yield* Effect.sleep(next() * 2 * PAUSE_MS)
    }
  })
}

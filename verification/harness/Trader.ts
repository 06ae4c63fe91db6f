/** Users who trade with each other until they are told to pause: every command makes events of several topics. */
import { Effect, Latch } from "effect"
import { Client, Wallet } from "../../src/client/index.ts"
import type { Scope } from "../../src/domain/Enumerations.ts"
import { pick } from "./SimulatedUsers.ts"
import { SYMBOL } from "../streams/Follower.ts"

const FUNDS = "1000000"
/** Mean pause between two commands of a user, in ms. */
const PAUSE_MS = 200
/** Pause while the gateway is away, in ms. */
const AWAY_MS = 100

export interface Trader {
  readonly client: Client.Client
  readonly token: string
  readonly vault: string
  /** An API key of the user. */
  readonly key: Wallet.Wallet
}

/** A new user with money and a key. */
export const enlist = Effect.fnUntraced(function* (baseUrl: string, scopes: ReadonlyArray<Scope> = ["read"]) {
  const client = yield* Client.make({ baseUrl })
  const { token } = yield* client.login(Wallet.generate().wallet)
  const vault = (yield* client.user.subAccounts()).list[0]!.sub_account_address
  yield* client.account.faucet({ payload: { sub_account_address: vault, asset: "USDC", amount: FUNDS } })
  const key = Wallet.generate().wallet
  yield* client.user.createApiKey({ payload: { public_key: key.public_key, label: "reader", scopes } })
  return { client, token, vault, key } satisfies Trader
})

const PRICES = ["59990", "59995", "60000", "60005", "60010"]

/** What a user asks next: one in ten takes all orders back, the others buy or sell a little around one price. */
export const nextCommand = (vault: string, next: () => number) => {
  const kind = next()
  const market = { sub_account_address: vault, symbol: SYMBOL } as const
  if (kind < 0.1) return { name: "cancel-all", payload: market } as const
  const side = next() < 0.5 ? ("Buy" as const) : ("Sell" as const)
  const order = { ...market, side, order_type: "Limit" as const, qty: "0.001", price: pick(next, PRICES) }
  const time_in_force = kind < 0.3 ? ("IOC" as const) : ("GTC" as const)
  return { name: "create", payload: { ...order, time_in_force } } as const
}

/** Sends commands while the gate is open; what is refused, or not answered, is tried no more. Answers never. */
export const trade = (
  { client, vault }: Trader,
  next: () => number,
  gate: Latch.Latch,
  busy: Set<Trader>,
  self: Trader
) => {
  const one = Effect.suspend((): Effect.Effect<unknown, unknown> => {
    const { name, payload } = nextCommand(vault, next)
    return name === "create" ? client.order.create({ payload }) : client.order.cancelAll({ payload })
  })
  return Effect.gen(function* () {
    while (true) {
      yield* gate.await
      busy.add(self)
      yield* Effect.catch(one, () => Effect.sleep(AWAY_MS))
      busy.delete(self)
      yield* Effect.sleep(next() * 2 * PAUSE_MS)
    }
  })
}

/**
 * The wallets of a replay. Bids rest with one wallet, asks with another, so that two resting orders never belong to the same
 * user; aggressive orders come from a third, which never rests. Each wallet spreads its orders over its sub-accounts.
 */
import { Effect } from "effect"
import { Client, type Feed, Wallet } from "../../src/client/index.ts"
import type { Side } from "./Session.ts"

/** Sub-accounts that a user may have; the first exists from the login on. */
const SUB_ACCOUNTS = 20
/** Open orders that a sub-account may have in a market, with some room. */
const ORDERS_MAX = 490
const FUNDS = "100000000000"

export interface Vault {
  readonly address: string
  /** Orders of ours that are open there. */
  open: number
}

export interface Trader {
  readonly client: Client.Client
  readonly vaults: ReadonlyArray<Vault>
}

export interface Traders {
  readonly bids: Trader
  readonly asks: Trader
  readonly taker: Trader
}

export const restingWith = ({ asks, bids }: Traders, side: Side): Trader => (side === "Buy" ? bids : asks)

/** The sub-account with the most room. */
export const roomiest = (trader: Trader): Vault => {
  const vault = trader.vaults.reduce((a, b) => (b.open < a.open ? b : a))
  if (vault.open >= ORDERS_MAX) throw new Error("more resting orders than the sub-accounts may hold")
  return vault
}

const make = Effect.fnUntraced(function* (
  baseUrl: string,
  name: number,
  accounts: number,
  onEvent: (event: Feed.FeedEvent) => void
) {
  const client = yield* Client.make({ baseUrl })
  yield* client.login(Wallet.fromSeed(Uint8Array.from({ length: 32 }, () => name)))
  const known = (yield* client.user.subAccounts()).list
  for (let i = known.length; i < accounts; i++) yield* client.user.createSubAccount({ payload: {} })
  const vaults = (yield* client.user.subAccounts()).list.map(({ sub_account_address }) => ({
    address: sub_account_address,
    open: 0
  }))
  for (const { address } of vaults) {
    yield* client.account.faucet({ payload: { sub_account_address: address, asset: "USDC", amount: FUNDS } })
  }
  yield* client.feed({ topics: ["order", "execution"], onEvent })
  return { client, vaults }
})

/** Logs the wallets in, funds them and follows their orders. */
export const enlist = (baseUrl: string, onEvent: (event: Feed.FeedEvent) => void) =>
  Effect.all({
    bids: make(baseUrl, 1, SUB_ACCOUNTS, onEvent),
    asks: make(baseUrl, 2, SUB_ACCOUNTS, onEvent),
    taker: make(baseUrl, 3, 1, onEvent)
  })

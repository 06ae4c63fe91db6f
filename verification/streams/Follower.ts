/** Clients that are cut off all the time, and what each of them must hold whenever things are quiet. */
import { Effect, HashMap } from "effect"
import { Account, Client, type Feed, type LocalBook } from "../../src/client/index.ts"
import { privateTopics } from "../../src/domain/Topic.ts"
import { ClientLedger, type Findings, type UserLedger } from "./StreamChecker.ts"

export const SYMBOL = "BTC-USDC"
export const DEPTH = 50

/** A user's own lists as REST tells them, all at one place of the stream. */
export interface Standing {
  readonly stream_id: string
  readonly seq: number
  readonly orders: ReadonlyArray<object>
  readonly positions: ReadonlyArray<object>
  readonly balances: ReadonlyArray<object>
}

const sorted = (list: Iterable<object>): ReadonlyArray<string> => [...list].map((one) => JSON.stringify(one)).toSorted()

const part = (record: Record<string, unknown>, ...fields: ReadonlyArray<string>): object =>
  Object.fromEntries(fields.map((field) => [field, record[field]]))
const positionOf = (record: object) =>
  part({ ...record }, "sub_account_address", "symbol", "seq", "side", "size", "avg_price")
const balanceOf = (record: object) => part({ ...record }, "sub_account_address", "asset", "seq", "wallet_balance")
const isOpen = (record: object): boolean => "size" in record && record.size !== "0"
/** Fields in one order, so that equal records are equal texts. */
const orderly = (record: object): object =>
  Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** What is compared: all of an order, and of positions and balances what the mark price does not move. */
const comparable = (orders: Iterable<object>, positions: Iterable<object>, balances: Iterable<object>) => ({
  orders: sorted([...orders].map(orderly)),
  positions: sorted([...positions].filter(isOpen).map(positionOf)),
  balances: sorted([...balances].map(balanceOf))
})

/** One connection of a user, through a proxy that cuts it. */
export interface Follower {
  readonly name: string
  readonly account: () => Account.Account
  readonly ledger: ClientLedger
  /** Whether snapshots after a hole were not compared with REST yet. */
  unchecked: boolean
}

/** A {@link Follower} by the typed client. */
export interface Following extends Follower {
  readonly feed: Feed.Feed
}

/** Follows a user's four private topics; `also` is called for everything that is told. */
export const follow = Effect.fnUntraced(function* (
  name: string,
  client: Client.Client,
  user: UserLedger,
  findings: Findings,
  also: (event: Feed.FeedEvent) => void = () => {}
) {
  let account = Account.empty
  const ledger = new ClientLedger(name, user, findings)
  const mine = { unchecked: false }
  const onEvent = (event: Feed.FeedEvent): void => {
    ledger.take(event)
    account = Account.apply(account, event)
    if (event.kind === "resume" && !event.recovered) mine.unchecked = true
    also(event)
  }
  const feed = yield* client.feed({ topics: privateTopics, onEvent })
  return Object.assign(mine, { name, account: () => account, ledger, feed }) satisfies Following
})

/** What differs between what a client holds and what REST tells at the same place. */
export const differences = ({ account, name }: Follower, standing: Standing): ReadonlyArray<string> => {
  const { balances, orders, positions, stream_id } = account()
  const own = comparable(HashMap.values(orders), HashMap.values(positions), HashMap.values(balances))
  const told = comparable(standing.orders, standing.positions, standing.balances)
  const parts = (["orders", "positions", "balances"] as const).filter(
    (part) => JSON.stringify(own[part]) !== JSON.stringify(told[part])
  )
  const wrong = parts.map((part) => `${name} at ${standing.seq}: ${part} ${own[part]} and REST ${told[part]}`)
  return stream_id === standing.stream_id
    ? wrong
    : [...wrong, `${name}: stream ${stream_id} and REST ${standing.stream_id}`]
}

/** Whether a book is that of REST. */
export const sameBook = (
  book: Pick<LocalBook, "bids" | "asks">,
  rest: { readonly bids: unknown; readonly asks: unknown }
): boolean => JSON.stringify([book.bids(DEPTH), book.asks(DEPTH)]) === JSON.stringify([rest.bids, rest.asks])

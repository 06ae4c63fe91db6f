/** Clients whose connections break, and the account that each holds. */
import { Effect, HashMap } from "effect"
import { Account, Client, type Feed } from "../../src/client/index.ts"
import { privateTopics } from "../../src/domain/Topic.ts"
import type { RestState } from "./RestState.ts"
import { type Findings, StreamChecker, type UserEvents } from "./StreamChecker.ts"

/** Levels a side of a compared book. */
export const DEPTH = 50

const sorted = (list: Iterable<object>): ReadonlyArray<string> => [...list].map((one) => JSON.stringify(one)).toSorted()

const part = (record: Record<string, unknown>, ...fields: ReadonlyArray<string>): object =>
  Object.fromEntries(fields.map((field) => [field, record[field]]))
const positionOf = (record: object) =>
  part({ ...record }, "sub_account_address", "symbol", "seq", "side", "size", "avg_price")
const balanceOf = (record: object) => part({ ...record }, "sub_account_address", "asset", "seq", "wallet_balance")
const isOpen = (record: object): boolean => "size" in record && record.size !== "0"
/** Fields in one order, so that equal records have equal texts. */
const orderly = (record: object): object =>
  Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** The compared fields: all of an order, and those of positions and balances that the mark price does not change. */
const comparable = (orders: Iterable<object>, positions: Iterable<object>, balances: Iterable<object>) => ({
  orders: sorted([...orders].map(orderly)),
  positions: sorted([...positions].filter(isOpen).map(positionOf)),
  balances: sorted([...balances].map(balanceOf))
})

/** One connection of a user. */
export interface Follower {
  readonly name: string
  readonly account: () => Account.Account
  readonly checker: StreamChecker
  /** Whether snapshots after a gap are not compared with REST yet. */
  unchecked: boolean
}

/** A {@link Follower} of the typed client. */
export interface TypedFollower extends Follower {
  readonly feed: Feed.Feed
}

/** Follows a user's four private topics. `also` receives each event. */
export const follow = Effect.fnUntraced(function* (
  name: string,
  client: Client.Client,
  events: UserEvents,
  findings: Findings,
  also: (event: Feed.FeedEvent) => void = () => {}
) {
  let account = Account.empty
  const checker = new StreamChecker(name, events, findings)
  const mine = { unchecked: false }
  const onEvent = (event: Feed.FeedEvent): void => {
    checker.take(event)
    account = Account.apply(account, event)
    if (event.kind === "resume" && !event.recovered) mine.unchecked = true
    also(event)
  }
  const feed = yield* client.feed({ topics: privateTopics, onEvent })
  return Object.assign(mine, { name, account: () => account, checker, feed }) satisfies TypedFollower
})

/** Differences between what a client holds and REST at the same position. */
export const differences = ({ account, name }: Follower, rest: RestState): ReadonlyArray<string> => {
  const { balances, orders, positions, stream_id } = account()
  const own = comparable(HashMap.values(orders), HashMap.values(positions), HashMap.values(balances))
  const listed = comparable(rest.orders, rest.positions, rest.balances)
  const parts = (["orders", "positions", "balances"] as const).filter(
    (part) => JSON.stringify(own[part]) !== JSON.stringify(listed[part])
  )
  const wrong = parts.map((part) => `${name} at ${rest.seq}: ${part} ${own[part]} and REST ${listed[part]}`)
  return stream_id === rest.stream_id ? wrong : [...wrong, `${name}: stream ${stream_id} and REST ${rest.stream_id}`]
}

/**
 * The account state of a user, built from the private topics: open orders, positions and balances. A pure function of the
 * feed's events; the state is that of position {@link Account.seq} of the user stream.
 * Source: docs/contract/websocket.md#private-topics.
 */
import { HashMap } from "effect"
import { isFinal, type Order } from "../domain/Order.ts"
import type { Position } from "../domain/Position.ts"
import type { BalanceRecord } from "../ws/api/TopicData.ts"
import type { FeedEvent, UserMessage } from "./FeedEvent.ts"

export interface Account {
  /** By `order_id`. */
  readonly orders: HashMap.HashMap<string, Order>
  /** By `<sub_account_address>|<symbol>`; open positions only. */
  readonly positions: HashMap.HashMap<string, Position>
  /** By `<sub_account_address>|<asset>`. */
  readonly balances: HashMap.HashMap<string, BalanceRecord>
  /** Position in the user stream; `stream_id` is empty before the first message. */
  readonly stream_id: string
  readonly seq: number
  /** Whether the feed is connected. */
  readonly connected: boolean
  /** Topics whose snapshots are due: from a resume that lost events until they arrive. Other topics can be newer meanwhile. */
  readonly awaited: ReadonlyArray<string>
  /** Whether the feed is connected and no snapshot is due; false: this is the last known state. */
  readonly live: boolean
  /** How often events could not be replayed, and snapshots replaced the state. */
  readonly holes: number
}

export const empty: Account = {
  orders: HashMap.empty(),
  positions: HashMap.empty(),
  balances: HashMap.empty(),
  stream_id: "",
  seq: 0,
  connected: false,
  awaited: [],
  live: false,
  holes: 0
}

/** Key of a position or a balance in the maps of {@link Account}. */
export const keyOf = (
  record: { readonly sub_account_address: string } & ({ readonly symbol: string } | { readonly asset: string })
) => `${record.sub_account_address}|${"symbol" in record ? record.symbol : record.asset}`

/** A snapshot replaces all records; an update sets each of its records, or removes a final one. */
const merged = <R>(
  known: HashMap.HashMap<string, R>,
  { list, type }: { readonly type: "snapshot" | "update"; readonly list: ReadonlyArray<R> },
  key: (record: R) => string,
  isGone: (record: R) => boolean
): HashMap.HashMap<string, R> =>
  HashMap.mutate(type === "snapshot" ? HashMap.empty<string, R>() : known, (records) => {
    for (const record of list) {
      if (isGone(record)) HashMap.remove(records, key(record))
      else HashMap.set(records, key(record), record)
    }
  })

const records = (account: Account, { data, kind }: UserMessage): Partial<Account> => {
  switch (kind) {
    case "order": {
      const isDone = (order: Order) => isFinal(order.order_status)
      return { orders: merged(account.orders, data, (order) => order.order_id, isDone) }
    }
    case "position":
      return { positions: merged(account.positions, data, keyOf, (position) => position.size === "0") }
    case "account_balance":
      return { balances: merged(account.balances, data, keyOf, () => false) }
    case "execution":
      return {}
  }
}

/** The account in which the feed is connected or not, and these snapshots are due. */
const standing = (account: Account, connected: boolean, awaited: ReadonlyArray<string>): Account => ({
  ...account,
  connected,
  awaited,
  live: connected && awaited.length === 0
})

const receive = (account: Account, event: UserMessage): Account => {
  const { seq, stream_id, type } = event.data
  // the snapshots of one subscription can have different positions
  const at = stream_id === account.stream_id ? Math.max(account.seq, seq) : seq
  const next = { ...account, ...records(account, event), stream_id, seq: at }
  if (type === "update" || account.awaited.length === 0) return next
  const { awaited, connected } = account
  return standing(
    next,
    connected,
    awaited.filter((topic) => topic !== event.kind)
  )
}

/** The account after an event. */
export const apply = (account: Account, event: FeedEvent): Account => {
  switch (event.kind) {
    case "order":
    case "position":
    case "account_balance":
    case "execution":
      return receive(account, event)
    case "state":
      return standing(account, event.state.type === "live", account.awaited)
    case "resume": {
      if (event.recovered) return account
      const { awaited, connected, holes } = account
      return standing({ ...account, holes: holes + 1 }, connected, [...new Set([...awaited, ...event.topics])])
    }
    default:
      return account
  }
}

/** What users have seen of an exchange, kept until it is judged. */
import type { Json } from "./Records.ts"
import type { Topic } from "./Truth.ts"

/** A frame of a private socket that subscribed all four topics. */
export type Frame =
  | {
      readonly kind: "subscribed"
      readonly resume: { readonly recovered: boolean; readonly head_seq: number } | undefined
    }
  | {
      readonly kind: "snapshot" | "update"
      readonly topic: Topic
      readonly stream_id: string
      readonly seq: number
      readonly prev_seq: number | undefined
      readonly mts: number
      readonly list: ReadonlyArray<Json>
    }

/** One subscription of a private socket, from its first frame to the loss of the connection. */
export interface Subscription {
  readonly user_id: string
  readonly gateway: string
  /** the position that the client named */
  readonly since: number | undefined
  readonly frames: Array<Frame>
  /** whether it lived to the end, and so must have received everything */
  whole: boolean
}

/** A list that a user read. */
export interface Listed {
  readonly user_id: string
  readonly gateway: string
  readonly what: "order" | "position" | "account_balance"
  readonly over: "REST" | "RPC"
  /** the sub-account that the request named; absent: all of the user */
  readonly sub_account_address: string | undefined
  readonly stream_id: string
  readonly seq: number
  readonly records: ReadonlyArray<Json>
  /** the last position that this gateway had shown to the user before the request */
  readonly shown: number
  /** orders that this gateway had acknowledged to the user before the request */
  readonly acknowledged: ReadonlyArray<string>
  readonly ms: number
}

/** The whole history of a user, read while nothing happened. */
export interface History {
  readonly user_id: string
  readonly gateway: string
  /** the position in the user's stream, before and after */
  readonly seq: number
  readonly orders: ReadonlyArray<Json>
  readonly executions: ReadonlyArray<Json>
  readonly closedPnl: ReadonlyArray<Json>
}

/** A book after a message, or as REST shows it. */
export interface BookSeen {
  readonly where: string
  readonly symbol: string
  readonly seq: number
  /** the best 50 levels, as text; absent where only the checksum is known */
  readonly text: string
  readonly checksum: number | undefined
}

export class Seen {
  readonly subscriptions: Array<Subscription> = []
  readonly lists: Array<Listed> = []
  readonly histories: Array<History> = []
  readonly books: Array<BookSeen> = []
  readonly trades: Array<{ readonly where: string; readonly symbol: string; readonly list: ReadonlyArray<Json> }> = []
  /** orders that a 200 named */
  readonly acknowledged: Array<{ readonly user_id: string; readonly order_id: string }> = []
  /** what needs no truth to be wrong */
  readonly faults: Array<string> = []
  actions = 0
}

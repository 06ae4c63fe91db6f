/** What clients name by ids of their own. */
import type { Transfer } from "../../proto/gateway/v1/types.ts"

/**
 * What is known for ever by an id that a client gave: orders by order_link_id, transfers by their id. Too many for memory, so
 * that they may lie in an index beside the journal. It may know what was given after the state of now: during a replay it
 * does.
 */
export interface ClientIdIndex {
  readonly find: (account: number, link: string) => string | undefined
  readonly add: (account: number, link: string, order_id: string) => void
  /** A transfer of a user as it was last remembered before the event `seq`. */
  readonly findTransfer: (user_id: string, transfer_id: string, seq: number) => Transfer | undefined
  /** Remembers a transfer, or how it stands now, after the event `seq`. */
  readonly addTransfer: (user_id: string, seq: number, transfer: Transfer) => void
}

/** Links in memory. */
export const memoryClientIdIndex = (): ClientIdIndex => {
  const ids = new Map<string, string>()
  const transfers = new Map<string, Map<number, Transfer>>()
  const key = (owner: number | string, id: string): string => `${owner} ${id}`
  return {
    find: (account, link) => ids.get(key(account, link)),
    add: (account, link, order_id) => void ids.set(key(account, link), order_id),
    findTransfer: (user_id, transfer_id, seq) => {
      const stands = transfers.get(key(user_id, transfer_id)) ?? []
      return [...stands].findLast(([after]) => after < seq)?.[1]
    },
    addTransfer: (user_id, seq, transfer) => {
      const name = key(user_id, transfer.transfer_id)
      const stands = transfers.get(name)
      if (stands === undefined) transfers.set(name, new Map([[seq, transfer]]))
      else stands.set(seq, transfer)
    }
  }
}

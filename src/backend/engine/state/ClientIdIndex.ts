/** The index of ids that clients choose. */
import type { Transfer } from "../../../proto/gateway/v1/types.ts"

/**
 * Permanent index of client ids: orders by order_link_id, transfers by their id.
 *
 * The entries are too many for memory, so an implementation can keep them in a table beside the journal. During a
 * replay the index also holds entries that are newer than the state.
 */
export interface ClientIdIndex {
  readonly find: (account: number, link: string) => string | undefined
  readonly add: (account: number, link: string, order_id: string) => void
  /** The latest version of a user's transfer that was added before the event `seq`. */
  readonly findTransfer: (user_id: string, transfer_id: string, seq: number) => Transfer | undefined
  /** Adds a transfer, or a new version of it, after the event `seq`. */
  readonly addTransfer: (user_id: string, seq: number, transfer: Transfer) => void
}

/** An index in memory. */
export const memoryClientIdIndex = (): ClientIdIndex => {
  const ids = new Map<string, string>()
  const transfers = new Map<string, Map<number, Transfer>>()
  const key = (owner: number | string, id: string): string => `${owner} ${id}`
  return {
    find: (account, link) => ids.get(key(account, link)),
    add: (account, link, order_id) => void ids.set(key(account, link), order_id),
    findTransfer: (user_id, transfer_id, seq) => {
      const versions = transfers.get(key(user_id, transfer_id)) ?? []
      return [...versions].findLast(([after]) => after < seq)?.[1]
    },
    addTransfer: (user_id, seq, transfer) => {
      const name = key(user_id, transfer.transfer_id)
      const versions = transfers.get(name)
      if (versions === undefined) transfers.set(name, new Map([[seq, transfer]]))
      else versions.set(seq, transfer)
    }
  }
}

/** The client id index of an engine, stored in the journal. */
import type { Transfer } from "../../proto/gateway/v1/types.ts"
import type { ClientIdIndex } from "../engine/state/ClientIdIndex.ts"
import type { JournalPort } from "./Journal.ts"
import { JournalError, RECOVERY_HINT } from "./JournalError.ts"

/** The journal's client id index. During a replay, added ids must exist in the file already. */
export interface ReplayIndex extends ClientIdIndex {
  replaying: boolean
}

/** Creates the client id index of a journal. */
export const replayIndexOf = (journal: JournalPort): ReplayIndex => {
  const damaged = (found: string | undefined, what: string) =>
    new JournalError({
      message: `${journal.path} is damaged: its index gives ${found ?? "nothing"} for ${what}. ${RECOVERY_HINT}`
    })
  /** the last look-up: an order looks its link up before it adds it */
  const last = { account: -1, link: "", order_id: undefined as string | undefined }
  const links: ReplayIndex = {
    replaying: true,
    find: (account, link) => {
      last.order_id = journal.findLink(account, link)
      last.account = account
      last.link = link
      return last.order_id
    },
    add: (account, link, order_id) => {
      if (!links.replaying) return journal.addLink(account, link, order_id)
      const found = last.account === account && last.link === link ? last.order_id : journal.findLink(account, link)
      if (found !== order_id) throw damaged(found, `order_link_id ${link} of order ${order_id}`)
    },
    findTransfer: (user_id, transfer_id, seq) => {
      const found = journal.findTransfer(user_id, transfer_id, seq)
      return found === undefined ? undefined : (JSON.parse(found.transfer) as Transfer)
    },
    addTransfer: (user_id, seq, transfer) => {
      const { transfer_id } = transfer
      const text = JSON.stringify(transfer)
      if (!links.replaying) return journal.addTransfer(user_id, transfer_id, seq, text)
      const found = journal.findTransfer(user_id, transfer_id, seq + 1)
      if (found?.seq !== seq || found.transfer !== text) throw damaged(found?.transfer, `transfer ${transfer_id}`)
    }
  }
  return links
}

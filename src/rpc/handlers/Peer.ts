/** The client of a call. The request or the connection that carries the call says where it comes from, never the call itself. */
import { Context } from "effect"
import type { Peer } from "../../services/operations/InProcessFeeds.ts"

/** Without a transport it is a caller in this process. */
export const CurrentPeer = Context.Reference<Peer>("gateway/rpc/CurrentPeer", {
  defaultValue: () => ({ address: undefined, forwarded: undefined })
})

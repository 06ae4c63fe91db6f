/** Everything that can be called: the operations and the feeds as one group. */
import { Feeds } from "./Feeds.ts"
import { Operations } from "./Operations.ts"

/** Where the gateway answers: POST for calls over HTTP, GET for an upgrade to WebSocket. */
export const RPC_PATH = "/rpc"

export const Rpcs = Operations.merge(Feeds)

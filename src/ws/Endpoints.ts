/** Paths of the WebSocket endpoints. Source: docs/contract/websocket.md#endpoints. */
import { CALLS_PATH } from "../services/operations/RpcConnections.ts"
import type { Endpoint } from "./Connection.ts"

/** Paths of the feeds; `/ws` is an alias of `/ws/public`. */
export const feedPaths: Readonly<Record<string, Endpoint>> = {
  "/ws": "general",
  "/ws/public": "public",
  "/ws/private": "private"
}

/** All paths that accept an upgrade. */
export const endpoints: Readonly<Record<string, Endpoint>> = { ...feedPaths, [CALLS_PATH]: "rpc" }

/** The part of a WebSocket that a feed uses: browsers, Node and the package `ws` provide it. */
export interface WebSocketLike {
  readonly readyState: number
  addEventListener(type: "open" | "message" | "error" | "close", listener: (event: WebSocketEvent) => void): void
  close(): void
  send(data: string): void
}

/** Fields of its events, each absent where it has no meaning. */
interface WebSocketEvent {
  readonly data?: unknown
  readonly code?: number
  readonly reason?: string
}

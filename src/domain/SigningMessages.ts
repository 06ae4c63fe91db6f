/**
 * The messages that an Ed25519 key signs, as UTF-8.
 * Source: docs/contract/authentication.md#login, #api-keys, #websocket-authentication.
 */

/** The message of a login. */
export const loginMessage = (login_name: string, timestamp_ms: number, nonce: string): string =>
  `SERVICE_AUTH|LOGIN|${login_name}|${timestamp_ms}|${nonce}`

/** The message of a request with an API key; `uri` is path and query, byte for byte as sent. */
export const requestMessage = (request: {
  readonly method: string
  readonly uri: string
  readonly timestamp_ms: number
  readonly nonce: string
  readonly body_sha256: string | undefined
}): string => {
  const { body_sha256, method, nonce, timestamp_ms, uri } = request
  const message = `SERVICE_API|${method}|${uri}|${timestamp_ms}|${nonce}`
  return body_sha256 === undefined ? message : `${message}|${body_sha256}`
}

/** The message of a WebSocket authentication with an API key. */
export const authMessage = (timestamp_ms: number, nonce: string): string => `SERVICE_WS|AUTH|${timestamp_ms}|${nonce}`

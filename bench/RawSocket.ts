/** A minimal WebSocket client, so that a client costs little and the same for every variant. */

/** The upgrade request; its response is not checked. */
export const upgradeRequest = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`

/** A text frame, masked with zeros; of less than 65,536 bytes. */
export const masked = (text: string): Buffer => {
  const payload = Buffer.from(text)
  const head =
    payload.length < 126
      ? [0x81, 0x80 | payload.length, 0, 0, 0, 0]
      : [0x81, 0x80 | 126, payload.length >>> 8, payload.length & 0xff, 0, 0, 0, 0]
  return Buffer.concat([Buffer.from(head), payload])
}

/** A ping as the gateway sends it, and its pong. */
export const PING = Buffer.from([0x89, 0])
export const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0])

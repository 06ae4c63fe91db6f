/** The events of the fan-out benchmark: trades, each a message of about 300 bytes, equal for every variant. */
import type { PublicTrade } from "../../src/domain/Market.ts"

export const SYMBOL = "BTC-USDC"
export const TOPIC = `trade.${SYMBOL}`

/** The trade with a number: every variant publishes the same trades in the same order. */
export const tradeOf = (count: number): PublicTrade => ({
  trade_id: `01890000-0000-7000-8000-${String(count).padStart(12, "0")}`,
  symbol: SYMBOL,
  price: (60_000 + (count % 100) / 10).toFixed(1),
  qty: "0.512",
  side: count % 2 === 0 ? "Buy" : "Sell",
  seq: 1_000_000 + count,
  timestamp: 1_767_225_600_000 + count,
  agg_id: String(count).padStart(32, "0"),
  is_liquidation: false
})

/** The message of a trade, as the gateway sends it. */
export const messageOf = (count: number, now: number): object => ({
  op: "event",
  topic: TOPIC,
  server_ts_ms: now,
  data: { type: "update", ts: now, symbol: SYMBOL, list: [tradeOf(count)] }
})

/** A message without its times: equal for all variants. */
export const timeless = (text: string): string => text.replace(/"(server_ts_ms|ts)":\d+/gu, '"$1":0')

/** A text frame as a server sends it; for payloads of 126 to 65,535 bytes. */
export const framed = (text: string): Buffer => {
  const bytes = Buffer.alloc(4 + Buffer.byteLength(text))
  bytes[0] = 0x81
  bytes[1] = 126
  bytes.writeUInt16BE(bytes.length - 4, 2)
  bytes.write(text, 4)
  return bytes
}

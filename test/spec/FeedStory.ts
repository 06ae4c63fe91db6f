/** A short story on an exchange that makes every topic speak, and everybody who listens to it from the beginning. */
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { call, funded, type Session } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { type Frame, Socket } from "../../verification/harness/Socket.ts"

export const SYMBOL = "BTC-USDC"
/** Longest wait for an expected event, in ms. */
export const WAIT_MS = 30_000
/** The traded quantity, and the last order: too low for the pool, which sells what it took over. */
export const TRADED = { price: "60010", qty: "0.05" }
export const LAST = ["47000", "0.007"] as const

export interface FeedStory {
  readonly exchange: Exchange
  readonly market_addr: string
  /** Trades, and receives its private events. */
  readonly trader: Session
  /** A new connection, authenticated where the endpoint requires it unless `anonymous` is set. */
  readonly open: (path: string, anonymous?: true) => Promise<Socket>
  /** Sends a message and returns the first frame with its `req_id`. */
  readonly ask: (socket: Socket, message: object) => Promise<Frame>
  /** Plays the story. */
  readonly happen: () => Promise<void>
  readonly close: () => Promise<void>
}

export const makeStory = async (): Promise<FeedStory> => {
  const exchange = await startExchange({ env: { FAUCET_DAILY_LIMIT: "10000000", WS_KEEPALIVE_TIMEOUT_MS: "600000" } })
  const index = async (price: string) => {
    const { status } = await call(exchange, "PUT", "/api/v1/admin/index-price", {
      headers: basic,
      body: { symbol: SYMBOL, price }
    })
    if (status !== 200) throw new Error(`the index price is refused: ${status}`)
  }
  const rests = async ({ token, vault }: Session, side: string, qty: string, price: string, order_link_id: string) => {
    const body = {
      sub_account_address: vault,
      symbol: SYMBOL,
      side,
      qty,
      price,
      order_type: "Limit",
      order_link_id
    }
    const answer = await call(exchange, "POST", "/api/v1/order/create", { token, body })
    if (answer.status !== 200) throw new Error(`${order_link_id}: ${JSON.stringify(answer.body)}`)
  }
  await index("60000")
  const trader = await funded(exchange)
  const other = await funded(exchange, "2000000")
  const doomed = await funded(exchange, "700000")
  const { body } = await call(exchange, "GET", `/api/v1/market/instruments-info?symbol=${SYMBOL}`)

  let asked = 0
  const ask: FeedStory["ask"] = (socket, message) => {
    const req_id = `r${++asked}`
    socket.send({ ...message, req_id })
    return socket.next(`reply to ${JSON.stringify(message)}`, (frame) => frame.req_id === req_id, WAIT_MS)
  }
  const takenOver = async () =>
    (await call(exchange, "GET", `/api/v1/market/insurance-pool?symbol=${SYMBOL}`)).body.inventory.length
  return {
    exchange,
    market_addr: body.list[0].market_addr,
    trader,
    ask,
    open: async (path, anonymous) => {
      const socket = await Socket.open(exchange, path)
      if (path === "/ws/private" && anonymous === undefined) await ask(socket, { op: "auth", bearer: trader.token })
      return socket
    },
    happen: async () => {
      await rests(other, "Sell", TRADED.qty, TRADED.price, "offer")
      await rests(trader, "Buy", TRADED.qty, TRADED.price, "taken")
      // a long of 100 BTC at ten times its margin: without bids at liquidation the pool takes it over
      await rests(other, "Sell", "100", "60000", "short")
      await rests(doomed, "Buy", "100", "60000", "long")
      await index("53500")
      await eventually("the takeover", takenOver, (count) => count > 0, WAIT_MS)
      // the pool loses an eighth of all pool funds
      await index("48000")
      await rests(other, "Buy", LAST[1], LAST[0], "last")
    },
    close: () => exchange.close()
  }
}

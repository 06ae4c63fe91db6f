/**
 * A bot's first session with the plain client, on any runtime. A wallet signs in and registers an API key. The key places and
 * cancels an order, follows its events and keeps the book. Returns what a test checks.
 */
import type * as Plain from "../../src/sdk/index.ts"

const SYMBOL = "BTC-USDC"
const PRICE = "59000"

export const story = async (
  { connect, keyOf, newSeed }: typeof Plain,
  url: string,
  environment: Plain.Options["environment"] = {}
) => {
  const seed = newSeed()
  const owner = await connect({ url, wallet: newSeed() })
  const { sub_account_address } = (await owner.user.subAccounts()).list[0]!
  await owner.account.faucet({ sub_account_address, asset: "USDC", amount: "10000" })
  const { public_key } = await keyOf(seed)
  await owner.user.createApiKey({ public_key, label: "bot", scopes: ["read", "trade"], require_body_hash: true })

  const bot = await connect({ url, key: seed, environment })
  const book = await bot.book(SYMBOL, 50)
  const market = { sub_account_address, symbol: SYMBOL } as const
  const statuses: Array<string> = []
  let order_id = ""
  let isShown = false
  for await (const event of bot.orderEvents()) {
    if (event.kind === "state" && event.state.type === "live" && order_id === "") {
      const order = { ...market, side: "Buy", order_type: "Limit", qty: "0.01", price: PRICE } as const
      order_id = (await bot.order.create({ ...order, order_link_id: "first" })).order_id
      const again = await bot.order.create({ ...order, order_link_id: "first" }).catch((error: unknown) => error)
      if ((again as Plain.ExchangeError).reason !== "DuplicateOrderLinkId") throw again
      while (!book.bids().some(([price]) => price === PRICE)) await book.changed()
      isShown = book.sound
      await bot.order.cancel({ ...market, order_id })
    }
    if (event.kind !== "order" || event.data.type !== "update") continue
    statuses.push(...event.data.list.map(({ order_status }) => order_status))
    if (statuses.at(-1) === "Canceled") break
  }
  const { list } = await bot.order.history({ order_id })
  bot.close()
  owner.close()
  return {
    statuses,
    isShown,
    history: list.map(({ order_status, price, qty }) => [order_status, price, qty]),
    offset_ms: bot.clock.offset_ms,
    error_ms: bot.clock.error_ms
  }
}
export type StoryResult = Awaited<ReturnType<typeof story>>

/**
 * The story as a program: its arguments are the gateway's address, and the module of a WebSocket where the runtime has none. It prints
 * the result.
 */
export const program = `
import * as plain from "./src/sdk/index.ts"
import { story } from "./verification/sdk/Story.ts"
const [, , url, webSocket] = process.argv
const environment = webSocket === undefined ? {} : { WebSocket: (await import(webSocket)).default }
console.log(JSON.stringify(await story(plain, url, environment)))
`
/** The story as a function of a browser page. */
export const inPage = `
import * as plain from "./src/sdk/index.ts"
import { story } from "./verification/sdk/Story.ts"
globalThis.story = (url) => story(plain, url)
`

/**
 * A bot without Effect: keeps one bid a tick below the best and prints the events of its orders, also after a disconnect.
 *
 * `npx node examples/bot-plain.ts [orders = 10]`, against the gateway of GATEWAY_URL (http://127.0.0.1:3010).
 */
import { fileURLToPath } from "node:url"
import { connect, keyOf, newSeed } from "../src/sdk/index.ts"

const SYMBOL = "BTC-USDC"

/** A wallet takes test money from the faucet and registers an API key for the bot. */
const enlist = async (url: string) => {
  const owner = await connect({ url, wallet: newSeed() })
  const { sub_account_address } = (await owner.user.subAccounts()).list[0]!
  await owner.account.faucet({ sub_account_address, asset: "USDC", amount: "1000" })
  const seed = newSeed()
  const { public_key } = await keyOf(seed)
  await owner.user.createApiKey({ public_key, label: "bot", scopes: ["read", "trade"] })
  owner.close()
  return { seed, sub_account_address }
}

/** Quotes until the given number of orders is placed. */
export const bot = async (url: string, orders: number): Promise<void> => {
  const { seed, sub_account_address } = await enlist(url)
  const exchange = await connect({ url, key: seed })
  const market = { sub_account_address, symbol: SYMBOL } as const
  const { tick_size } = (await exchange.market.instruments({ symbol: SYMBOL })).list[0]!.price_filter
  const book = await exchange.book(SYMBOL, 50)

  const printed = (async () => {
    for await (const event of exchange.orderEvents()) {
      if (event.kind === "resume" && !event.recovered) console.log("events were lost: see /execution/list")
      if (event.kind !== "order") continue
      for (const { order_status, price, qty } of event.data.list) console.log(`${qty} at ${price}: ${order_status}`)
    }
  })()

  for (let placed = 0; placed < orders && (await book.changed());) {
    const best = book.bids(1)[0]
    if (best === undefined || !book.sound) continue
    await exchange.order.cancelAll(market)
    const order = { ...market, side: "Buy", order_type: "Limit", qty: "0.001", post_only: true } as const
    // the client retries under the same reference, so the order is placed once
    await exchange.order.create({ ...order, price: below(best[0], tick_size) })
    placed++
  }
  exchange.close()
  await printed
}

/** `price` less `tick`, a decimal string like both. No float is involved. */
const below = (price: string, tick: string): string => {
  const places = Math.max(...[price, tick].map((text) => text.split(".")[1]?.length ?? 0))
  const scaled = (text: string): bigint => {
    const [whole, part = ""] = text.split(".")
    return BigInt(whole + part.padEnd(places, "0"))
  }
  const digits = (scaled(price) - scaled(tick)).toString().padStart(places + 1, "0")
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bot(process.env["GATEWAY_URL"] ?? "http://127.0.0.1:3010", Number(process.argv[2] ?? 10))
}

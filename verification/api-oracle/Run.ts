/** Random users on an exchange, and what they see of it. The exchange has a manual index price, an unlimited faucet and no maker. */
import { pick as pickOf, random } from "../harness/Random.ts"
import { until } from "../harness/Wait.ts"
import { BookWatcher } from "./BookWatcher.ts"
import type { Json } from "./Records.ts"
import { Seen } from "./Seen.ts"
import { type Answer, User } from "./User.ts"
import type { World } from "./World.ts"

export interface RunOptions {
  readonly seed: number
  readonly actions: number
  readonly users: number
  /** Disturbances while the users act. */
  readonly disturbances: number
  readonly say?: ((line: string) => void) | undefined
}

const BASE = { "BTC-USDC": 60_000, "ETH-USDC": 3_000 } as const
const STEP = { "BTC-USDC": 0.001, "ETH-USDC": 0.01 } as const
const SYMBOLS = ["BTC-USDC", "ETH-USDC"] as const
type Symbol = (typeof SYMBOLS)[number]
const WHATS = ["order", "position", "account_balance"] as const
/** Share of the actions after which somebody reads a list. */
const READS = 0.3
/** Longest wait for a new index price, in ms: longer than any disturbance. */
const INDEX_MS = 60_000
/** Actions between two lines of progress. */
const SAID_EVERY = 500

export const run = async (world: World, { actions, disturbances, say, seed, users }: RunOptions): Promise<Seen> => {
  const next = random(seed)
  const pick = <A>(list: ReadonlyArray<A>): A => pickOf(next, list)
  const seen = new Seen()
  const { gateways } = world
  const index: Record<Symbol, number> = { ...BASE }
  const setIndex = async (symbol: Symbol, price: number): Promise<void> => {
    index[symbol] = price
    let last: unknown
    await until(
      () => `the index price is set; the last try ended with ${String(last)}`,
      () =>
        world.setIndex(symbol, price.toFixed(symbol === "BTC-USDC" ? 1 : 2)).then(
          () => true,
          (cause: unknown) => void (last = cause)
        ),
      INDEX_MS
    )
  }
  const watchers = gateways.flatMap((gateway) => SYMBOLS.map((symbol) => new BookWatcher(gateway, symbol, seen)))
  const traders: Array<User> = []
  const call = (user: User, path: string, body: object): Promise<Answer> =>
    user.call(pick(gateways), next() < 0.3 ? "RPC" : "REST", "POST", path, body)
  const fund = (user: User, sub_account_address: string) =>
    call(user, "/account/faucet", { sub_account_address, asset: "USDC", amount: "3000" })

  const act = async (user: User): Promise<void> => {
    const sub_account_address = pick(user.accounts)
    const symbol = pick(SYMBOLS)
    const named = { sub_account_address, symbol }
    const mark = index[symbol]
    const price = (offset: number) => (mark * (1 + offset)).toFixed(symbol === "BTC-USDC" ? 1 : 2)
    const qty = (of: number) => ((Math.ceil(next() * of) * STEP[symbol] * 100) / 100).toFixed(3)
    const side = pick(["Buy", "Sell"])
    const kind = next()
    if (kind < 0.45) {
      const away = (next() - 0.35) * 0.004 * (side === "Buy" ? -1 : 1)
      const order = { ...named, side, order_type: "Limit", qty: qty(900), price: price(away) }
      await call(user, "/order/create", {
        ...order,
        ...(next() < 0.1 ? { reduce_only: true } : {}),
        ...(next() < 0.15 ? { time_in_force: pick(["IOC", "FOK"]) } : {}),
        ...(next() < 0.1 ? { trigger: { trigger_price: price(side === "Buy" ? 0.003 : -0.003) } } : {}),
        ...(next() < 0.1
          ? {
              tpsl: { mode: "Partial", stop_loss: { market: { trigger_price: price(side === "Buy" ? -0.02 : 0.02) } } }
            }
          : {})
      })
    } else if (kind < 0.6) await call(user, "/order/create", { ...named, side, order_type: "Market", qty: qty(700) })
    else if (kind < 0.65) await call(user, "/order/cancel-all", { sub_account_address })
    else if (kind < 0.72) {
      const { body } = await user.call(
        pick(gateways),
        "REST",
        "GET",
        `/order/realtime?sub_account_address=${sub_account_address}&limit=5`
      )
      const order = (body["list"] as ReadonlyArray<Json> | undefined)?.[0]
      if (order === undefined) return
      const of = { sub_account_address, symbol: order["symbol"] as string, order_id: order["order_id"] as string }
      if (next() < 0.7) await call(user, "/order/amend", { ...of, qty: qty(200) })
      else await call(user, "/order/cancel", of)
    } else if (kind < 0.76) await call(user, "/position/set-leverage", { ...named, leverage: pick(["10", "20", "50"]) })
    else if (kind < 0.79)
      await call(user, "/position/switch-margin-mode", { ...named, margin_mode: pick(["Cross", "Isolated"]) })
    else if (kind < 0.82) await call(user, "/position/add-margin", { ...named, margin: pick(["10", "-5"]) })
    else if (kind < 0.86)
      await call(user, "/position/trading-stop", { ...named, take_profit: price(0.03), stop_loss: price(-0.03) })
    else if (kind < 0.89) await fund(user, sub_account_address)
    else if (kind < 0.91) {
      const [from_sub_account_address, to_sub_account_address] = user.accounts
      const transfer = { from_sub_account_address, to_sub_account_address, asset: "USDC", amount: "20" }
      await call(user, "/account/transfer", { transfer_id: crypto.randomUUID(), ...transfer })
    } else {
      const far = next() < 0.3 ? 0.04 : 0.004
      // the index drifts back to its start, so that prices stay within the market's bounds
      const drift = (BASE[symbol] - mark) / BASE[symbol] / 4
      await setIndex(symbol, mark * (1 + drift + (next() - 0.5) * 2 * far))
    }
  }

  /** After each of these numbers of actions something goes wrong. */
  const due = Array.from({ length: disturbances }, () => Math.ceil(next() * actions * 0.8))
  const wrong = new Set<Promise<void>>()
  try {
    for (const symbol of SYMBOLS) await setIndex(symbol, BASE[symbol])
    for (let i = 0; i < users; i++) traders.push(await User.open(gateways, 2, seen))
    for (const user of traders)
      for (const sub_account_address of user.accounts) {
        await fund(user, sub_account_address)
        for (const symbol of SYMBOLS)
          await call(user, "/position/set-leverage", { sub_account_address, symbol, leverage: "50" })
      }
    await trade(traders, gateways[0]!)
    for (let done = 1; done <= actions; done++) {
      if (due.includes(done) && wrong.size === 0) {
        const disturbance = pick(world.disturbances)
        say?.(`action ${done}: ${disturbance.name}`)
        const running: Promise<void> = disturbance.run().then(() => void wrong.delete(running))
        wrong.add(running)
      }
      // two users at once, so that lists and events race
      await Promise.all([act(pick(traders)), ...(next() < 0.3 ? [act(pick(traders))] : [])])
      if (next() < READS) {
        const reader = pick(traders)
        const account = pick([undefined, ...reader.accounts])
        await reader.list(pick(gateways), pick(WHATS), pick(["REST", "RPC"]), account)
      }
      if (next() < READS / 4) await pick(watchers).read()
      seen.actions++
      if (done % SAID_EVERY === 0) say?.(`${done} actions, ${seen.lists.length} lists`)
    }
    await Promise.all(wrong)
    await settle(traders, seen, world)
    await Promise.all(watchers.map((watcher) => watcher.finish()))
    return seen
  } finally {
    for (const user of traders) user.close()
    for (const watcher of watchers) watcher.close()
  }
}

/** One trade between two users: whether random orders meet depends on their timing. */
const trade = async ([buyer, seller]: ReadonlyArray<User>, gateway: World["gateways"][number]): Promise<void> => {
  const symbol = "BTC-USDC"
  for (const [user, side] of [
    [buyer!, "Buy"],
    [seller!, "Sell"]
  ] as const) {
    const order = { symbol, side, order_type: "Limit", qty: "0.01", price: BASE[symbol].toFixed(1) }
    const { body, status } = await user.call(gateway, "REST", "POST", "/order/create", {
      sub_account_address: user.accounts[0],
      ...order
    })
    if (status !== 200) throw new Error(`an order was refused: ${JSON.stringify(body)}`)
  }
}

/** Ends all orders, so that nothing happens any more, and reads everything at every gateway. */
const settle = async (traders: ReadonlyArray<User>, seen: Seen, { gateways }: World): Promise<void> => {
  for (const user of traders)
    for (const sub_account_address of user.accounts)
      await until("the orders of a user are canceled", async () => {
        const { status } = await user.call(gateways[0]!, "REST", "POST", "/order/cancel-all", { sub_account_address })
        return status === 200
      })
  for (const user of traders) {
    let last = 0
    for (const gateway of gateways) {
      last = await user.history(gateway)
      for (const what of WHATS)
        for (const over of ["REST", "RPC"] as const)
          for (const account of [undefined, ...user.accounts]) await user.list(gateway, what, over, account)
    }
    await user.finish(last)
  }
  for (const { name, url } of gateways)
    for (const symbol of SYMBOLS) {
      const response = await fetch(`${url}/api/v1/market/recent-trade?symbol=${symbol}&limit=1000`)
      const { list } = (await response.json()) as { readonly list: ReadonlyArray<Json> }
      seen.trades.push({ where: name, symbol, list })
    }
}

/**
 * Random trading by a few users, with index moves that liquidate and deleverage. REST's lists are compared with the events of
 * the sockets. The gateway needs an unlimited faucet, a manual index price, no simulated maker, and small insurance pools.
 */
import { pick as pickOf, random } from "../harness/Random.ts"
import { audit, compare, compareMarket, type Report } from "./Comparison.ts"
import { type Json, Trader } from "./Trader.ts"

export interface RunOptions {
  readonly url: string
  /** Basic credentials of the administrator. */
  readonly admin: string
  readonly actions: number
  readonly seed: number
  readonly users: number
  /** Actions between two comparisons of positions and balances. */
  readonly every: number
  readonly say?: (line: string) => void
}

const SYMBOLS = ["BTC-USDC", "ETH-USDC"] as const
const BASE = { "BTC-USDC": 60_000, "ETH-USDC": 3_000 } as const
const STEP = { "BTC-USDC": 0.001, "ETH-USDC": 0.01 } as const

export const run = async (options: RunOptions): Promise<Report> => {
  const { actions, admin, every, say, seed, url } = options
  const next = random(seed)
  const pick = <A>(list: ReadonlyArray<A>): A => pickOf(next, list)
  const report: Report = {
    compared: 0,
    events: 0,
    executions: 0,
    liquidations: 0,
    deleveragings: 0,
    different: 0,
    differences: []
  }
  const index: Record<string, number> = { ...BASE }
  const setIndex = async (symbol: (typeof SYMBOLS)[number], price: number) => {
    index[symbol] = price
    const response = await fetch(`${url}/api/v1/admin/index-price`, {
      method: "PUT",
      headers: { authorization: admin, "content-type": "application/json" },
      body: JSON.stringify({ symbol, price: price.toFixed(symbol === "BTC-USDC" ? 1 : 2) })
    })
    if (response.status !== 200) throw new Error(`index: ${response.status} ${await response.text()}`)
  }
  const get = async (path: string): Promise<Json> => (await fetch(`${url}/api/v1${path}`)).json()
  const snapshot = (topic: string): Promise<Json> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`${url.replace("http", "ws")}/ws/public`)
      socket.addEventListener("error", () => reject(new Error("the public socket failed")))
      socket.addEventListener("open", () => socket.send(JSON.stringify({ op: "subscribe", args: [topic] })))
      socket.addEventListener("message", ({ data }) => {
        const frame = JSON.parse(String(data)) as Json
        if (frame.op !== "event") return
        resolve(frame.data)
        socket.close()
      })
    })

  const traders = await Promise.all(Array.from({ length: options.users }, () => Trader.open(url, 2)))
  for (const symbol of SYMBOLS) await setIndex(symbol, BASE[symbol])

  const fund = (trader: Trader, sub_account_address: string) =>
    trader.call("POST", "/account/faucet", { sub_account_address, asset: "USDC", amount: "3000" })
  for (const trader of traders)
    for (const sub_account_address of trader.vaults) {
      await fund(trader, sub_account_address)
      for (const symbol of SYMBOLS)
        await trader.call("POST", "/position/set-leverage", { sub_account_address, symbol, leverage: "50" })
    }

  const act = async (trader: Trader): Promise<void> => {
    const sub_account_address = pick(trader.vaults)
    const symbol = pick(SYMBOLS)
    const named = { sub_account_address, symbol }
    const mark = index[symbol]!
    const price = (offset: number) => (mark * (1 + offset)).toFixed(symbol === "BTC-USDC" ? 1 : 2)
    const qty = (of: number) => ((Math.ceil(next() * of) * STEP[symbol] * 100) / 100).toFixed(3)
    const side = pick(["Buy", "Sell"])
    const kind = next()
    if (kind < 0.45) {
      const away = (next() - 0.35) * 0.004 * (side === "Buy" ? -1 : 1)
      const reduce_only = next() < 0.1
      const body = { ...named, side, order_type: "Limit", qty: qty(900), price: price(away), reduce_only }
      await trader.call("POST", "/order/create", body)
    } else if (kind < 0.6) {
      await trader.call("POST", "/order/create", { ...named, side, order_type: "Market", qty: qty(700) })
    } else if (kind < 0.65) {
      await trader.call("POST", "/order/cancel-all", { sub_account_address })
    } else if (kind < 0.72) {
      const { body } = await trader.call("GET", `/order/realtime?sub_account_address=${sub_account_address}&limit=5`)
      const order = body.list?.[0]
      if (order !== undefined)
        await trader.call("POST", "/order/amend", {
          sub_account_address,
          symbol: order.symbol,
          order_id: order.order_id,
          qty: qty(200)
        })
    } else if (kind < 0.77) {
      await trader.call("POST", "/position/set-leverage", { ...named, leverage: pick(["10", "20", "50"]) })
    } else if (kind < 0.8) {
      const margin_mode = pick(["Cross", "Isolated"])
      await trader.call("POST", "/position/switch-margin-mode", { ...named, margin_mode })
    } else if (kind < 0.83) {
      await trader.call("POST", "/position/add-margin", { ...named, margin: pick(["10", "-5"]) })
    } else if (kind < 0.87) {
      const body = { ...named, take_profit: price(0.03), stop_loss: price(-0.03) }
      await trader.call("POST", "/position/trading-stop", body)
    } else if (kind < 0.9) {
      await fund(trader, sub_account_address)
    } else if (kind < 0.92) {
      const [from_sub_account_address, to_sub_account_address] = trader.vaults
      const transfer = { from_sub_account_address, to_sub_account_address, asset: "USDC", amount: "20" }
      await trader.call("POST", "/account/transfer", { transfer_id: crypto.randomUUID(), ...transfer })
    } else {
      const far = next() < 0.3 ? 0.04 : 0.004
      // the index drifts back to its start, so that prices stay within the market's bounds
      const drift = (BASE[symbol] - mark) / BASE[symbol] / 4
      await setIndex(symbol, mark * (1 + drift + (next() - 0.5) * 2 * far))
    }
  }

  try {
    for (let done = 1; done <= actions; done++) {
      await act(pick(traders))
      if (done % every !== 0) continue
      // others trade meanwhile, so that lists and events race
      const busy = Promise.all([act(pick(traders)), act(pick(traders))])
      await compare(report, pick(traders), false)
      await busy
      if (done % (every * 20) === 0)
        say?.(`${done} actions, ${report.compared} records, ${report.different} differences`)
    }
    for (const trader of traders) await compare(report, trader, true)
    audit(report, traders)
    for (const symbol of SYMBOLS) await compareMarket(report, get, symbol, snapshot)
    return report
  } finally {
    for (const trader of traders) trader.close()
  }
}

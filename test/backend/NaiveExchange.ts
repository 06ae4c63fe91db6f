/**
 * A simple exchange: a list of orders, searched again for every fill. Slow and clear: the reference for the fast one.
 * It implements price-time priority, times in force, post-only and self-trade rules, but no money.
 */
export interface NaiveOrder {
  readonly id: string
  readonly user: string
  readonly buy: boolean
  price: number
  leaves: number
  filled: number
  /** time priority at its price */
  rank: number
}

export interface NaiveTrade {
  readonly taker: string
  readonly maker: string
  readonly price: number
  readonly qty: number
}

export interface NaiveIncoming {
  readonly id: string
  readonly user: string
  readonly buy: boolean
  readonly price: number
  readonly qty: number
  readonly tif: "GTC" | "IOC" | "FOK"
  readonly postOnly: boolean
  readonly smp: "taker" | "maker" | "both"
}

export class NaiveExchange {
  orders: Array<NaiveOrder> = []
  ranks = 0

  /** Orders that an incoming one would match, in order. */
  opposite(buy: boolean, price: number): Array<NaiveOrder> {
    return this.orders
      .filter((order) => order.buy !== buy && (buy ? order.price <= price : order.price >= price))
      .sort((a, b) => (a.price === b.price ? a.rank - b.rank : buy ? a.price - b.price : b.price - a.price))
  }

  remove(id: string): void {
    this.orders = this.orders.filter((order) => order.id !== id)
  }

  place(incoming: NaiveIncoming): Array<NaiveTrade> {
    const meets = this.opposite(incoming.buy, incoming.price)
    if (incoming.postOnly && meets.length > 0) return []
    if (incoming.tif === "FOK") {
      let reachable = 0
      for (const maker of meets) {
        if (maker.user !== incoming.user) reachable += maker.leaves
        else if (incoming.smp !== "maker") break
      }
      if (reachable < incoming.qty) return []
    }
    const order: NaiveOrder = { ...incoming, leaves: incoming.qty, filled: 0, rank: 0 }
    const trades = this.matchUp(order, incoming.smp)
    if (order.leaves > 0 && incoming.tif === "GTC") {
      order.rank = ++this.ranks
      this.orders.push(order)
    }
    return trades
  }

  private matchUp(order: NaiveOrder, smp: NaiveIncoming["smp"]): Array<NaiveTrade> {
    const trades: Array<NaiveTrade> = []
    for (const maker of this.opposite(order.buy, order.price)) {
      if (order.leaves === 0) break
      if (maker.user === order.user) {
        if (smp !== "taker") this.remove(maker.id)
        if (smp === "maker") continue
        order.leaves = 0
        break
      }
      const qty = Math.min(order.leaves, maker.leaves)
      order.leaves -= qty
      order.filled += qty
      maker.leaves -= qty
      maker.filled += qty
      if (maker.leaves === 0) this.remove(maker.id)
      trades.push({ taker: order.id, maker: maker.id, price: maker.price, qty })
    }
    return trades
  }

  amend(id: string, price: number, qty: number, smp: NaiveIncoming["smp"], postOnly: boolean): Array<NaiveTrade> {
    const order = this.orders.find((order) => order.id === id)!
    const total = order.leaves + order.filled
    if (qty <= order.filled || (price === order.price && qty === total)) return []
    if (postOnly && price !== order.price && this.opposite(order.buy, price).length > 0) return []
    if (price === order.price && qty < total) {
      order.leaves = qty - order.filled
      return []
    }
    this.remove(id)
    order.price = price
    order.leaves = qty - order.filled
    const trades = this.matchUp(order, smp)
    if (order.leaves > 0) {
      order.rank = ++this.ranks
      this.orders.push(order)
    }
    return trades
  }
}

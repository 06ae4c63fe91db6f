/** Computes the hash of a state: equal histories have equal hashes. */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { restingOrders } from "./RestingOrders.ts"
import { drain, type Slices } from "./Slices.ts"
import type { MarketPosition, State, Order } from "./State.ts"

const orderLine = (order: Order): ReadonlyArray<unknown> => [
  order.number,
  order.slot,
  order.link,
  order.account.index,
  order.holding.market.index,
  order.side,
  order.type,
  order.timeInForce,
  order.postOnly,
  order.reduceOnly,
  order.closeOnTrigger,
  order.smp,
  order.createdMs,
  order.lastPriceOnCreated,
  order.ticks,
  order.lots,
  order.leaves,
  order.filled,
  order.filledValue,
  order.fees,
  order.closedPnl,
  order.status,
  order.announcedStatus,
  order.createType,
  order.stopType,
  order.expireMs,
  order.parent,
  order.sibling?.number,
  order.trigger,
  order.tpsl,
  order.opened,
  order.attached,
  order.cancelType,
  order.rejectReason,
  order.rejectMessage,
  order.version,
  order.updatedMs,
  order.resting
]

/** Converts bigints to text first: JSON.stringify without a replacer is several times faster. */
const plain = (value: unknown): unknown =>
  typeof value === "bigint"
    ? `${value}n`
    : typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.entries(value).map(([key, part]) => [key, plain(part)])
      : value

/** Names in the hashes of existing journals, where fields have been renamed since. */
const HASHED_NAMES: Readonly<Record<string, string>> = {
  announcedTicks: "toldTicks",
  announcedStep: "toldStep",
  announcedTier: "toldTier",
  announcedSecond: "toldSecond"
}

const holdingLine = (holding: MarketPosition): unknown => {
  const {
    market: _market,
    orders: _orders,
    conditional: _conditional,
    account: _account,
    figures: _figures,
    figuresMark: _mark,
    ...rest
  } = holding
  return Object.entries(rest).map(([name, part]) => [HASHED_NAMES[name] ?? name, plain(part)])
}

/** Characters per update of the digest. */
const HASH_CHUNK = 1 << 16

/**
 * SHA-256, in hex, over a canonical text of the state. The cost grows with the open orders and accounts only: histories
 * enter through the {@link HistoryDigest}, so that a checkpoint does not become slower every day.
 */
export const hashSlices = function* (state: State): Slices<string> {
  const digest = sha256.create()
  let chunk = ""
  const line = (...parts: ReadonlyArray<unknown>) => {
    chunk += `${JSON.stringify(parts.map(plain))}\n`
    if (chunk.length < HASH_CHUNK) return
    digest.update(utf8ToBytes(chunk))
    chunk = ""
  }
  line("config", JSON.stringify(state.config))
  line(
    "head",
    state.time,
    state.second,
    state.seq,
    state.step,
    state.accountNumber,
    state.orderNumber,
    state.fillNumber,
    state.depositNumber,
    state.fees,
    state.deposits,
    state.wallets,
    state.entries,
    state.poolMinute,
    state.closed.size,
    state.closedBefore.size,
    state.trail.left,
    state.trail.right
  )
  for (const market of state.markets) {
    const { seq, bookSeq, bookMs, indexPrice, heldIndex, markTicks, lastTicks, basis, openLots, netLots, quoted } =
      market
    line(
      "market",
      market.market.symbol,
      seq,
      bookSeq,
      bookMs,
      indexPrice,
      heldIndex,
      markTicks,
      lastTicks,
      market.premiumSum,
      market.premiumCount,
      market.fundingRate,
      market.fundingIndex,
      openLots,
      netLots,
      market.longHolders
    )
    for (const { second, value } of basis) line("basis", second, value)
    if (quoted !== undefined)
      line("quoted", quoted.index, ...quoted.orders.flatMap(({ order, leaves }) => [order.number, leaves]))
    for (const order of restingOrders(state, market)) {
      yield
      line("order", ...orderLine(order))
    }
  }
  for (const pool of state.pools) {
    const { received, paid, obligation, mode, reason, ratio, alertedRatio, updatedMs, changed } = pool
    line("pool", received, paid, obligation, mode, reason, ratio, alertedRatio, updatedMs, changed)
    line("inventory", pool.holding.account.wallet, pool.holding.account.updatedMs, holdingLine(pool.holding))
    for (const { minute, value } of pool.peaks) line("peak", minute, value)
  }
  for (const { account, market } of state.waiting) line("waiting", account.index, market.index)
  for (const { account, transferId, dueMs } of state.withdrawals) line("withdrawal", account.index, transferId, dueMs)
  for (const { minute, value } of state.groupPeaks) line("group", minute, value)
  for (const account of state.accounts) {
    yield
    line(
      "account",
      account.address,
      account.userId,
      account.root,
      account.subIndex,
      account.createdMs,
      account.frozen,
      account.deleted,
      account.wallet,
      account.updatedMs
    )
    for (const holding of account.holdings) {
      if (holding === undefined) continue
      line("holding", holding.market.index, holdingLine(holding), [...holding.orders.keys()])
      for (const order of holding.conditional.values()) line("conditional", ...orderLine(order))
    }
  }
  for (const { id, accounts, nextIndex, faucetDay, faucetGiven } of state.users.values()) {
    yield
    line("user", id, nextIndex, faucetDay, faucetGiven, ...accounts.map((account) => account.index))
  }
  return bytesToHex(digest.update(utf8ToBytes(chunk)).digest())
}

/** The same at once. */
export const hash = (state: State): string => drain(hashSlices(state))

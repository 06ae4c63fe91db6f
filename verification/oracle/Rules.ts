/** The rules of docs/contract/exchange.md and orders.md that sessions must reach, each with how a command shows that it did. */
import type { Exchange, Outcome } from "./Exchange.ts"
import * as Formulas from "./Formulas.ts"
import type { Request } from "./Requests.ts"

/** A command, what came of it, and the exchange after it. */
export interface Step {
  readonly request: Request
  readonly outcome: Outcome
  readonly exchange: Exchange
}

type Shows = RegExp | ((step: Step) => boolean)

const order = (text: string) => new RegExp(`^order .*${text}`, "mu")
const refused = (kind: string, reason: string) => (step: Step) =>
  step.request.body.kind === kind && step.outcome.refused === reason
const done = (kind: string) => (step: Step) => step.request.body.kind === kind && step.outcome.refused === undefined
const someHolding = (shows: (h: ReturnType<Exchange["holdingOf"]>) => boolean) => (step: Step) =>
  step.exchange.accounts.some((account) => account.holdings.some((h) => !h.size.isZero && shows(h)))
const somePool = (mode: string, reason: string) => (step: Step) =>
  step.exchange.markets.some(({ pool }) => pool.mode === mode && pool.reason === reason)

const deleveraged =
  (reason: string) =>
  ({ exchange }: Step) =>
    exchange.markets.some(({ pool }) => pool.deleveraged === reason)

/** Whether a line that begins with a word, an address and a symbol is about a Cross or an Isolated position. */
const ofHolding =
  (word: string, isolated: boolean) =>
  ({ exchange }: Step) =>
    exchange.lines.some((line) => {
      const [first, address, symbol] = line.split(" ")
      const account = exchange.accounts.find((one) => one.address === address)
      return (
        first === word && account?.holdings.some((h) => h.market.symbol === symbol && h.isolated === isolated) === true
      )
    })

const REFUSALS: Readonly<Record<string, ReadonlyArray<string>>> = {
  place: [
    "DuplicateOrderLinkId",
    "InvalidDecimal",
    "InvalidField",
    "LimitReached",
    "MissingField",
    "NotMultipleOfStep",
    "NotMultipleOfTick",
    "OutOfRange",
    "SubAccountFrozen",
    "SubAccountNotFound",
    "SymbolNotFound",
    "TooManyDecimals"
  ],
  amend: [
    "InvalidField",
    "MissingField",
    "OrderAlreadyClosed",
    "OrderNotFound",
    "OrderVersionMismatch",
    "SubAccountFrozen"
  ],
  cancel: ["InvalidField", "OrderAlreadyClosed", "OrderNotFound"],
  tradingStop: ["LimitReached", "MissingField", "OutOfRange", "PositionNotFound", "SubAccountFrozen"],
  leverage: ["InsufficientBalance", "LeverageUnchanged", "OutOfRange"],
  marginMode: ["OpenOrdersExist", "PositionExists"],
  addMargin: ["InsufficientBalance", "InvalidDecimal", "NotIsolated", "OutOfRange", "PositionNotFound"],
  createSubAccount: ["InvalidField", "LimitReached"],
  deleteSubAccount: ["InvalidField", "NotEmpty", "OpenOrdersExist", "PositionExists"],
  deposit: ["DuplicateRequestId", "FaucetLimit", "InvalidDecimal", "MissingField", "OutOfRange"],
  withdraw: ["DuplicateRequestId", "InsufficientBalance"],
  transfer: ["DuplicateRequestId", "InsufficientBalance", "InvalidField", "SubAccountNotFound"],
  credit: ["DuplicateRequestId"]
}

const REJECTED = [
  "EcInsufficientBalance",
  "EcPostOnlyWillTakeLiquidity",
  "EcReachMaxOrderNum",
  "EcReachRiskLimit",
  "EcReachRiskPriceLimit",
  "EcReduceOnlyNoPosition",
  "EcReduceOnlySameSide",
  "EcTriggerAlreadyMet"
]

const CANCELED = [
  "CancelAllBeforeAdl",
  "CancelAllBeforeLiq",
  "CancelByCannotAffordOrderCost",
  "CancelByDcp",
  "CancelByExpiry",
  "CancelByOcoSlCanceledByTpTriggered",
  "CancelByOcoTpCanceledBySlTriggered",
  "CancelByReduceOnly",
  "CancelBySmp",
  "CancelByTimeInForce",
  "CancelByTpSlTsClear",
  "CancelByUser"
]

const AMEND_REFUSED = ["InsufficientBalance", "InvalidQty", "OutOfRange", "PostOnlyWouldTake", "TriggerAlreadyMet"]

/** Every rule by its name. */
export const RULES: ReadonlyMap<string, Shows> = new Map<string, Shows>([
  ...Object.entries(REFUSALS).flatMap(([kind, reasons]) =>
    reasons.map((reason) => [`refusals: ${kind} ${reason}`, refused(kind, reason)] as const)
  ),
  ...REJECTED.map((reason) => [`orders: Rejected ${reason}`, order(`Rejected Rejected .* ${reason}`)] as const),
  ...CANCELED.map((type) => [`orders: ${type}`, order(` ${type}`)] as const),
  ...AMEND_REFUSED.map(
    (reason) => [`refused amends: ${reason}`, ({ outcome }: Step) => outcome.amendRefused === reason] as const
  ),
  [
    "orders: a trigger whose order is rejected at its turn",
    /Triggered Triggered .*\n(?:.*\n)?order .* Rejected Rejected/u
  ],
  ["orders: a conditional order expires", order(" Expired Expired .* Stop ")],
  ["orders: FOK that the book cannot fill", order("EcNoEnoughQtyToFill")],
  ["orders: FOK that its owner cannot afford", order(" filled 0 .*EcNoError CancelByCannotAffordOrderCost")],
  ["orders: an order that is filled in part and canceled", order("PartiallyFilledCanceled")],
  ["orders: an exit grows with a later fill", order(" Amended Untriggered .* Partial(?:TakeProfit|StopLoss) ")],
  ["orders: a Full exit takes the position's size", order(" Amended Untriggered .* (?:TakeProfit|StopLoss) ")],
  ["orders: an exit of a position closes it", /Triggered Triggered .*\n(?:.*\n)*exec /u],
  ["orders: a reduce-only order is trimmed", order(" Amended (?:New|PartiallyFilled) .* reduce-only")],
  ["orders: an amend fills", /Amended .*\nexec /u],
  ["transfers: a repeated id moves nothing", (step) => done("deposit")(step) && step.exchange.lines.length === 0],
  [
    "cancels: all orders of every account of a user",
    ({ request }) => request.body.kind === "cancelAll" && request.account === ""
  ],
  ["fill check: the maker ends, and matching continues", /^exec .*\n(?:.*\n)*order .* CancelByCannotAffordOrderCost/mu],
  ["matching: rebates", /^exec .* fee -/mu],
  ["matching: a fill that flips a position", ({ exchange }) => exchange.lines.some((line) => isFlip(line))],
  ["matching: a fill rounds its fee at 18 places", / fee -?\d+\.\d{18} /u],
  ["entry: a reduction rounds its part of the entry value", / closed [\d.]+\/\d+\.\d{18}\//u],
  [
    "isolated margin: a reduction releases a part",
    someHolding((h) => h.isolated && /\.\d{18}$/u.test(h.margin.toString()))
  ],
  ["isolated margin: add-margin", done("addMargin")],
  ["risk tiers: a position in tier 2", someHolding((h) => tierOf(h) === 1)],
  ["risk tiers: a position in tier 3", someHolding((h) => tierOf(h) === 2)],
  [
    "risk tiers: a position beyond the last limit",
    someHolding((h) => Formulas.valueOf(h).more(h.market.tiers.at(-1)!.limit))
  ],
  ["liquidation: Cross", ofHolding("liquidation", false)],
  ["liquidation: Isolated", ofHolding("liquidation", true)],
  ["liquidation: filled in the book", /^exec #\d+ Trade .*\norder .* CreateByLiq$/mu],
  ["liquidation: taken over by the pool", /^exec #\d+ BustTrade /mu],
  ["liquidation: a fee", /LiquidationFee -/u],
  ["liquidation: the pool pays a wallet below 0", /LiquidationFee \d/u],
  ["liquidation: of several positions of an account", /^liquidation (\S+) (?:.*\n)+liquidation \1 /mu],
  [
    "liquidation: a bust price that the market's limits cut",
    /^liquidation \S+ (?:BTC\S+ Buy \S+ at 0\.1|\S+ Sell \S+ at (?:1000000|100000|10000|100|150))$/mu
  ],
  ["funding: paid", /^paid /mu],
  ["funding: received", /^paid .* fee -/mu],
  ["funding: a rate that is not the interest alone", /^funding \S+ (?!0\.0001 )/mu],
  ["funding: of an Isolated position", ofHolding("paid", true)],
  [
    "insurance pool: inventory is unwound",
    ({ exchange, request }) => request.body.kind === "tick" && exchange.lines.some((line) => / maker /u.test(line))
  ],
  ["insurance pool: redistribution", ({ exchange }) => exchange.markets.some(({ pool }) => pool.received.sign > 0)],
  ["adl: EquityDepleted", deleveraged("EquityDepleted")],
  ["adl: GroupObligation", deleveraged("GroupObligation")],
  ["adl: PnlDrawdown", deleveraged("PnlDrawdown")],
  ["adl: warning EquityDepleted", somePool("Warning", "EquityDepleted")],
  ["adl: warning PnlDrawdown", somePool("Warning", "PnlDrawdown")],
  ["adl: a trade", /^exec #\d+ AdlTrade /mu],
  [
    "adl: inventory that equity limits leave in the pool",
    ({ exchange }) =>
      exchange.lines.some((line) => line.includes(" AdlTrade ")) &&
      exchange.markets.some(({ pool }) => pool.mode === "Active" && !pool.holding.size.isZero)
  ],
  ["adl: a rank between the first and the last", someHolding((h) => h.rank > 1 && h.rank < 5)]
])

const tierOf = (h: ReturnType<Exchange["holdingOf"]>): number =>
  h.market.tiers.indexOf(Formulas.tierOf(h.market, Formulas.valueOf(h)))

/** A fill that closes less than it fills. */
const isFlip = (line: string): boolean => {
  const found = /^exec .* (?:Buy|Sell) (\S+) at .* closed ([\d.]+)\//u.exec(line)
  return found !== null && found[1] !== found[2]
}

/** Marks the rules that steps show. */
export class Coverage {
  readonly never = new Set(RULES.keys())

  note(step: Step): void {
    if (this.never.size === 0) return
    const text = step.exchange.lines.join("\n")
    for (const name of this.never) {
      const shows = RULES.get(name)!
      if (shows instanceof RegExp ? shows.test(text) : shows(step)) this.never.delete(name)
    }
  }
}

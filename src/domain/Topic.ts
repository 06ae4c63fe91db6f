/** WebSocket topics: grammar, parsing and printing. Source: docs/contract/websocket.md#public-topics. */
import { Schema } from "effect"
import { Address } from "./Address.ts"
import { type Depth, depths, Interval } from "./Enumerations.ts"
import { quoted } from "./InputText.ts"
import { AGGREGATED, isPrivate, type PrivateTopic, privateTopics } from "./TopicNames.ts"

export { type PrivateTopic, privateTopics } from "./TopicNames.ts"

/** Topics with a market as their only parameter. */
const plainTopics = ["trade", "ticker", "all_liquidations", "insurance_pool", "adl_alert"] as const
type PlainTopic = (typeof plainTopics)[number]

export type Topic =
  | { readonly kind: "orderbook"; readonly depth: Depth; readonly symbol: string }
  | { readonly kind: PlainTopic; readonly symbol: string }
  | { readonly kind: "kline"; readonly interval: Interval; readonly symbol: string }
  /** Aggregated trades of a market, identified by its address. */
  | { readonly kind: "trade/"; readonly market_addr: Address }
  | { readonly kind: "private"; readonly name: PrivateTopic }

/** Why a text is not a topic, for the caller. */
export type TopicProblem = string

/** Every form of a topic. */
const FORMS = [
  ...plainTopics.map((kind) => `${kind}.<symbol>`),
  "orderbook.<depth>.<symbol>",
  "kline.<interval>.<symbol>",
  `${AGGREGATED}<market address>`,
  ...privateTopics
].join(", ")

const unknown = (what: string, accepted: string, text: string): TopicProblem =>
  `unknown ${what}: expected ${accepted}, got ${quoted(text)}`

const isAddress = Schema.is(Address)
const isPlain = (text: string): text is PlainTopic => (plainTopics as ReadonlyArray<string>).includes(text)

/** Parses a topic such as `orderbook.50.BTC-USDC`. Does not check that the symbol or address exists. */
export const parseTopic = (text: string): Topic | TopicProblem => {
  if (isPrivate(text)) return { kind: "private", name: text }
  if (text.startsWith(AGGREGATED)) {
    const market_addr = text.slice(AGGREGATED.length)
    return isAddress(market_addr)
      ? { kind: AGGREGATED, market_addr }
      : unknown("market address", "0x and 64 lower-case hex digits", market_addr)
  }
  const [kind, ...rest] = text.split(".")
  if (isPlain(kind!) && rest.length === 1) return { kind: kind as PlainTopic, symbol: rest[0]! }
  if (kind === "orderbook" && rest.length === 2) {
    const depth = depths.find((known) => String(known) === rest[0])
    return depth === undefined ? unknown("depth", depths.join(", "), rest[0]!) : { kind, depth, symbol: rest[1]! }
  }
  if (kind === "kline" && rest.length === 2) {
    const interval = Interval.literals.find((known) => known === rest[0])
    return interval === undefined
      ? unknown("interval", Interval.literals.join(", "), rest[0]!)
      : { kind, interval, symbol: rest[1]! }
  }
  return unknown("topic", FORMS, text)
}

/** Prints a topic in its one canonical form. */
export const printTopic = (topic: Topic): string => {
  switch (topic.kind) {
    case "private":
      return topic.name
    case "orderbook":
      return `orderbook.${topic.depth}.${topic.symbol}`
    case "kline":
      return `kline.${topic.interval}.${topic.symbol}`
    case AGGREGATED:
      return `${AGGREGATED}${topic.market_addr}`
    default:
      return `${topic.kind}.${topic.symbol}`
  }
}

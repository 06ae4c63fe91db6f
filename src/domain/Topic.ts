/** WebSocket topics: their grammar, parsed and printed. Source: specification, Topics; contract 5.5. */
import { type Depth, depths, Interval } from "./Enumerations.ts"

export const privateTopics = ["order", "execution", "position", "account_balance"] as const
export type PrivateTopic = (typeof privateTopics)[number]

export type Topic =
  | { readonly kind: "orderbook"; readonly depth: Depth; readonly symbol: string }
  | { readonly kind: "trade"; readonly symbol: string }
  | { readonly kind: "ticker"; readonly symbol: string }
  | { readonly kind: "kline"; readonly interval: Interval; readonly symbol: string }
  | { readonly kind: "private"; readonly name: PrivateTopic }

/** Why a text is no topic: the word a caller can act on. */
export type TopicProblem = "unknown topic" | "unknown depth" | "unknown interval"

const isPrivate = (text: string): text is PrivateTopic => (privateTopics as ReadonlyArray<string>).includes(text)

/** Parses a topic such as `orderbook.50.BTC-USDC`; the symbol itself is not looked up. */
export const parseTopic = (text: string): Topic | TopicProblem => {
  if (isPrivate(text)) return { kind: "private", name: text }
  const [kind, ...rest] = text.split(".")
  if ((kind === "trade" || kind === "ticker") && rest.length === 1) return { kind, symbol: rest[0]! }
  if (kind === "orderbook" && rest.length === 2) {
    const depth = depths.find((known) => String(known) === rest[0])
    return depth === undefined ? "unknown depth" : { kind, depth, symbol: rest[1]! }
  }
  if (kind === "kline" && rest.length === 2) {
    const interval = Interval.literals.find((known) => known === rest[0])
    return interval === undefined ? "unknown interval" : { kind, interval, symbol: rest[1]! }
  }
  return "unknown topic"
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
    default:
      return `${topic.kind}.${topic.symbol}`
  }
}

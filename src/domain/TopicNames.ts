/**
 * Names of topics, without the schemas of Topic.ts, so that a small bundle can include them.
 *
 * Source: docs/contract/websocket.md#limits, #public-topics, #private-topics.
 */

export const privateTopics = ["order", "execution", "position", "account_balance"] as const
export type PrivateTopic = (typeof privateTopics)[number]

export const isPrivate = (topic: string): topic is PrivateTopic =>
  (privateTopics as ReadonlyArray<string>).includes(topic)

/** Most topics in one message. */
export const ARGS_MAX = 50

/** Prefix of the topics of aggregated trades, before the market's address. */
export const AGGREGATED = "trade/"

/** The kind of a topic: its name up to its first dot, and `trade/` for aggregated trades. */
export const kindOf = (topic: string): string => (topic.startsWith(AGGREGATED) ? AGGREGATED : topic.split(".", 1)[0]!)

/** The SDK: a client for bots, without Effect. Start with {@link connect}. */
export type { FeedEvent, FeedState, TopicMessage, UserMessage } from "../client/FeedEvent.ts"
export type { Environment } from "./Environment.ts"
export { connect, type Exchange, type Options } from "./Exchange.ts"
export { ExchangeError } from "./ExchangeError.ts"
export type { EventOptions, LiveBook, OrderEvent } from "./Follow.ts"
export { type Key, keyOf, type KeySource, newSeed } from "./Key.ts"
export type { Response, CallOptions, Input, Methods } from "./Operations.ts"
export type { Limits } from "./Rest.ts"

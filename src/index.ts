/**
 * What a larger Effect app may import: the gateway as a layer, its ports, the stacks that keep them, and the contracts.
 *
 * ```ts
 * import { Gateway, Settings, Standalone } from "trading-gateway"
 *
 * const Exchange = Layer.unwrap(Effect.map(Settings.settings, (settings) =>
 *   Gateway.layer(settings).pipe(Layer.provide(Standalone.layer(settings)))))
 * ```
 */
export * as Gateway from "./Gateway.ts"
export * as Settings from "./layers/Settings.ts"
export * as Cluster from "./layers/Cluster.ts"
export * as Standalone from "./layers/Standalone.ts"
export { NodeServer } from "./layers/node/NodeServer.ts"
export { Api } from "./http/api/Api.ts"
export { Rpcs } from "./rpc/api/Rpcs.ts"
export * as Rpc from "./rpc/Rpc.ts"

export { AccessCodes } from "./services/AccessCodes.ts"
export { Accounts } from "./services/Accounts.ts"
export { Authenticator } from "./services/Authenticator.ts"
export { BanStore } from "./services/BanStore.ts"
export { BackendHealth } from "./services/BackendHealth.ts"
export { CompetitionStore } from "./services/CompetitionStore.ts"
export { Feed } from "./services/Feed.ts"
export { History } from "./services/History.ts"
export { Leadership } from "./services/Leadership.ts"
export { MarketView } from "./services/MarketView.ts"
export * as Meter from "./services/Meter.ts"
export { NonceStore } from "./services/NonceStore.ts"
export { Notices } from "./services/Notices.ts"
export { PriceFeed } from "./services/PriceFeed.ts"
export { RateLimiter } from "./services/RateLimiter.ts"
export { Presence } from "./services/Presence.ts"
export { RateLimitStore } from "./services/RateLimitStore.ts"
export { Referee } from "./services/Referee.ts"
export { ReferralStore } from "./services/ReferralStore.ts"
export { RewardStore } from "./services/RewardStore.ts"
export { Sequencer } from "./services/Sequencer.ts"
export { Signatures } from "./services/Signatures.ts"
export * as Tracing from "./services/Tracing.ts"
export { UserStreams } from "./services/UserStreams.ts"

export * as Client from "./client/index.ts"

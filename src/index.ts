/**
 * The exports for a larger Effect application: the gateway as a layer, its ports, the stacks that implement them, and the
 * API contracts.
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

export { AccessCodes } from "./services/identity/AccessCodes.ts"
export { Accounts } from "./services/identity/Accounts.ts"
export { Authenticator } from "./services/identity/Authenticator.ts"
export { BanStore } from "./services/identity/BanStore.ts"
export { BackendHealth } from "./services/operations/BackendHealth.ts"
export { CredentialChangeStore } from "./services/identity/CredentialChangeStore.ts"
export * as CredentialLease from "./services/identity/CredentialLease.ts"
export { CompetitionStore } from "./services/rewards/CompetitionStore.ts"
export { Feed } from "./services/Feed.ts"
export { History } from "./services/History.ts"
export { Leadership } from "./services/operations/Leadership.ts"
export { MarketView } from "./services/markets/MarketView.ts"
export * as Meter from "./services/operations/MetricsRegistry.ts"
export { NonceStore } from "./services/identity/NonceStore.ts"
export { InvalidationBus } from "./services/operations/InvalidationBus.ts"
export { PriceFeed } from "./services/PriceFeed.ts"
export { RateLimiter } from "./services/operations/RateLimiter.ts"
export { Presence } from "./services/operations/Presence.ts"
export { RateLimitStore } from "./services/operations/RateLimitStore.ts"
export { Referee } from "./services/Referee.ts"
export { ReferralStore } from "./services/rewards/ReferralStore.ts"
export { RewardStore } from "./services/rewards/RewardStore.ts"
export { Sequencer } from "./services/Sequencer.ts"
export { Signatures } from "./services/identity/Signatures.ts"
export * as Tracing from "./services/operations/Tracing.ts"
export { UserStreams } from "./services/read-model/UserStreams.ts"

export * as Client from "./client/index.ts"

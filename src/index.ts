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

// the ports, with the errors that an implementation of them fails with
export { AccessCodes, CodeExists, CodeUnusable, WalletActivated } from "./services/identity/AccessCodes.ts"
export { Accounts, AccountsUnavailable, KeyRegistered, TooManyKeys } from "./services/identity/Accounts.ts"
export { AuditStore } from "./services/identity/AuditStore.ts"
export { BanStore } from "./services/identity/BanStore.ts"
export { CredentialChangeStore } from "./services/identity/CredentialChangeStore.ts"
export * as CredentialLease from "./services/identity/CredentialLease.ts"
export { CompetitionStore, SlugTaken } from "./services/rewards/CompetitionStore.ts"
export { DeadMansSwitchStore } from "./services/trading/DeadMansSwitchStore.ts"
export { Feed, FeedGone } from "./services/Feed.ts"
export { History, HistoryUnavailable, ProjectionRefused } from "./services/History.ts"
export { Ids } from "./services/operations/Ids.ts"
export { InvalidationBus } from "./services/operations/InvalidationBus.ts"
export { Leadership } from "./services/operations/Leadership.ts"
export { NonceReused, NonceStore, NonceStoreUnavailable } from "./services/identity/NonceStore.ts"
export { PasswordHashes } from "./services/identity/PasswordHashes.ts"
export { Presence } from "./services/operations/Presence.ts"
export { PriceFeed } from "./services/PriceFeed.ts"
export { RateLimitStore, RateLimitStoreUnavailable } from "./services/operations/RateLimitStore.ts"
export { Referee, RefereeFault, RefereeUnavailable } from "./services/Referee.ts"
export { ReferralLoop, ReferralStore, ReferrerSet } from "./services/rewards/ReferralStore.ts"
export { Outpaced, RewardStore } from "./services/rewards/RewardStore.ts"
export {
  CommandRefused,
  CredentialUnchecked,
  OutcomeUnknown,
  Overloaded,
  Sequencer,
  SequencerFault,
  SequencerUnavailable
} from "./services/Sequencer.ts"
export { Signatures } from "./services/identity/Signatures.ts"
export { SigningKeys } from "./services/operations/SigningKeys.ts"
export { TooManyAddresses, WithdrawalAddressStore } from "./services/trading/WithdrawalAddressStore.ts"

// services of the gateway that an app reads, or replaces in a test
export { AuthLimited, AuthRefused, AuthUnavailable } from "./services/identity/AuthErrors.ts"
export { Authenticator } from "./services/identity/Authenticator.ts"
export { BackendHealth } from "./services/operations/BackendHealth.ts"
export { DomainError } from "./services/DomainError.ts"
export { MarketView } from "./services/markets/MarketView.ts"
export * as Meter from "./services/operations/MetricsRegistry.ts"
export { RateLimiter } from "./services/operations/RateLimiter.ts"
export * as Tracing from "./services/operations/Tracing.ts"
export { UserStreams } from "./services/read-model/UserStreams.ts"

export * as Client from "./client/index.ts"

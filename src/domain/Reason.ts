/**
 * The catalogue of errors: every stable reason of the API, with its wire code and text.
 *
 * Programs use the reason (`details.reason`); texts may change. Source: docs/contract/conventions.md#reasons.
 */
import { Schema } from "effect"

/** Wire codes with their HTTP status. Source: docs/contract/conventions.md#errors. */
export const statusOf = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  RateLimitExceeded: 429,
  INTERNAL: 500,
  SERVICE_UNAVAILABLE: 503
} as const
export type Code = keyof typeof statusOf

const catalogue = {
  MalformedRequest: ["BAD_REQUEST", "the request is not valid HTTP/1.1"],
  RequestTimeout: ["BAD_REQUEST", "the request did not arrive in time", 408],
  MethodNotAllowed: ["BAD_REQUEST", "this path does not accept this method", 405],
  BodyTooLarge: ["BAD_REQUEST", "the body is larger than 256 KiB", 413],
  WrongMediaType: ["BAD_REQUEST", "the body must be application/json in UTF-8", 415],
  ExpectationFailed: ["BAD_REQUEST", "this expectation cannot be met", 417],
  UpgradeRequired: ["BAD_REQUEST", "this path requires a WebSocket upgrade", 426],
  HeadersTooLarge: ["BAD_REQUEST", "request line and headers are too large", 431],
  MalformedJson: ["BAD_REQUEST", "the body is not one JSON object without duplicate keys"],
  UnknownField: ["BAD_REQUEST", "unknown field; field names are snake_case"],
  UnknownParameter: ["BAD_REQUEST", "unknown query parameter"],
  MissingField: ["BAD_REQUEST", "a required field is missing"],
  InvalidField: ["BAD_REQUEST", "a field has an invalid value"],
  InvalidDecimal: ["BAD_REQUEST", "expected a decimal number as text"],
  TooManyDecimals: ["BAD_REQUEST", "at most 18 decimal places are accepted"],
  NotMultipleOfStep: ["BAD_REQUEST", "the quantity is not a multiple of the market's qty_step"],
  NotMultipleOfTick: ["BAD_REQUEST", "the price is not a multiple of the market's tick_size"],
  OutOfRange: ["BAD_REQUEST", "the value is out of range"],
  InvalidQty: ["BAD_REQUEST", "the order's quantity cannot be amended to this"],
  InvalidCursor: ["BAD_REQUEST", "the cursor does not belong to this query"],
  InvalidSignature: ["UNAUTHORIZED", "the signature does not match"],
  InvalidPublicKey: ["UNAUTHORIZED", "the public key is not a valid Ed25519 key"],
  UnknownPartyKey: ["UNAUTHORIZED", "the key of this party is not known yet; send verifying_key"],
  StaleTimestamp: ["UNAUTHORIZED", "the timestamp is outside the accepted window; expected are Unix milliseconds"],
  InvalidNonce: ["UNAUTHORIZED", "the nonce must be 8 to 64 characters of A-Z, a-z, 0-9, - and _"],
  NonceReused: ["UNAUTHORIZED", "nonce already used"],
  AmbiguousAuth: ["BAD_REQUEST", "send either a bearer token or API-key headers, not both"],
  MissingToken: ["UNAUTHORIZED", "credentials are required"],
  InvalidToken: ["UNAUTHORIZED", "the token is not valid"],
  ExpiredToken: ["UNAUTHORIZED", "the token has expired; log in again"],
  RevokedToken: ["UNAUTHORIZED", "the token or API key was revoked; log in again"],
  UnknownApiKey: ["UNAUTHORIZED", "the API key is not known"],
  ExpiredApiKey: ["UNAUTHORIZED", "the API key has expired"],
  BadCredentials: ["UNAUTHORIZED", "wrong username or password"],
  InsufficientScope: ["FORBIDDEN", "the API key does not hold the required scope"],
  InsufficientRole: ["FORBIDDEN", "the administrator does not hold the required role"],
  IpNotAllowed: ["FORBIDDEN", "the API key may not be used from this address"],
  NotWhitelisted: ["FORBIDDEN", "this wallet is not admitted yet"],
  SubAccountFrozen: ["FORBIDDEN", "the sub-account is frozen: orders may be canceled, not placed or amended"],
  DestinationNotListed: ["FORBIDDEN", "withdrawals go to listed destinations only, from their effective_time on"],
  BearerOnly: ["FORBIDDEN", "this endpoint takes a bearer token, not an API key"],
  SymbolNotFound: ["NOT_FOUND", "no such market"],
  OrderNotFound: ["NOT_FOUND", "no such order"],
  SubAccountNotFound: ["NOT_FOUND", "no such sub-account"],
  ApiKeyNotFound: ["NOT_FOUND", "no such API key"],
  CompetitionNotFound: ["NOT_FOUND", "no such competition"],
  ReferralCodeNotFound: ["NOT_FOUND", "no such referral code"],
  DestinationNotFound: ["NOT_FOUND", "no such withdrawal address"],
  RewardNotFound: ["NOT_FOUND", "no such reward"],
  PositionNotFound: ["NOT_FOUND", "no such position"],
  WalletNotFound: ["NOT_FOUND", "no wallet with this address has logged in"],
  AccessCodeNotFound: ["NOT_FOUND", "no such access code"],
  ModuleDisabled: ["NOT_FOUND", "this function is disabled"],
  NoSuchRoute: ["NOT_FOUND", "no such route"],
  OrderAlreadyClosed: ["CONFLICT", "the order is closed already"],
  OrderVersionMismatch: ["CONFLICT", "the order has another version; read it again"],
  DuplicateOrderLinkId: ["CONFLICT", "this order_link_id was used before"],
  PostOnlyWouldTake: ["CONFLICT", "the post-only order would take liquidity at this price"],
  TriggerAlreadyMet: ["CONFLICT", "the reference price has reached this trigger already"],
  PositionExists: ["CONFLICT", "close the position first"],
  OpenOrdersExist: ["CONFLICT", "cancel the open orders first"],
  // the embedded backend never returns it, because it liquidates within one step; another backend may take longer
  PositionInLiquidation: ["CONFLICT", "the position is being liquidated"],
  NotIsolated: ["CONFLICT", "the position is not isolated"],
  LeverageUnchanged: ["CONFLICT", "the leverage is set to this value already"],
  ReferrerAlreadySet: ["CONFLICT", "a referrer is set already"],
  CodeAlreadyUsed: ["CONFLICT", "the access code was used already"],
  CodeExists: ["CONFLICT", "the access code exists already"],
  WalletAlreadyActivated: ["CONFLICT", "the wallet is activated already"],
  KeyAlreadyRegistered: ["CONFLICT", "this public key is, or was, registered already"],
  SlugTaken: ["CONFLICT", "the slug is taken"],
  CompetitionStarted: ["CONFLICT", "the competition has started"],
  AlreadyClaimed: ["CONFLICT", "the reward was claimed already"],
  NotEmpty: ["CONFLICT", "the sub-account still holds a balance"],
  DuplicateRequestId: ["CONFLICT", "this id was used before with other content"],
  InsufficientBalance: ["BAD_REQUEST", "the available balance is too small"],
  LimitReached: ["BAD_REQUEST", "the limit is reached"],
  SelfReferral: ["BAD_REQUEST", "a referral must not lead back to yourself"],
  InvalidCode: ["BAD_REQUEST", "the access code is not valid"],
  CodeExpired: ["BAD_REQUEST", "the access code has expired"],
  CodeRevoked: ["BAD_REQUEST", "the access code was revoked"],
  FaucetLimit: ["BAD_REQUEST", "the faucet's limit for today is reached"],
  RewardPending: ["BAD_REQUEST", "the reward cannot be claimed yet"],
  RateLimitExceeded: ["RateLimitExceeded", "rate limit exceeded"],
  InternalError: ["INTERNAL", "internal error"],
  DatabaseUnavailable: ["SERVICE_UNAVAILABLE", "the database does not answer"],
  BackendUnavailable: ["SERVICE_UNAVAILABLE", "the trading backend does not answer; nothing was sequenced"],
  BackendLagging: ["SERVICE_UNAVAILABLE", "the trading backend is lagging"],
  Overloaded: ["SERVICE_UNAVAILABLE", "the gateway is busy; nothing was sequenced; repeat after Retry-After"],
  DeadlineExceeded: ["SERVICE_UNAVAILABLE", "the trading backend did not answer in time"],
  ShuttingDown: ["SERVICE_UNAVAILABLE", "the gateway is shutting down"]
} as const satisfies Record<string, readonly [code: Code, text: string, status?: number]>

/** A stable reason word. */
export type Reason = keyof typeof catalogue
export const reasons = Object.keys(catalogue) as ReadonlyArray<Reason>
export const Reason = Schema.Literals(reasons as [Reason, ...Array<Reason>]).annotate({
  identifier: "Reason",
  description: "Stable reason of a refusal"
})

/** The wire code of each of some reasons. */
export type CodeOf<R extends Reason> = (typeof catalogue)[R][0]

export const isReason = (text: string): text is Reason => Object.hasOwn(catalogue, text)
export const codeOf = <R extends Reason>(reason: R): CodeOf<R> => catalogue[reason][0]
export const textOf = (reason: Reason): string => catalogue[reason][1]
/** HTTP status of a reason: its own if it has one, else that of its code. */
export const httpStatusOf = (reason: Reason): number => catalogue[reason][2] ?? statusOf[codeOf(reason)]

/** Facts with a reason: the offending `field`, limits (`min`, `max`, `step`), ids and states. */
export const Details = Schema.Record(
  Schema.String,
  Schema.Union([Schema.String, Schema.Number, Schema.Boolean, Schema.Array(Schema.String)])
)
export type Details = typeof Details.Type

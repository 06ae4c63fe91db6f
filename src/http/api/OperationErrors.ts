/**
 * Why an operation may be refused: what the document lists, and what a test holds every answer against.
 *
 * Standing reasons follow from how an operation is asked; its own ones are told here, by method and path, below /api/v1.
 * Source: docs/contract/conventions.md#reasons, docs/contract/rest.md.
 */
import { codeOf, httpStatusOf, type Reason } from "../../domain/Reason.ts"

const names = ["SymbolNotFound", "SubAccountNotFound"] as const
const money = ["InsufficientBalance", "OutOfRange", "SubAccountNotFound"] as const
const prices = ["NotMultipleOfTick", "NotMultipleOfStep", "OutOfRange"] as const
const login = ["InvalidSignature", "InvalidPublicKey", "UnknownPartyKey"] as const
const stamped = ["StaleTimestamp", "InvalidNonce", "NonceReused"] as const

/** Own reasons of each operation. A word here that its operation cannot say is as wrong as one that is missing. */
export const ownReasons: Record<string, ReadonlyArray<Reason>> = {
  "POST /authorize": [...login, ...stamped],
  "POST /access/activate": [
    "ModuleDisabled",
    "InvalidPublicKey",
    "InvalidSignature",
    "StaleTimestamp",
    "InvalidNonce",
    "NonceReused",
    "WalletAlreadyActivated",
    "InvalidCode",
    "CodeExpired",
    "CodeRevoked",
    "CodeAlreadyUsed"
  ],
  "POST /admin/access-codes": ["CodeExists"],
  "GET /admin/access-codes": ["InvalidCursor"],
  "DELETE /admin/access-codes/{code_id}": ["AccessCodeNotFound"],
  "GET /market/instruments-info": ["SymbolNotFound", "InvalidCursor"],
  "GET /market/tickers": ["SymbolNotFound"],
  "GET /market/orderbook": ["SymbolNotFound"],
  "GET /market/recent-trade": ["SymbolNotFound"],
  "GET /market/kline": ["SymbolNotFound"],
  "GET /market/mark-price-kline": ["SymbolNotFound"],
  "GET /market/index-price-kline": ["SymbolNotFound"],
  "GET /market/funding/history": ["SymbolNotFound", "InvalidCursor"],
  "GET /market/risk-limit": ["SymbolNotFound"],
  "GET /market/open-interest": ["SymbolNotFound", "InvalidCursor"],
  "GET /market/insurance-pool": ["SymbolNotFound"],
  "GET /market/insurance-pool/history": ["SymbolNotFound"],
  "GET /market/adl-alert": ["SymbolNotFound"],
  "GET /market/adl-alert/history": ["SymbolNotFound"],
  "POST /order/create": [...names, "DuplicateOrderLinkId", "SubAccountFrozen", "LimitReached", ...prices],
  "POST /order/amend": [
    ...names,
    "OrderNotFound",
    "OrderAlreadyClosed",
    "OrderVersionMismatch",
    "SubAccountFrozen",
    "InsufficientBalance",
    "InvalidQty",
    "LimitReached",
    "PostOnlyWouldTake",
    "TriggerAlreadyMet",
    ...prices
  ],
  "POST /order/cancel": [...names, "OrderNotFound", "OrderAlreadyClosed"],
  "POST /order/cancel-all": names,
  "GET /order/realtime": [...names, "InvalidCursor"],
  "GET /order/history": [...names, "InvalidCursor"],
  "GET /order/disconnect-cancel-all": [],
  "POST /order/disconnect-cancel-all": ["SubAccountNotFound", "OutOfRange"],
  "GET /execution/list": [...names, "InvalidCursor"],
  "GET /trade/executions": [...names],
  "GET /position/list": [...names, "InvalidCursor"],
  "POST /position/set-leverage": [
    ...names,
    "OutOfRange",
    "NotMultipleOfStep",
    "InsufficientBalance",
    "LeverageUnchanged",
    "PositionInLiquidation"
  ],
  "POST /position/switch-margin-mode": [
    ...names,
    "OutOfRange",
    "NotMultipleOfStep",
    "PositionExists",
    "OpenOrdersExist"
  ],
  "POST /position/add-margin": [...names, "OutOfRange", "InsufficientBalance", "PositionNotFound", "NotIsolated"],
  "POST /position/trading-stop": [...names, ...prices, "LimitReached", "SubAccountFrozen", "PositionNotFound"],
  "GET /position/closed-pnl": [...names, "InvalidCursor"],
  "GET /account/balances": ["SubAccountNotFound"],
  "GET /account/funding": [...names, "InvalidCursor"],
  "GET /account/transactions": ["SubAccountNotFound", "InvalidCursor"],
  "POST /account/transfer": [...money, "DuplicateRequestId"],
  "GET /account/transfer": ["SubAccountNotFound", "InvalidCursor"],
  "POST /account/faucet": ["SubAccountNotFound", "OutOfRange", "FaucetLimit", "ModuleDisabled"],
  "GET /account/deposits": ["SubAccountNotFound", "InvalidCursor"],
  "POST /account/withdrawals": [...money, "DuplicateRequestId", "DestinationNotListed"],
  "POST /account/withdrawal-addresses": ["LimitReached"],
  "DELETE /account/withdrawal-addresses/{destination}": ["DestinationNotFound"],
  "GET /account/withdrawals": ["SubAccountNotFound", "InvalidCursor"],
  "GET /account/statistics": ["SubAccountNotFound"],
  "GET /account/fee-rate": ["SymbolNotFound"],
  "POST /user/sub-accounts": ["LimitReached"],
  "PATCH /user/sub-accounts/{sub_account_address}": ["SubAccountNotFound"],
  "DELETE /user/sub-accounts/{sub_account_address}": [
    "SubAccountNotFound",
    "NotEmpty",
    "OpenOrdersExist",
    "PositionExists"
  ],
  "POST /user/api-keys": ["SubAccountNotFound", "KeyAlreadyRegistered", "LimitReached", "InvalidPublicKey"],
  "PATCH /user/api-keys/{api_key_id}": ["ApiKeyNotFound", "SubAccountNotFound"],
  "DELETE /user/api-keys/{api_key_id}": ["ApiKeyNotFound"],
  "POST /user/referral": ["ReferralCodeNotFound", "ReferrerAlreadySet", "SelfReferral"],
  "GET /user/rewards": ["InvalidCursor"],
  "POST /user/rewards/{reward_id}/claim": ["RewardNotFound", "SubAccountNotFound", "AlreadyClaimed", "RewardPending"],
  "GET /user/competitions": ["SymbolNotFound", "InvalidCursor"],
  "GET /user/competitions/{competition_id}": ["CompetitionNotFound"],
  "GET /user/competitions/{competition_id}/placement": ["CompetitionNotFound"],
  "GET /user/competitions/{competition_id}/leaderboard": ["CompetitionNotFound", "InvalidCursor"],
  "POST /admin/competitions": ["SymbolNotFound", "SlugTaken"],
  "PATCH /admin/competitions/{competition_id}": [
    "CompetitionNotFound",
    "SymbolNotFound",
    "CompetitionStarted",
    "SlugTaken"
  ],
  "PUT /admin/bans/{root_address}": ["WalletNotFound"],
  "DELETE /admin/bans/{root_address}": ["WalletNotFound"],
  "GET /admin/audit": ["InvalidCursor"],
  "PUT /admin/index-price": ["SymbolNotFound", "ModuleDisabled", "OutOfRange"]
}

const signed = [
  "UnknownApiKey",
  "ExpiredApiKey",
  "InvalidPublicKey",
  "InvalidSignature",
  "StaleTimestamp",
  "InvalidNonce",
  "NonceReused"
] as const
const credentials = ["MissingToken", "InvalidToken", "ExpiredToken", "RevokedToken", ...signed] as const

/** How an operation is asked, as the document tells it. */
export interface OperationTraits {
  readonly method: string
  readonly path: string
  readonly access: "none" | "basic" | "bearer" | "scope"
  readonly takesBody: boolean
  readonly takesParameters: boolean
}

/** Whether a closed launch shuts an operation to wallets that are not in: all but reads, and logging out. */
const needsAdmission = ({ access, method, path }: OperationTraits): boolean =>
  (access === "scope" && method !== "GET") || (access === "bearer" && path !== "/api/v1/authorize/logout")

const standing = (asked: OperationTraits): ReadonlyArray<Reason> => {
  const { access, method, takesBody, takesParameters } = asked
  return [
    "MalformedRequest",
    "UnknownParameter",
    ...(takesParameters || takesBody
      ? (["MissingField", "InvalidField", "OutOfRange"] as const)
      : (["InvalidField"] as const)),
    ...(takesBody
      ? ([
          "MalformedJson",
          "UnknownField",
          "InvalidDecimal",
          "TooManyDecimals",
          "BodyTooLarge",
          "WrongMediaType"
        ] as const)
      : []),
    ...(access === "basic" ? (["BadCredentials", "InsufficientRole"] as const) : []),
    ...(access === "bearer" || access === "scope" ? (["AmbiguousAuth", ...credentials, "IpNotAllowed"] as const) : []),
    ...(access === "bearer" ? (["BearerOnly"] as const) : []),
    ...(access === "scope" ? (["InsufficientScope"] as const) : []),
    ...(needsAdmission(asked) ? (["NotWhitelisted"] as const) : []),
    "RateLimitExceeded",
    "InternalError",
    "BackendUnavailable",
    "BackendLagging",
    "DatabaseUnavailable",
    ...(method === "GET" ? [] : (["Overloaded", "DeadlineExceeded"] as const))
  ]
}

const LOGIN = "POST /authorize"
/** Registering a bad key is a bad field; so is everything that authorize refuses. */
export const statusOfReason = (operation: string, reason: Reason): number =>
  codeOf(reason) === "UNAUTHORIZED" &&
  (operation === LOGIN || (operation === "POST /user/api-keys" && reason === "InvalidPublicKey"))
    ? 400
    : httpStatusOf(reason)

/** Reasons of an operation by HTTP status. */
export const reasonsOf = (asked: OperationTraits): ReadonlyMap<number, ReadonlyArray<Reason>> => {
  const operation = `${asked.method} ${asked.path.replace(/^\/api\/v1/u, "")}`
  const found = new Map<number, Array<Reason>>()
  const add = (status: number, reason: Reason) => {
    const list = found.get(status) ?? []
    if (!list.includes(reason)) list.push(reason)
    found.set(status, list)
  }
  for (const reason of standing(asked)) add(httpStatusOf(reason), reason)
  for (const reason of ownReasons[operation] ?? []) add(statusOfReason(operation, reason), reason)
  return found
}

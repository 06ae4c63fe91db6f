/**
 * Cause and cure of each reason, as Markdown sentences of docs/reference/errors.md.
 *
 * A new reason of src/domain/Reason.ts does not compile until it has an entry here.
 * Source: docs/contract/conventions.md#reasons.
 */
import type { Reason } from "../../src/domain/Reason.ts"

export interface Cure {
  readonly cause: string
  readonly cure: string
}
const because = (cause: string, cure: string): Cure => ({ cause, cure })

export const cures: Readonly<Record<Reason, Cure>> = {
  MalformedRequest: because(
    "The request is not valid HTTP/1.1, has no `Host`, or is an upgrade without the headers of RFC 6455.",
    "Use an HTTP or WebSocket library."
  ),
  RequestTimeout: because(
    "The headers or the body did not arrive in time.",
    "Send the whole request at once. Check for a proxy that delays it."
  ),
  MethodNotAllowed: because(
    "The path exists, but not with this method.",
    "Use a method that the header `Allow` lists."
  ),
  BodyTooLarge: because("The body is larger than 256 KiB.", "Split it. A batch has at most 20 orders."),
  WrongMediaType: because(
    "The `Content-Type` is not JSON in UTF-8, or the body is in a coding such as gzip.",
    "Send `Content-Type: application/json` and an uncompressed body. With curl, `-d` alone sends a form."
  ),
  ExpectationFailed: because("`Expect` has another value than `100-continue`.", "Omit the header."),
  UpgradeRequired: because(
    "A WebSocket path was requested without an upgrade.",
    "Use a WebSocket library. A proxy must forward `Connection` and `Upgrade`."
  ),
  HeadersTooLarge: because(
    "The request line and the headers are larger than 16 KiB.",
    "Send fewer cookies and shorter queries."
  ),
  MalformedJson: because(
    "The body is not a JSON object, or has a duplicate key.",
    "Print the body that you send. In a shell, check the quotes."
  ),
  UnknownField: because(
    "A key of the body has an upper-case letter.",
    "Use snake_case: `reduce_only`, not `reduceOnly`. `field` is the key, `nearest` the nearest known name."
  ),
  UnknownParameter: because(
    "The endpoint has no query parameter of this name.",
    "`field` is the parameter, `known` lists all parameters of the endpoint, and `nearest` is the closest name."
  ),
  MissingField: because("A required field is absent, empty or null.", "Send the field that `field` names."),
  InvalidField: because(
    "A field has the wrong type, form or value, or conflicts with another field.",
    "Read `field` and the message. Enumeration values are case-sensitive."
  ),
  InvalidDecimal: because(
    "A price, quantity or amount is a JSON number, or a string in another form.",
    'Send a decimal string: `"0.5"`, never `0.5`, `".5"`, `"1e3"` or `"+1"`.'
  ),
  TooManyDecimals: because(
    "The string has more than 18 decimal places.",
    "Round the value. Round prices and quantities to the market's step."
  ),
  NotMultipleOfStep: because(
    "The quantity is not a multiple of the market's step.",
    "Use a value of `nearest`, or round to `step`, which is `lot_size_filter.qty_step` of `/market/instruments-info`."
  ),
  NotMultipleOfTick: because(
    "The price is not a multiple of the market's tick size.",
    "Use a value of `nearest`, or round to `step`, which is `price_filter.tick_size` of `/market/instruments-info`."
  ),
  OutOfRange: because(
    "A number exceeds a limit of the market, the account or the parameter.",
    "Use a value between `min` and `max` of the details."
  ),
  InvalidQty: because(
    "The new quantity of an amend does not exceed the filled quantity (`cum_exec_qty`), or the order closes the whole position and has no quantity.",
    "Use a larger quantity. To keep only the filled quantity, cancel the order."
  ),
  InvalidCursor: because(
    "The cursor is altered, or is of another query or another user.",
    "Repeat the query that returned the cursor and change nothing but `cursor`, or start without a cursor."
  ),
  InvalidSignature: because(
    "The signature does not match the expected message and key.",
    "Sign the exact bytes of the [message](../contract/authentication.md#signatures): no newline at the end, the path with `/api/v1` and its query, the method in upper case, the body hash where required. Outside production, compare `signed_string` with your message byte by byte."
  ),
  InvalidPublicKey: because(
    "The key is not 32 bytes in an accepted encoding, is not a point of the curve, or does not match the party id.",
    "Send it as `0x` and 64 hex digits, not as PEM or DER."
  ),
  UnknownPartyKey: because(
    "This is the first login of the party, and a party id does not contain the key.",
    "Send `verifying_key` once."
  ),
  StaleTimestamp: because(
    "The timestamp is too far from the server's clock, or not in milliseconds.",
    "Set your clock, or add `skew_ms`. The details also have `server_time_ms` and `window_ms`. Sign immediately before you send."
  ),
  InvalidNonce: because(
    "The nonce has fewer than 8 or more than 64 characters, or other characters than allowed.",
    "Use 16 random bytes in hex."
  ),
  NonceReused: because(
    "The nonce was used before: the same request was sent twice, or the random numbers repeat.",
    "Create a new nonce and a new signature for each request, also for each retry."
  ),
  AmbiguousAuth: because(
    "The request has a bearer token and API-key headers, or two `Authorization` headers.",
    "Send one credential."
  ),
  MissingToken: because(
    "The endpoint requires credentials, and the request has none.",
    "Send `Authorization: Bearer …`, or the four headers of an API key."
  ),
  InvalidToken: because(
    "The token was not issued by this gateway, is truncated, or is of another environment.",
    "Log in again. Send the whole token."
  ),
  ExpiredToken: because("The token is older than 7 days.", "Log in again."),
  RevokedToken: because(
    "By `cause`: the token was logged out (`revoked`), the API key was changed during the request (`changed`), or the wallet is banned (`banned`).",
    "`revoked`: log in again. `changed`: sign the request again. `banned`: contact the operator; a login does not help."
  ),
  UnknownApiKey: because(
    "No such key is registered, or it was revoked.",
    "Register a key with `POST /user/api-keys`. Check that you use the right environment."
  ),
  ExpiredApiKey: because("The `expires_time` of the key is over.", "Register another key."),
  BadCredentials: because(
    "The user name or the password of the administrator is wrong, or no administrator is configured.",
    "Set `ADMIN_USERNAME` and `ADMIN_PASSWORD`. After ten failures in a minute the address is refused."
  ),
  InsufficientScope: because(
    "The key does not have the scope that `required` names.",
    "Add the scope with `PATCH /user/api-keys/{api_key_id}`."
  ),
  InsufficientRole: because(
    "The `role` of the administrator is lower than `required`.",
    "Use an administrator with that role. Roles are in ADMIN_USERS_FILE."
  ),
  IpNotAllowed: because(
    "The address of the caller is not in the `ip_allowlist` of the key.",
    "Send from a listed address. Behind proxies the operator sets `TRUSTED_PROXIES`."
  ),
  NotWhitelisted: because(
    "The launch is closed, and the wallet is not on the whitelist.",
    "Activate an access code, or contact the operator. Reads are allowed."
  ),
  DestinationNotListed: because(
    "Withdrawals are restricted to listed destinations, and this one is not listed or not effective yet.",
    "Add it with `POST /account/withdrawal-addresses` and wait for its `effective_time`."
  ),
  SubAccountFrozen: because(
    "The sub-account is frozen.",
    "Unfreeze it with `PATCH /user/sub-accounts/{sub_account_address}`. Cancels are allowed."
  ),
  BearerOnly: because("The endpoint does not accept API keys.", "Log in and use the token."),
  SymbolNotFound: because(
    "There is no such market.",
    "Use a symbol of `/market/instruments-info`, in upper case: `BTC-USDC`."
  ),
  OrderNotFound: because(
    "There is no such order in this sub-account and market.",
    "Check `sub_account_address` and `symbol`, which must be those of the order, then the id."
  ),
  SubAccountNotFound: because(
    "The sub-account does not exist, is another user's, or is not among those of the API key.",
    "Use an address of `/user/sub-accounts`."
  ),
  ApiKeyNotFound: because(
    "You have no key with this id.",
    "Use an `api_key_id` of `/user/api-keys`. It is not the public key."
  ),
  CompetitionNotFound: because("There is no such competition.", "Use an id of `/user/competitions`."),
  ReferralCodeNotFound: because("There is no such referral code.", "Check the code."),
  DestinationNotFound: because(
    "The destination is not one of your withdrawal addresses.",
    "Use a destination of `GET /account/withdrawal-addresses`."
  ),
  RewardNotFound: because("You have no reward with this id.", "Use an id of `/user/rewards`."),
  PositionNotFound: because(
    "There is no open position in this market.",
    "Open a position first. It may have been closed or liquidated."
  ),
  WalletNotFound: because("The wallet has never logged in.", "Check the root address."),
  AccessCodeNotFound: because("There is no access code with this id.", "Use an id of `/admin/access-codes`."),
  ModuleDisabled: because(
    "The operator has disabled this: the faucet in production, access codes with `ACCESS_MODE=off`, or index prices of another backend.",
    "None for a client."
  ),
  NoSuchRoute: because(
    "There is no such path.",
    "Check upper case, trailing slash and `/api/v1`. [rest.md](rest.md) lists all paths."
  ),
  OrderAlreadyClosed: because(
    "The order was already filled, canceled or rejected.",
    "Usually none: a fill came first. `order_status` is the final status."
  ),
  OrderVersionMismatch: because(
    "The order was amended since you read it.",
    "Read it again. `version` is the current one. Omit `order_iv` to amend any version."
  ),
  DuplicateOrderLinkId: because(
    "The sub-account has used this `order_link_id` before.",
    "After a lost response, the first request succeeded: `order_id` is its order. For another order, use another reference."
  ),
  PositionExists: because("The call requires a flat position.", "Close the position first."),
  OpenOrdersExist: because(
    "The call requires a market, or a sub-account, without open orders.",
    "Cancel them first: `POST /order/cancel-all`."
  ),
  PositionInLiquidation: because(
    "The position is in liquidation. The embedded backend never returns this.",
    "Wait, and read the position again."
  ),
  NotIsolated: because(
    "Margin can be added to isolated positions only.",
    "Switch the margin mode while the position is flat."
  ),
  LeverageUnchanged: because("The leverage already has this value.", "None needed."),
  ReferrerAlreadySet: because("A referral code can be set once.", "None needed."),
  CodeAlreadyUsed: because("The access code is used up.", "Request another code."),
  CodeExists: because("One of the codes exists already. No code was created.", "Omit the code that `field` names."),
  WalletAlreadyActivated: because("The wallet is already activated or whitelisted.", "Log in."),
  KeyAlreadyRegistered: because(
    "The public key is or was registered, by you or another user.",
    "Create a new key. A revoked key cannot be registered again."
  ),
  SlugTaken: because("Another competition has this slug.", "Use another slug."),
  CompetitionStarted: because(
    "The terms of a published competition cannot be changed.",
    "Change its description, or cancel it and create another one. After prizes begin to be granted, it cannot be canceled."
  ),
  AlreadyClaimed: because("The reward is already paid.", "None needed."),
  PostOnlyWouldTake: because(
    "The amend moves a post-only order to a price at which it would take. The order is unchanged.",
    "Use a price farther from the other side, or cancel the order and place one without post-only."
  ),
  TriggerAlreadyMet: because(
    "The amend moves a trigger to a price that the reference has already reached. The order keeps its trigger.",
    "Use a price on the other side of the reference, or cancel the order and place one without a trigger."
  ),
  NotEmpty: because(
    "A sub-account with a balance, or the first sub-account, cannot be deleted.",
    "Transfer the balance to another sub-account."
  ),
  DuplicateRequestId: because(
    "This `transfer_id` or `withdrawal_id` was used with other content.",
    "Repeat it with the same content to get the first result. Use a new id for a new request."
  ),
  InsufficientBalance: because(
    "The available balance, after margin, is too small.",
    "Read `available_balance` of `/account/balances`. Cancel orders or add money."
  ),
  LimitReached: because("The number has reached `max`.", "Remove one first."),
  SelfReferral: because(
    "The code is yours, or leads back to you over other referrals.",
    "Use the code of another user."
  ),
  InvalidCode: because("There is no such access code.", "Check the code."),
  CodeExpired: because("The access code has expired.", "Request another code."),
  CodeRevoked: because("The operator revoked the access code.", "Request another code."),
  FaucetLimit: because(
    "The daily limit of the faucet for this user (UTC day) is reached.",
    "Request less, or wait. The operator sets `FAUCET_DAILY_LIMIT`."
  ),
  RewardPending: because(
    "The day or the competition of the reward is not counted yet.",
    "Claim it when its status is `claimable`."
  ),
  RateLimitExceeded: because(
    "A [bucket](../contract/limits.md#buckets) is full.",
    "Wait `Retry-After` seconds. Programs use an API key (600 a minute) and sockets (no request limit)."
  ),
  InternalError: because(
    "The gateway has a fault.",
    "Report it with `request_id`, by which the operator finds it in the log."
  ),
  DatabaseUnavailable: because(
    "The gateway's database does not respond.",
    "Retry with back-off. The same ids and references make a retry safe."
  ),
  BackendUnavailable: because(
    "The sequencer or the referee is not reachable. Nothing was sequenced.",
    "Retry with back-off."
  ),
  BackendLagging: because(
    "The backend is connected but silent, or the gateway is catching up after a loss (`lag_events`, `lag_ms`). Nothing was sequenced.",
    "Retry with back-off. Cancels are accepted."
  ),
  Overloaded: because(
    "The gateway has as many commands in flight as it can publish in time. Nothing was sequenced. The backend works.",
    "Retry after `Retry-After` seconds, with back-off and the same `order_link_id`. Cancels are not refused."
  ),
  DeadlineExceeded: because(
    'No response arrived in time. With `outcome: "unknown"` the command may have been sequenced.',
    "Repeat it with the same `order_link_id` or id: it is never executed twice. Where the request has none (the faucet, a new sub-account, added margin), read the state first."
  ),
  ShuttingDown: because(
    "This gateway is shutting down.",
    "Reconnect. Another gateway, or the restarted one, resumes at your position."
  )
}

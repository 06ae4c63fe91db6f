/**
 * Why each reason is said, and what its caller does about it: the words of docs/reference/errors.md. Markdown, a sentence each.
 *
 * A reason that is new in src/domain/Reason.ts does not compile until it has its line here.
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
    "The bytes are no HTTP/1.1 request, `Host` is missing, or an upgrade lacks what RFC 6455 asks for.",
    "Use a library for HTTP or WebSocket."
  ),
  RequestTimeout: because(
    "Head or body did not arrive in time.",
    "Send a request in one go; look for a proxy that holds it back."
  ),
  MethodNotAllowed: because("The path exists, the method does not.", "Use one of those that the header `Allow` names."),
  BodyTooLarge: because("The body has more than 256 KiB.", "Split it: a batch takes 20 orders."),
  WrongMediaType: because(
    "The body is not announced as JSON in UTF-8.",
    "Send `Content-Type: application/json`; with curl, `-d` alone announces a form."
  ),
  ExpectationFailed: because("`Expect` asks for something other than `100-continue`.", "Leave the header out."),
  UpgradeRequired: because(
    "A WebSocket path was asked without an upgrade.",
    "Open it with a WebSocket library; a proxy must pass `Connection` and `Upgrade` on."
  ),
  HeadersTooLarge: because(
    "Request line and headers have more than 16 KiB.",
    "Send fewer cookies and shorter queries."
  ),
  MalformedJson: because(
    "The body is not one JSON object, or names a key twice.",
    "Print the body that is sent; in a shell, mind the quotes."
  ),
  UnknownField: because(
    "A key of the body has an upper-case letter.",
    "Write it in snake_case: `reduce_only`, not `reduceOnly`. `field` names it, `nearest` the known name."
  ),
  UnknownParameter: because(
    "The endpoint has no query parameter of this name.",
    "`field` names the parameter, `known` all that the endpoint takes, `nearest` the one that a misspelt name is close to."
  ),
  MissingField: because("A required field is absent, empty or null.", "Send the field that `field` names."),
  InvalidField: because(
    "A field has a value outside its type, form or list of values, or does not go with another one.",
    "Read `field` and the message; values of lists are matched case-sensitively."
  ),
  InvalidDecimal: because(
    "A price, quantity or amount is a JSON number, or text of another form.",
    'Send text: `"0.5"`, never `0.5`, `".5"`, `"1e3"`, `"+1"`.'
  ),
  TooManyDecimals: because(
    "The text has more than 18 decimal places.",
    "Round it; to the market's step where it is a price or quantity."
  ),
  NotMultipleOfStep: because(
    "The quantity lies between two steps of the market.",
    "Take one of `nearest`, or round to `step`: `lot_size_filter.qty_step` of `/market/instruments-info`."
  ),
  NotMultipleOfTick: because(
    "The price lies between two ticks of the market.",
    "Take one of `nearest`, or round to `step`: `price_filter.tick_size` of `/market/instruments-info`."
  ),
  OutOfRange: because(
    "A number lies beyond a limit: of the market, of the account, or of the parameter.",
    "Stay within `min` and `max` of the answer."
  ),
  InvalidQty: because(
    "An amend asks for no more than is filled (`cum_exec_qty`), or for a quantity of an order that closes the whole position.",
    "Ask for more than is filled; cancel the order to keep what is filled."
  ),
  InvalidCursor: because(
    "The cursor is altered, of another query, or of another user.",
    "Repeat the query that gave it, with nothing changed but the cursor; or begin without one."
  ),
  InvalidSignature: because(
    "The signature is not that of the expected message by this key.",
    "Sign the exact bytes of [Signing](../protocol.md#signing): no newline at the end, the path with `/api/v1` and its query, the method in capitals, the body's hash where it is asked. Outside production `signed_string` is what was verified: compare it with yours, byte by byte."
  ),
  InvalidPublicKey: because(
    "The key is not 32 bytes in an accepted form, is no point of the curve, or does not belong to the party id.",
    "Send it as `0x` and 64 hex digits; not in PEM or DER."
  ),
  UnknownPartyKey: because(
    "A party logs in for the first time, and its key cannot be read from its id.",
    "Send `verifying_key` once."
  ),
  StaleTimestamp: because(
    "The timestamp is too far from the server's clock, or not in milliseconds.",
    "Set your clock, or add `skew_ms`; `server_time_ms` and `window_ms` are in the answer. Sign right before you send."
  ),
  InvalidNonce: because(
    "The nonce is shorter than 8, longer than 64, or has other characters.",
    "Use 16 random bytes in hex."
  ),
  NonceReused: because(
    "The nonce was used before: the same request was sent twice, or the random numbers repeat.",
    "Make a new nonce and a new signature for every request, for each repetition too."
  ),
  AmbiguousAuth: because(
    "A bearer token and headers of an API key came together, or `Authorization` came twice.",
    "Send one of the two."
  ),
  MissingToken: because(
    "The endpoint needs credentials and there are none.",
    "Send `Authorization: Bearer …`, or the four headers of an API key."
  ),
  InvalidToken: because(
    "The token is not one of this gateway's: cut short, or of another environment.",
    "Log in again; send the token whole."
  ),
  ExpiredToken: because("Tokens end after 7 days.", "Log in again."),
  RevokedToken: because(
    "The token was logged out (`cause` `revoked`), the API key was changed while the request was under way (`changed`), or the wallet is banned (`banned`).",
    "Log in again; sign the request again; a banned wallet asks the operator, since no login helps."
  ),
  UnknownApiKey: because(
    "No such key is registered, or it was revoked.",
    "Register it with `POST /user/api-keys`; look whether you talk to the right environment."
  ),
  ExpiredApiKey: because("The key's `expires_time` is over.", "Register another key."),
  BadCredentials: because(
    "User name or password of the administrator is wrong, or none is set.",
    "Set `ADMIN_USERNAME` and `ADMIN_PASSWORD`; ten failures a minute shut the address out."
  ),
  InsufficientScope: because(
    "The key lacks the scope that `required` names.",
    "Give it the scope with `PATCH /user/api-keys/{api_key_id}`."
  ),
  InsufficientRole: because(
    "The administrator's `role` is below the one that `required` names.",
    "Ask an administrator who holds it; roles are in ADMIN_USERS_FILE."
  ),
  IpNotAllowed: because(
    "The key may be used from other addresses only.",
    "Send from one of its `ip_allowlist`; behind proxies the operator sets `TRUSTED_PROXIES`."
  ),
  NotWhitelisted: because(
    "The launch is closed and the wallet is not admitted.",
    "Activate an access code, or ask the operator. Reading works."
  ),
  DestinationNotListed: because(
    "You closed withdrawals to listed destinations, and this one is not listed or not effective yet.",
    "Add it with `POST /account/withdrawal-addresses` and wait for its `effective_time`."
  ),
  SubAccountFrozen: because(
    "The sub-account is frozen.",
    "Unfreeze it with `PATCH /user/sub-accounts/{sub_account_address}`; cancels work."
  ),
  BearerOnly: because("API keys may not do this.", "Log in and use the token."),
  SymbolNotFound: because(
    "There is no such market.",
    "Write it as `/market/instruments-info` does, in capitals: `BTC-USDC`."
  ),
  OrderNotFound: because(
    "There is no such order in this sub-account and market.",
    "Look at `sub_account_address` and `symbol`, which must be the order's own; then at the id."
  ),
  SubAccountNotFound: because(
    "The sub-account does not exist, is another user's, or is not among those that the API key is bound to.",
    "Take the address from `/user/sub-accounts`."
  ),
  ApiKeyNotFound: because(
    "No key of yours has this id.",
    "Take `api_key_id` from `/user/api-keys`; it is not the public key."
  ),
  CompetitionNotFound: because("There is no such competition.", "Take the id from `/user/competitions`."),
  ReferralCodeNotFound: because("Nobody has this referral code.", "Look at the code again."),
  DestinationNotFound: because(
    "The destination is not among your withdrawal addresses.",
    "Take it from `GET /account/withdrawal-addresses`."
  ),
  RewardNotFound: because("No reward of yours has this id.", "Take the id from `/user/rewards`."),
  PositionNotFound: because(
    "There is no open position in this market.",
    "Open one first; it may have been closed or liquidated."
  ),
  WalletNotFound: because("This wallet has never logged in.", "Look at the root address."),
  AccessCodeNotFound: because("There is no access code with this id.", "Take the id from `/admin/access-codes`."),
  ModuleDisabled: because(
    "The operator has this switched off: the faucet in production, access codes with `ACCESS_MODE=off`, index prices of another backend.",
    "Nothing a client can do."
  ),
  NoSuchRoute: because(
    "There is no such path.",
    "Look at capitals, a trailing slash and `/api/v1`; [rest.md](rest.md) lists what there is."
  ),
  OrderAlreadyClosed: because(
    "The order was filled, canceled or rejected before.",
    "Usually nothing: it raced a fill. `order_status` says what became of it."
  ),
  OrderVersionMismatch: because(
    "The order was amended since you read it.",
    "Read it again; `version` is the present one. Leave `order_iv` out to amend whatever there is."
  ),
  DuplicateOrderLinkId: because(
    "The sub-account used this `order_link_id` before.",
    "After an unanswered request this is the good news: `order_id` names the order. For another order, take another reference."
  ),
  PositionExists: because("It needs a flat position.", "Close the position first."),
  OpenOrdersExist: because(
    "It needs a market, or a sub-account, without open orders.",
    "Cancel them first: `POST /order/cancel-all`."
  ),
  PositionInLiquidation: because(
    "The position is being liquidated. The embedded backend never says so.",
    "Wait, and read the position again."
  ),
  NotIsolated: because(
    "Margin can be moved only into isolated positions.",
    "Switch the margin mode while you are flat."
  ),
  LeverageUnchanged: because("The leverage is this already.", "Nothing."),
  ReferrerAlreadySet: because("A referral code is named once.", "Nothing."),
  CodeAlreadyUsed: because("The access code is used up.", "Ask for another one."),
  CodeExists: because("A code of the list exists already; none was made.", "Leave out the one that `field` names."),
  WalletAlreadyActivated: because("The wallet is in already.", "Log in."),
  KeyAlreadyRegistered: because(
    "The public key is registered, or was once: by you or by somebody else.",
    "Make a new key; revoked ones never come back."
  ),
  SlugTaken: because("Another competition has this slug.", "Choose another one."),
  CompetitionStarted: because(
    "A published competition keeps its terms.",
    "Change its description, or cancel it and make another one; once prizes are granted it stays as it is."
  ),
  AlreadyClaimed: because("The reward is paid.", "Nothing."),
  PostOnlyWouldTake: because(
    "An amend moves a post-only order to a price at which it would trade at once. The order stays where it is.",
    "Take a price farther from the other side, or cancel the order and place one that may take."
  ),
  TriggerAlreadyMet: because(
    "An amend moves a trigger to a price that the reference has reached or passed. The order keeps its trigger.",
    "Take a price on the other side of the reference, or cancel the order and place one without a trigger."
  ),
  NotEmpty: because("A sub-account with money, or the first one, cannot be deleted.", "Transfer the balance away."),
  DuplicateRequestId: because(
    "This `transfer_id` or `withdrawal_id` was used with other content.",
    "Repeat it with the same content to hear the first result; take a new id for a new request."
  ),
  InsufficientBalance: because(
    "What is available, after margins, is less than this takes.",
    "Read `available_balance` of `/account/balances`; cancel orders or add money."
  ),
  LimitReached: because("There are as many as `max` allows.", "Remove one first."),
  SelfReferral: because("The code leads back to you.", "Name somebody else's."),
  InvalidCode: because("There is no such access code.", "Look at the code again."),
  CodeExpired: because("The access code is past its time.", "Ask for another one."),
  CodeRevoked: because("The operator revoked the access code.", "Ask for another one."),
  FaucetLimit: because(
    "The faucet gives so much a user and day (UTC).",
    "Ask for less, or wait; the operator sets `FAUCET_DAILY_LIMIT`."
  ),
  RewardPending: because("Its day or competition is not counted yet.", "Claim it when its status says `claimable`."),
  RateLimitExceeded: because(
    "The bucket is full: [Rate limits](../protocol.md#rate-limits).",
    "Wait for `Retry-After` seconds. Programs use an API key (600 a minute) and sockets (no limit of requests)."
  ),
  InternalError: because("A mistake of ours.", "Report it with `request_id`; the operator finds it in the log."),
  DatabaseUnavailable: because(
    "The gateway's database does not answer.",
    "Repeat with back-off; the same ids and references make it safe."
  ),
  BackendUnavailable: because("The sequencer or the referee is away. Nothing was sequenced.", "Repeat with back-off."),
  BackendLagging: because(
    "The backend is connected and silent, or the gateway catches up after it was lost, by `lag_events` and `lag_ms`. Nothing was sequenced.",
    "Repeat with back-off; cancels go through."
  ),
  Overloaded: because(
    "The gateway has as many commands in flight as it can show in time. Nothing was sequenced; the backend is well.",
    "Repeat after `Retry-After` seconds, with back-off; the same `order_link_id` is safe. Cancels are not refused."
  ),
  DeadlineExceeded: because(
    'There was no answer in time. With `outcome: "unknown"` the command may have been sequenced.',
    "Repeat it with the same `order_link_id` or id: it is never done twice."
  ),
  ShuttingDown: because(
    "This gateway is being stopped.",
    "Connect again; another one, or its successor, goes on where you were."
  )
}

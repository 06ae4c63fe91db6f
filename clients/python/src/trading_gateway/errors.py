# generated: npm run generate
"""Errors of the gateway: a class per code, and below it one per reason. Reasons are stable, messages may change."""

from typing import Dict, Type

from ._error import Closed as Closed
from ._error import ExchangeError as ExchangeError
from ._error import FeedEnded as FeedEnded
from ._error import Unanswered as Unanswered


class BadRequest(ExchangeError):
    """Errors with the code `BAD_REQUEST`."""


class Unauthorized(ExchangeError):
    """Errors with the code `UNAUTHORIZED`."""


class Forbidden(ExchangeError):
    """Errors with the code `FORBIDDEN`."""


class NotFound(ExchangeError):
    """Errors with the code `NOT_FOUND`."""


class Conflict(ExchangeError):
    """Errors with the code `CONFLICT`."""


class TooManyRequests(ExchangeError):
    """Errors with the code `RateLimitExceeded`."""


class Internal(ExchangeError):
    """Errors with the code `INTERNAL`."""


class ServiceUnavailable(ExchangeError):
    """Errors with the code `SERVICE_UNAVAILABLE`."""


class MalformedRequest(BadRequest):
    """The request is not valid HTTP/1.1, has no `Host`, or is an upgrade without the headers of RFC 6455. Use an HTTP or WebSocket library."""


class RequestTimeout(BadRequest):
    """The headers or the body did not arrive in time. Send the whole request at once. Check for a proxy that delays it."""


class MethodNotAllowed(BadRequest):
    """The path exists, but not with this method. Use a method that the header `Allow` lists."""


class BodyTooLarge(BadRequest):
    """The body is larger than 256 KiB. Split it. A batch has at most 20 orders."""


class WrongMediaType(BadRequest):
    """The `Content-Type` is not JSON in UTF-8, or the body is in a coding such as gzip. Send `Content-Type: application/json` and an uncompressed body. With curl, `-d` alone sends a form."""


class ExpectationFailed(BadRequest):
    """`Expect` has another value than `100-continue`. Omit the header."""


class UpgradeRequired(BadRequest):
    """A WebSocket path was requested without an upgrade. Use a WebSocket library. A proxy must forward `Connection` and `Upgrade`."""


class HeadersTooLarge(BadRequest):
    """The request line and the headers are larger than 16 KiB. Send fewer cookies and shorter queries."""


class MalformedJson(BadRequest):
    """The body is not a JSON object, or has a duplicate key. Print the body that you send. In a shell, check the quotes."""


class UnknownField(BadRequest):
    """A key of the body has an upper-case letter. Use snake_case: `reduce_only`, not `reduceOnly`. `field` is the key, `nearest` the nearest known name."""


class UnknownParameter(BadRequest):
    """The endpoint has no query parameter of this name. `field` is the parameter, `known` lists all parameters of the endpoint, and `nearest` is the closest name."""


class MissingField(BadRequest):
    """A required field is absent, empty or null. Send the field that `field` names."""


class InvalidField(BadRequest):
    """A field has the wrong type, form or value, or conflicts with another field. Read `field` and the message. Enumeration values are case-sensitive."""


class InvalidDecimal(BadRequest):
    """A price, quantity or amount is a JSON number, or a string in another form. Send a decimal string: `"0.5"`, never `0.5`, `".5"`, `"1e3"` or `"+1"`."""


class TooManyDecimals(BadRequest):
    """The string has more than 18 decimal places. Round the value. Round prices and quantities to the market's step."""


class NotMultipleOfStep(BadRequest):
    """The quantity is not a multiple of the market's step. Use a value of `nearest`, or round to `step`, which is `lot_size_filter.qty_step` of `/market/instruments-info`."""


class NotMultipleOfTick(BadRequest):
    """The price is not a multiple of the market's tick size. Use a value of `nearest`, or round to `step`, which is `price_filter.tick_size` of `/market/instruments-info`."""


class OutOfRange(BadRequest):
    """A number exceeds a limit of the market, the account or the parameter. Use a value between `min` and `max` of the details."""


class InvalidQty(BadRequest):
    """The new quantity of an amend does not exceed the filled quantity (`cum_exec_qty`), or the order closes the whole position and has no quantity. Use a larger quantity. To keep only the filled quantity, cancel the order."""


class InvalidCursor(BadRequest):
    """The cursor is altered, or is of another query or another user. Repeat the query that returned the cursor and change nothing but `cursor`, or start without a cursor."""


class InvalidSignature(Unauthorized):
    """The signature does not match the expected message and key. Sign the exact bytes of the [message](../contract/authentication.md#signatures): no newline at the end, the path with `/api/v1` and its query, the method in upper case, the body hash where required. Outside production, compare `signed_string` with your message byte by byte."""


class InvalidPublicKey(Unauthorized):
    """The key is not 32 bytes in an accepted encoding, is not a point of the curve, or does not match the party id. Send it as `0x` and 64 hex digits, not as PEM or DER."""


class UnknownPartyKey(Unauthorized):
    """This is the first login of the party, and a party id does not contain the key. Send `verifying_key` once."""


class StaleTimestamp(Unauthorized):
    """The timestamp is too far from the server's clock, or not in milliseconds. Set your clock, or add `skew_ms`. The details also have `server_time_ms` and `window_ms`. Sign immediately before you send."""


class InvalidNonce(Unauthorized):
    """The nonce has fewer than 8 or more than 64 characters, or other characters than allowed. Use 16 random bytes in hex."""


class NonceReused(Unauthorized):
    """The nonce was used before: the same request was sent twice, or the random numbers repeat. Create a new nonce and a new signature for each request, also for each retry."""


class AmbiguousAuth(BadRequest):
    """The request has a bearer token and API-key headers, or two `Authorization` headers. Send one credential."""


class MissingToken(Unauthorized):
    """The endpoint requires credentials, and the request has none. Send `Authorization: Bearer …`, or the four headers of an API key."""


class InvalidToken(Unauthorized):
    """The token was not issued by this gateway, is truncated, or is of another environment. Log in again. Send the whole token."""


class ExpiredToken(Unauthorized):
    """The token is older than 7 days. Log in again."""


class RevokedToken(Unauthorized):
    """By `cause`: the token was logged out (`revoked`), the API key was changed during the request (`changed`), or the wallet is banned (`banned`). `revoked`: log in again. `changed`: sign the request again. `banned`: contact the operator; a login does not help."""


class UnknownApiKey(Unauthorized):
    """No such key is registered, or it was revoked. Register a key with `POST /user/api-keys`. Check that you use the right environment."""


class ExpiredApiKey(Unauthorized):
    """The `expires_time` of the key is over. Register another key."""


class BadCredentials(Unauthorized):
    """The user name or the password of the administrator is wrong, or no administrator is configured. Set `ADMIN_USERNAME` and `ADMIN_PASSWORD`. After ten failures in a minute the address is refused."""


class InsufficientScope(Forbidden):
    """The key does not have the scope that `required` names. Add the scope with `PATCH /user/api-keys/{api_key_id}`."""


class InsufficientRole(Forbidden):
    """The `role` of the administrator is lower than `required`. Use an administrator with that role. Roles are in ADMIN_USERS_FILE."""


class IpNotAllowed(Forbidden):
    """The address of the caller is not in the `ip_allowlist` of the key. Send from a listed address. Behind proxies the operator sets `TRUSTED_PROXIES`."""


class NotWhitelisted(Forbidden):
    """The launch is closed, and the wallet is not on the whitelist. Activate an access code, or contact the operator. Reads are allowed."""


class SubAccountFrozen(Forbidden):
    """The sub-account is frozen. Unfreeze it with `PATCH /user/sub-accounts/{sub_account_address}`. Cancels are allowed."""


class DestinationNotListed(Forbidden):
    """Withdrawals are restricted to listed destinations, and this one is not listed or not effective yet. Add it with `POST /account/withdrawal-addresses` and wait for its `effective_time`."""


class BearerOnly(Forbidden):
    """The endpoint does not accept API keys. Log in and use the token."""


class SymbolNotFound(NotFound):
    """There is no such market. Use a symbol of `/market/instruments-info`, in upper case: `BTC-USDC`."""


class OrderNotFound(NotFound):
    """There is no such order in this sub-account and market. Check `sub_account_address` and `symbol`, which must be those of the order, then the id."""


class SubAccountNotFound(NotFound):
    """The sub-account does not exist, is another user's, or is not among those of the API key. Use an address of `/user/sub-accounts`."""


class ApiKeyNotFound(NotFound):
    """You have no key with this id. Use an `api_key_id` of `/user/api-keys`. It is not the public key."""


class CompetitionNotFound(NotFound):
    """There is no such competition. Use an id of `/user/competitions`."""


class ReferralCodeNotFound(NotFound):
    """There is no such referral code. Check the code."""


class DestinationNotFound(NotFound):
    """The destination is not one of your withdrawal addresses. Use a destination of `GET /account/withdrawal-addresses`."""


class RewardNotFound(NotFound):
    """You have no reward with this id. Use an id of `/user/rewards`."""


class PositionNotFound(NotFound):
    """There is no open position in this market. Open a position first. It may have been closed or liquidated."""


class WalletNotFound(NotFound):
    """The wallet has never logged in. Check the root address."""


class AccessCodeNotFound(NotFound):
    """There is no access code with this id. Use an id of `/admin/access-codes`."""


class ModuleDisabled(NotFound):
    """The operator has disabled this: the faucet in production, access codes with `ACCESS_MODE=off`, or index prices of another backend. None for a client."""


class NoSuchRoute(NotFound):
    """There is no such path. Check upper case, trailing slash and `/api/v1`. [rest.md](rest.md) lists all paths."""


class OrderAlreadyClosed(Conflict):
    """The order was already filled, canceled or rejected. Usually none: a fill came first. `order_status` is the final status."""


class OrderVersionMismatch(Conflict):
    """The order was amended since you read it. Read it again. `version` is the current one. Omit `order_iv` to amend any version."""


class DuplicateOrderLinkId(Conflict):
    """The sub-account has used this `order_link_id` before. After a lost response, the first request succeeded: `order_id` is its order. For another order, use another reference."""


class PostOnlyWouldTake(Conflict):
    """The amend moves a post-only order to a price at which it would take. The order is unchanged. Use a price farther from the other side, or cancel the order and place one without post-only."""


class TriggerAlreadyMet(Conflict):
    """The amend moves a trigger to a price that the reference has already reached. The order keeps its trigger. Use a price on the other side of the reference, or cancel the order and place one without a trigger."""


class PositionExists(Conflict):
    """The call requires a flat position. Close the position first."""


class OpenOrdersExist(Conflict):
    """The call requires a market, or a sub-account, without open orders. Cancel them first: `POST /order/cancel-all`."""


class PositionInLiquidation(Conflict):
    """The position is in liquidation. The embedded backend never returns this. Wait, and read the position again."""


class NotIsolated(Conflict):
    """Margin can be added to isolated positions only. Switch the margin mode while the position is flat."""


class LeverageUnchanged(Conflict):
    """The leverage already has this value. None needed."""


class ReferrerAlreadySet(Conflict):
    """A referral code can be set once. None needed."""


class CodeAlreadyUsed(Conflict):
    """The access code is used up. Request another code."""


class CodeExists(Conflict):
    """One of the codes exists already. No code was created. Omit the code that `field` names."""


class WalletAlreadyActivated(Conflict):
    """The wallet is already activated or whitelisted. Log in."""


class KeyAlreadyRegistered(Conflict):
    """The public key is or was registered, by you or another user. Create a new key. A revoked key cannot be registered again."""


class SlugTaken(Conflict):
    """Another competition has this slug. Use another slug."""


class CompetitionStarted(Conflict):
    """The terms of a published competition cannot be changed. Change its description, or cancel it and create another one. After prizes begin to be granted, it cannot be canceled."""


class AlreadyClaimed(Conflict):
    """The reward is already paid. None needed."""


class NotEmpty(Conflict):
    """A sub-account with a balance, or the first sub-account, cannot be deleted. Transfer the balance to another sub-account."""


class DuplicateRequestId(Conflict):
    """This `transfer_id` or `withdrawal_id` was used with other content. Repeat it with the same content to get the first result. Use a new id for a new request."""


class InsufficientBalance(BadRequest):
    """The available balance, after margin, is too small. Read `available_balance` of `/account/balances`. Cancel orders or add money."""


class LimitReached(BadRequest):
    """The number has reached `max`. Remove one first."""


class SelfReferral(BadRequest):
    """The code is yours, or leads back to you over other referrals. Use the code of another user."""


class InvalidCode(BadRequest):
    """There is no such access code. Check the code."""


class CodeExpired(BadRequest):
    """The access code has expired. Request another code."""


class CodeRevoked(BadRequest):
    """The operator revoked the access code. Request another code."""


class FaucetLimit(BadRequest):
    """The daily limit of the faucet for this user (UTC day) is reached. Request less, or wait. The operator sets `FAUCET_DAILY_LIMIT`."""


class RewardPending(BadRequest):
    """The day or the competition of the reward is not counted yet. Claim it when its status is `claimable`."""


class RateLimitExceeded(TooManyRequests):
    """A [bucket](../contract/limits.md#buckets) is full. Wait `Retry-After` seconds. Programs use an API key (600 a minute) and sockets (no request limit)."""


class InternalError(Internal):
    """The gateway has a fault. Report it with `request_id`, by which the operator finds it in the log."""


class DatabaseUnavailable(ServiceUnavailable):
    """The gateway's database does not respond. Retry with back-off. The same ids and references make a retry safe."""


class BackendUnavailable(ServiceUnavailable):
    """The sequencer or the referee is not reachable. Nothing was sequenced. Retry with back-off."""


class BackendLagging(ServiceUnavailable):
    """The backend is connected but silent, or the gateway is catching up after a loss (`lag_events`, `lag_ms`). Nothing was sequenced. Retry with back-off. Cancels are accepted."""


class Overloaded(ServiceUnavailable):
    """The gateway has as many commands in flight as it can publish in time. Nothing was sequenced. The backend works. Retry after `Retry-After` seconds, with back-off and the same `order_link_id`. Cancels are not refused."""


class DeadlineExceeded(ServiceUnavailable):
    """No response arrived in time. With `outcome: "unknown"` the command may have been sequenced. Repeat it with the same `order_link_id` or id: it is never executed twice. Where the request has none (the faucet, a new sub-account, added margin), read the state first."""


class ShuttingDown(ServiceUnavailable):
    """This gateway is shutting down. Reconnect. Another gateway, or the restarted one, resumes at your position."""


CODES: Dict[str, Type[ExchangeError]] = {
    "BAD_REQUEST": BadRequest,
    "UNAUTHORIZED": Unauthorized,
    "FORBIDDEN": Forbidden,
    "NOT_FOUND": NotFound,
    "CONFLICT": Conflict,
    "RateLimitExceeded": TooManyRequests,
    "INTERNAL": Internal,
    "SERVICE_UNAVAILABLE": ServiceUnavailable,
}

REASONS: Dict[str, Type[ExchangeError]] = {
    "MalformedRequest": MalformedRequest,
    "RequestTimeout": RequestTimeout,
    "MethodNotAllowed": MethodNotAllowed,
    "BodyTooLarge": BodyTooLarge,
    "WrongMediaType": WrongMediaType,
    "ExpectationFailed": ExpectationFailed,
    "UpgradeRequired": UpgradeRequired,
    "HeadersTooLarge": HeadersTooLarge,
    "MalformedJson": MalformedJson,
    "UnknownField": UnknownField,
    "UnknownParameter": UnknownParameter,
    "MissingField": MissingField,
    "InvalidField": InvalidField,
    "InvalidDecimal": InvalidDecimal,
    "TooManyDecimals": TooManyDecimals,
    "NotMultipleOfStep": NotMultipleOfStep,
    "NotMultipleOfTick": NotMultipleOfTick,
    "OutOfRange": OutOfRange,
    "InvalidQty": InvalidQty,
    "InvalidCursor": InvalidCursor,
    "InvalidSignature": InvalidSignature,
    "InvalidPublicKey": InvalidPublicKey,
    "UnknownPartyKey": UnknownPartyKey,
    "StaleTimestamp": StaleTimestamp,
    "InvalidNonce": InvalidNonce,
    "NonceReused": NonceReused,
    "AmbiguousAuth": AmbiguousAuth,
    "MissingToken": MissingToken,
    "InvalidToken": InvalidToken,
    "ExpiredToken": ExpiredToken,
    "RevokedToken": RevokedToken,
    "UnknownApiKey": UnknownApiKey,
    "ExpiredApiKey": ExpiredApiKey,
    "BadCredentials": BadCredentials,
    "InsufficientScope": InsufficientScope,
    "InsufficientRole": InsufficientRole,
    "IpNotAllowed": IpNotAllowed,
    "NotWhitelisted": NotWhitelisted,
    "SubAccountFrozen": SubAccountFrozen,
    "DestinationNotListed": DestinationNotListed,
    "BearerOnly": BearerOnly,
    "SymbolNotFound": SymbolNotFound,
    "OrderNotFound": OrderNotFound,
    "SubAccountNotFound": SubAccountNotFound,
    "ApiKeyNotFound": ApiKeyNotFound,
    "CompetitionNotFound": CompetitionNotFound,
    "ReferralCodeNotFound": ReferralCodeNotFound,
    "DestinationNotFound": DestinationNotFound,
    "RewardNotFound": RewardNotFound,
    "PositionNotFound": PositionNotFound,
    "WalletNotFound": WalletNotFound,
    "AccessCodeNotFound": AccessCodeNotFound,
    "ModuleDisabled": ModuleDisabled,
    "NoSuchRoute": NoSuchRoute,
    "OrderAlreadyClosed": OrderAlreadyClosed,
    "OrderVersionMismatch": OrderVersionMismatch,
    "DuplicateOrderLinkId": DuplicateOrderLinkId,
    "PostOnlyWouldTake": PostOnlyWouldTake,
    "TriggerAlreadyMet": TriggerAlreadyMet,
    "PositionExists": PositionExists,
    "OpenOrdersExist": OpenOrdersExist,
    "PositionInLiquidation": PositionInLiquidation,
    "NotIsolated": NotIsolated,
    "LeverageUnchanged": LeverageUnchanged,
    "ReferrerAlreadySet": ReferrerAlreadySet,
    "CodeAlreadyUsed": CodeAlreadyUsed,
    "CodeExists": CodeExists,
    "WalletAlreadyActivated": WalletAlreadyActivated,
    "KeyAlreadyRegistered": KeyAlreadyRegistered,
    "SlugTaken": SlugTaken,
    "CompetitionStarted": CompetitionStarted,
    "AlreadyClaimed": AlreadyClaimed,
    "NotEmpty": NotEmpty,
    "DuplicateRequestId": DuplicateRequestId,
    "InsufficientBalance": InsufficientBalance,
    "LimitReached": LimitReached,
    "SelfReferral": SelfReferral,
    "InvalidCode": InvalidCode,
    "CodeExpired": CodeExpired,
    "CodeRevoked": CodeRevoked,
    "FaucetLimit": FaucetLimit,
    "RewardPending": RewardPending,
    "RateLimitExceeded": RateLimitExceeded,
    "InternalError": InternalError,
    "DatabaseUnavailable": DatabaseUnavailable,
    "BackendUnavailable": BackendUnavailable,
    "BackendLagging": BackendLagging,
    "Overloaded": Overloaded,
    "DeadlineExceeded": DeadlineExceeded,
    "ShuttingDown": ShuttingDown,
}

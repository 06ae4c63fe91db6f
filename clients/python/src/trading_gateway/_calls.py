"""One call, from its input to its record, without input and output of its own.

A call is a generator of steps: the client sends a request, sleeps, or logs in, and returns the result. So the synchronous and the
asynchronous client share every rule: rate limits, signatures, the correction of the clock, and which retries are safe.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, Generator, List, Mapping, NamedTuple, Optional, Tuple, Type, TypeVar, Union
from urllib.parse import quote, urlencode

from . import errors
from ._environment import Environment, ServerClock, pause_of
from ._error import UNCHANGED, ExchangeError, Unanswered
from ._identity import Identity, Token, Wallet
from ._keys import nonce
from ._records import DecodeError, decode, encode
from .models import BatchResult, BatchResults, Login, OrderRef, ServerTime
from .operations import AUTHORIZE_LOGIN, MARKET_TIME, ORDER_CREATE, ORDER_CREATE_BATCH, Operation

T = TypeVar("T")

BASE = "/api/v1"
PARTIAL_S = 1.0
"""Pause before the refused parts of a batch are repeated."""
RENEWABLE = frozenset({"ExpiredToken", "RevokedToken", "InvalidToken"})
CANCELS = frozenset({"/order/cancel", "/order/cancel-all", "/order/cancel-batch", "/order/disconnect-cancel-all"})
"""Paths of calls with rate limits of their own, with POST."""


class Limits(NamedTuple):
    """Time limits and attempts of a call."""

    tries_max: int = 8
    """Attempts that fail with no response or a 5xx."""
    try_s: float = 10.0
    """Time limit of an attempt."""
    patience_s: float = 65.0
    """Longest total wait, for rate limits and between attempts: a little more than one window of the rate limits."""


class Send(NamedTuple):
    """Send a request. The result is a `Response`, or `Unanswered` is thrown."""

    method: str
    uri: str
    headers: Dict[str, str]
    body: bytes


class Sleep(NamedTuple):
    """Sleep."""

    seconds: float


class LogIn(NamedTuple):
    """Log the wallet in, unless another call just did."""


class Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


Step = Union[Send, Sleep, LogIn]
Steps = Generator[Step, Any, T]


class Pace:
    """The pace of calls that share rate limit buckets; the headers describe the tightest bucket."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._free_at = 0.0

    @property
    def wait_s(self) -> float:
        """Time until the next request is allowed."""
        return max(0.0, self._free_at - self._now())

    def update(self, response: Response) -> None:
        """Reads the headers. `Retry-After` of a 503 concerns only that call: a later cancel does not wait."""
        retry = None if response.status == 503 else seconds_in(response, "retry-after")
        left = seconds_in(response, "ratelimit-remaining")
        if retry is not None:
            self._free_at = self._now() + retry
        elif left is not None:
            self._free_at = self._now() + (seconds_in(response, "ratelimit-reset") or 0) if left == 0 else 0.0


def seconds_in(response: Response, name: str) -> Optional[float]:
    """A header of seconds. A proxy may send a date, which is ignored."""
    text = response.headers.get(name, "")
    return float(text) if text.isascii() and text.isdigit() else None


def class_of(code: str, details: Mapping[str, Any]) -> Type[ExchangeError]:
    """The class of an error: that of its reason, else that of its code."""
    return errors.REASONS.get(details.get("reason", "")) or errors.CODES.get(code) or ExchangeError


def error_of(response: Response) -> ExchangeError:
    """The error of a response that is not 2xx. The body may come from a proxy and not be the gateway's JSON."""
    try:
        body = json.loads(response.body)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {}
    status = response.status
    code = body.get("code") or ("RateLimitExceeded" if status == 429 else "INTERNAL")
    details = body.get("details") or {}
    return class_of(code, details)(status, code, body.get("message") or f"HTTP {status}", details, body.get("request_id"))


def target_of(operation: Operation[Any], fields: Mapping[str, Any]) -> Tuple[str, bytes]:
    """Path with query, and body."""
    left = dict(encode(dict(fields)))
    path = "/".join(
        quote(str(left.pop(part[1:])), safe="") if part.startswith(":") else part for part in operation.path.split("/")
    )
    if operation.method in ("GET", "DELETE"):
        text = {name: str(value).lower() if isinstance(value, bool) else value for name, value in left.items()}
        return f"{BASE}{path}" + (f"?{urlencode(text, doseq=True)}" if text else ""), b""
    return f"{BASE}{path}", json.dumps(left, separators=(",", ":")).encode() if left else b""


class Failed(NamedTuple):
    """A failed attempt, with its send time and its token."""

    error: ExchangeError
    sent: float
    token: Optional[str]
    retry_s: float
    """`Retry-After` of the gateway."""


class Attempted(NamedTuple):
    """The JSON of a successful attempt."""

    value: Any


class Calls:
    """The calls of a client: they share its clock, its credential and its rate limits."""

    def __init__(self, prefix: str, environment: Environment, limits: Limits) -> None:
        self.clock = ServerClock(environment)
        self.identity: Optional[Identity] = None
        self._prefix = prefix
        self._environment = environment
        self._limits = limits
        self._paces = {name: Pace(environment.now) for name in ("login", "open", "cancels", "own")}

    # ---- operations

    def operation(self, operation: Operation[T], fields: Dict[str, Any]) -> Steps[T]:
        """An operation with its input. Each order is placed exactly once."""
        if operation.name == ORDER_CREATE.name:
            return (yield from self._place(fields))  # type: ignore[return-value]
        if operation.name == ORDER_CREATE_BATCH.name:
            return (yield from self._place_batch(fields))  # type: ignore[return-value]
        value = yield from self._call(operation, lambda: fields, operation.method == "GET")
        return _decoded(operation, value)

    def sync_clock(self) -> Steps[float]:
        """Measures the gateway's clock; returns its offset in ms."""
        sent = self._environment.now()

        def fields() -> Dict[str, Any]:
            nonlocal sent
            sent = self._environment.now()
            return {}

        value = yield from self._call(MARKET_TIME, fields, True)
        self.clock.set(decode(ServerTime, value).server_ts_ms, sent)
        return self.clock.offset_ms

    def log_in(self, wallet: Wallet) -> Steps[None]:
        """Logs a wallet in. An unanswered attempt may have used its nonce, so each attempt signs a new login."""
        value = yield from self._call(AUTHORIZE_LOGIN, wallet.login_fields, True)
        wallet.logged_in(decode(Login, value))

    def _place(self, fields: Dict[str, Any]) -> Steps[OrderRef]:
        """Places an order, with a new `order_link_id` if it has none. An unanswered request is repeated; if the reference is then in
        use, the first request placed the order. (A caller's own reference that an earlier order used cannot be distinguished.)
        """
        order = {**fields, "order_link_id": fields.get("order_link_id") or nonce()}
        unsure = _Unsure()
        try:
            value = yield from self._call(ORDER_CREATE, lambda: order, True, unsure.set)
            return decode(OrderRef, value)
        except errors.DuplicateOrderLinkId as error:
            if not unsure.is_set:
                raise
            return OrderRef(str(error.details.get("order_id")), order["order_link_id"])

    def _place_batch(self, fields: Dict[str, Any]) -> Steps[BatchResults]:
        """Places orders, each as `_place` does. Orders that a 503 refused without effect are repeated alone, after a pause; a
        failure of a repetition is their result.
        """
        orders = [{**one, "order_link_id": one.get("order_link_id") or nonce()} for one in encode(fields["orders"])]
        results: Dict[int, BatchResult] = {}
        left = list(range(len(orders)))
        unsure = _Unsure()

        def is_partial(value: Any) -> bool:
            nonlocal left
            for place, result in zip(left, decode(BatchResults, value).list):
                details = result.details or {}
                if unsure.is_set and details.get("reason") == "DuplicateOrderLinkId":
                    result = BatchResult("OK", "", orders[place]["order_link_id"], str(details.get("order_id")))
                results[place] = result
            left = [place for place in left if (results[place].details or {}).get("reason") in UNCHANGED]
            return bool(left)

        try:
            yield from self._call(
                ORDER_CREATE_BATCH, lambda: {"orders": [orders[place] for place in left]}, True, unsure.set, is_partial
            )
        except ExchangeError as error:
            if not results:
                raise
            details = {**error.details, "outcome": "refused" if error.refused else "unknown"}
            for place in left:
                link = orders[place]["order_link_id"]
                results[place] = BatchResult(error.code, error.message, link, None, details)
        return BatchResults([results[place] for place in range(len(orders))])

    # ---- attempts

    def _call(
        self,
        operation: Operation[Any],
        fields: Callable[[], Dict[str, Any]],
        is_repeatable: bool,
        on_unanswered: Callable[[], None] = lambda: None,
        is_partial: Callable[[Any], bool] = lambda value: False,
    ) -> Steps[Any]:
        """Sends a call, with retries; returns its JSON. `fields` is called for each attempt, `on_unanswered` before a retry of an
        attempt that may have had its effect, `is_partial` with each response: whether parts of it are to be repeated.
        """
        now, chance = self._environment.now, self._environment.chance
        pace = self._paces[_budget_of(operation)]
        patient_until = now() + self._limits.patience_s

        def pause(seconds: float) -> Steps[bool]:
            """Waits, for the rate limit too; False: the total wait would be too long."""
            wait = max(seconds, pace.wait_s)
            is_near = now() + wait <= patient_until
            if is_near and wait > 0:
                yield Sleep(wait)
            return is_near

        repaired: List[str] = []
        is_unsure = False
        tries, refusals = 1, 1
        yield from pause(0)
        try:
            while True:
                outcome = yield from self._attempt(operation, fields(), pace)
                if isinstance(outcome, Attempted):
                    if not is_partial(outcome.value) or tries >= self._limits.tries_max:
                        return outcome.value
                    wait_s = PARTIAL_S + pause_of(tries, chance())
                    tries += 1
                    if not (yield from pause(wait_s)):
                        return outcome.value
                    continue
                error = outcome.error
                if (yield from self._repairs(outcome, repaired)):
                    continue
                is_full = error.status == 429
                is_unknown = not error.refused
                is_safe = is_full or (is_repeatable if is_unknown else error.status >= 500)
                if not is_safe or tries >= self._limits.tries_max:
                    raise error
                wait_s = outcome.retry_s + pause_of(refusals if is_full else tries, chance())
                tries, refusals = (tries, refusals + 1) if is_full else (tries + 1, refusals)
                if not (yield from pause(wait_s)):
                    raise error
                if is_unknown and operation.method != "GET":
                    is_unsure = True
                    on_unanswered()
        except ExchangeError as failure:
            # of the call, or of a login during it
            failure.repeated = failure.repeated or is_unsure
            raise

    def _repairs(self, failed: Failed, repaired: List[str]) -> Steps[bool]:
        """Corrects the clock or renews the token, each once per call; returns whether to try again."""
        error, sent, token, _ = failed
        # a new token does not help a banned wallet
        if error.reason in RENEWABLE and error.details.get("cause") != "banned":
            if "token" in repaired or not isinstance(self.identity, Wallet) or token is None:
                return False
            repaired.append("token")
            self.identity.forget(token)
            yield LogIn()
            return True
        server_time_ms = error.details.get("server_time_ms")
        if error.reason != "StaleTimestamp" or "clock" in repaired or not isinstance(server_time_ms, int):
            return False
        repaired.append("clock")
        self.clock.set(server_time_ms, sent)
        return True

    def _attempt(
        self, operation: Operation[Any], fields: Dict[str, Any], pace: Pace
    ) -> Steps[Union[Attempted, Failed]]:
        uri, body = target_of(operation, fields)
        uri = f"{self._prefix}{uri}"
        headers: Dict[str, str] = {}
        token: Optional[str] = None
        identity = None if operation.is_open else self.identity
        if isinstance(identity, Wallet) and identity.token is None:
            yield LogIn()
        if identity is not None:
            headers = identity.headers(operation.method, uri, body)
        if isinstance(identity, (Token, Wallet)):
            token = identity.token
        if body:
            headers["Content-Type"] = "application/json"
        sent = self._environment.now()
        try:
            response: Response = yield Send(operation.method, uri, headers, body)
        except Unanswered as error:
            return Failed(error, sent, token, 0.0)
        pace.update(response)
        if not 200 <= response.status < 300:
            retry_s = seconds_in(response, "retry-after") or 0.0 if response.status == 503 else 0.0
            return Failed(error_of(response), sent, token, retry_s)
        try:
            return Attempted(json.loads(response.body))
        except ValueError:
            return Failed(Unanswered(f"no complete response to {operation.method} {uri}"), sent, token, 0.0)


class _Unsure:
    """Whether an attempt had no response."""

    is_set = False

    def set(self) -> None:
        self.is_set = True


def _budget_of(operation: Operation[Any]) -> str:
    if operation.name == AUTHORIZE_LOGIN.name:
        return "login"
    if operation.is_open:
        return "open"
    return "cancels" if operation.method == "POST" and operation.path in CANCELS else "own"


def _decoded(operation: Operation[T], value: Any) -> T:
    try:
        return decode(operation.result, value)
    except DecodeError as error:
        raise DecodeError(f"{operation.name}: {error}") from None

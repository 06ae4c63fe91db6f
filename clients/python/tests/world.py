"""A simulated environment for calls: responses, time and randomness. Sleeps end at once and advance the clock."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from trading_gateway import ExchangeError, Key, Limits, Unanswered
from trading_gateway._calls import Calls, LogIn, Response, Send, Sleep
from trading_gateway._connect import identity_of
from trading_gateway._environment import Environment
from trading_gateway._identity import Wallet
from trading_gateway.operations import Operations

EPOCH_S = 1_767_225_600
SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
KEY = Key(SEED)
VAULT = "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"
ORDER: Dict[str, Any] = {
    "sub_account_address": VAULT,
    "symbol": "BTC-USDC",
    "side": "Buy",
    "order_type": "Limit",
    "qty": "0.5",
    "price": "60000",
}
ORDER_ID = "018f3f1e-5d5b-7a00-8000-000000000001"
LOGIN = {
    "token": "TK",
    "user_id": "00000000-0000-5000-8000-000000000000",
    "expires_at_ms": EPOCH_S * 1000 + 604_800_000,
    "root_address": "0x" + "1" * 64,
}

Reply = Optional[Tuple[int, Any, Dict[str, str]]]
"""Status, body and headers; None: the connection breaks before the response."""


def reply(body: Any = None, status: int = 200, **headers: str) -> Reply:
    return status, {} if body is None else body, {name.replace("_", "-"): value for name, value in headers.items()}


def refusal(status: int, code: str, headers: Optional[Dict[str, str]] = None, **details: Any) -> Reply:
    return status, {"code": code, "message": "no", "details": details, "request_id": "r-1"}, headers or {}


def unavailable(reason: str, headers: Optional[Dict[str, str]] = None) -> Reply:
    return refusal(503, "SERVICE_UNAVAILABLE", headers, reason=reason)


class World:
    def __init__(self, **options: Any) -> None:
        self.asked: List[Send] = []
        self.slept: List[float] = []
        self.now = 0.0
        self.ahead_s = 0.0
        """How far the gateway's clock is ahead of the machine's."""
        self.answers: Dict[str, Callable[[Send, int], Reply]] = {"/authorize": lambda send, times: reply(LOGIN)}
        environment = Environment(lambda: self.now, lambda: EPOCH_S + self.now, lambda: 0.5)
        self.calls = Calls("", environment, options.pop("limits", Limits()))
        self.run(self.calls.sync_clock())
        self.asked.clear()
        credential = {"key": None, "wallet": None, "party": None, "token": None, "body_hash": True, **options}
        self.calls.identity = identity_of(self.calls, **credential)
        self.exchange = Operations(lambda operation, fields: self.run(self.calls.operation(operation, fields)))

    @property
    def gateway_ms(self) -> int:
        return round((EPOCH_S + self.now + self.ahead_s) * 1000)

    def asks(self, path: str) -> List[Send]:
        return [send for send in self.asked if path_of(send) == path]

    def run(self, steps: Any) -> Any:
        result: Any = None
        error: Optional[ExchangeError] = None
        try:
            while True:
                step = steps.send(result) if error is None else steps.throw(error)
                result, error = None, None
                try:
                    result = self.do(step)
                except ExchangeError as thrown:
                    error = thrown
        except StopIteration as end:
            return end.value

    def do(self, step: Union[Send, Sleep, LogIn]) -> Any:
        if isinstance(step, Sleep):
            self.slept.append(round(step.seconds, 6))
            self.now += step.seconds
            return None
        if isinstance(step, LogIn):
            assert isinstance(self.calls.identity, Wallet)
            return self.run(self.calls.log_in(self.calls.identity))
        self.asked.append(step)
        path = path_of(step)
        if path == "/market/time":
            answer = reply({"server_ts_ms": self.gateway_ms, "time_second": 0, "time_nano": "0"})
        else:
            answer = self.answers[path](step, len(self.asks(path)))
        if answer is None:
            raise Unanswered("the connection broke")
        status, body, headers = answer
        return Response(status, headers, body if isinstance(body, bytes) else json.dumps(body).encode())


def path_of(send: Send) -> str:
    return send.uri.split("?")[0].replace("/api/v1", "")


def in_turn(*replies: Reply) -> Callable[[Send, int], Reply]:
    """Each reply once, the last one from then on."""
    return lambda send, times: replies[min(times, len(replies)) - 1]

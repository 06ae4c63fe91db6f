"""Credentials: an API key, a token, or a wallet that logs in."""

from __future__ import annotations

import hashlib
from typing import Any, Dict, Literal, Optional, Union

from ._environment import ServerClock
from ._keys import Signer, nonce
from .models import Login

RENEW_BEFORE_MS = 60_000
"""A token is renewed this long before it expires."""


class ApiKey:
    """An API key, which signs every request. `body_hash`: the signature covers the body."""

    def __init__(self, signer: Signer, clock: ServerClock, body_hash: bool) -> None:
        self._signer = signer
        self._clock = clock
        self._body_hash = body_hash

    def headers(self, method: str, uri: str, body: bytes) -> Dict[str, str]:
        timestamp_ms, fresh = self._clock.now(), nonce()
        message = f"SERVICE_API|{method}|{uri}|{timestamp_ms}|{fresh}"
        headers = {"X-API-KEY": self._signer.public_key, "X-TIMESTAMP-MS": str(timestamp_ms), "X-NONCE": fresh}
        if self._body_hash:
            headers["X-BODY-SHA256"] = hashlib.sha256(body).hexdigest()
            message = f"{message}|{headers['X-BODY-SHA256']}"
        headers["X-SIGNATURE"] = self._signer.sign(message)
        return headers

    def auth_frame(self) -> Dict[str, Any]:
        timestamp_ms, fresh = self._clock.now(), nonce()
        signature = self._signer.sign(f"SERVICE_WS|AUTH|{timestamp_ms}|{fresh}")
        return {"api_key": self._signer.public_key, "signature": signature, "timestamp_ms": timestamp_ms, "nonce": fresh}


class Token:
    """A token from another login; it cannot be renewed."""

    def __init__(self, token: str) -> None:
        self.token = token

    def headers(self, method: str, uri: str, body: bytes) -> Dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def auth_frame(self) -> Dict[str, Any]:
        return {"bearer": self.token}


class Wallet:
    """A wallet. Its client logs in when a token is needed, and again when it has ended."""

    def __init__(self, signer: Signer, clock: ServerClock, party: Optional[str]) -> None:
        self._signer = signer
        self._clock = clock
        self._party = party
        self._session: Optional[Login] = None

    def login_fields(self) -> Dict[str, Any]:
        """The fields of a new login, signed now."""
        public_key = self._party or self._signer.public_key
        timestamp_ms, fresh = self._clock.now(), nonce()
        signature = self._signer.sign(f"SERVICE_AUTH|LOGIN|{public_key}|{timestamp_ms}|{fresh}")
        fields = {"public_key": public_key, "signature": signature, "timestamp_ms": timestamp_ms, "nonce": fresh}
        return fields if self._party is None else {**fields, "verifying_key": self._signer.public_key}

    def logged_in(self, session: Login) -> None:
        self._session = session

    @property
    def token(self) -> Optional[str]:
        """The token; None: log in first."""
        session = self._session
        if session is None or self._clock.now() >= session.expires_at_ms - RENEW_BEFORE_MS:
            return None
        return session.token

    def forget(self, token: Optional[str]) -> None:
        """Forgets a token that the gateway refused, unless it was replaced meanwhile."""
        if self._session is not None and self._session.token == token:
            self._session = None

    def headers(self, method: str, uri: str, body: bytes) -> Dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def auth_frame(self) -> Dict[str, Any]:
        return {"bearer": self.token}


Identity = Union[ApiKey, Token, Wallet]
Renewal = Literal["renewed", "later", "refused"]

"""Errors of calls: an error response of the gateway, or no response."""

from __future__ import annotations

from typing import Any, Dict, Optional

UNCHANGED = frozenset({"BackendUnavailable", "BackendLagging", "Overloaded", "ShuttingDown"})
"""Reasons of a 503 that guarantee that nothing changed."""


class ExchangeError(Exception):
    """A call that failed. Programs use the class, `code`, `reason` and `details`; messages may change.

    `status` is the HTTP status, 0 without a response. `repeated`: an earlier attempt of the same call had no response.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        details: Optional[Dict[str, Any]] = None,
        request_id: Optional[str] = None,
        repeated: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details: Dict[str, Any] = details or {}
        self.request_id = request_id
        self.repeated = repeated

    @property
    def reason(self) -> Optional[str]:
        """Stable reason of the catalogue, such as `NotMultipleOfTick`; new ones may be added."""
        reason = self.details.get("reason")
        return reason if isinstance(reason, str) else None

    @property
    def refused(self) -> bool:
        """Whether the call had no effect. False: it may have had one, or may still have one; check before a retry."""
        is_sure = 0 < self.status < 500 or self.reason in UNCHANGED
        return is_sure and not self.repeated

    def __str__(self) -> str:
        what = self.code if self.reason is None else f"{self.code} {self.reason}"
        return f"{what}: {self.message}"


class Unanswered(ExchangeError):
    """No complete response arrived."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "UNANSWERED", message)


class Closed(ExchangeError):
    """The client was closed during the call."""

    def __init__(self) -> None:
        super().__init__(0, "CLOSED", "the client is closed")


class FeedEnded(ExchangeError):
    """A feed does not reconnect: the credential is invalid, or the gateway refuses the feed."""

    def __init__(self, close_code: int, message: str) -> None:
        super().__init__(0, "FEED_ENDED", message, {"close_code": close_code})

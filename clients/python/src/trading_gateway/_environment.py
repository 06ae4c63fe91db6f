"""Time and randomness of a client, so that a test can replace them."""

from __future__ import annotations

import random
import time
from typing import Callable, NamedTuple, Optional


class Environment(NamedTuple):
    """Time in seconds."""

    now: Callable[[], float] = time.monotonic
    """Monotonic time."""
    wall: Callable[[], float] = time.time
    """Unix time of this machine."""
    chance: Callable[[], float] = random.random
    """A number from 0 to 1."""


class ServerClock:
    """The gateway's clock, for signatures. It is based on monotonic time: a change of the machine's clock does not affect it."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._ahead_s = environment.wall() - environment.now()
        self.error_ms: Optional[float] = None
        """Maximum error of `now`: half of the round trip. None: not measured yet."""

    def now(self) -> int:
        """Unix time by the gateway's clock, in ms."""
        return round((self._environment.now() + self._ahead_s) * 1000)

    @property
    def offset_ms(self) -> float:
        """How far the gateway's clock is ahead of this machine's."""
        return self.now() - self._environment.wall() * 1000

    def set(self, server_ts_ms: float, sent: float) -> None:
        """Sets the clock from a reading of the gateway's clock, taken between `sent` (monotonic time) and now."""
        now = self._environment.now()
        half_s = (now - sent) / 2
        self.error_ms = half_s * 1000
        self._ahead_s = server_ts_ms / 1000 + half_s - now


BACKOFF_FIRST_S = 0.1
BACKOFF_MAX_S = 10.0


def pause_of(failures: int, chance: float) -> float:
    """The pause after a number of failures, in seconds. Half of it varies, so that clients do not reconnect together."""
    return min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0**failures) * (0.5 + chance / 2)

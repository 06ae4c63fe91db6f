"""A local order book of the topic `orderbook`. It detects missing messages, a wrong checksum and crossed prices."""

from __future__ import annotations

import threading
import zlib
from bisect import bisect_left
from decimal import Decimal
from typing import List, Literal, Optional, Sequence, Tuple

from ._records import text_of
from .models import Level, OrderbookEventData

CHECKSUM_LEVELS = 25
"""Levels per side that a checksum covers."""

BookFault = Literal["gap", "checksum", "crossed"]


class _Ladder:
    """Levels of one side, best first."""

    def __init__(self, highest_first: bool) -> None:
        self._highest_first = highest_first
        self._keys: List[Decimal] = []
        self.levels: List[Level] = []

    def set(self, level: Level) -> None:
        """Sets the total of a level; 0 removes it."""
        # an operator would round to the precision of the context
        key = level[0].copy_negate() if self._highest_first else level[0]
        place = bisect_left(self._keys, key)
        is_known = place < len(self._keys) and self._keys[place] == key
        if not level[1]:
            if is_known:
                del self._keys[place], self.levels[place]
        elif is_known:
            self.levels[place] = level
        else:
            self._keys.insert(place, key)
            self.levels.insert(place, level)


def checksum(bids: Sequence[Level], asks: Sequence[Level]) -> int:
    """CRC-32 of the best levels, interleaved with bids first, a missing side skipped; 0 for an empty book."""
    parts: List[str] = []
    for place in range(CHECKSUM_LEVELS):
        for side in (bids, asks):
            if place < len(side):
                parts.extend(text_of(number) for number in side[place])
    return zlib.crc32(":".join(parts).encode()) if parts else 0


class Book:
    """An order book, best levels first. Threads may read it while another one applies messages."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bids, self._asks = _Ladder(True), _Ladder(False)
        self.seq = 0
        """Sequence number of the book."""
        self.sound = False
        """Whether the book is current; False: it is the last known state."""
        self.faults = 0
        """Faults found so far."""

    def sides(self, levels: Optional[int] = None) -> Tuple[List[Level], List[Level]]:
        """Bids and asks of one moment, best first."""
        with self._lock:
            return self._bids.levels[:levels], self._asks.levels[:levels]

    def bids(self, levels: Optional[int] = None) -> List[Level]:
        """Prices and quantities, the highest price first."""
        return self.sides(levels)[0]

    def asks(self, levels: Optional[int] = None) -> List[Level]:
        """Prices and quantities, the lowest price first."""
        return self.sides(levels)[1]

    def take(self, data: OrderbookEventData) -> Optional[BookFault]:
        """Applies a message. After a fault, deltas are skipped until the next snapshot."""
        with self._lock:
            if data.type == "snapshot":
                self._bids, self._asks = _Ladder(True), _Ladder(False)
                self.sound = True
            elif not self.sound:
                return None
            elif data.prev_seq != self.seq:
                return self._fault("gap")
            for ladder, levels in ((self._bids, data.bids), (self._asks, data.asks)):
                for level in levels:
                    ladder.set(level)
            self.seq = data.seq
            bids, asks = self._bids.levels, self._asks.levels
            if checksum(bids, asks) != data.checksum:
                return self._fault("checksum")
            return self._fault("crossed") if bids and asks and bids[0][0] >= asks[0][0] else None

    def _fault(self, kind: BookFault) -> BookFault:
        self.sound = False
        self.faults += 1
        return kind

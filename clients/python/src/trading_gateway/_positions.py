"""The position of each private topic in the user stream, and the check that each message follows the one before.

The messages of a topic form a chain: `prev_seq` names the previous one. Topics that are subscribed in one frame arrive in stream
order, so a message of one of them confirms the position of all. Topics of different frames have no common order, so each frame
has a position of its own and resumes from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterable, List, Literal, Optional, Tuple

Verdict = Literal["next", "begins", "replaces", "gap", "repetition", "stream"]
"""How a message relates to its topic. `next` and `begins`, a first snapshot, are passed on. So is `replaces`, a snapshot that was not
requested; the events before it are lost. The others are faults.
"""


@dataclass(frozen=True)
class Since:
    """A position in the user stream: that of the last processed event."""

    stream_id: str
    seq: int


@dataclass
class _Position:
    stream_id: str
    seq: int
    """All events of the topic up to here were received."""
    last: int
    """Seq of the last event of the topic, or of its first snapshot."""
    is_event: bool
    """Whether `last` is an event: then `prev_seq` of the next one must equal it."""
    group: object
    """Identity that the topics of one frame share."""


class Positions:
    def __init__(self) -> None:
        self._positions: Dict[str, _Position] = {}
        self._groups: Dict[str, object] = {}
        """Groups of topics that are subscribed and have no position yet."""

    def advance(self, topic: str, kind: str, stream_id: str, seq: int, prev_seq: Optional[int]) -> Verdict:
        """Checks a message and advances the position. `kind` is its type."""
        position = self._positions.get(topic)
        if kind == "snapshot":
            group = self._groups.get(topic, object())
            self._positions[topic] = _Position(stream_id, seq, seq, False, group)
            return "begins" if position is None else "replaces"
        if position is None:
            return "gap"
        if stream_id != position.stream_id:
            del self._positions[topic]
            return "stream"
        if seq <= position.seq:
            return "repetition"
        if prev_seq is None or (prev_seq != position.last if position.is_event else prev_seq > position.last):
            # after a gap only the topic's own last event is certain, whatever other topics of the frame receive
            position.seq, position.group = position.last, object()
            return "gap"
        position.last, position.is_event = seq, True
        for other in self._positions.values():
            if other.group is position.group:
                other.seq = max(other.seq, seq)
        return "next"

    def begin(self, topics: Iterable[str], since: Since) -> None:
        """Sets a position that the caller stored: the topics begin after it instead of with snapshots."""
        group = object()
        for topic in topics:
            self._positions[topic] = _Position(since.stream_id, since.seq, since.seq, False, group)

    def since(self, topic: str) -> Optional[Since]:
        """The position from which a topic resumes; None: it begins with a snapshot."""
        position = self._positions.get(topic)
        return None if position is None else Since(position.stream_id, position.seq)

    def frames(self, topics: Iterable[str]) -> List[Tuple[List[str], Optional[Since]]]:
        """Groups topics into subscribe frames: those with the same position share one, so they arrive in stream order."""
        frames: Dict[Optional[Since], List[str]] = {}
        for topic in topics:
            frames.setdefault(self.since(topic), []).append(topic)
        return [(names, since) for since, names in frames.items()]

    def subscribed(self, topics: Iterable[str], since: Optional[Since], recovered: bool) -> None:
        """Records topics of one frame that the gateway accepted: they resume from `since`, or begin with snapshots."""
        group = object()
        for topic in topics:
            self._groups[topic] = group
            position = self._positions.get(topic)
            if position is None:
                continue
            if since is None or not recovered:
                del self._positions[topic]
            else:
                position.group = group

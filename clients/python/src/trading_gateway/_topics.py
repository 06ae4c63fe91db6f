"""The topics of a feed: subscribes, checks that each message follows the one before, and repairs a fault with a new subscription.

Frames of the gateway go in; events and frames to send come out. This state outlives the connections.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, Optional, Sequence, Set, Tuple, Union

from ._book import Book
from ._positions import Positions, Since
from ._records import decode
from .models import EVENTS, PRIVATE_TOPICS, OrderbookEvent, TopicEvent

ARGS_MAX = 50
"""Topics of a subscribe frame."""
FAULTS_MAX = 5
"""Consecutive faults of a topic after which the feed disconnects."""
PASSING = frozenset({"SERVICE_UNAVAILABLE", "RateLimitExceeded", "INTERNAL"})
"""Codes of temporary errors: the same request may succeed later."""


@dataclass(frozen=True)
class Connecting:
    """A connection is being opened."""


@dataclass(frozen=True)
class Live:
    """All topics are subscribed."""


@dataclass(frozen=True)
class Lost:
    """The connection was lost; the feed reconnects. `code` is the close code, 1006 without a close frame."""

    code: int
    reason: str


@dataclass(frozen=True)
class Resumed:
    """Private topics continue after `since`. With `recovered` False the events in between are lost: a snapshot of each topic follows
    and replaces the state (missed fills are in `execution.list`).
    """

    recovered: bool
    topics: Tuple[str, ...]
    since: Since


@dataclass(frozen=True)
class Fault:
    """A fault of a topic. `gap`: a message is missing. `repetition`: a message came twice and is dropped. `checksum`, `crossed`: the
    local book differs from the market's. `stream`: the sequence belongs to another stream. All but a repetition are repaired by a
    new subscription.
    """

    topic: str
    fault: Literal["gap", "repetition", "checksum", "crossed", "stream"]


@dataclass(frozen=True)
class Refused:
    """The gateway refused a topic, or a message (`topic` is None)."""

    code: str
    message: str
    topic: Optional[str] = None
    details: Optional[Dict[str, Any]] = None


Notice = Union[Connecting, Live, Lost, Resumed, Fault, Refused]
FeedEvent = Union[TopicEvent, Notice]
"""What a feed delivers: messages of its topics, and between them notices about the feed itself."""


def kind_of(topic: str) -> str:
    """The name of a topic up to its first dot; `trade/` for aggregated trades."""
    return "trade/" if topic.startswith("trade/") else topic.split(".", 1)[0]


def is_private(topic: str) -> bool:
    return topic in PRIVATE_TOPICS


@dataclass
class _Subscription:
    """A subscribe frame without all its replies: `subscribed`, and one error for each topic that is not in it."""

    args: Sequence[str]
    since: Optional[Since]
    is_first: bool
    """Sent when the connection opened."""
    accepted: Optional[List[str]] = None
    refusals: int = 0

    @property
    def is_complete(self) -> bool:
        return self.accepted is not None and self.refusals >= len(self.args) - len(self.accepted)


@dataclass
class Topics:
    wanted: List[str]
    books: Dict[str, Book] = field(default_factory=dict)
    positions: Positions = field(default_factory=Positions)
    events: List[FeedEvent] = field(default_factory=list)
    """Events that were not taken yet."""
    outgoing: List[Dict[str, Any]] = field(default_factory=list)
    """Frames that were not sent yet."""
    broken: Optional[str] = None
    """Why the connection is unusable."""
    refused: Optional[str] = None
    """Why the gateway refuses all topics for good."""
    is_live: bool = False
    _pending: Dict[str, _Subscription] = field(default_factory=dict)
    _next_id: int = 0
    _resubscribing: Set[str] = field(default_factory=set)
    """Topics with a new subscription after a fault; their messages are dropped until the gateway replies."""
    _faults: Dict[str, int] = field(default_factory=dict)

    def connected(self) -> None:
        """Subscribes to all topics over a new connection."""
        self._subscribe(self.wanted, True)

    def disconnected(self) -> None:
        """Drops the connection. No book is sound until its next snapshot."""
        self.broken, self.is_live = None, False
        self.outgoing.clear()
        self._pending.clear()
        self._resubscribing.clear()
        for book in self.books.values():
            book.sound = False

    def receive(self, frame: Dict[str, Any]) -> None:
        """Takes a frame of the gateway."""
        op, subscription = frame.get("op"), self._pending.get(str(frame.get("req_id", "")))
        if op == "event":
            self._event(frame)
        elif op == "subscribed" and subscription is not None:
            self._subscribed(subscription, frame)
        elif op == "error":
            self._refused(subscription, frame)
        if subscription is not None and subscription.is_complete:
            self._pending.pop(str(frame["req_id"]), None)
            if not self.is_live and self.refused is None and not any(one.is_first for one in self._pending.values()):
                self.is_live = True
                self.events.append(Live())

    # ---- messages

    def _event(self, frame: Dict[str, Any]) -> None:
        topic = frame["topic"]
        if topic not in self.wanted:
            return
        event: TopicEvent = decode(EVENTS[kind_of(topic)], frame)
        if isinstance(event, OrderbookEvent):
            self._book(topic, event)
        elif is_private(topic):
            self._user(topic, event)
        else:
            self.events.append(event)

    def _book(self, topic: str, event: OrderbookEvent) -> None:
        book = self.books.setdefault(topic, Book())
        fault = book.take(event.data)
        if fault is not None:
            return self._fault(topic, fault)
        if book.sound:
            if event.data.type == "delta":
                self._faults.pop(topic, None)
            self.events.append(event)

    def _user(self, topic: str, event: Any) -> None:
        if topic in self._resubscribing:
            return
        since, data = self.positions.since(topic), event.data
        verdict = self.positions.advance(topic, data.type, data.stream_id, data.seq, data.prev_seq)
        if verdict in ("gap", "repetition", "stream"):
            return self._fault(topic, verdict)
        if verdict == "replaces" and since is not None:
            self.events.append(Resumed(False, (topic,), since))
        elif verdict == "next":
            self._faults.pop(topic, None)
        self.events.append(event)

    def _fault(self, topic: str, fault: Any) -> None:
        self.events.append(Fault(topic, fault))
        self._faults[topic] = self._faults.get(topic, 0) + 1
        if self._faults[topic] >= FAULTS_MAX:
            del self._faults[topic]
            self.broken = f"{topic} failed {FAULTS_MAX} checks in a row"
        elif fault != "repetition":
            self._resubscribing.add(topic)
            self._subscribe([topic], False)

    # ---- subscriptions

    def _subscribe(self, topics: Sequence[str], is_first: bool) -> None:
        """Subscribes in frames of bounded size. Private topics with the same position share a frame, so that the events they missed
        arrive in stream order.
        """
        frames: List[Tuple[List[str], Optional[Since]]] = self.positions.frames(filter(is_private, topics))
        others = [topic for topic in topics if not is_private(topic)]
        frames.extend((others[i : i + ARGS_MAX], None) for i in range(0, len(others), ARGS_MAX))
        for args, since in frames:
            self._next_id += 1
            req_id = str(self._next_id)
            self._pending[req_id] = _Subscription(args, since, is_first)
            frame: Dict[str, Any] = {"op": "subscribe", "args": args, "req_id": req_id}
            if since is not None:
                frame["since"] = {"stream_id": since.stream_id, "seq": since.seq}
            self.outgoing.append(frame)

    def _subscribed(self, subscription: _Subscription, frame: Dict[str, Any]) -> None:
        self._resubscribing.difference_update(subscription.args)
        subscription.accepted = frame["args"]
        names = [topic for topic in subscription.args if topic in frame["args"] and is_private(topic)]
        resume, since = frame.get("resume"), subscription.since
        recovered = resume is not None and resume["recovered"] is True
        self.positions.subscribed(names, since, recovered)
        if resume is not None and since is not None and names:
            self.events.append(Resumed(recovered, tuple(names), since))

    def _refused(self, subscription: Optional[_Subscription], frame: Dict[str, Any]) -> None:
        code, message, topic = frame["code"], frame["message"], frame.get("topic")
        if subscription is not None:
            subscription.refusals += 1
            if topic is None or code in PASSING:
                self.broken = message
            elif topic in self.wanted:
                # refused for good
                self.wanted.remove(topic)
                self.refused = None if self.wanted else message
        elif code == "RateLimitExceeded":
            # the gateway has dropped a message above the rate limit, and the reply to it never arrives
            self.broken = message
        self.events.append(Refused(code, message, topic, frame.get("details")))

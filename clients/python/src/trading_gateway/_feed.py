"""A live feed: follows topics over a WebSocket, authenticates, and reconnects after a loss.

All events have one order: messages as they arrive, and between them the notices of the feed itself. After a reconnect private topics
resume at their last position; what cannot be resumed starts with a snapshot, and a `Resumed` notice reports that.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections import deque
from typing import Any, Awaitable, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence

from ._book import Book
from ._calls import class_of
from ._environment import Environment, pause_of
from ._error import ExchangeError, FeedEnded
from ._identity import Renewal
from ._positions import Since
from ._topics import PASSING, Connecting, FeedEvent, Lost, Refused, Topics, is_private
from .models import ADVICE

EVENTS_MAX = 10_000
"""Events that may wait for a reader. Above it the feed stops to read, and the gateway ends the connection; the feed resumes later."""
PING_S = 15.0
"""A ping is sent this often; the connection ends if no pong arrives within as long."""
OPEN_S = 10.0
"""Time limit of an opening handshake."""
CLOSE_S = 1.0
"""Time limit of a closing handshake."""
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""Largest message: a snapshot of all open orders."""
BACKOFF_EXTRA = 3
"""A close code with the advice to back off counts as this many more failures."""
RENEWALS_MAX = 2
"""Renewed credentials that are tried in a row; after another refusal the feed ends."""
LOST = 1006
INTERNAL = 1011
BACKEND_LOST = 1013
NOT_AUTHENTICATED = 4001
REFUSED = 4003
NO_TOPIC = 1003
"""The gateway refuses all topics."""


class Source(NamedTuple):
    """Address and credential of the feeds of a client."""

    url: str
    environment: Environment
    auth_frame: Callable[[], Awaitable[Optional[Dict[str, Any]]]]
    """Returns the frame to authenticate with; None means no credential."""
    renew: Callable[[], Awaitable[Renewal]]
    """Gets a new credential after the current one ended."""


class _End(NamedTuple):
    """How a connection ended."""

    code: int
    reason: str
    was_live: bool = False


class _NoFrame(Exception):
    """A text that is no frame, as one of a proxy in between."""


async def _frame_of(socket: Any) -> Dict[str, Any]:
    """The next frame of a socket."""
    try:
        frame = json.loads(await socket.recv())
    except ValueError:
        raise _NoFrame from None
    if not isinstance(frame, dict):
        raise _NoFrame
    return frame


class Feed:
    """Follows topics until it is closed, or the gateway refuses it for good: then `run` raises `FeedEnded`."""

    def __init__(self, source: Source, topics: Sequence[str], since: Optional[Since] = None) -> None:
        if isinstance(topics, str):
            raise TypeError(f"topics: expected a list of topics, got the text {topics!r}")
        if not topics:
            raise ValueError("topics: expected at least one topic, got none")
        self.topics = Topics(list(dict.fromkeys(topics)))
        self._source = source
        self._is_private = any(is_private(topic) for topic in topics)
        if since is not None:
            self.topics.positions.begin(filter(is_private, topics), since)

    async def run(self, deliver: Callable[[FeedEvent], Awaitable[None]]) -> None:
        """Runs until it is cancelled. `deliver` receives all events, in order."""
        environment = self._source.environment
        failures = renewals = 0
        while True:
            await deliver(Connecting())
            end = await self._connect(deliver)
            failures, renewals = (0, 0) if end.was_live else (failures + 1, renewals)
            advice = ADVICE.get(end.code, "reconnect")
            # the credential is sent at once, so the connection was slow and the credential was not checked
            if advice == "log-in" and end.code != NOT_AUTHENTICATED:
                renewed = await self._source.renew() if renewals < RENEWALS_MAX else "refused"
                if renewed == "refused":
                    raise FeedEnded(end.code, end.reason)
                renewals += renewed == "renewed"
            elif advice in ("fix", "stop"):
                raise FeedEnded(end.code, end.reason)
            await deliver(Lost(end.code, end.reason))
            extra = BACKOFF_EXTRA if advice == "back-off" else 0
            await asyncio.sleep(pause_of(failures + extra, environment.chance()))

    async def _connect(self, deliver: Callable[[FeedEvent], Awaitable[None]]) -> _End:
        """One connection, from its opening to its end."""
        # names that the library imports when they are used
        websockets: Any = importlib.import_module("websockets")
        path = "/ws/private" if self._is_private else "/ws/public"
        try:
            async with websockets.connect(
                f"{self._source.url}{path}",
                open_timeout=OPEN_S,
                close_timeout=CLOSE_S,
                ping_interval=PING_S,
                ping_timeout=PING_S,
                max_size=MESSAGE_BYTES_MAX,
                compression=None,
            ) as socket:
                return await self._follow(socket, deliver)
        except websockets.ConnectionClosed as error:
            code, reason = (LOST, "") if error.rcvd is None else (error.rcvd.code, error.rcvd.reason)
            # faulty data is not repaired by an immediate reconnect, so the back-off goes on
            return _End(code, reason or "connection lost", self.topics.is_live)
        except _NoFrame:
            return _End(INTERNAL, "the gateway sent text that is no frame")
        except (OSError, EOFError, asyncio.TimeoutError, websockets.InvalidHandshake) as error:
            return _End(LOST, str(error) or type(error).__name__)
        finally:
            self.topics.disconnected()

    async def _follow(self, socket: Any, deliver: Callable[[FeedEvent], Awaitable[None]]) -> _End:
        topics = self.topics
        if self._is_private:
            try:
                auth = await self._source.auth_frame()
            except ExchangeError as error:
                return _End(REFUSED if error.refused and error.status < 429 else BACKEND_LOST, str(error))
            if auth is None:
                return _End(REFUSED, "log in first")
            await socket.send(json.dumps({"op": "auth", "req_id": "auth", **auth}))
            reply = await _frame_of(socket)
            if not (reply["op"] == "auth" and reply["success"]):
                return _End(BACKEND_LOST if reply.get("code") in PASSING else REFUSED, reply.get("message", ""))
        topics.connected()
        while True:
            for frame in topics.outgoing:
                await socket.send(json.dumps(frame))
            topics.outgoing.clear()
            topics.receive(await _frame_of(socket))
            for event in topics.events:
                await deliver(event)
            topics.events.clear()
            if topics.refused is not None:
                return _End(NO_TOPIC, topics.refused)
            if topics.broken is not None:
                return _End(BACKEND_LOST, topics.broken)


async def _stop(task: asyncio.Task[None]) -> None:
    """Cancels a task until it ends. Before Python 3.12 `asyncio.wait_for`, with which the library opens and closes connections, drops a
    cancellation that arrives together with its result.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CLOSE_S)
    # takes its error, which Python would report as never retrieved
    await asyncio.gather(task, return_exceptions=True)


class EventQueue:
    """The events of a feed for a reader. The feed runs from the first `take` until `close`."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._waiting: Deque[FeedEvent] = deque()
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._task: Optional[asyncio.Task[None]] = None

    async def _deliver(self, event: FeedEvent) -> None:
        self._waiting.append(event)
        self._arrived.set()
        while len(self._waiting) >= EVENTS_MAX:
            self._room.clear()
            await self._room.wait()

    async def take(self) -> List[FeedEvent]:
        """The next events, at least one; none after `close`. Raises `FeedEnded`."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._feed.run(self._deliver))
            self._task.add_done_callback(lambda _: self._arrived.set())
        while not self._waiting:
            if self._task.done():
                if not self._task.cancelled():
                    self._task.result()
                return []
            self._arrived.clear()
            await self._arrived.wait()
        events = list(self._waiting)
        self._waiting.clear()
        self._room.set()
        return events

    async def close(self) -> None:
        if self._task is not None:
            await _stop(self._task)


class AsyncBook:
    """A live order book, until it is closed. Each message is verified by `prev_seq` and checksum; after a fault the book is reloaded.
    `book` is the book itself.
    """

    def __init__(self, feed: Feed, topic: str, on_end: Callable[[AsyncBook], None] = lambda book: None) -> None:
        self.book = feed.topics.books.setdefault(topic, Book())
        self._changed = asyncio.Event()
        self._task = asyncio.ensure_future(feed.run(self._deliver))
        self._task.add_done_callback(lambda _: self._changed.set())
        self._task.add_done_callback(lambda _: on_end(self))

    async def _deliver(self, event: FeedEvent) -> None:
        if isinstance(event, Refused) and event.topic is not None and event.code not in PASSING:
            raise class_of(event.code, event.details or {})(0, event.code, event.message, event.details)
        self._changed.set()

    async def changed(self) -> bool:
        """Waits for the next change of the book or of `sound`; a busy caller sees only the newest state. False after `close`. Raises if
        the feed cannot reconnect.
        """
        if not self._task.done():
            await self._changed.wait()
            self._changed.clear()
        if self._task.done() and not self._task.cancelled():
            self._task.result()
        return not self._task.done()

    async def close(self) -> None:
        await _stop(self._task)

"""The synchronous client: calls block their thread; feeds and books run in a thread of their own. Threads may share a client."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import suppress
from typing import Any, Coroutine, Dict, Iterator, List, Literal, Optional, Sequence, Tuple

from ._async_exchange import AsyncExchange
from ._calls import Calls, Limits, Send, Sleep, Steps, T
from ._connect import KeySource, identity_of
from ._environment import Environment, ServerClock
from ._error import Closed, ExchangeError
from ._feed import AsyncBook
from ._http import Address, Connections
from ._identity import Wallet
from ._positions import Since
from ._topics import FeedEvent
from .models import Level
from .operations import Operation, Operations


CLOSE_S = 1.0
"""Time limit of what still runs when a client is closed."""


class _LoopThread:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="gateway-feeds", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the thread and returns its result. An interrupt cancels it. Raises `Closed` after `close`, and where the
        interpreter ends, which has stopped the thread: a generator of the program may be left then.
        """
        with self._lock:
            if self._is_closed or sys.is_finalizing():
                coroutine.close()
                raise Closed()
            future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Ends the thread, after the coroutines that run in it: feeds and books are closed, so these end."""

        async def rest() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            if others:
                await asyncio.wait(others, timeout=CLOSE_S)

        with self._lock:
            self._is_closed = True
        asyncio.run_coroutine_threadsafe(rest(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Book:
    """A live order book, until it is closed. Each message is verified by `prev_seq` and checksum; after a fault the book is reloaded."""

    def __init__(self, inner: AsyncBook, thread: _LoopThread, exchange: AsyncExchange) -> None:
        self._inner = inner
        self._thread = thread
        self._exchange = exchange

    def sides(self, levels: Optional[int] = None) -> Tuple[List[Level], List[Level]]:
        """Bids and asks of one moment, best first: prices and quantities."""
        return self._inner.book.sides(levels)

    def bids(self, levels: Optional[int] = None) -> List[Level]:
        """Prices and quantities, the highest price first."""
        return self._inner.book.bids(levels)

    def asks(self, levels: Optional[int] = None) -> List[Level]:
        """Prices and quantities, the lowest price first."""
        return self._inner.book.asks(levels)

    @property
    def seq(self) -> int:
        """Sequence number of the book."""
        return self._inner.book.seq

    @property
    def sound(self) -> bool:
        """Whether the book is current; False: it is the last known state."""
        return self._inner.book.sound

    @property
    def faults(self) -> int:
        """Faults found so far."""
        return self._inner.book.faults

    def changed(self) -> bool:
        """Waits for the next change of the book or of `sound`; a busy caller sees only the newest state. False after `close`. Raises if
        the feed cannot reconnect.
        """
        try:
            return self._thread.run(self._inner.changed())
        except Closed:
            return False

    def close(self) -> None:
        with suppress(Closed):
            self._thread.run(self._exchange._unfollow(self._inner))

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Exchange(Operations):
    """The operations by group, clock, feeds and books. Create it with `connect`, and close it: it is a context manager."""

    def __init__(self, url: str, limits: Limits, environment: Environment) -> None:
        super().__init__(self._operation)
        self._address = Address.of(url)
        self._url = url
        self._limits = limits
        self._environment = environment
        self._calls = Calls(self._address.prefix, environment, limits)
        self._connections = Connections(self._address, limits.try_s)
        self._login = threading.Lock()
        self._closed = threading.Event()
        self._starting = threading.Lock()
        self._feeds: Optional[Tuple[_LoopThread, AsyncExchange]] = None
        self._sub_account: Optional[str] = None

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        key: Optional[KeySource] = None,
        wallet: Optional[KeySource] = None,
        party: Optional[str] = None,
        token: Optional[str] = None,
        body_hash: bool = True,
        limits: Limits = Limits(),
        environment: Environment = Environment(),
    ) -> Exchange:
        """Measures the gateway's clock, and logs a wallet in. Raises `ExchangeError` if the gateway refuses or does not respond.

        Args:
            url: URL of the gateway, such as `http://127.0.0.1:3010`
            key: An API key, which signs every request. Recommended for bots: its rate limits are higher than those of a token
            wallet: A wallet; it logs in and renews its token automatically
            party: Id of the party, `<hint>::<fingerprint>`, of the key `wallet`; None: an address wallet
            token: A token from another login
            body_hash: Whether the signature of an API key covers the body
            limits: Time limits and attempts of a call
            environment: Time and randomness
        """
        exchange = cls(url, limits, environment)
        try:
            exchange.sync_clock()
            exchange._calls.identity = identity_of(exchange._calls, key, wallet, party, token, body_hash)
            exchange._log_in()
        except BaseException:
            exchange.close()
            raise
        return exchange

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends all calls, feeds and books."""
        self._closed.set()
        self._connections.close()
        with self._starting:
            feeds, self._feeds = self._feeds, None
        if feeds is not None:
            thread, exchange = feeds
            with suppress(Closed):
                thread.run(exchange.close())
                thread.close()

    @property
    def clock(self) -> ServerClock:
        """The gateway's clock."""
        return self._calls.clock

    def sync_clock(self) -> float:
        """Measures the gateway's clock again; returns its offset from this machine's, in ms."""
        return self._run_steps(self._calls.sync_clock())

    @property
    def sub_account(self) -> str:
        """Address of the caller's first sub-account."""
        if self._sub_account is None:
            self._sub_account = self.user.sub_accounts().list[0].sub_account_address
        return self._sub_account

    def events(self, topics: Sequence[str], since: Optional[Since] = None) -> Iterator[FeedEvent]:
        """Follows topics, all public or all private, on their own connection, from the start of the iteration to its end.

        `since`, for private topics, is the position after which to begin, instead of with snapshots: with it, a restarted bot misses
        no event. Raises `FeedEnded` if the feed cannot reconnect, or the gateway refuses all topics.
        """
        thread, exchange = self._feed_thread()
        queue = thread.run(exchange._follow(topics, since))
        try:
            while True:
                try:
                    events = thread.run(queue.take())
                except Closed:
                    return
                if not events:
                    return
                yield from events
        finally:
            with suppress(Closed):
                thread.run(exchange._unfollow(queue))

    def book(self, symbol: str, depth: Literal[1, 50, 200, 1000] = 50) -> Book:
        """A live order book with at most `depth` levels per side; it has its first snapshot."""
        thread, exchange = self._feed_thread()
        return Book(thread.run(exchange.book(symbol, depth)), thread, exchange)

    def _feed_thread(self) -> Tuple[_LoopThread, AsyncExchange]:
        """The thread of the feeds, and a client there with the same clock and credential."""
        with self._starting:
            if self._closed.is_set():
                raise Closed()
            if self._feeds is None:
                thread = _LoopThread()

                async def make() -> AsyncExchange:
                    exchange = AsyncExchange(self._url, self._limits, self._environment)
                    exchange._calls = self._calls
                    return exchange

                self._feeds = thread, thread.run(make())
            return self._feeds

    def _operation(self, operation: Operation[T], fields: Dict[str, Any]) -> T:
        return self._run_steps(self._calls.operation(operation, fields))

    def _run_steps(self, steps: Steps[T]) -> T:
        """Runs the steps of a call."""
        result: Any = None
        error: Optional[ExchangeError] = None
        try:
            while True:
                step = steps.send(result) if error is None else steps.throw(error)
                result, error = None, None
                try:
                    if isinstance(step, Send):
                        result = self._connections.request(step)
                    elif isinstance(step, Sleep):
                        if self._closed.wait(step.seconds):
                            raise Closed()
                    else:
                        self._log_in()
                except ExchangeError as thrown:
                    error = thrown
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _log_in(self) -> None:
        """Logs the wallet in, unless another call just did."""
        wallet = self._calls.identity
        if isinstance(wallet, Wallet):
            with self._login:
                if wallet.token is None:
                    self._run_steps(self._calls.log_in(wallet))

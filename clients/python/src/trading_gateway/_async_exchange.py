"""The asynchronous client."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncIterator, Dict, Literal, Optional, Sequence, Set, Union

from ._calls import Calls, Limits, Send, Sleep, Steps, T
from ._connect import KeySource, identity_of
from ._environment import Environment, ServerClock
from ._error import Closed, ExchangeError
from ._feed import AsyncBook, EventQueue, Feed, Source
from ._http import Address, Connections
from ._identity import Renewal, Wallet
from ._positions import Since
from ._topics import FeedEvent
from .operations import AsyncOperations, Operation

REQUESTS_MAX = 32
"""Requests in progress; more wait."""


class AsyncExchange(AsyncOperations):
    """The operations by group, clock, feeds and books. Create it with `connect`, and close it: it is an async context manager.

    A cancelled call may still have its effect.
    """

    def __init__(self, url: str, limits: Limits, environment: Environment) -> None:
        super().__init__(self._operation)
        address = Address.of(url)
        self._calls = Calls(address.prefix, environment, limits)
        self._connections = Connections(address, limits.try_s)
        self._threads = ThreadPoolExecutor(REQUESTS_MAX, "gateway-request")
        self._login = asyncio.Lock()
        self._closed = asyncio.Event()
        self._open: Set[Union[EventQueue, AsyncBook]] = set()
        self._source = Source(address.ws_url, environment, self._auth_frame, self._renew)
        self._sub_account: Optional[str] = None

    @classmethod
    async def connect(
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
    ) -> AsyncExchange:
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
            await exchange.sync_clock()
            exchange._calls.identity = identity_of(exchange._calls, key, wallet, party, token, body_hash)
            await exchange._auth_frame()
        except BaseException:
            await exchange.close()
            raise
        return exchange

    async def __aenter__(self) -> AsyncExchange:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends all calls, feeds and books."""
        self._closed.set()
        self._connections.close()
        self._threads.shutdown(wait=False)
        await asyncio.gather(*(one.close() for one in list(self._open)))

    @property
    def clock(self) -> ServerClock:
        """The gateway's clock."""
        return self._calls.clock

    async def sync_clock(self) -> float:
        """Measures the gateway's clock again; returns its offset from this machine's, in ms."""
        return await self._run_steps(self._calls.sync_clock())

    async def sub_account(self) -> str:
        """Address of the caller's first sub-account."""
        if self._sub_account is None:
            self._sub_account = (await self.user.sub_accounts()).list[0].sub_account_address
        return self._sub_account

    async def events(self, topics: Sequence[str], since: Optional[Since] = None) -> AsyncIterator[FeedEvent]:
        """Follows topics, all public or all private, on their own connection, from the start of the iteration to its end.

        `since`, for private topics, is the position after which to begin, instead of with snapshots: with it, a restarted bot misses
        no event. Raises `FeedEnded` if the feed cannot reconnect, or the gateway refuses all topics.
        """
        queue = await self._follow(topics, since)
        try:
            while True:
                events = await queue.take()
                if not events:
                    return
                for event in events:
                    yield event
        finally:
            await self._unfollow(queue)

    async def book(self, symbol: str, depth: Literal[1, 50, 200, 1000] = 50) -> AsyncBook:
        """A live order book with at most `depth` levels per side; it has its first snapshot."""
        if self._closed.is_set():
            raise Closed()
        topic = f"orderbook.{depth}.{symbol}"
        book = AsyncBook(Feed(self._source, [topic]), topic, self._open.discard)
        self._open.add(book)
        try:
            while not book.book.sound:
                if not await book.changed():
                    raise Closed()
        except BaseException:
            await self._unfollow(book)
            raise
        return book

    # ---- shared with the synchronous client

    async def _follow(self, topics: Sequence[str], since: Optional[Since]) -> EventQueue:
        if self._closed.is_set():
            raise Closed()
        queue = EventQueue(Feed(self._source, topics, since))
        self._open.add(queue)
        return queue

    async def _unfollow(self, one: Union[EventQueue, AsyncBook]) -> None:
        self._open.discard(one)
        await one.close()

    async def _operation(self, operation: Operation[T], fields: Dict[str, Any]) -> T:
        return await self._run_steps(self._calls.operation(operation, fields))

    async def _run_steps(self, steps: Steps[T]) -> T:
        """Runs the steps of a call."""
        result: Any = None
        error: Optional[ExchangeError] = None
        try:
            while True:
                step = steps.send(result) if error is None else steps.throw(error)
                result, error = None, None
                if self._closed.is_set():
                    raise Closed()
                try:
                    if isinstance(step, Send):
                        loop = asyncio.get_running_loop()
                        result = await loop.run_in_executor(self._threads, self._connections.request, step)
                    elif isinstance(step, Sleep):
                        await self._sleep(step.seconds)
                    else:
                        await self._log_in()
                except ExchangeError as thrown:
                    error = thrown
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._closed.wait(), seconds)
        except asyncio.TimeoutError:
            return
        raise Closed()

    async def _log_in(self) -> None:
        """Logs the wallet in, unless another call just did."""
        wallet = self._calls.identity
        if isinstance(wallet, Wallet):
            async with self._login:
                if wallet.token is None:
                    await self._run_steps(self._calls.log_in(wallet))

    async def _auth_frame(self) -> Optional[Dict[str, Any]]:
        await self._log_in()
        identity = self._calls.identity
        return None if identity is None else identity.auth_frame()

    async def _renew(self) -> Renewal:
        """Gets a new credential after a feed's was refused."""
        identity = self._calls.identity
        try:
            if isinstance(identity, Wallet):
                identity.forget(identity.token)
                await self._log_in()
                return "renewed"
            if identity is not None and "api_key" in identity.auth_frame():
                # a refused key can only be repaired by a correct clock
                await self.sync_clock()
                return "renewed"
            return "refused"
        except ExchangeError as error:
            return "refused" if error.refused and error.status < 429 and isinstance(identity, Wallet) else "later"

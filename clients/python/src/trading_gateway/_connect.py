"""What both clients share when they connect."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Optional, Protocol, Sequence, TypeVar, Union

from ._calls import Calls
from ._identity import ApiKey, Identity, Token, Wallet
from ._keys import Key, Signer

KeySource = Union[str, bytes, Signer]
"""A seed, or an object that signs."""

T = TypeVar("T", covariant=True)


def signer_of(source: KeySource) -> Signer:
    return Key(source) if isinstance(source, (str, bytes)) else source


def identity_of(
    calls: Calls,
    key: Optional[KeySource],
    wallet: Optional[KeySource],
    party: Optional[str],
    token: Optional[str],
    body_hash: bool,
) -> Optional[Identity]:
    if sum(source is not None for source in (key, wallet, token)) > 1:
        raise ValueError("set at most one of key, wallet and token")
    if key is not None:
        return ApiKey(signer_of(key), calls.clock, body_hash)
    if wallet is not None:
        return Wallet(signer_of(wallet), calls.clock, party)
    return None if token is None else Token(token)


class Page(Protocol[T]):
    """Rows with a cursor."""

    @property
    def list(self) -> Sequence[T]: ...

    @property
    def next_page_cursor(self) -> str: ...


def rows(method: Callable[..., Page[T]], **fields: Any) -> Iterator[T]:
    """All rows of an operation with pages: `rows(exchange.order.history, symbol="BTC-USDC")`."""
    while True:
        page = method(**fields)
        yield from page.list
        if page.next_page_cursor == "":
            return
        fields["cursor"] = page.next_page_cursor

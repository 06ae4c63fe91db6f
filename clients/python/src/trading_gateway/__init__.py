"""A client for bots: every operation, signed orders that are placed exactly once, live books, and private streams that resume.

    exchange = Exchange.connect("http://127.0.0.1:3010", key=seed_of_my_api_key)
    order = exchange.order.create(sub_account_address=exchange.sub_account, symbol="BTC-USDC", side="Buy", ...)
    for event in exchange.events(["order"]): ...
"""

from ._async_exchange import AsyncExchange
from ._book import Book as LocalBook
from ._calls import Limits
from ._connect import rows
from ._environment import Environment
from ._error import Closed, ExchangeError, FeedEnded, Unanswered
from ._exchange import Book, Exchange
from ._feed import AsyncBook
from ._keys import Key, Signer, root_of_party
from ._positions import Since
from ._records import DecodeError, decode, encode
from ._topics import Connecting, Fault, FeedEvent, Live, Lost, Refused, Resumed

__all__ = [
    "AsyncBook",
    "AsyncExchange",
    "Book",
    "Closed",
    "Connecting",
    "DecodeError",
    "Environment",
    "Exchange",
    "ExchangeError",
    "Fault",
    "FeedEnded",
    "FeedEvent",
    "Key",
    "Limits",
    "Live",
    "LocalBook",
    "Lost",
    "Refused",
    "Resumed",
    "Signer",
    "Since",
    "Unanswered",
    "decode",
    "encode",
    "root_of_party",
    "rows",
]

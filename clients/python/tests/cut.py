"""Clients over connections that are cut: users trade and follow their events, and books are kept. Run by verification/python.

The first line of the input is the setting, as JSON. Then each line is a command: `trade`, `pause`, `report`. The output has a line for
each event of a follower, and the reports.
"""

import asyncio
import json
import random
import sys
from typing import Any, Dict, List, Optional

from trading_gateway import AsyncBook, AsyncExchange, ExchangeError, Fault, FeedEvent, Limits, Resumed, encode, models

PAUSE_S = 0.1
"""Mean pause between two commands of a user."""
LIMITS = Limits(tries_max=40, patience_s=600)
"""Attempts and time after which the client reports that the fate of an order is unknown."""


def say(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)


def frame_of(event: FeedEvent) -> Dict[str, Any]:
    """The event as the other side checks it."""
    if isinstance(event, Resumed):
        return {"kind": "resume", "recovered": event.recovered, "topics": event.topics, "since": vars(event.since)}
    if isinstance(event, Fault):
        return {"kind": "fault", "topic": event.topic, "fault": event.fault}
    if isinstance(event, tuple(models.EVENTS.values())):
        return {"kind": event.topic, **encode(event)}
    return {"kind": "state", "state": {"type": type(event).__name__.lower()}}


class Trader:
    def __init__(self, name: str, exchange: AsyncExchange, setting: Dict[str, Any], chance: random.Random) -> None:
        self.name = name
        self.exchange = exchange
        self.market = {"sub_account_address": setting["vault"], "symbol": setting["symbol"]}
        self.prices = setting["prices"]
        self.chance = chance
        self.orders: Dict[str, Optional[str]] = {}
        """Ids by `order_link_id`; "": it was refused, None: its fate is unknown."""
        self.is_busy = False

    async def trade(self, is_open: asyncio.Event) -> None:
        while True:
            await is_open.wait()
            self.is_busy = True
            try:
                await self.command()
            except ExchangeError:
                pass
            self.is_busy = False
            await asyncio.sleep(self.chance.random() * 2 * PAUSE_S)

    def order(self, kind: float) -> models.CreateOrderBody:
        link = f"{self.name}-{len(self.orders)}"
        self.orders[link] = None
        return models.CreateOrderBody(
            **self.market,
            side=self.chance.choice(("Buy", "Sell")),
            order_type="Limit",
            qty="0.001",
            price=self.chance.choice(self.prices),
            time_in_force="IOC" if kind < 0.3 else "GTC",
            order_link_id=link,
        )

    async def command(self) -> None:
        kind, order = self.chance.random(), self.exchange.order
        if kind < 0.1:
            await order.cancel_all(**self.market)
        elif kind < 0.85:
            one = self.order(kind)
            link = str(one.order_link_id)
            try:
                self.orders[link] = (await order.create(**vars(one))).order_id
            except ExchangeError as error:
                if error.refused:
                    self.orders[link] = ""
                raise
        else:
            several = [self.order(kind) for _ in range(3)]
            results = (await order.create_batch(orders=several)).list
            for one, result in zip(several, results):
                self.orders[str(one.order_link_id)] = (result.order_id if result.code == "OK" else "") or ""


async def follow(number: int, exchange: AsyncExchange) -> None:
    try:
        async for event in exchange.events(models.PRIVATE_TOPICS):
            say(follower=number, event=frame_of(event))
    except Exception as error:
        say(fault=f"follower {number}: {error!r}")


async def lines() -> "asyncio.StreamReader":
    reader = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def report(traders: List[Trader], books: List[AsyncBook]) -> None:
    kept = []
    for book in books:
        bids, asks = book.book.sides()
        kept.append({"bids": encode(bids), "asks": encode(asks), "sound": book.book.sound, "faults": book.book.faults})
    say(report={"busy": any(trader.is_busy for trader in traders), "orders": [t.orders for t in traders], "books": kept})


async def main() -> None:
    reader = await lines()
    setting = json.loads(await reader.readline())
    traders: List[Trader] = []
    tasks: List["asyncio.Task[None]"] = []
    is_open = asyncio.Event()
    for number, user in enumerate(setting["users"]):
        exchange = await AsyncExchange.connect(setting["traders"], key=user["seed"], limits=LIMITS)
        chance = random.Random(f"{setting['seed']}-{number}")
        trader = Trader(f"user{number}", exchange, {**setting, **user}, chance)
        traders.append(trader)
        tasks.append(asyncio.ensure_future(trader.trade(is_open)))
        for follower in user["followers"]:
            credential = {"key": user["seed"]} if follower["signs"] else {"token": user["token"]}
            connected = await AsyncExchange.connect(follower["url"], **credential)
            tasks.append(asyncio.ensure_future(follow(follower["number"], connected)))
    public = await AsyncExchange.connect(setting["books"])
    books = [await public.book(setting["symbol"]) for _ in range(setting["book_count"])]
    say(ready=True)
    while True:
        command = (await reader.readline()).decode().strip()
        if command == "":
            return
        if command == "trade":
            is_open.set()
        elif command == "pause":
            is_open.clear()
        elif command == "report":
            report(traders, books)
        for task in tasks:
            if task.done():
                say(fault=f"a task ended: {task.exception()!r}")


asyncio.run(main())

"""A taker with asyncio: buys where bids outweigh asks, and closes the position at a profit, at a loss, or after some time.

The exits are attached to the order, so they hold without the program. `python3 taker.py [trades = 3]`, against the gateway of
GATEWAY_URL, with the key of GATEWAY_KEY.
"""

import asyncio
import sys
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Dict, List

from account import URL, api_key
from trading_gateway import AsyncExchange, ExchangeError
from trading_gateway.models import LegAsked, LegAskedMarket, Level, PositionEvent, TpslAsked

SYMBOL = "BTC-USDC"
QTY = Decimal("0.01")
LEVELS = 5
"""Levels a side whose quantities are compared."""
IMBALANCE = Decimal("0.5")
"""Share of the bids from which it buys."""
EXIT = Decimal("0.001")
"""Distance of take-profit and stop-loss, as a part of the price."""
HELD_MAX_S = 2.0


def share_of_bids(bids: List[Level], asks: List[Level]) -> Decimal:
    bought, sold = (sum((qty for _, qty in side), Decimal(0)) for side in (bids, asks))
    return bought / (bought + sold) if bought + sold else Decimal(0)


class Taker:
    def __init__(self, exchange: AsyncExchange, sub_account: str, tick: Decimal) -> None:
        self.exchange = exchange
        self.market: Dict[str, Any] = {"sub_account_address": sub_account, "symbol": SYMBOL}
        self.tick = tick
        self.size = Decimal(0)
        self.moved = asyncio.Condition()

    async def follow(self) -> None:
        """Keeps the size of the position."""
        async for event in self.exchange.events(["position"]):
            if isinstance(event, PositionEvent):
                async with self.moved:
                    if event.data.type == "snapshot":
                        # it has open positions only
                        self.size = Decimal(0)
                    for position in event.data.list:
                        if self.market.items() <= vars(position).items():
                            self.size = position.size
                    self.moved.notify_all()

    async def until(self, is_held: bool, seconds: float) -> bool:
        """Waits until there is a position, or none; returns whether that was in time."""
        async with self.moved:
            try:
                await asyncio.wait_for(self.moved.wait_for(lambda: (self.size != 0) == is_held), seconds)
                return True
            except asyncio.TimeoutError:
                return False

    def leg(self, price: Decimal) -> LegAsked:
        return LegAsked(LegAskedMarket((price / self.tick).to_integral_value(ROUND_HALF_UP) * self.tick))

    async def buy(self, price: Decimal) -> bool:
        """Buys with its exits; returns whether it did."""
        exits = TpslAsked(take_profit=self.leg(price * (1 + EXIT)), stop_loss=self.leg(price * (1 - EXIT)))
        order: Dict[str, Any] = {**self.market, "qty": QTY, "price": price, "time_in_force": "IOC", "tpsl": exits}
        ref = await self.exchange.order.create(side="Buy", order_type="Limit", **order)
        (placed,) = (await self.exchange.order.history(order_id=ref.order_id)).list
        return placed.cum_exec_qty > 0

    async def leave(self) -> None:
        """Waits until the position is closed, and closes what the exits have not closed in time."""
        if await self.until(False, HELD_MAX_S):
            return
        order: Dict[str, Any] = {**self.market, "qty": self.size, "time_in_force": "IOC", "reduce_only": True}
        try:
            await self.exchange.order.create(side="Sell", order_type="Market", **order)
        except ExchangeError as error:
            print(f"not closed: {error}", flush=True)
        await self.until(False, HELD_MAX_S)

    async def trade(self, count: int) -> None:
        book = await self.exchange.book(SYMBOL)
        while count > 0:
            if self.size:
                # one of a run that was killed: its purchase may still arrive
                await self.leave()
                continue
            bids, asks = book.book.sides(LEVELS)
            is_wanted = book.book.sound and bool(asks) and share_of_bids(bids, asks) >= IMBALANCE
            if is_wanted and await self.buy(asks[0][0]):
                count -= 1
                print(f"bought at {asks[0][0]}", flush=True)
                # it may be closed already
                await self.until(True, HELD_MAX_S)
                await self.leave()
                print("closed", flush=True)
            elif not await book.changed():
                return


async def main(trades: int) -> None:
    async with await AsyncExchange.connect(URL, key=api_key()) as exchange:
        tick = (await exchange.market.instruments(symbol=SYMBOL)).list[0].price_filter.tick_size
        taker = Taker(exchange, await exchange.sub_account(), tick)
        (held,) = (await exchange.position.list(**taker.market)).list
        taker.size = held.size
        tasks = {asyncio.ensure_future(taker.follow()), asyncio.ensure_future(taker.trade(trades))}
        done, running = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in running:
            task.cancel()
        for task in done:
            # raises where its stream ended for good: the size would stay as it was
            task.result()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))

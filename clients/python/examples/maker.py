"""A market maker: a bid and an ask around the mid price, shifted against its position.

It leaves no order open when it ends; after a crash the gateway cancels its orders within ten seconds.
`python3 maker.py [seconds = 30]`, against the gateway of GATEWAY_URL, with the key of GATEWAY_KEY.
"""

import sys
import threading
import time
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Dict, Optional

from account import URL, api_key
from trading_gateway import Exchange, Live, Lost, errors
from trading_gateway.models import Order, Side

SYMBOL = "BTC-USDC"
QTY = Decimal("0.01")
POSITION_MAX = Decimal("0.05")
"""The position at which it quotes one side only."""
HALF_SPREAD = Decimal("0.0002")
"""Distance of a quote from the mid price, as a part of it."""
ROUND_S = 1.0
CONNECT_S = 30.0
WINDOW_S = 10
"""Seconds without a private connection after which the gateway cancels the orders."""


class Maker:
    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.market: Dict[str, Any] = {"sub_account_address": exchange.sub_account, "symbol": SYMBOL}
        self.tick = exchange.market.instruments(symbol=SYMBOL).list[0].price_filter.tick_size
        self.book = exchange.book(SYMBOL)
        self.live = threading.Event()
        """Whether the private stream is open."""

    def follow(self) -> None:
        """Keeps the private stream open: where it closes, the window of the dead-man's switch begins."""
        try:
            for event in self.exchange.events(["order"]):
                if isinstance(event, Live):
                    self.live.set()
                elif isinstance(event, Lost):
                    self.live.clear()
        finally:
            self.live.clear()

    def position(self) -> Decimal:
        """The signed position: a short is negative."""
        size = Decimal(0)
        for position in self.exchange.position.list(**self.market).list:
            size += -position.size if position.side == "Sell" else position.size
        return size

    def prices(self, held: Decimal) -> Optional[Dict[Side, Optional[Decimal]]]:
        """Prices of the quotes by side; None for a side that is not quoted, None altogether without a market."""
        bids, asks = self.book.sides(1)
        if not self.book.sound or not bids or not asks:
            return None
        middle = (bids[0][0] + asks[0][0]) / 2
        half = middle * HALF_SPREAD
        centre = middle - half * held / POSITION_MAX
        bid = ((centre - half) / self.tick).to_integral_value(ROUND_FLOOR) * self.tick
        ask = ((centre + half) / self.tick).to_integral_value(ROUND_CEILING) * self.tick
        return {"Buy": None if held >= POSITION_MAX else bid, "Sell": None if held <= -POSITION_MAX else ask}

    def quote(self, side: Side, price: Optional[Decimal], current: Optional[Order]) -> None:
        """Moves the quote of a side to a price, or cancels it."""
        order = self.exchange.order
        try:
            if current is None:
                if price is not None:
                    order.create(**self.market, side=side, order_type="Limit", qty=QTY, price=price, post_only=True)
            elif price is None:
                order.cancel(**self.market, order_id=current.order_id)
            elif price != current.price:
                order.amend(**self.market, order_id=current.order_id, price=price)
        except errors.Conflict:
            pass  # it was filled meanwhile: the next round reads the new state

    def round(self) -> None:
        held = self.position()
        prices = self.prices(held)
        if prices is None:
            return
        current: Dict[Side, Order] = {}
        for order in self.exchange.order.realtime(**self.market).list:
            if order.side in current:
                # one that was on its way when an earlier run was killed
                self.quote(order.side, None, order)
            else:
                current[order.side] = order
        for side, price in prices.items():
            self.quote(side, price, current.get(side))
        print(f"bid {prices['Buy']}, ask {prices['Sell']}, position {held}", flush=True)


def main(seconds: float) -> None:
    with Exchange.connect(URL, key=api_key()) as exchange:
        maker = Maker(exchange)
        threading.Thread(target=maker.follow, daemon=True).start()
        if not maker.live.wait(CONNECT_S):
            raise SystemExit("the private stream does not open")
        # after a crash the gateway cancels the orders
        switch: Dict[str, Any] = {"sub_account_address": exchange.sub_account, "time_window": WINDOW_S}
        exchange.order.set_switch(**switch, enabled=True)
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                # an absence cancels once: orders that are placed during it stay after a crash
                if maker.live.is_set():
                    maker.round()
                time.sleep(min(ROUND_S, max(0.0, end - time.monotonic())))
        finally:
            exchange.order.cancel_all(**maker.market)
            # it would cancel the orders of later programs
            exchange.order.set_switch(**switch, enabled=False)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)

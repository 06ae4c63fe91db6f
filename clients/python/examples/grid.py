"""A grid: buy orders below the price and sell orders above it. Each fill places the opposite order one step away.

It follows its fills and keeps its position in the stream in a file: after a restart it continues without missing a fill.
`python3 grid.py [fills = 10]`, against the gateway of GATEWAY_URL, with the key of GATEWAY_KEY.
"""

import json
import os
import secrets
import sys
from decimal import Decimal
from typing import Any, Dict, Optional

from account import URL, api_key
from trading_gateway import Exchange, Resumed, Since, errors, rows
from trading_gateway.models import ExecutionEvent, Side

SYMBOL = "BTC-USDC"
QTY = Decimal("0.01")
STEPS = 4
"""Orders a side."""
STEP = Decimal("0.0005")
"""Distance of two orders, as a part of the price."""


class Grid:
    def __init__(self, exchange: Exchange, path: str) -> None:
        self.exchange = exchange
        self.path = path
        self.name = secrets.token_hex(8)
        """Part of the references of its first orders: a repeated build places none of them twice."""
        self.market: Dict[str, Any] = {"sub_account_address": exchange.sub_account, "symbol": SYMBOL}
        tick = exchange.market.instruments(symbol=SYMBOL).list[0].price_filter.tick_size
        price = exchange.market.tickers(symbol=SYMBOL).list[0].mark_price
        self.step = max(tick, (price * STEP // tick) * tick)
        self.centre = (price // tick) * tick
        self.open: Dict[str, Decimal] = {}
        """Unfilled quantities of its orders."""
        self.fills = 0

    def place(self, side: Side, price: Decimal, link: str) -> None:
        """Places an order of the grid under a reference. A post-only order that would trade has moved past the market: it is left out."""
        order: Dict[str, Any] = {**self.market, "side": side, "qty": QTY, "price": price, "order_link_id": link}
        try:
            ref = self.exchange.order.create(order_type="Limit", post_only=True, **order)
            self.open[ref.order_id] = QTY
        except errors.DuplicateOrderLinkId as error:
            # placed before a crash; its fills arrive again
            self.open[error.details["order_id"]] = QTY
        except errors.InsufficientBalance as error:
            print(f"not placed: {error}", flush=True)

    def build(self) -> None:
        for number in range(1, STEPS + 1):
            self.place("Buy", self.centre - number * self.step, f"{self.name}-b{number}")
            self.place("Sell", self.centre + number * self.step, f"{self.name}-s{number}")

    def filled(self, order_id: str, side: Side, price: Decimal, leaves_qty: Decimal) -> None:
        """Takes a fill; a whole one places the opposite order."""
        if order_id not in self.open:
            return
        self.fills += 1
        self.open[order_id] = leaves_qty
        print(f"{side} at {price}, open {leaves_qty}", flush=True)
        if leaves_qty == 0:
            del self.open[order_id]
            if side == "Buy":
                self.place("Sell", price + self.step, order_id)
            else:
                self.place("Buy", price - self.step, order_id)

    def catch_up(self) -> None:
        """Reads the fills that the stream could not deliver."""
        for one in reversed(list(rows(self.exchange.execution.list, symbol=SYMBOL, exec_type="Trade"))):
            if self.open.get(one.order_id, Decimal(0)) > one.leaves_qty:
                self.filled(one.order_id, one.side, one.order_price, one.leaves_qty)

    def load(self) -> Optional[Since]:
        """The state of an earlier run, and its position in the stream."""
        try:
            with open(self.path) as file:
                state = json.load(file)
        except FileNotFoundError:
            return None
        self.name, self.centre, self.step = state["name"], Decimal(state["centre"]), Decimal(state["step"])
        self.open = {order_id: Decimal(qty) for order_id, qty in state["open"].items()}
        return Since(**state["since"])

    def save(self, since: Since) -> None:
        open_orders = {order_id: str(qty) for order_id, qty in self.open.items()}
        state: Dict[str, Any] = {"name": self.name, "centre": str(self.centre), "step": str(self.step)}
        state.update(open=open_orders, since=vars(since))
        with open(f"{self.path}.new", "w") as file:
            json.dump(state, file)
        os.replace(f"{self.path}.new", self.path)

    def run(self, fills: int) -> None:
        since = self.load()
        if since is not None and not self.open:
            self.build()
        for event in self.exchange.events(["execution"], since):
            if isinstance(event, Resumed) and not event.recovered:
                self.catch_up()
            elif isinstance(event, ExecutionEvent):
                for one in event.data.list:
                    self.filled(one.order_id, one.side, one.order_price, one.leaves_qty)
                position = Since(event.data.stream_id, event.data.seq)
                # before its first order, so that a crash while it is built leaves no unknown order
                self.save(position)
                if since is None:
                    since = position
                    self.build()
            if self.fills >= fills:
                return


def main(fills: int) -> None:
    with Exchange.connect(URL, key=api_key()) as exchange:
        grid = Grid(exchange, os.environ.get("GRID_STATE", "grid.json"))
        grid.run(fills)
        print(f"{len(grid.open)} orders open", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)

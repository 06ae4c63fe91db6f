"""Follows a book and the user's orders with Python's `websockets` only.

python3 examples/follow.py ws://127.0.0.1:3010 <token> BTC-USDC <order_link_id>

Ends when the order of that reference is final and its price is gone from the book, and prints what it saw.
"""

import asyncio
import json
import sys
import zlib
from decimal import Decimal

import websockets


class Book:
    """A book from the messages of `orderbook.50.<symbol>`: price to quantity, each side."""

    def __init__(self):
        self.bids, self.asks = {}, {}
        self.seq = self.messages = self.faults = 0

    def take(self, data):
        """Applies a message. False: a message is missing or the checksum differs, so subscribe again."""
        if data["type"] == "snapshot":
            self.bids, self.asks = {}, {}
        elif data["prev_seq"] != self.seq:
            self.faults += 1
            return False
        for side, levels in ((self.bids, data["bids"]), (self.asks, data["asks"])):
            for price, qty in levels:
                if qty == "0":
                    side.pop(price, None)
                else:
                    side[price] = qty
        self.seq = data["seq"]
        self.messages += 1
        if self.checksum() == data["checksum"]:
            return True
        self.faults += 1
        return False

    def best(self):
        bids = sorted(self.bids.items(), key=lambda level: Decimal(level[0]), reverse=True)
        asks = sorted(self.asks.items(), key=lambda level: Decimal(level[0]))
        return bids, asks

    def checksum(self):
        bids, asks = self.best()
        parts = []
        for i in range(25):
            for side in (bids, asks):
                if i < len(side):
                    parts.extend(side[i])
        return zlib.crc32(":".join(parts).encode()) if parts else 0


async def follow(url, token, symbol, link):
    book, statuses, topic = Book(), [], f"orderbook.50.{symbol}"
    done, ready, seq, price = asyncio.Event(), [], None, None

    def subscribed():
        ready.append(True)
        if len(ready) == 2:
            print("ready", flush=True)

    def look():
        final = {"Filled", "Canceled"} & set(statuses)
        if final and price not in book.bids and price not in book.asks:
            done.set()

    async def market():
        async with websockets.connect(f"{url}/ws/public", close_timeout=1) as socket:
            await socket.send(json.dumps({"op": "subscribe", "args": [topic]}))
            async for text in socket:
                frame = json.loads(text)
                assert frame["op"] != "error", text
                if frame["op"] == "subscribed":
                    subscribed()
                if frame["op"] == "event" and not book.take(frame["data"]):
                    await socket.send(json.dumps({"op": "subscribe", "args": [topic]}))
                look()

    async def own():
        nonlocal seq, price
        async with websockets.connect(f"{url}/ws/private", close_timeout=1) as socket:
            await socket.send(json.dumps({"op": "auth", "bearer": token}))
            async for text in socket:
                frame = json.loads(text)
                assert frame["op"] != "error" and frame.get("success", True), text
                if frame["op"] == "auth":
                    await socket.send(json.dumps({"op": "subscribe", "args": ["order"]}))
                if frame["op"] == "subscribed":
                    subscribed()
                if frame["op"] == "event":
                    data = frame["data"]
                    # seq counts all four private topics, prev_seq this one
                    assert data["type"] == "snapshot" or data["prev_seq"] <= seq, f"an event is missing before {data}"
                    seq = data["seq"]
                    for order in data["list"]:
                        if order.get("order_link_id") == link:
                            statuses.append(order["order_status"])
                            price = order["price"]
                look()

    tasks = [asyncio.create_task(each) for each in (market(), own(), done.wait())]
    finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    for task in finished:
        task.result()
    bids, asks = book.best()
    seen = {"bids": bids, "asks": asks, "seq": book.seq, "messages": book.messages, "faults": book.faults}
    print(json.dumps({**seen, "statuses": statuses, "user_seq": seq}))


asyncio.run(follow(*sys.argv[1:5]))

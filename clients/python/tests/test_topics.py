"""Topics of a feed: positions, resumes, faults and refusals, from the frames of a gateway."""

import asyncio
import unittest
from types import SimpleNamespace
from typing import Any, Dict, List, Optional, Type
from unittest.mock import patch

from trading_gateway import AsyncExchange, Environment, Fault, FeedEvent, Limits, Live, LocalBook, Lost, Refused
from trading_gateway import Resumed, Since, errors
from trading_gateway._error import ExchangeError
from trading_gateway._feed import AsyncBook, Feed, Source
from trading_gateway._topics import FAULTS_MAX, Topics
from trading_gateway.models import OrderEvent, OrderbookEvent

BOOK = "orderbook.50.BTC-USDC"
LEVELS = {"symbol": "BTC-USDC", "depth": 50, "bids": [], "asks": [], "ts": 1, "mts": 1, "checksum": 3583956136}
WHOLE = {"type": "snapshot", **LEVELS, "bids": [["60000", "0.5"]], "seq": 1, "stream_id": "b"}


def event(topic: str, **data: Any) -> Dict[str, Any]:
    return {"op": "event", "topic": topic, "server_ts_ms": 1, "data": data}


def user(kind: str, seq: int, prev_seq: Any = None, topic: str = "order", stream_id: str = "s") -> Dict[str, Any]:
    known = {} if prev_seq is None else {"prev_seq": prev_seq}
    return event(topic, type=kind, stream_id=stream_id, seq=seq, ts=1, mts=1, list=[], **known)


def delta(seq: int, prev_seq: int, **fields: Any) -> Dict[str, Any]:
    return event(BOOK, **{"type": "delta", **LEVELS, "seq": seq, "prev_seq": prev_seq, **fields})


class Gateway:
    """Answers subscriptions as a gateway does, and keeps what the topics report."""

    def __init__(self, *topics: str) -> None:
        self.topics = Topics(list(topics))

    def connect(self, recovered: bool = True) -> List[Any]:
        """A new connection; returns its subscribe frames."""
        self.topics.disconnected()
        self.topics.connected()
        return self.answer(recovered)

    def answer(self, recovered: bool = True) -> List[Any]:
        frames, self.topics.outgoing = self.topics.outgoing, []
        for frame in frames:
            resume = {"resume": {"recovered": recovered, "stream_id": "s", "head_seq": 9}} if "since" in frame else {}
            self.topics.receive({"op": "subscribed", "args": frame["args"], "req_id": frame["req_id"], **resume})
        return [(frame["args"], frame.get("since")) for frame in frames]

    def send(self, *frames: Dict[str, Any]) -> List[Any]:
        """Sends frames; returns the events since the last call."""
        for frame in frames:
            self.topics.receive(frame)
        events, self.topics.events = self.topics.events, []
        return [
            (one.data.type, one.data.seq) if isinstance(one, (OrderEvent, OrderbookEvent)) else one for one in events
        ]


class PrivateTopics(unittest.TestCase):
    def test_resume_after_the_last_event(self) -> None:
        gateway = Gateway("order", "execution")
        self.assertEqual(gateway.connect(), [(["order", "execution"], None)])
        gateway.send(user("snapshot", 4), user("snapshot", 4, topic="execution"))
        # a message of one topic of the frame confirms the position of both
        gateway.send(user("update", 7, 3), user("update", 9, 7))
        since = {"stream_id": "s", "seq": 9}
        self.assertEqual(gateway.connect(), [(["order", "execution"], since)])
        self.assertEqual(gateway.send(), [Resumed(True, ("order", "execution"), Since("s", 9)), Live()])
        self.assertEqual(gateway.send(user("update", 12, 9)), [("update", 12)])

    def test_that_cannot_resume_report_it_and_begin_with_snapshots(self) -> None:
        gateway = Gateway("order")
        gateway.connect()
        gateway.send(user("snapshot", 4))
        gateway.connect(recovered=False)
        self.assertEqual(gateway.send(), [Resumed(False, ("order",), Since("s", 4)), Live()])
        self.assertEqual(gateway.send(user("snapshot", 30)), [("snapshot", 30)])
        self.assertEqual(gateway.connect(), [(["order"], {"stream_id": "s", "seq": 30})])

    def test_begin_after_a_stored_position(self) -> None:
        gateway = Gateway("order", "ticker.BTC-USDC")
        gateway.topics.positions.begin(["order"], Since("s", 5))
        self.assertEqual(gateway.connect(), [(["order"], {"stream_id": "s", "seq": 5}), (["ticker.BTC-USDC"], None)])

    def test_subscribe_again_after_a_gap_and_drop_messages_until_then(self) -> None:
        gateway = Gateway("order")
        gateway.connect()
        gateway.send(user("snapshot", 4), user("update", 5, 4))
        self.assertEqual(gateway.send(user("update", 9, 8), user("update", 10, 9)), [Fault("order", "gap")])
        self.assertEqual(gateway.answer(), [(["order"], {"stream_id": "s", "seq": 5})])
        self.assertEqual(gateway.send(user("update", 8, 5)), [Resumed(True, ("order",), Since("s", 5)), ("update", 8)])

    def test_drop_a_repetition(self) -> None:
        gateway = Gateway("order")
        gateway.connect()
        gateway.send(user("snapshot", 4), user("update", 5, 4))
        self.assertEqual(gateway.send(user("update", 5, 4)), [Fault("order", "repetition")])
        self.assertEqual(gateway.answer(), [])

    def test_of_another_stream_begin_again(self) -> None:
        gateway = Gateway("order")
        gateway.connect()
        gateway.send(user("snapshot", 4))
        self.assertEqual(gateway.send(user("update", 5, 4, stream_id="t")), [Fault("order", "stream")])
        self.assertEqual(gateway.answer(), [(["order"], None)])

    def test_report_an_unrequested_snapshot(self) -> None:
        gateway = Gateway("order")
        gateway.connect()
        gateway.send(user("snapshot", 4))
        self.assertEqual(gateway.send(user("snapshot", 9)), [Resumed(False, ("order",), Since("s", 4)), ("snapshot", 9)])


class Books(unittest.TestCase):
    def test_are_verified_and_repaired(self) -> None:
        gateway = Gateway(BOOK)
        gateway.connect()
        gateway.send(event(BOOK, **WHOLE))
        self.assertEqual(gateway.send(delta(3, 1)), [("delta", 3)])
        self.assertEqual(gateway.send(delta(5, 4)), [Fault(BOOK, "gap")])
        self.assertEqual(gateway.answer(), [([BOOK], None)])
        self.assertEqual(gateway.send(delta(6, 5), event(BOOK, **WHOLE)), [("snapshot", 1)])
        self.assertEqual(gateway.send(delta(2, 1, checksum=1)), [Fault(BOOK, "checksum")])
        self.assertEqual(gateway.topics.books[BOOK].faults, 2)

    def test_that_fail_again_and_again_end_the_connection(self) -> None:
        gateway = Gateway(BOOK)
        gateway.connect()
        for _ in range(FAULTS_MAX):
            self.assertIsNone(gateway.topics.broken)
            gateway.send(event(BOOK, **{**WHOLE, "checksum": 1}))
            gateway.answer()
        self.assertRegex(str(gateway.topics.broken), "5 checks in a row")

    def test_end_with_a_refusal_for_good_and_not_with_a_temporary_one(self) -> None:
        self.assertIsNone(asyncio.run(self.refused("SERVICE_UNAVAILABLE", {})))
        self.assertIs(asyncio.run(self.refused("NOT_FOUND", {"reason": "SymbolNotFound"})), errors.SymbolNotFound)

    async def refused(self, code: str, details: Dict[str, Any]) -> Optional[Type[ExchangeError]]:
        """The error with which a book ends after a refusal of its topic."""

        class Feed:
            topics = Topics([BOOK])

            async def run(self, deliver: Any) -> None:
                await deliver(Refused(code, "", BOOK, details))
                await asyncio.sleep(60)

        book = AsyncBook(Feed(), BOOK)  # type: ignore[arg-type]
        try:
            await book.changed()
            return None
        except ExchangeError as error:
            return type(error)
        finally:
            await book.close()

    def test_are_forgotten_by_their_client_after_close(self) -> None:
        class Feed:
            def __init__(self, *_: Any) -> None:
                self.topics = Topics([BOOK])
                self.topics.books[BOOK] = LocalBook()
                self.topics.books[BOOK].sound = True

            async def run(self, deliver: Any) -> None:
                await asyncio.sleep(60)

        async def program() -> None:
            exchange = AsyncExchange("http://127.0.0.1:1", Limits(), Environment())
            with patch("trading_gateway._async_exchange.Feed", Feed):
                book = await exchange.book("BTC-USDC")
            self.assertEqual(exchange._open, {book})
            await book.close()
            self.assertEqual(exchange._open, set())
            await exchange.close()

        asyncio.run(program())

    def test_are_not_sound_without_a_connection(self) -> None:
        gateway = Gateway(BOOK)
        gateway.connect()
        gateway.send(event(BOOK, **WHOLE))
        gateway.topics.disconnected()
        self.assertFalse(gateway.topics.books[BOOK].sound)


class Refusals(unittest.TestCase):
    def test_of_a_topic_end_it_and_the_others_go_on(self) -> None:
        gateway = Gateway(BOOK, "ticker.NO-SUCH")
        gateway.topics.connected()
        (frame,) = gateway.topics.outgoing
        gateway.topics.receive({"op": "subscribed", "args": [BOOK], "req_id": frame["req_id"]})
        self.assertFalse(gateway.topics.is_live)
        refused = {"op": "error", "code": "NOT_FOUND", "message": "no", "topic": "ticker.NO-SUCH", "req_id": frame["req_id"]}
        self.assertEqual(gateway.send(refused), [Refused("NOT_FOUND", "no", "ticker.NO-SUCH"), Live()])
        self.assertEqual((gateway.topics.wanted, gateway.topics.refused), ([BOOK], None))

    def test_of_all_topics_end_the_feed(self) -> None:
        gateway = Gateway("ticker.A-USDC", "ticker.B-USDC")
        gateway.topics.connected()
        (frame,) = gateway.topics.outgoing
        replies: List[Dict[str, Any]] = [{"op": "subscribed", "args": [], "req_id": frame["req_id"]}]
        for topic in frame["args"]:
            replies.append({"op": "error", "code": "NOT_FOUND", "message": f"no {topic}", "topic": topic, "req_id": frame["req_id"]})
        self.assertEqual([type(one) for one in gateway.send(*replies)], [Refused, Refused])
        self.assertEqual((gateway.topics.is_live, gateway.topics.refused), (False, "no ticker.B-USDC"))

    def test_that_are_temporary_end_the_connection(self) -> None:
        gateway = Gateway("order")
        gateway.topics.connected()
        (frame,) = gateway.topics.outgoing
        gateway.send({"op": "error", "code": "SERVICE_UNAVAILABLE", "message": "busy", "topic": "order", "req_id": frame["req_id"]})
        self.assertEqual((gateway.topics.broken, gateway.topics.wanted), ("busy", ["order"]))

    def test_of_a_message_above_the_rate_limit_end_the_connection(self) -> None:
        gateway = Gateway("order")
        gateway.topics.connected()
        gateway.send({"op": "error", "code": "RateLimitExceeded", "message": "too fast"})
        self.assertEqual(gateway.topics.broken, "too fast")

    def test_of_many_topics_are_sent_in_frames_of_fifty(self) -> None:
        frames = Gateway(*(f"ticker.A{i}-USDC" for i in range(120))).connect()
        self.assertEqual([len(args) for args, _ in frames], [50, 50, 20])

    def test_that_receive_text_without_a_frame_reconnect(self) -> None:
        class Socket:
            def __init__(self, text: str) -> None:
                self.text = text

            async def __aenter__(self) -> "Socket":
                return self

            async def __aexit__(self, *_: Any) -> None:
                pass

            async def send(self, text: str) -> None:
                pass

            async def recv(self) -> str:
                return self.text

        class Over(Exception):
            pass

        async def deliver(notice: FeedEvent) -> None:
            if isinstance(notice, Lost):
                self.assertEqual(notice.code, 1011)
                raise Over

        async def none() -> Any:
            return None

        for text in ("<html>502 Bad Gateway</html>", "null", '"text"'):
            library = SimpleNamespace(
                connect=lambda *_, text=text, **options: Socket(text), ConnectionClosed=Over, InvalidHandshake=Over
            )
            feed = Feed(Source("ws://127.0.0.1:1", Environment(), none, none), [BOOK])
            with patch.dict("sys.modules", {"websockets": library}), self.assertRaises(Over):
                asyncio.run(feed.run(deliver))

    def test_of_no_list_of_topics_fail_before_a_connection(self) -> None:
        none: Any = None
        with self.assertRaisesRegex(TypeError, "^topics: expected a list of topics, got the text 'order'$"):
            Feed(none, "order")
        with self.assertRaisesRegex(ValueError, "^topics: expected at least one topic, got none$"):
            Feed(none, [])


class LocalBooks(unittest.TestCase):
    def test_keep_the_contract_s_checksum_and_order(self) -> None:
        from trading_gateway.models import OrderbookEventData
        from trading_gateway import decode

        book = LocalBook()
        levels = {"bids": [["60000", "0.5"], ["59999.9", "1.25"]], "asks": [["60000.1", "0.3"], ["60000.5", "2"]]}
        whole = {**WHOLE, **levels, "checksum": 1162226733}
        self.assertIsNone(book.take(decode(OrderbookEventData, whole)))
        self.assertEqual([str(price) for price, _ in book.bids()], ["60000", "59999.9"])
        self.assertEqual([str(price) for price, _ in book.asks(1)], ["60000.1"])
        crossed = {**whole, "bids": [["60000.1", "0.5"]], "asks": [["60000.1", "0.3"]], "checksum": 1228171012}
        fault = book.take(decode(OrderbookEventData, crossed))
        self.assertIn(fault, ("crossed", "checksum"))
        self.assertFalse(book.sound)

    def test_keep_prices_that_decimal_arithmetic_would_round(self) -> None:
        from decimal import Decimal

        from trading_gateway._book import _Ladder

        ladder = _Ladder(True)
        prices = ["12345678901234567890.000000000000000001", "12345678901234567890.000000000000000002"]
        for price in prices:
            ladder.set((Decimal(price), Decimal(1)))
        self.assertEqual([str(price) for price, _ in ladder.levels], prices[::-1])
        ladder.set((Decimal(prices[0]), Decimal(0)))
        self.assertEqual([str(price) for price, _ in ladder.levels], prices[1:])


if __name__ == "__main__":
    unittest.main()

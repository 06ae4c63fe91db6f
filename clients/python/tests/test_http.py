"""HTTP over kept connections, against a small server of this process."""

import asyncio
import socket
import subprocess
import sys
import threading
import time
import unittest
from typing import Callable, List

from trading_gateway import AsyncExchange, Book, Closed, Connecting, Exchange, Key, Unanswered
from trading_gateway._calls import Send
from trading_gateway._http import Address, Connections

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
GET = Send("GET", "/api/v1/market/time", {}, b"")


class Server:
    """Runs `serve` for each connection, in a thread."""

    def __init__(self, serve: Callable[[socket.socket, int], None]) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.accepted = 0
        self.threads: List[threading.Thread] = []

        def accept() -> None:
            while True:
                try:
                    connection, _ = self.socket.accept()
                except OSError:
                    return
                self.accepted += 1
                thread = threading.Thread(target=self.handle, args=(serve, connection, self.accepted))
                thread.start()
                self.threads.append(thread)

        self.thread = threading.Thread(target=accept)
        self.thread.start()

    @staticmethod
    def handle(serve: Callable[[socket.socket, int], None], connection: socket.socket, number: int) -> None:
        with connection:
            try:
                serve(connection, number)
            except OSError:
                pass

    @property
    def address(self) -> Address:
        return Address.of(f"http://127.0.0.1:{self.socket.getsockname()[1]}")

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for thread in [self.thread, *self.threads]:
            thread.join()


def read_request(connection: socket.socket) -> bool:
    text = b""
    while b"\r\n\r\n" not in text:
        part = connection.recv(4096)
        if not part:
            return False
        text += part
    return True


class KeptConnections(unittest.TestCase):
    def serve(self, serve: Callable[[socket.socket, int], None], try_s: float = 5.0) -> Connections:
        server = Server(serve)
        connections = Connections(server.address, try_s)
        self.server = server
        self.addCleanup(server.close)
        self.addCleanup(connections.close)
        return connections

    def test_are_used_again(self) -> None:
        def serve(connection: socket.socket, number: int) -> None:
            while read_request(connection):
                connection.sendall(OK)

        connections = self.serve(serve)
        for _ in range(3):
            self.assertEqual(connections.request(GET).body, b"{}")
        self.assertEqual(self.server.accepted, 1)

    def test_that_the_server_closed_are_not_used_again(self) -> None:
        done = threading.Event()

        def serve(connection: socket.socket, number: int) -> None:
            read_request(connection)
            connection.sendall(OK)
            connection.close()
            done.set()

        connections = self.serve(serve)
        for _ in range(3):
            done.clear()
            self.assertEqual(connections.request(GET).status, 200)
            done.wait()
            while not connections._idle or _is_usable(connections):
                time.sleep(0)
        self.assertEqual(self.server.accepted, 3)

    def test_report_a_response_that_is_cut(self) -> None:
        def serve(connection: socket.socket, number: int) -> None:
            read_request(connection)
            connection.sendall([OK[:-1], OK[:20], b"", b"nonsense\r\n\r\n"][number - 1])

        connections = self.serve(serve)
        for _ in range(4):
            with self.assertRaises(Unanswered):
                connections.request(GET)

    def test_report_a_response_that_is_late(self) -> None:
        ended = threading.Event()
        connections = self.serve(lambda connection, number: ended.wait() and None, try_s=0.05)
        self.addCleanup(ended.set)
        with self.assertRaises(Unanswered):
            connections.request(GET)

    def test_end_with_their_client(self) -> None:
        asked = threading.Event()

        def serve(connection: socket.socket, number: int) -> None:
            read_request(connection)
            asked.set()
            connection.recv(1)

        connections = self.serve(serve)
        threading.Thread(target=lambda: (asked.wait(), connections.close())).start()
        with self.assertRaises(Closed):
            connections.request(GET)
        with self.assertRaises(Closed):
            connections.request(GET)


class Clients(unittest.TestCase):
    def url(self) -> str:
        """The URL of a gateway that has a clock only."""

        def serve(connection: socket.socket, number: int) -> None:
            while read_request(connection):
                body = b'{"server_ts_ms":1,"time_second":0,"time_nano":"0"}'
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

        server = Server(serve)
        self.addCleanup(server.close)
        return f"http://127.0.0.1:{server.address.port}"

    def test_have_at_most_one_credential_and_a_url(self) -> None:
        key, url = Key.generate(), self.url()
        with self.assertRaisesRegex(ValueError, "at most one"):
            Exchange.connect(url, key=key, token="t")
        with self.assertRaisesRegex(ValueError, "expected a URL"):
            Exchange.connect("127.0.0.1:3010")
        with Exchange.connect(f"{url}/") as exchange:
            self.assertLess(exchange.clock.now(), 60_000)
            feed = exchange.events(["ticker.BTC-USDC"])
            self.assertEqual(next(feed), Connecting())
            book = Book(Changing(), *exchange._feed_thread())  # type: ignore[arg-type]
            self.assertTrue(book.changed())
        self.assertEqual(list(feed), [])
        self.assertFalse(book.changed())
        book.close()
        with self.assertRaises(Closed):
            exchange.market.time()
        with self.assertRaises(Closed):
            next(iter(exchange.events(["ticker.BTC-USDC"])))

    def test_with_asyncio_open_nothing_after_close(self) -> None:
        async def program() -> None:
            async with await AsyncExchange.connect(self.url()) as exchange:
                pass
            with self.assertRaises(Closed):
                await exchange.events(["ticker.BTC-USDC"]).__anext__()
            with self.assertRaises(Closed):
                await exchange.book("BTC-USDC")

        asyncio.run(program())

    def test_let_a_program_end_that_left_a_feed(self) -> None:
        program = f"""
from trading_gateway import Exchange
events = Exchange.connect({self.url()!r}).events(["ticker.BTC-USDC"])
print(next(events))
raise SystemExit(7)
"""
        ended = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stdout), (7, "Connecting()\n"))


class Changing:
    async def changed(self) -> bool:
        return True


def _is_usable(connections: Connections) -> bool:
    from trading_gateway._http import _is_open

    return _is_open(connections._idle[0][1])


if __name__ == "__main__":
    unittest.main()

"""HTTP/1.1 over kept connections, with the standard library. Threads may share one `Connections`."""

from __future__ import annotations

import http.client
import select
import socket
import threading
import time
from typing import Any, List, NamedTuple, Set, Tuple
from urllib.parse import urlsplit

from ._calls import Response, Send
from ._error import Closed, Unanswered

IDLE_MAX_S = 4.0
"""A connection that was unused for longer is not used again: the gateway closes idle ones."""
KEPT_MAX = 32
"""Idle connections that are kept."""
READ_BYTES = 65_536


class Address(NamedTuple):
    """Parts of the URL of a gateway."""

    secure: bool
    host: str
    port: int
    prefix: str

    @staticmethod
    def of(url: str) -> "Address":
        parts = urlsplit(url.rstrip("/"))
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ValueError(f"expected a URL such as http://127.0.0.1:3010, got {url!r}")
        secure = parts.scheme == "https"
        return Address(secure, parts.hostname, parts.port or (443 if secure else 80), parts.path)

    @property
    def ws_url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'wss' if self.secure else 'ws'}://{host}:{self.port}{self.prefix}"


def _is_open(connection: http.client.HTTPConnection) -> bool:
    """Whether an idle connection can be used: it is readable when the peer has closed it."""
    return connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]


class Connections:
    """Connections to one gateway. A request takes an idle one, or opens one."""

    def __init__(self, address: Address, try_s: float) -> None:
        self._address = address
        self._try_s = try_s
        self._lock = threading.Lock()
        self._idle: List[Tuple[float, http.client.HTTPConnection]] = []
        self._busy: Set[http.client.HTTPConnection] = set()
        self._is_closed = False

    def request(self, send: Send) -> Response:
        """Sends one request. Raises `Unanswered` without a complete response, `Closed` after `close`."""
        connection = self._take()
        try:
            response = self._exchange(connection, send)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if self._is_closed:
                raise Closed() from None
            message = f"no response to {send.method} {send.uri.split('?')[0]}: {error or type(error).__name__}"
            raise Unanswered(message) from error
        except BaseException:
            # such as a KeyboardInterrupt: what was sent is unknown, so the connection is not used again
            connection.close()
            raise
        finally:
            with self._lock:
                self._busy.discard(connection)
        self._keep(connection)
        return response

    def _exchange(self, connection: http.client.HTTPConnection, send: Send) -> Response:
        deadline = time.monotonic() + self._try_s
        if connection.sock is None:
            connection.connect()
        sock: Any = connection.sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(self._try_s)
        connection.request(send.method, send.uri, send.body or None, send.headers)
        sock.settimeout(max(0.001, deadline - time.monotonic()))
        response = connection.getresponse()
        if response.length is None and not response.chunked:
            # its end would look like a lost connection; headers that were cut look so too
            raise http.client.HTTPException("a response without a length")
        parts: List[bytes] = []
        while True:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no complete response within {self._try_s} s")
            part = response.read(READ_BYTES)
            if not part:
                break
            parts.append(part)
        # read does not report a body that is too short
        if response.length:
            raise http.client.IncompleteRead(b"".join(parts), response.length)
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, headers, b"".join(parts))

    def _take(self) -> http.client.HTTPConnection:
        with self._lock:
            if self._is_closed:
                raise Closed()
            while self._idle:
                since, connection = self._idle.pop()
                if time.monotonic() - since < IDLE_MAX_S and _is_open(connection):
                    break
                connection.close()
            else:
                kind = http.client.HTTPSConnection if self._address.secure else http.client.HTTPConnection
                connection = kind(self._address.host, self._address.port, timeout=self._try_s)
            self._busy.add(connection)
            return connection

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            is_kept = not self._is_closed and connection.sock is not None and len(self._idle) < KEPT_MAX
            if is_kept:
                self._idle.append((time.monotonic(), connection))
        if not is_kept:
            connection.close()

    def close(self) -> None:
        """Ends all requests; they raise `Closed`."""
        with self._lock:
            self._is_closed = True
            for _, connection in self._idle:
                connection.close()
            self._idle.clear()
            for connection in self._busy:
                if connection.sock is not None:
                    try:
                        connection.sock.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass  # it has ended already

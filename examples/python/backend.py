"""A second backend for the gateway, in Python: the core of the boundary around one market.

    /usr/bin/python3 examples/python/backend.py PORT DIRECTORY

It needs Debian's python3-grpcio, protobuf-compiler and protobuf-compiler-grpc. Commands are written to the journal, then
applied one after the other, then answered; a start applies the journal again. Events stay in memory, the mark never moves,
and what docs/guides/backend.md calls the full part is left out. Source: contract 8.
"""
import asyncio, base64, bisect, contextlib, functools, os, sys, time, uuid
from pathlib import Path

import grpc
from market import BTC, Market, shown
from stubs import r, referee_pb2_grpc, s, sequencer_pb2_grpc

HEARTBEAT_S = 1.0

def now_ms() -> int:
    return time.time_ns() // 1_000_000

def read(answer):
    """A unary rpc from a function of exchange and request; None is NOT_FOUND."""
    async def call(x, q, context):
        found = answer(x, q)
        return found if found is not None else await context.abort(grpc.StatusCode.NOT_FOUND, "nothing found")
    return call

class Exchange(Market, sequencer_pb2_grpc.SequencerServicer, referee_pb2_grpc.RefereeServicer):
    """The market with its journal; methods in CamelCase are the rpcs."""
    def __init__(self, directory: Path):
        super().__init__()
        self.news = asyncio.Event()
        directory.mkdir(parents=True, exist_ok=True)
        self.file = open(directory / "journal", "a+b")
        self.file.seek(0)
        *lines, cut = self.file.read().split(b"\n")
        self.file.truncate(self.file.tell() - len(cut))  # what a crash has cut was not acknowledged
        self.epoch = lines[0].decode() if lines else str(uuid.uuid4())
        if not lines:
            self.write(f"{self.epoch}\n".encode())
        for at, command in (line.split(b" ") for line in lines[1:]):
            self.take(s.Command.FromString(base64.b64decode(command)), int(at))

    def write(self, lines: bytes):
        self.file.write(lines)
        self.file.flush()
        os.fsync(self.file.fileno())

    def run(self, commands) -> list:
        at = max(self.at, now_ms())
        self.write(b"".join(b"%d %s\n" % (at, base64.b64encode(c.SerializeToString())) for c in commands))
        results = [self.take(command, at) for command in commands]
        self.news.set()
        self.news = asyncio.Event()
        return results

    def account_of(self, q):
        account = self.accounts.get(q.sub_account_address)
        return account and r.GetAccountResponse(balances=[account.balance()], as_of_seq=self.head,
                                                positions=[account.position()] if account.size else [])

    def order_of(self, q):
        account = self.accounts.get(q.sub_account_address)
        order = self.orders.get(q.order_id or account and account.links.get(q.order_link_id))
        return order and s.GetOrderResponse(order=order.record, as_of_seq=self.head)

    GetAccount, GetOrder = read(account_of), read(order_of)
    GetHead = read(lambda x, q: s.GetHeadResponse(epoch=x.epoch, head_seq=x.head, server_ts_ms=now_ms()))
    GetOrderBook = read(lambda x, q: s.GetOrderBookResponse(
        **shown(x.levels(), q.depth), book_seq=x.book_seq, mts=x.at, as_of_seq=x.head))
    GetOpenOrders = read(lambda x, q: s.GetOpenOrdersResponse(as_of_seq=x.head, orders=[
        o.record for o in x.book[True] + x.book[False] if q.sub_account_address in ("", o.record.sub_account_address)]))
    ListInstruments = read(lambda x, q: s.ListInstrumentsResponse(instruments=[BTC], as_of_seq=x.head))
    ListSubAccounts = read(lambda x, q: s.ListSubAccountsResponse(as_of_seq=x.head, sub_accounts=[
        a.record for a in x.accounts.values() if q.user_id in ("", a.record.user_id)]))
    GetPrices = read(lambda x, q: r.GetPricesResponse(prices=[x.prices()] if BTC.symbol in (q.symbols or [BTC.symbol]) else []))

    async def follow(self, news_of, beat):
        """What there is at each change, and a heartbeat each second."""
        due = 0.0
        while True:
            news = self.news
            for frame in news_of():
                yield frame
            if time.monotonic() >= due:
                due = time.monotonic() + HEARTBEAT_S
                yield beat()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(news.wait(), due - time.monotonic())

    async def SubmitStream(self, requests, context):
        async for request in requests:
            yield s.SubmitStreamResponse(results=self.run(request.commands))

    async def StreamEvents(self, q, context):
        seq, frame = max(1, q.from_seq), functools.partial(s.StreamEventsResponse, epoch=self.epoch)
        if q.epoch not in ("", self.epoch):
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"the epoch is {self.epoch}")
        if seq > self.head + 1:
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, f"the head is {self.head}")
        def fresh():
            nonlocal seq
            for step in self.steps[bisect.bisect_left(self.steps, seq, key=lambda step: step[-1].seq):]:
                yield frame(events=[event for event in step if event.seq >= seq])
                seq = step[-1].seq + 1
        beat = lambda: frame(heartbeat=s.Heartbeat(head_seq=self.head, server_ts_ms=now_ms()))
        async for answer in self.follow(fresh, beat):
            yield answer

    async def StreamPrices(self, q, context):
        yield r.StreamPricesResponse(prices=(await self.GetPrices(q, context)).prices)
        beat = lambda: r.StreamPricesResponse(heartbeat=r.RefereeHeartbeat(applied_seq=self.head, server_ts_ms=now_ms()))
        async for answer in self.follow(list, beat):
            yield answer

async def main(port: str, directory: str):
    exchange, server = Exchange(Path(directory)), grpc.aio.server()
    sequencer_pb2_grpc.add_SequencerServicer_to_server(exchange, server)
    referee_pb2_grpc.add_RefereeServicer_to_server(exchange, server)
    print(f"listening on 127.0.0.1:{server.add_insecure_port(f'127.0.0.1:{port}')}", flush=True)
    await server.start()
    while True:
        await asyncio.sleep(1)
        exchange.run([s.Command()])  # each second's prices

asyncio.run(main(*sys.argv[1:]))

"""A second backend for the gateway, in Python: the core of the boundary around one market.

    /usr/bin/python3 examples/python/backend.py PORT DIRECTORY

It needs Debian's python3-grpcio, protobuf-compiler and protobuf-compiler-grpc. Commands are written to the journal,
then applied one after the other, then answered; a start applies the journal again. Events stay in memory, the mark
never moves, any credit is given, and what the core does not ask for is left out.
Source: docs/contract/orders.md, docs/contract/boundary.md, docs/contract/exchange.md#matching, #margin.
"""
import asyncio, base64, collections, hashlib, itertools, os, re, shutil, subprocess, sys, tempfile, time, uuid
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, getcontext
from pathlib import Path

PROTO, OUT = Path(__file__).resolve().parents[2] / "proto", tempfile.TemporaryDirectory()
subprocess.check_call(["protoc", f"-I{PROTO}", f"--python_out={OUT.name}", f"--grpc_python_out={OUT.name}",
                       f"--plugin=protoc-gen-grpc_python={shutil.which('grpc_python_plugin')}",
                       *sorted(PROTO.glob("gateway/v1/*.proto"))])
sys.path.insert(0, OUT.name)
import grpc
from gateway.v1 import referee_pb2 as r, referee_pb2_grpc, sequencer_pb2 as s, sequencer_pb2_grpc, types_pb2 as t

getcontext().prec = 100
UNIT, MARK, FUNDING_MS = Decimal("1e-18"), Decimal(60000), 8 * 3_600_000
SIGN = {t.SIDE_BUY: 1, t.SIDE_SELL: -1, t.SIDE_UNSPECIFIED: 0}
BTC = t.Instrument(
    symbol="BTC-USDC", base_asset="BTC", quote_asset="USDC", settle_asset="USDC", status=t.INSTRUMENT_STATUS_TRADING,
    launch_time_ms=1, funding_interval_minutes=480, tick_size="0.1", min_price="0.1", max_price="1000000",
    qty_step="0.001", min_order_qty="0.001", max_order_qty="100", max_mkt_order_qty="30", min_notional_value="5",
    min_leverage="1", max_leverage="1", leverage_step="0.01", price_band="0.05", max_open_orders=500,
    max_conditional_orders=20, maker_fee_rate="0.0002", taker_fee_rate="0.00055", funding_cap="0.005")
USUAL = {
    "symbol": BTC.symbol, "asset": BTC.settle_asset, "mark_price": str(MARK), "index_price": str(MARK), "leverage": "1",
    "margin_mode": t.MARGIN_MODE_CROSS, "position_mode": t.POSITION_MODE_ONE_WAY, "exec_type": t.EXEC_TYPE_TRADE,
    "position_status": t.POSITION_STATUS_NORMAL, "liq_price": "", "bust_price": "", "take_profit": "", "stop_loss": "",
    "time_in_force": t.TIME_IN_FORCE_GTC, "create_type": t.CREATE_TYPE_CREATE_BY_USER, "version": 1,
    "reject_reason": t.REJECT_REASON_EC_NO_ERROR}

class Refused(Exception):
    """A refusal without effect: gRPC status, reason of the API, and details."""
    def __init__(self, code: str, reason: str, message: str, **facts):
        self.why = s.CommandStatus(code=grpc.StatusCode[code].value[0], reason=reason, message=message, metadata=facts)

def now() -> int:
    return time.time_ns() // 1_000_000

def text(value: Decimal) -> str:
    """The canonical form of a decimal: at most 18 places, no trailing zeros, no exponent, no -0."""
    return format((Decimal(value).quantize(UNIT) + 0).normalize(), "f")

def add(record, **amounts: Decimal):
    for name, amount in amounts.items():
        setattr(record, name, text(Decimal(getattr(record, name)) + amount))

def like(kind, /, *others, **own):
    """A record with the given values, shared fields copied from others, and defaults: "0" for most strings."""
    fields = kind.DESCRIPTOR.fields_by_name
    usual = {name: USUAL.get(name, "0") for name, field in fields.items()
             if not field.containing_oneof and (name in USUAL or field.default_value == "")}
    shared = {field.name: value for other in others for field, value in other.ListFields() if field.name in fields}
    return kind(**{**usual, **shared, **own})

def chosen(records, asked) -> list:
    """The records that match the fields of a request, without closed positions."""
    return [record for record in records if getattr(record, "size", "") != "0"
            and all(getattr(record, field.name, value) == value for field, value in asked.ListFields())]

def shown(levels: dict, depth: int = 0) -> dict:
    """Levels in message form, at most depth of each side; 0: all."""
    rows = [(side, t.PriceLevel(price=price, qty=text(qty))) for (side, price), qty in levels.items()]
    return {name: [row for side, row in rows if side == name][:depth or None] for name in ("bids", "asks")}

def read(response, answer, as_of="as_of_seq"):
    """The rpc of a read, as a function of exchange and request."""
    async def call(exchange, asked, context):
        return response(**answer(exchange, asked), **{as_of: exchange.head})
    return call

class Exchange(sequencer_pb2_grpc.SequencerServicer, referee_pb2_grpc.RefereeServicer):
    """The market and its journal. Methods in CamelCase are rpcs. A method with the name of a command applies it and returns
    its acknowledgement. It reads no clock: the same commands cause the same events again."""
    def __init__(self, directory: Path):
        self.at = self.head = self.book_seq = 0
        self.accounts, self.balances, self.positions, self.orders, self.transfers, self.acks = {}, {}, {}, {}, {}, {}
        self.events, self.book, self.levels, self.last_price = [], [], collections.Counter(), str(MARK)
        directory.mkdir(parents=True, exist_ok=True)
        path = next(directory.glob("*.journal"), directory / f"{uuid.uuid4()}.journal")
        self.epoch, self.journal = path.stem, open(path, "a+b")
        self.journal.seek(0)
        *lines, cut = self.journal.read().split(b"\n")
        self.journal.truncate(self.journal.tell() - len(cut))  # a record that a crash cut off was not acknowledged
        for line in lines:
            self.take(s.Command.FromString(base64.b64decode(line)))

    async def SubmitStream(self, requests, context):
        async for request in requests:
            for command in request.commands:
                command.issued_at_ms = now()
                self.journal.write(base64.b64encode(command.SerializeToString()) + b"\n")
            self.journal.flush()
            os.fsync(self.journal.fileno())
            yield s.SubmitStreamResponse(results=[self.take(command) for command in request.commands])

    def take(self, command: s.Command) -> s.CommandResult:
        """Applies a command at its own time. Its events are one step."""
        self.command, self.at, self.step = command, max(self.at, command.issued_at_ms), self.head + 1
        kind, account = command.WhichOneof("command"), self.accounts.get(command.sub_account_address)
        content = like(s.Command, command, issued_at_ms=0)
        known, ack = self.acks.get(command.command_id, (content, None))
        try:
            if known != content:
                raise Refused("ALREADY_EXISTS", "DuplicateRequestId", "the command_id was used with other content")
            if ack:
                return s.CommandResult(ack=like(s.CommandAck, ack, duplicate=True))
            if not hasattr(self, str(kind)):
                raise Refused("UNIMPLEMENTED", "InvalidField", f"{kind} is not for this backend", field="command")
            asked = getattr(command, kind)
            if getattr(asked, "symbol", BTC.symbol) != BTC.symbol:
                raise Refused("NOT_FOUND", "SymbolNotFound", f"no market {asked.symbol}")
            for field in ("qty", "price", "amount"):
                if not re.fullmatch("[0-9]{1,20}([.][0-9]{1,18})?", getattr(asked, field, "0")):
                    raise Refused("INVALID_ARGUMENT", "InvalidDecimal", f"the {field} is no decimal", field=field)
            if kind != "create_sub_account" and (account is None or account.user_id != command.user_id):
                raise Refused("NOT_FOUND", "SubAccountNotFound", "no such sub-account")
            answer = getattr(self, kind)(account, asked)
        except Refused as refused:
            return s.CommandResult(status=like(s.CommandStatus, command, refused.why))
        self.tell_book()
        ack = like(s.CommandAck, command, seq=self.head, accepted_at_ms=self.at, **answer)
        self.acks[command.command_id] = content, ack
        return s.CommandResult(ack=ack)

    def tell(self, about, **event):
        """An event of a record, with its user, sub-account and market."""
        self.head += 1
        self.events.append(like(s.Event, about, seq=self.head, ts_ms=self.at, step=self.step,
                                command_id=self.command.command_id, **event))

    def tell_order(self, order: t.Order, cause: int, status: int, **changed):
        order.MergeFrom(t.Order(order_status=status, updated_time_ms=self.at, **changed))
        self.tell(order, order_changed={"order": order, "cause": cause})

    def tell_book(self):
        """Sorts the open orders: best price first, then oldest."""
        self.book = sorted((order for order in self.book if order.leaves_qty != "0"),
                           key=lambda order: -SIGN[order.side] * Decimal(order.price))
        before, self.levels = self.levels, collections.Counter()
        for order in self.book:
            self.levels["bids" if order.side == t.SIDE_BUY else "asks", order.price] += Decimal(order.leaves_qty)
        changed = {level: self.levels[level] for level in before | self.levels if self.levels[level] != before[level]}
        if changed:
            self.book_seq += 1
            self.tell(BTC, book_changed={"symbol": BTC.symbol, "book_seq": self.book_seq, **shown(changed)})

    def new_id(self, kind: str) -> str:
        return str(uuid.uuid5(uuid.UUID(self.epoch), f"{kind} {self.head}"))

    def create_sub_account(self, _, asked: s.CreateSubAccount) -> dict:
        count = sum(account.user_id == self.command.user_id for account in self.accounts.values())
        index = asked.index if asked.HasField("index") else count
        seed = bytes.fromhex(asked.root_address[2:]) + b"trading_vault" + index.to_bytes(4, "big") + b"\xfe"
        address = "0x" + hashlib.sha3_256(seed).hexdigest()
        if address not in self.accounts:
            self.accounts[address] = account = like(
                t.SubAccount, self.command, asked, sub_account_address=address, index=index, created_time_ms=self.at)
            self.balances[address], self.positions[address] = like(t.Balance, account), like(t.Position, account)
            self.tell(account, sub_account_changed={"sub_account": account})
        return {"sub_account": self.accounts[address]}

    def deposit_funds(self, account: t.SubAccount, asked: s.DepositFunds) -> dict:
        amount, key = Decimal(asked.amount), (account.user_id, asked.deposit_id)
        if key not in self.transfers:
            self.transfers[key] = transfer = like(
                t.Transfer, self.command, asked, transfer_id=asked.deposit_id, kind=t.BALANCE_REASON_DEPOSIT,
                to_sub_account_address=account.sub_account_address, amount=text(amount), reference=asked.source,
                status=t.TRANSFER_STATUS_COMPLETED, created_time_ms=self.at, updated_time_ms=self.at)
            self.tell(account, transfer_changed={"transfer": transfer})
            self.pay(account, transfer, amount, reason=t.BALANCE_REASON_DEPOSIT)
        return {"transfer": self.transfers[key]}

    def pay(self, account, cause, amount: Decimal, paper=0, **facts):
        balance = self.balances[account.sub_account_address]
        add(balance, wallet_balance=amount, available_balance=amount, unrealised_pnl=paper, equity=amount + paper)
        self.tell(balance, balance_changed=like(s.BalanceChanged, cause, balance=balance, amount=text(amount), **facts))

    def place_order(self, account: t.SubAccount, asked: s.PlaceOrder) -> dict:
        qty, price, sign = Decimal(asked.qty), Decimal(asked.price), SIGN.get(asked.side)
        extra = asked.post_only or asked.reduce_only or any(map(asked.HasField, ("expire_time_ms", "trigger", "tpsl")))
        if extra or not sign or asked.order_type != t.ORDER_TYPE_LIMIT or asked.time_in_force == t.TIME_IN_FORCE_FOK:
            raise Refused("INVALID_ARGUMENT", "InvalidField", "only plain limit orders are taken", field="order_type")
        address, order_id, trades = account.sub_account_address, self.new_id("order"), []
        if first := self.orders.get((address, asked.order_link_id)):
            raise Refused("ALREADY_EXISTS", "DuplicateOrderLinkId", "the id is used", order_id=first.order_id)
        order = like(t.Order, account, asked, order_id=order_id, price=text(price), qty=text(qty), leaves_qty=text(qty),
                     leaves_value=text(qty * price), last_price_on_created=self.last_price, created_time_ms=self.at)
        for name in (("", order_id), (address, order_id), (address, asked.order_link_id or order_id)):
            self.orders[name] = order
        self.tell_order(order, s.ORDER_CAUSE_ACCEPTED, t.ORDER_STATUS_NEW)
        for maker in self.book:
            if maker.side != order.side and sign * (price - Decimal(maker.price)) >= 0 and order.leaves_qty != "0":
                trades.append(self.match(order, maker))
        self.book.append(order)
        if asked.time_in_force == t.TIME_IN_FORCE_IOC and order.leaves_qty != "0":
            why = t.REJECT_REASON_EC_NO_ERROR if trades else t.REJECT_REASON_EC_NO_IMMEDIATE_QTY_TO_FILL
            self.end(order, cancel_type=t.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE, reject_reason=why)
        if trades:
            self.tell(BTC, trade_printed={"trades": trades})
        return {"orders": [like(t.OrderRef, order)]}

    def match(self, taker: t.Order, maker: t.Order) -> t.Trade:
        """Fills two orders at the maker's price, with events for both sides."""
        qty, price = min(Decimal(taker.leaves_qty), Decimal(maker.leaves_qty)), Decimal(maker.price)
        for order, rate in ((taker, BTC.taker_fee_rate), (maker, BTC.maker_fee_rate)):
            fee = (qty * price * Decimal(rate)).quantize(UNIT, ROUND_CEILING)
            add(order, leaves_qty=-qty, leaves_value=-qty * Decimal(order.price), cum_exec_qty=qty, cum_exec_fee=fee,
                cum_exec_value=qty * price)
            order.avg_price = text(Decimal(order.cum_exec_value) / Decimal(order.cum_exec_qty))
            fill = like(t.Execution, order, exec_id=self.new_id("fill"), order_price=order.price, order_qty=order.qty,
                        exec_price=maker.price, exec_qty=text(qty), exec_value=text(qty * price), base_fee=text(fee),
                        fee_rate=rate, exec_time_ms=self.at, is_maker=order is maker, market_seq=self.book_seq + 1)
            self.tell(order, execution_created={"execution": fill})
            status = t.ORDER_STATUS_FILLED if order.leaves_qty == "0" else t.ORDER_STATUS_PARTIALLY_FILLED
            self.tell_order(order, s.ORDER_CAUSE_FILLED, status)
            position = self.positions[order.sub_account_address]
            size, entry, sign = Decimal(position.size), Decimal(position.entry_value), SIGN[position.side]
            closed = 0 if position.side == order.side else min(size, qty)  # realised; the rest opens
            gain = closed and (sign * (closed * price - entry * closed / size)).quantize(UNIT, ROUND_FLOOR)
            growth, paper = qty - 2 * closed, SIGN[order.side] * qty * (MARK - price) - gain
            add(position, size=growth, entry_value=growth * price + sign * gain, position_value=growth * MARK,
                unrealised_pnl=paper, cum_realised_pnl=gain - fee)
            position.side = order.side if qty > closed else position.side if size > closed else t.SIDE_UNSPECIFIED
            position.avg_price = text(Decimal(position.entry_value) / (size + growth)) if size + growth else "0"
            self.tell(position, position_changed={"position": position})
            self.pay(position, fill, gain - fee, paper, reason=t.BALANCE_REASON_TRADE, fee=text(fee),
                     realised_pnl=text(gain))
        self.last_price = maker.price
        return like(t.Trade, fill, taker, trade_id=self.new_id("trade"), price=maker.price, qty=text(qty),
                    timestamp_ms=self.at)

    def cancel_order(self, account: t.SubAccount, asked: s.CancelOrder) -> dict:
        order = self.orders.get((account.sub_account_address, asked.order.order_id or asked.order.order_link_id))
        if order is None:
            raise Refused("NOT_FOUND", "OrderNotFound", "no such order")
        if order.leaves_qty == "0":
            status = t.OrderStatus.Name(order.order_status).removeprefix("ORDER_STATUS_").title().replace("_", "")
            raise Refused("FAILED_PRECONDITION", "OrderAlreadyClosed", f"the order is {status}", order_status=status)
        self.tell_order(order, s.ORDER_CAUSE_CANCEL_REQUESTED, t.ORDER_STATUS_CANCEL_REQUESTED)
        self.end(order, cancel_type=t.CANCEL_TYPE_CANCEL_BY_USER)
        return {"orders": [like(t.OrderRef, order)]}

    def end(self, order: t.Order, **why):
        status = t.ORDER_STATUS_CANCELED if order.cum_exec_qty == "0" else t.ORDER_STATUS_PARTIALLY_FILLED_CANCELED
        self.tell_order(order, s.ORDER_CAUSE_CANCELED, status, leaves_qty="0", leaves_value="0", **why)

    GetHead = read(s.GetHeadResponse, lambda x, q: {"epoch": x.epoch, "server_ts_ms": now()}, as_of="head_seq")
    GetOrderBook = read(s.GetOrderBookResponse, lambda x, q: {
        **shown(x.levels, q.depth), "book_seq": x.book_seq, "mts": x.at})
    GetOpenOrders = read(s.GetOpenOrdersResponse, lambda x, q: {"orders": chosen(x.book, q)})
    GetOrder = read(s.GetOrderResponse, lambda x, q: {
        "order": x.orders.get((q.sub_account_address, q.order_id or q.order_link_id))})
    ListInstruments = read(s.ListInstrumentsResponse, lambda x, q: {"instruments": [BTC]})
    ListSubAccounts = read(s.ListSubAccountsResponse, lambda x, q: {"sub_accounts": chosen(x.accounts.values(), q)})
    ListPositions = read(r.ListPositionsResponse, lambda x, q: {"positions": chosen(x.positions.values(), q)})
    GetAccount = read(r.GetAccountResponse, lambda x, q: {
        "balances": chosen(x.balances.values(), q), "positions": chosen(x.positions.values(), q)})

    async def GetPrices(self, asked, context):
        held = sum(Decimal(position.size) for position in self.positions.values() if position.side == t.SIDE_BUY)
        prices = like(t.Prices, last_price=self.last_price, open_interest=text(held), ts_ms=now(),
                      next_funding_time_ms=(now() // FUNDING_MS + 1) * FUNDING_MS)
        return r.GetPricesResponse(prices=[prices] if BTC.symbol in (asked.symbols or [BTC.symbol]) else [])

    async def StreamPrices(self, asked, context):
        while True:
            yield r.StreamPricesResponse(prices=(await self.GetPrices(asked, context)).prices)
            yield r.StreamPricesResponse(heartbeat={"applied_seq": self.head, "server_ts_ms": now()})
            await asyncio.sleep(1)

    async def StreamEvents(self, asked, context):
        if asked.epoch not in ("", self.epoch):
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"the epoch is {self.epoch}")
        if asked.from_seq > self.head + 1:
            await context.abort(grpc.StatusCode.OUT_OF_RANGE, f"the head is {self.head}")
        sent = max(0, asked.from_seq - 1)
        for look in itertools.count():
            fresh = self.events[sent:]
            for _, step in itertools.groupby(fresh, lambda event: event.step):
                yield s.StreamEventsResponse(epoch=self.epoch, events=step)
            sent += len(fresh)
            if look % 100 == 0:  # once a second
                yield s.StreamEventsResponse(epoch=self.epoch, heartbeat={"head_seq": self.head, "server_ts_ms": now()})
            await asyncio.sleep(0.01)

async def main(port: str, directory: str):
    exchange, server = Exchange(Path(directory)), grpc.aio.server()
    sequencer_pb2_grpc.add_SequencerServicer_to_server(exchange, server)
    referee_pb2_grpc.add_RefereeServicer_to_server(exchange, server)
    print(f"listening on 127.0.0.1:{server.add_insecure_port(f'127.0.0.1:{port}')}", flush=True)
    await server.start()
    await server.wait_for_termination()

asyncio.run(main(*sys.argv[1:]))

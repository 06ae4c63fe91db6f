"""The market of the Python backend: limit orders, positions and wallets, as one state that commands change.

It reads no clock and no file: equal commands at equal times give equal results and events, so a journal of commands is the
state. Margin is left out: it gives whatever credit is asked for. Source: contract 2, 9.3, 9.4.
"""
import bisect, hashlib, struct, uuid
from decimal import ROUND_CEILING, Decimal, InvalidOperation, getcontext

from stubs import s, t

getcontext().prec = 100
FUNDING_MS, ZERO, PLACES, MARK = 8 * 3_600_000, Decimal(0), Decimal("1e-18"), Decimal(60000)
BTC = t.Instrument(
    symbol="BTC-USDC", base_asset="BTC", quote_asset="USDC", settle_asset="USDC", status=t.INSTRUMENT_STATUS_TRADING,
    launch_time_ms=1, funding_interval_minutes=480, tick_size="0.1", min_price="0.1", max_price="1000000",
    qty_step="0.001", min_order_qty="0.001", max_order_qty="100", max_mkt_order_qty="30", min_notional_value="5",
    min_leverage="1", max_leverage="1", leverage_step="0.01", price_band="0.05", max_open_orders=500,
    max_conditional_orders=20, maker_fee_rate="0.0002", taker_fee_rate="0.00055", funding_cap="0.005")
FINAL = {t.ORDER_STATUS_FILLED: "Filled", t.ORDER_STATUS_CANCELED: "Canceled",
         t.ORDER_STATUS_PARTIALLY_FILLED_CANCELED: "PartiallyFilledCanceled"}
INVALID, NOT_FOUND, EXISTS, PRECONDITION, UNIMPLEMENTED = 3, 5, 6, 9, 12

class Refused(Exception):
    """Nothing has changed; why, as a status, a reason of the API and its facts."""
    def __init__(self, code: int, reason: str, message: str, **facts):
        self.status = s.CommandStatus(code=code, reason=reason, message=message, metadata=facts)

def text(value: Decimal) -> str:
    """The one form of a decimal: no zeros at the end, no exponent, no -0."""
    return format(value.normalize(), "f") if value else "0"

def up(value: Decimal) -> Decimal:
    return value.quantize(PLACES, ROUND_CEILING)

def average(value: Decimal, qty: Decimal) -> str:
    return text((value / qty).quantize(PLACES)) if qty else "0"

class Account:
    def __init__(self, record: t.SubAccount):
        self.record, self.links = record, {}
        self.owner = {"user_id": record.user_id, "sub_account_address": record.sub_account_address}
        self.wallet = self.size = self.entry = ZERO  # size is signed, entry is the value at which it was opened

    def fill(self, signed: Decimal, price: Decimal, fee: Decimal) -> Decimal:
        """Books a fill on the position and the wallet; answers what it realised."""
        closed, sign = min(abs(self.size), abs(signed)) if self.size * signed < 0 else ZERO, 1 if self.size > 0 else -1
        part = sign * up(sign * self.entry * closed / abs(self.size)) if closed else ZERO
        gain = sign * (closed * price - part)
        self.size, self.entry = self.size + signed, self.entry - part + (abs(signed) - closed) * price
        self.wallet += gain - fee
        return gain

    def balance(self) -> t.Balance:
        pnl = self.size * MARK - (self.entry if self.size > 0 else -self.entry)
        return t.Balance(**self.owner, asset="USDC", wallet_balance=text(self.wallet), unrealised_pnl=text(pnl),
                         equity=text(self.wallet + pnl), available_balance=text(self.wallet), margin_used="0",
                         order_margin="0", maintenance_margin="0", isolated_margin="0", withdrawable="0")

    def position(self) -> t.Position:
        side = t.SIDE_BUY if self.size > 0 else t.SIDE_SELL if self.size < 0 else t.SIDE_UNSPECIFIED
        return t.Position(
            **self.owner, symbol=BTC.symbol, side=side, size=text(abs(self.size)), entry_value=text(self.entry),
            avg_price=average(self.entry, abs(self.size)), leverage="1", position_value=text(abs(self.size) * MARK),
            mark_price=text(MARK), margin_mode=t.MARGIN_MODE_CROSS, position_mode=t.POSITION_MODE_ONE_WAY,
            position_status=t.POSITION_STATUS_NORMAL)

class Order:
    def __init__(self, account: Account, rank: int, id: str, asked: s.PlaceOrder, at: int, last: str):
        self.account, self.rank, self.buys = account, rank, asked.side == t.SIDE_BUY
        self.price, self.qty, self.leaves = Decimal(asked.price), Decimal(asked.qty), Decimal(asked.qty)
        self.fee = self.value = self.filled = ZERO
        self.names = {"order_id": id, "order_link_id": asked.order_link_id or None}
        self.record = t.Order(
            **account.owner, **self.names, symbol=BTC.symbol, side=asked.side, order_type=asked.order_type,
            time_in_force=asked.time_in_force or t.TIME_IN_FORCE_GTC, price=text(self.price), qty=text(self.qty),
            last_price_on_created=last, margin_mode=t.MARGIN_MODE_CROSS, created_time_ms=at, version=1,
            create_type=t.CREATE_TYPE_CREATE_BY_USER, smp_type=t.SMP_TYPE_CANCEL_TAKER)

    def become(self, status: int, at: int, cancel: int, why: int) -> t.Order:
        self.leaves = ZERO if status in FINAL else self.leaves
        self.record.MergeFrom(t.Order(
            order_status=status, updated_time_ms=at, cancel_type=cancel, reject_reason=why,
            avg_price=average(self.value, self.filled), cum_exec_qty=text(self.filled), cum_exec_fee=text(self.fee),
            cum_exec_value=text(self.value), leaves_qty=text(self.leaves), leaves_value=text(self.leaves * self.price)))
        return t.Order.FromString(self.record.SerializeToString())

def shown(levels: dict, depth: int = 0) -> dict:
    sides = {"bids": [], "asks": []}
    for (buys, price), qty in levels.items():
        sides["bids" if buys else "asks"].append(t.PriceLevel(price=text(price), qty=text(qty)))
    return {side: found[:depth or None] for side, found in sides.items()}

class Market:
    """Methods that are named as a command of the boundary apply it, and answer what its acknowledgement tells."""
    def __init__(self):
        self.head = self.step = self.at = self.made = self.book_seq = 0
        self.accounts, self.orders, self.transfers, self.acks, self.steps = {}, {}, {}, {}, []
        self.book, self.last = {True: [], False: []}, None  # bids and asks, best first

    def take(self, command: s.Command, at: int) -> s.CommandResult:
        content, kind = s.Command.FromString(command.SerializeToString()), command.WhichOneof("command")
        content.issued_at_ms = 0
        known, first = self.acks.get(command.command_id, (content, None))
        self.at, self.command, self.events, self.trades, before = at, command, [], [], self.levels()
        try:
            if known != content:
                raise Refused(EXISTS, "DuplicateRequestId", "the command_id was used with other content")
            if first is not None:
                return s.CommandResult(ack=s.CommandAck.FromString(first + s.CommandAck(duplicate=True).SerializeToString()))
            if kind is None and command.command_id or not hasattr(self, kind or "tick"):
                raise Refused(UNIMPLEMENTED, "InvalidField", f"{kind} is not for this backend", field="command")
            answer = getattr(self, kind or "tick")(kind and getattr(command, kind)) or {}
        except (Refused, InvalidOperation) as no:
            status = no.status if isinstance(no, Refused) else s.CommandStatus(code=INVALID, reason="InvalidDecimal")
            status.command_id = command.command_id
            return s.CommandResult(status=status)
        self.publish(before, self.levels())
        if self.events:
            self.step += 1
            self.steps.append(self.events)
        ack = s.CommandAck(command_id=command.command_id, seq=self.head, accepted_at_ms=at, **answer)
        if kind:
            self.acks[command.command_id] = (content, ack.SerializeToString())
        return s.CommandResult(ack=ack)

    def emit(self, account=None, symbol=None, **event):
        self.head += 1
        self.events.append(s.Event(seq=self.head, ts_ms=self.at, step=self.step + 1, symbol=symbol,
                                   command_id=self.command.command_id or None, **(account.owner if account else {}), **event))

    def tell_order(self, order: Order, cause: int, status: int, cancel=0, why=t.REJECT_REASON_EC_NO_ERROR):
        told = order.become(status, self.at, cancel, why)
        self.emit(order.account, BTC.symbol, order_changed=s.OrderChanged(order=told, cause=cause))

    def tell_balance(self, account: Account, reason: int, amount: Decimal, fee=ZERO, realised=ZERO, **ids):
        self.emit(account, balance_changed=s.BalanceChanged(balance=account.balance(), reason=reason, amount=text(amount),
                                                            fee=text(fee), realised_pnl=text(realised), **ids))

    def next_id(self, kind: int) -> str:
        self.made += 1
        return str(uuid.UUID(f"{self.at:012x}7{kind:03x}{8 << 60 | self.made:016x}"))

    def own(self, symbol=BTC.symbol) -> Account:
        account = self.accounts.get(self.command.sub_account_address)
        if symbol != BTC.symbol:
            raise Refused(NOT_FOUND, "SymbolNotFound", f"no market {symbol}")
        if account is None or account.record.user_id != self.command.user_id:
            raise Refused(NOT_FOUND, "SubAccountNotFound", "no such sub-account")
        return account

    def tick(self, _):
        self.emit(prices_sampled=s.PricesSampled(prices=[self.prices()]))

    def create_sub_account(self, asked):
        count = sum(a.record.user_id == self.command.user_id for a in self.accounts.values())
        index = asked.index if asked.HasField("index") else count
        seed = bytes.fromhex(asked.root_address[2:]) + b"trading_vault" + struct.pack(">I", index) + b"\xfe"
        address = "0x" + hashlib.sha3_256(seed).hexdigest()
        if address not in self.accounts:
            if index != count:
                raise Refused(INVALID, "InvalidField", f"the next index is {count}", field="index")
            self.accounts[address] = account = Account(t.SubAccount(
                sub_account_address=address, user_id=self.command.user_id, root_address=asked.root_address, index=index,
                created_time_ms=self.at))
            self.emit(account, sub_account_changed=s.SubAccountChanged(sub_account=account.record))
        return {"sub_account": self.accounts[address].record}

    def deposit_funds(self, asked):
        account, amount, key = self.own(), Decimal(asked.amount), (self.command.user_id, asked.deposit_id)
        if key not in self.transfers:
            account.wallet += amount
            self.transfers[key] = transfer = t.Transfer(
                transfer_id=asked.deposit_id, user_id=self.command.user_id, kind=t.BALANCE_REASON_DEPOSIT, asset=asked.asset,
                to_sub_account_address=self.command.sub_account_address, amount=text(amount), reference=asked.source,
                status=t.TRANSFER_STATUS_COMPLETED, created_time_ms=self.at, updated_time_ms=self.at)
            self.emit(account, transfer_changed=s.TransferChanged(transfer=transfer))
            self.tell_balance(account, t.BALANCE_REASON_DEPOSIT, amount, transfer_id=asked.deposit_id)
        return {"transfer": self.transfers[key]}

    def place_order(self, asked):
        account, link, immediate = self.own(asked.symbol), asked.order_link_id, asked.time_in_force == t.TIME_IN_FORCE_IOC
        plain = not (asked.post_only or asked.reduce_only or asked.HasField("trigger") or asked.HasField("tpsl"))
        if not plain or asked.order_type != t.ORDER_TYPE_LIMIT or not (immediate or asked.time_in_force <= 1):
            raise Refused(INVALID, "InvalidField", "this backend takes plain limit orders", field="order_type")
        if link in account.links:
            raise Refused(EXISTS, "DuplicateOrderLinkId", f"{link} is used", order_id=account.links[link])
        id, against = self.next_id(1), self.book[asked.side != t.SIDE_BUY]
        self.orders[id] = order = Order(account, self.made, id, asked, self.at, self.last or text(MARK))
        if link:
            account.links[link] = id
        self.tell_order(order, s.ORDER_CAUSE_ACCEPTED, t.ORDER_STATUS_NEW)
        sign = 1 if order.buys else -1
        while order.leaves and against and sign * against[0].price <= sign * order.price:
            self.match(order, against[0])
        if order.leaves and immediate:
            why = t.REJECT_REASON_EC_NO_ERROR if order.filled else t.REJECT_REASON_EC_NO_IMMEDIATE_QTY_TO_FILL
            self.end(order, t.CANCEL_TYPE_CANCEL_BY_TIME_IN_FORCE, why)
        elif order.leaves:
            bisect.insort(self.book[order.buys], order, key=lambda o: (-sign * o.price, o.rank))
        return {"orders": [t.OrderRef(**order.names)]}

    def match(self, taker: Order, maker: Order):
        qty, price, seq = min(taker.leaves, maker.leaves), maker.price, self.book_seq + 1
        for order in (taker, maker):
            is_maker, account, record, exec_id = order is maker, order.account, order.record, self.next_id(2)
            rate = Decimal(BTC.maker_fee_rate if is_maker else BTC.taker_fee_rate)
            fee = up(qty * price * rate)
            gain = account.fill(qty if order.buys else -qty, price, fee)
            order.leaves, order.filled = order.leaves - qty, order.filled + qty
            order.value, order.fee = order.value + qty * price, order.fee + fee
            self.emit(account, BTC.symbol, execution_created=s.ExecutionCreated(execution=t.Execution(
                **account.owner, **order.names, exec_id=exec_id, symbol=BTC.symbol, side=record.side, leverage="1",
                order_type=record.order_type, order_price=record.price, order_qty=record.qty, leaves_qty=text(order.leaves),
                exec_price=text(price), exec_qty=text(qty), exec_value=text(qty * price), exec_type=t.EXEC_TYPE_TRADE,
                exec_time_ms=self.at, is_maker=is_maker, base_fee=text(fee), fee_rate=text(rate), mark_price=text(MARK),
                index_price=text(MARK), market_seq=seq, create_type=t.CREATE_TYPE_CREATE_BY_USER)))
            status = t.ORDER_STATUS_PARTIALLY_FILLED if order.leaves else t.ORDER_STATUS_FILLED
            self.tell_order(order, s.ORDER_CAUSE_FILLED, status)
            self.emit(account, BTC.symbol, position_changed=s.PositionChanged(position=account.position()))
            ids = {"order_id": record.order_id, "exec_id": exec_id}
            self.tell_balance(account, t.BALANCE_REASON_TRADE, gain - fee, fee, gain, **ids)
        if not maker.leaves:
            self.book[maker.buys].remove(maker)
        self.last = text(price)
        self.trades.append(t.Trade(trade_id=self.next_id(3), symbol=BTC.symbol, price=self.last, qty=text(qty),
                                   side=taker.record.side, market_seq=seq, timestamp_ms=self.at))

    def cancel_order(self, asked):
        account = self.own(asked.symbol)
        order = self.orders.get(asked.order.order_id or account.links.get(asked.order.order_link_id))
        if order is None or order.account is not account:
            raise Refused(NOT_FOUND, "OrderNotFound", "no such order")
        if status := FINAL.get(order.record.order_status):
            raise Refused(PRECONDITION, "OrderAlreadyClosed", f"the order is {status}", order_status=status)
        self.book[order.buys].remove(order)
        by = t.CANCEL_TYPE_CANCEL_BY_USER
        self.tell_order(order, s.ORDER_CAUSE_CANCEL_REQUESTED, t.ORDER_STATUS_CANCEL_REQUESTED, by)
        self.end(order, by)
        return {"orders": [t.OrderRef(**order.names)]}

    def end(self, order: Order, *why):
        status = t.ORDER_STATUS_PARTIALLY_FILLED_CANCELED if order.filled else t.ORDER_STATUS_CANCELED
        self.tell_order(order, s.ORDER_CAUSE_CANCELED, status, *why)

    def levels(self) -> dict:
        """What stands at each side and price, best first."""
        sums = {}
        for order in self.book[True] + self.book[False]:
            sums[order.buys, order.price] = sums.get((order.buys, order.price), ZERO) + order.leaves
        return sums

    def publish(self, before: dict, after: dict):
        changed = {level: after.get(level, ZERO) for level in before | after if before.get(level) != after.get(level)}
        if self.trades:
            self.emit(None, BTC.symbol, trade_printed=s.TradePrinted(trades=self.trades))
        if changed:
            self.book_seq += 1
            self.emit(None, BTC.symbol, book_changed=s.BookChanged(symbol=BTC.symbol, book_seq=self.book_seq, **shown(changed)))

    def prices(self) -> t.Prices:
        held = sum((max(a.size, ZERO) for a in self.accounts.values()), ZERO)
        return t.Prices(symbol=BTC.symbol, mark_price=text(MARK), index_price=text(MARK), funding_rate="0", ts_ms=self.at,
                        next_funding_time_ms=(self.at // FUNDING_MS + 1) * FUNDING_MS, open_interest=text(held),
                        last_price=self.last)

"""Calls every operation that reads, follows every topic, and prints how many responses and messages became records, by type.

The argument is the gateway's URL. A response or message that does not decode ends the program. Run by test/python.
"""

import json
import sys
import uuid
from collections import Counter
from typing import Any, Dict

from trading_gateway import Exchange, ExchangeError, Key, Live, models
from trading_gateway.operations import Operation
from trading_gateway import operations

SYMBOL = "BTC-USDC"


def main(url: str) -> None:
    seen: Counter[str] = Counter()
    key = Key.generate()
    with Exchange.connect(url, wallet=Key.generate()) as owner, Exchange.connect(url, wallet=Key.generate()) as other:
        for exchange in (owner, other):
            exchange.account.faucet(sub_account_address=exchange.sub_account, asset="USDC", amount="100000")
        owner.user.create_api_key(public_key=key.public_key, label="all", scopes=["read", "trade", "account", "transfer"])
        market = instrument(owner)
        topics = [f"orderbook.50.{SYMBOL}", f"orderbook.1.{SYMBOL}", f"trade.{SYMBOL}", f"trade/{market}", f"ticker.{SYMBOL}",
                  f"kline.1.{SYMBOL}", f"insurance_pool.{SYMBOL}", f"adl_alert.{SYMBOL}"]
        events = iter(owner.events(topics))
        private = iter(owner.events(["order", "execution", "position", "account_balance"]))
        for feed in (events, private):
            while not isinstance(next(feed), Live):
                pass
        last = trade(owner, other)
        for event in private:
            seen[type(event).__name__] += 1
            if isinstance(event, models.OrderEvent) and any(one.order_id == last for one in event.data.list):
                break
        for event in events:
            seen[type(event).__name__] += 1
            if all(seen[name] for name in ("AggregatedTradeEvent", "TickerEvent", "KlineEvent", "InsurancePoolEvent")):
                break
        read_all(owner, seen)
    print(json.dumps(seen))


def instrument(exchange: Exchange) -> str:
    return exchange.market.instruments(symbol=SYMBOL).list[0].market_addr


def trade(owner: Exchange, other: Exchange) -> str:
    """Orders of each kind and a position; returns the id of the last order."""
    mine: Dict[str, Any] = {"sub_account_address": owner.sub_account, "symbol": SYMBOL}
    owner.position.set_leverage(**mine, leverage="5")
    owner.order.create(**mine, side="Buy", order_type="Limit", qty="0.02", price="60000")
    theirs: Dict[str, Any] = {"sub_account_address": other.sub_account, "symbol": SYMBOL}
    other.order.create(**theirs, side="Sell", order_type="Limit", qty="0.02", price="60000")
    owner.position.trading_stop(**mine, take_profit="70000", stop_loss="50000")
    owner.order.create(**mine, side="Buy", order_type="Market", qty="0.01", trigger=models.TriggerAsked("65000"))
    exits = models.TpslAsked(stop_loss=models.LegAsked(models.LegAskedMarket("40000")))
    resting = owner.order.create(**mine, side="Buy", order_type="Limit", qty="0.01", price="50000", tpsl=exits)
    owner.order.amend(**mine, order_id=resting.order_id, price="50000.1")
    owner.order.cancel(**mine, order_id=resting.order_id)
    second = owner.user.create_sub_account(label="second").sub_account_address
    sides = {"from_sub_account_address": owner.sub_account, "to_sub_account_address": second}
    owner.account.transfer(transfer_id=str(uuid.uuid4()), **sides, asset="USDC", amount="1")
    owner.order.set_switch(sub_account_address=second, enabled=True, time_window=60)
    batch = [models.CreateOrderBody(**mine, side="Buy", order_type="Limit", qty=qty, price="40000") for qty in ("0.01", "0.0001")]
    (placed, _) = owner.order.create_batch(orders=batch).list
    assert placed.order_id is not None
    owner.order.cancel_batch(orders=[models.CancelOrderBody(**mine, order_id=placed.order_id)])
    return owner.order.create(**mine, side="Buy", order_type="Limit", qty="0.01", price="45000").order_id


def read_all(owner: Exchange, seen: "Counter[str]") -> None:
    for operation in vars(operations).values():
        if not isinstance(operation, Operation) or operation.method != "GET" or ":" in operation.path:
            continue
        group, name = operation.name.split(".")
        method = getattr(getattr(owner, group), name)
        needed: Dict[str, Any] = {}
        if operation.is_open and operation.path != "/market/time":
            needed["symbol"] = SYMBOL
        if "kline" in operation.path:
            needed["interval"] = "1"
        try:
            seen[type(method(**needed)).__name__] += 1
        except ExchangeError as error:
            raise SystemExit(f"{operation.name}: {error}") from error


if __name__ == "__main__":
    main(sys.argv[1])

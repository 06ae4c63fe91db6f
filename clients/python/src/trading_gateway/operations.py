# generated: npm run generate
"""The operations of the gateway, by group, for both clients. Decimals are `Decimal` or text, times Unix ms."""

from __future__ import annotations

from typing import Any, Awaitable, Dict, Generic, List, Optional, Protocol, Type, TypeVar

from . import models as m

T = TypeVar("T")


class Operation(Generic[T]):
    """An endpoint: its method, its path below the base path, whether it needs no credential, and the record that it returns."""

    def __init__(self, name: str, method: str, path: str, is_open: bool, result: Type[T]) -> None:
        self.name = name
        self.method = method
        self.path = path
        self.is_open = is_open
        self.result = result


class Runner(Protocol):
    """Runs an operation."""

    def __call__(self, operation: Operation[T], fields: Dict[str, Any]) -> T: ...


class AsyncRunner(Protocol):
    """Runs an operation."""

    def __call__(self, operation: Operation[T], fields: Dict[str, Any]) -> Awaitable[T]: ...


MARKET_TIME = Operation("market.time", "GET", "/market/time", True, m.ServerTime)
MARKET_INSTRUMENTS = Operation("market.instruments", "GET", "/market/instruments-info", True, m.InstrumentPage)
MARKET_TICKERS = Operation("market.tickers", "GET", "/market/tickers", True, m.TickerList)
MARKET_ORDERBOOK = Operation("market.orderbook", "GET", "/market/orderbook", True, m.OrderBook)
MARKET_RECENT_TRADES = Operation("market.recent_trades", "GET", "/market/recent-trade", True, m.PublicTradeList)
MARKET_KLINE = Operation("market.kline", "GET", "/market/kline", True, m.CandleList)
MARKET_HISTORY_MARK_KLINE = Operation("market_history.mark_kline", "GET", "/market/mark-price-kline", True, m.PriceCandleList)
MARKET_HISTORY_INDEX_KLINE = Operation("market_history.index_kline", "GET", "/market/index-price-kline", True, m.PriceCandleList)
MARKET_HISTORY_FUNDING = Operation("market_history.funding", "GET", "/market/funding/history", True, m.FundingRatePage)
MARKET_HISTORY_RISK_LIMIT = Operation("market_history.risk_limit", "GET", "/market/risk-limit", True, m.RiskTierList)
MARKET_HISTORY_OPEN_INTEREST = Operation("market_history.open_interest", "GET", "/market/open-interest", True, m.OpenInterestPage)
MARKET_HISTORY_POOL = Operation("market_history.pool", "GET", "/market/insurance-pool", True, m.InsurancePool)
MARKET_HISTORY_POOLS = Operation("market_history.pools", "GET", "/market/insurance-pool/history", True, m.InsurancePoolList)
MARKET_HISTORY_ADL = Operation("market_history.adl", "GET", "/market/adl-alert", True, m.AdlAlert)
MARKET_HISTORY_ADLS = Operation("market_history.adls", "GET", "/market/adl-alert/history", True, m.AdlAlertList)
ORDER_CREATE = Operation("order.create", "POST", "/order/create", False, m.OrderRef)
ORDER_AMEND = Operation("order.amend", "POST", "/order/amend", False, m.OrderRef)
ORDER_CANCEL = Operation("order.cancel", "POST", "/order/cancel", False, m.OrderRef)
ORDER_CANCEL_ALL = Operation("order.cancel_all", "POST", "/order/cancel-all", False, m.CanceledOrders)
ORDER_CREATE_BATCH = Operation("order.create_batch", "POST", "/order/create-batch", False, m.BatchResults)
ORDER_CANCEL_BATCH = Operation("order.cancel_batch", "POST", "/order/cancel-batch", False, m.BatchResults)
ORDER_SWITCHES = Operation("order.switches", "GET", "/order/disconnect-cancel-all", False, m.Switches)
ORDER_SET_SWITCH = Operation("order.set_switch", "POST", "/order/disconnect-cancel-all", False, m.Switch)
ORDER_REALTIME = Operation("order.realtime", "GET", "/order/realtime", False, m.OpenOrders)
ORDER_HISTORY = Operation("order.history", "GET", "/order/history", False, m.OrderPage)
EXECUTION_LIST = Operation("execution.list", "GET", "/execution/list", False, m.ExecutionPage)
POSITION_LIST = Operation("position.list", "GET", "/position/list", False, m.Positions)
POSITION_CLOSED_PNL = Operation("position.closed_pnl", "GET", "/position/closed-pnl", False, m.ClosedPnlPage)
POSITION_SET_LEVERAGE = Operation("position.set_leverage", "POST", "/position/set-leverage", False, m.Leverage)
POSITION_SWITCH_MARGIN_MODE = Operation("position.switch_margin_mode", "POST", "/position/switch-margin-mode", False, m.MarginSetting)
POSITION_ADD_MARGIN = Operation("position.add_margin", "POST", "/position/add-margin", False, m.Position)
POSITION_TRADING_STOP = Operation("position.trading_stop", "POST", "/position/trading-stop", False, m.TradingStop)
ACCOUNT_BALANCES = Operation("account.balances", "GET", "/account/balances", False, m.Balances)
ACCOUNT_FAUCET = Operation("account.faucet", "POST", "/account/faucet", False, m.Deposit)
ACCOUNT_TRANSFER = Operation("account.transfer", "POST", "/account/transfer", False, m.TransferReceipt)
ACCOUNT_TRANSFERS = Operation("account.transfers", "GET", "/account/transfer", False, m.TransferPage)
ACCOUNT_WITHDRAW = Operation("account.withdraw", "POST", "/account/withdrawals", False, m.Withdrawal)
WITHDRAWAL_ADDRESS_ADDRESSES = Operation("withdrawal_address.addresses", "GET", "/account/withdrawal-addresses", False, m.WithdrawalAddresses)
WITHDRAWAL_ADDRESS_ADD = Operation("withdrawal_address.add", "POST", "/account/withdrawal-addresses", False, m.WithdrawalAddress)
WITHDRAWAL_ADDRESS_RESTRICT = Operation("withdrawal_address.restrict", "PUT", "/account/withdrawal-addresses", False, m.WithdrawalAddresses)
WITHDRAWAL_ADDRESS_REMOVE = Operation("withdrawal_address.remove", "DELETE", "/account/withdrawal-addresses/:destination", False, m.RemovedWithdrawalAddress)
STATEMENT_FUNDING = Operation("statement.funding", "GET", "/account/funding", False, m.FundingPaymentPage)
STATEMENT_TRANSACTIONS = Operation("statement.transactions", "GET", "/account/transactions", False, m.TransactionPage)
STATEMENT_DEPOSITS = Operation("statement.deposits", "GET", "/account/deposits", False, m.DepositPage)
STATEMENT_WITHDRAWALS = Operation("statement.withdrawals", "GET", "/account/withdrawals", False, m.WithdrawalPage)
STATEMENT_STATISTICS = Operation("statement.statistics", "GET", "/account/statistics", False, m.Statistics)
STATEMENT_FEE_RATES = Operation("statement.fee_rates", "GET", "/account/fee-rate", False, m.FeeRateList)
USER_ME = Operation("user.me", "GET", "/user/me", False, m.Me)
USER_PORTFOLIO = Operation("user.portfolio", "GET", "/user/portfolio", False, m.Portfolio)
USER_SUB_ACCOUNTS = Operation("user.sub_accounts", "GET", "/user/sub-accounts", False, m.SubAccounts)
USER_CREATE_SUB_ACCOUNT = Operation("user.create_sub_account", "POST", "/user/sub-accounts", False, m.SubAccount)
USER_CHANGE_SUB_ACCOUNT = Operation("user.change_sub_account", "PATCH", "/user/sub-accounts/:sub_account_address", False, m.SubAccount)
USER_DELETE_SUB_ACCOUNT = Operation("user.delete_sub_account", "DELETE", "/user/sub-accounts/:sub_account_address", False, m.DeletedSubAccount)
USER_API_KEYS = Operation("user.api_keys", "GET", "/user/api-keys", False, m.ApiKeys)
USER_CREATE_API_KEY = Operation("user.create_api_key", "POST", "/user/api-keys", False, m.ApiKey)
USER_CHANGE_API_KEY = Operation("user.change_api_key", "PATCH", "/user/api-keys/:api_key_id", False, m.ApiKey)
USER_REVOKE_API_KEY = Operation("user.revoke_api_key", "DELETE", "/user/api-keys/:api_key_id", False, m.RevokedApiKey)
REWARD_REFERRAL = Operation("reward.referral", "GET", "/user/referral", False, m.Referral)
REWARD_REFER = Operation("reward.refer", "POST", "/user/referral", False, m.Referral)
REWARD_REWARDS = Operation("reward.rewards", "GET", "/user/rewards", False, m.RewardPage)
REWARD_CLAIM = Operation("reward.claim", "POST", "/user/rewards/:reward_id/claim", False, m.Reward)
COMPETITION_COMPETITIONS = Operation("competition.competitions", "GET", "/user/competitions", False, m.CompetitionPage)
COMPETITION_COMPETITION = Operation("competition.competition", "GET", "/user/competitions/:competition_id", False, m.Competition)
COMPETITION_PLACEMENT = Operation("competition.placement", "GET", "/user/competitions/:competition_id/placement", False, m.CompetitionPlacement)
COMPETITION_LEADERBOARD = Operation("competition.leaderboard", "GET", "/user/competitions/:competition_id/leaderboard", False, m.Leaderboard)
ACCESS_ACTIVATE = Operation("access.activate", "POST", "/access/activate", True, m.ActivationResult)
AUTHORIZE_LOGIN = Operation("authorize.login", "POST", "/authorize", True, m.Login)
AUTHORIZE_LOGOUT = Operation("authorize.logout", "POST", "/authorize/logout", False, m.LoggedOut)


class MarketOperations:
    """Operations `market`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def time(self) -> m.ServerTime:
        """Server time.

        The time that timestamps of signed requests are compared with.
        """
        return self._run(MARKET_TIME, {})

    def instruments(
        self,
        *,
        symbol: Optional[str] = None,
        status: Optional[m.InstrumentStatus] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.InstrumentPage:
        """Markets.

        Markets with their ticks, steps, limits and fees, by symbol.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            status: State of a market
            limit: Rows a page, 1 to 1000; 500 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(MARKET_INSTRUMENTS, {"symbol": symbol, "status": status, "limit": limit, "cursor": cursor})

    def tickers(
        self,
        *,
        symbol: Optional[str] = None,
    ) -> m.TickerList:
        """Tickers.

        Prices, 24-hour figures and the predicted funding rate of one market or of all.

        Args:
            symbol: Market symbol, `<base>-<quote>`
        """
        return self._run(MARKET_TICKERS, {"symbol": symbol})

    def orderbook(
        self,
        *,
        symbol: str,
        depth: Optional[int] = None,
    ) -> m.OrderBook:
        """Order book.

        Best levels of both sides. `seq` is that of the orderbook topics, so the book joins the stream.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            depth: Rows a page, 1 to 1000; 50 by default [rows]
        """
        return self._run(MARKET_ORDERBOOK, {"symbol": symbol, "depth": depth})

    def recent_trades(
        self,
        *,
        symbol: str,
        limit: Optional[int] = None,
    ) -> m.PublicTradeList:
        """Recent trades.

        Public trades of a market, newest first.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            limit: Rows a page, 1 to 1000; 100 by default [rows]
        """
        return self._run(MARKET_RECENT_TRADES, {"symbol": symbol, "limit": limit})

    def kline(
        self,
        *,
        symbol: str,
        interval: m.Interval,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> m.CandleList:
        """Candles.

        Candles of a market, newest first; the first may be open (`confirm` false). A candle without trades repeats the last close with volume 0.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            interval: Candle length: minutes, or D, W (from Monday), M; UTC
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 200 by default [rows]
        """
        return self._run(MARKET_KLINE, {"symbol": symbol, "interval": interval, "start_time": start_time, "end_time": end_time, "limit": limit})


class MarketHistoryOperations:
    """Operations `market_history`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def mark_kline(
        self,
        *,
        symbol: str,
        interval: m.Interval,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> m.PriceCandleList:
        """Candles of the mark price.

        From a sample a second, newest first; the first may be open. Gaps repeat the last close.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            interval: Candle length: minutes, or D, W (from Monday), M; UTC
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 200 by default [rows]
        """
        return self._run(MARKET_HISTORY_MARK_KLINE, {"symbol": symbol, "interval": interval, "start_time": start_time, "end_time": end_time, "limit": limit})

    def index_kline(
        self,
        *,
        symbol: str,
        interval: m.Interval,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> m.PriceCandleList:
        """Candles of the index price.

        From a sample a second, newest first; the first may be open. Gaps repeat the last close.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            interval: Candle length: minutes, or D, W (from Monday), M; UTC
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 200 by default [rows]
        """
        return self._run(MARKET_HISTORY_INDEX_KLINE, {"symbol": symbol, "interval": interval, "start_time": start_time, "end_time": end_time, "limit": limit})

    def funding(
        self,
        *,
        symbol: str,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.FundingRatePage:
        """Settled funding rates.

        Settlements of a market, newest first, each with the mark price that payments were taken at.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 100 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(MARKET_HISTORY_FUNDING, {"symbol": symbol, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})

    def risk_limit(
        self,
        *,
        symbol: Optional[str] = None,
    ) -> m.RiskTierList:
        """Risk limits.

        Margin rates by the value of a position. The maintenance margin is value × rate − mm_deduction, which makes it continuous.

        Args:
            symbol: Market symbol, `<base>-<quote>`
        """
        return self._run(MARKET_HISTORY_RISK_LIMIT, {"symbol": symbol})

    def open_interest(
        self,
        *,
        symbol: str,
        interval: Optional[m.OpenInterestInterval] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.OpenInterestPage:
        """Open interest.

        One sample an interval, the first in it, newest first; intervals without any are left out.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            interval: Minutes, or D; UTC. 5 by default
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 100 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(MARKET_HISTORY_OPEN_INTEREST, {"symbol": symbol, "interval": interval, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})

    def pool(
        self,
        *,
        symbol: str,
    ) -> m.InsurancePool:
        """Insurance pool.

        The current pool of a market: its own funds, the positions it took over, and what its group contributed.

        Args:
            symbol: Market symbol, `<base>-<quote>`
        """
        return self._run(MARKET_HISTORY_POOL, {"symbol": symbol})

    def pools(
        self,
        *,
        symbol: Optional[str] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> m.InsurancePoolList:
        """States of the insurance pools.

        One sample a minute and one per change, newest first, of one market or of all.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 100 by default [rows]
        """
        return self._run(MARKET_HISTORY_POOLS, {"symbol": symbol, "start_time": start_time, "end_time": end_time, "limit": limit})

    def adl(
        self,
        *,
        symbol: str,
    ) -> m.AdlAlert:
        """State of auto-deleveraging.

        Whether positions of a market are, or are about to be, deleveraged, and why.

        Args:
            symbol: Market symbol, `<base>-<quote>`
        """
        return self._run(MARKET_HISTORY_ADL, {"symbol": symbol})

    def adls(
        self,
        *,
        symbol: Optional[str] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> m.AdlAlertList:
        """Changes of auto-deleveraging.

        One record per change of mode, reason or, by 0.01, ratio, newest first, of one market or of all.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 100 by default [rows]
        """
        return self._run(MARKET_HISTORY_ADLS, {"symbol": symbol, "start_time": start_time, "end_time": end_time, "limit": limit})


class OrderOperations:
    """Operations `order`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def create(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        side: m.Side,
        order_type: m.OrderType,
        qty: m.Amount,
        price: Optional[m.Amount] = None,
        time_in_force: Optional[m.TimeInForceAsked] = None,
        expire_time: Optional[int] = None,
        post_only: Optional[bool] = None,
        reduce_only: Optional[bool] = None,
        close_on_trigger: Optional[bool] = None,
        order_link_id: Optional[str] = None,
        trigger: Optional[m.TriggerAsked] = None,
        tpsl: Optional[m.TpslAsked] = None,
        smp_type: Optional[m.SmpType] = None,
    ) -> m.OrderRef:
        """Place an order.

        200 means that the order has its place in the sequence, not that it succeeded: what became of it arrives as `order` events and in the history. A used order_link_id is 409 with the first `order_id`, so a retry never doubles an order. Exits of a Market order are held against the reference price of each leg at its turn: one that is met already is `Rejected` with `EcTriggerAlreadyMet`.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            side: Buy or sell
            order_type: Limit or market
            qty: Quantity, a multiple of the market's qty_step; 0 with reduce_only and close_on_trigger: the whole position [base asset]
            price: Price, a multiple of the market's tick_size; required for Limit, ignored for Market [quote asset]
            time_in_force: GTC by default; a Market order is IOC. GTT needs expire_time; PostOnly is short for GTC with post_only
            expire_time: With GTT only: 1 second to 90 days from now [ms]
            post_only: Whether the order may only add liquidity
            reduce_only: Whether the order may only reduce a position
            close_on_trigger: Whether the triggered order cancels other orders to free its margin
            order_link_id: Client-chosen order reference, unique in the sub-account
            trigger: Trigger of a conditional order
            tpsl: Exits that the first fill attaches which opens or increases a position in the order's direction: Full (by default) closes the whole position, Partial what this order opened. A position has at most 20 pairs
            smp_type: Which order is canceled when two orders of one user would match
        """
        return self._run(ORDER_CREATE, {"sub_account_address": sub_account_address, "symbol": symbol, "side": side, "order_type": order_type, "qty": qty, "price": price, "time_in_force": time_in_force, "expire_time": expire_time, "post_only": post_only, "reduce_only": reduce_only, "close_on_trigger": close_on_trigger, "order_link_id": order_link_id, "trigger": trigger, "tpsl": tpsl, "smp_type": smp_type})

    def amend(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        order_id: Optional[str] = None,
        order_link_id: Optional[str] = None,
        price: Optional[m.Amount] = None,
        qty: Optional[m.Amount] = None,
        trigger: Optional[m.TriggerAmended] = None,
        tpsl: Optional[m.TpslAmended] = None,
        order_iv: Optional[int] = None,
    ) -> m.OrderRef:
        """Amend an order.

        Changes price, total quantity, trigger price or exits. Priority is kept only if the price stays and the quantity falls, or only the exits change. Values equal to the order's change nothing. An amend that is refused at its turn is answered 400 or 409 with its reason; the order stays as it is, and an `order` event says the same.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: Order id
            order_link_id: Alternative to order_id, which takes precedence
            price: Price [quote asset]
            qty: New total quantity [base asset]
            trigger: Trigger of a conditional order
            tpsl: Absent legs stay unchanged; a trigger_price of 0 removes a leg, and an absent trigger_by keeps that of the leg
            order_iv: Expected `version` of the order; 0: no check [count]
        """
        return self._run(ORDER_AMEND, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "order_link_id": order_link_id, "price": price, "qty": qty, "trigger": trigger, "tpsl": tpsl, "order_iv": order_iv})

    def cancel(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        order_id: Optional[str] = None,
        order_link_id: Optional[str] = None,
    ) -> m.OrderRef:
        """Cancel an order.

        A fill that is sequenced before the cancel remains; canceling a final order is 409 OrderAlreadyClosed.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: Order id
            order_link_id: Alternative to order_id, which takes precedence
        """
        return self._run(ORDER_CANCEL, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "order_link_id": order_link_id})

    def cancel_all(
        self,
        *,
        sub_account_address: str,
        symbol: Optional[str] = None,
        side: Optional[m.Side] = None,
        order_filter: Optional[m.OrderFilter] = None,
        reduce_only: Optional[bool] = None,
    ) -> m.CanceledOrders:
        """Cancel all orders.

        Answers the orders that are being canceled; the list may be empty.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            side: Buy or sell
            order_filter: Open orders to cancel
            reduce_only: Whether the order may only reduce a position
        """
        return self._run(ORDER_CANCEL_ALL, {"sub_account_address": sub_account_address, "symbol": symbol, "side": side, "order_filter": order_filter, "reduce_only": reduce_only})

    def create_batch(
        self,
        *,
        orders: List[m.CreateOrderBody],
    ) -> m.BatchResults:
        """Place up to 20 orders.

        Places each order as `/order/create` does, in the order of the list and not atomically. The answer is 200 even if some fail, with a result for each. Counts as one request per 5 orders.

        An API key needs the scope `trade`.

        Args:
            orders: 1 to 20, sequenced in this order
        """
        return self._run(ORDER_CREATE_BATCH, {"orders": orders})

    def cancel_batch(
        self,
        *,
        orders: List[m.CancelOrderBody],
    ) -> m.BatchResults:
        """Cancel up to 20 orders.

        Cancels each order as `/order/cancel` does, in the order of the list. Counts as one request per 5 orders.

        An API key needs the scope `trade`.

        Args:
            orders: 1 to 20, sequenced in this order
        """
        return self._run(ORDER_CANCEL_BATCH, {"orders": orders})

    def switches(self) -> m.Switches:
        """Dead-man's switches.

        Settings of the sub-accounts whose switch was ever set.

        An API key needs the scope `read`.
        """
        return self._run(ORDER_SWITCHES, {})

    def set_switch(
        self,
        *,
        sub_account_address: str,
        enabled: bool,
        time_window: Optional[int] = None,
    ) -> m.Switch:
        """Set a dead-man's switch.

        When your last authenticated connection to /ws/private has been gone for time_window seconds, the sub-account's orders are canceled (CancelByDcp); exits of positions stay. Authenticating again within the window stops it. Connect before you enable it: without a connection the window begins at once.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            enabled: Whether the switch is on
            time_window: Time without a private connection until orders are canceled; 10 by default [s]
        """
        return self._run(ORDER_SET_SWITCH, {"sub_account_address": sub_account_address, "enabled": enabled, "time_window": time_window})

    def realtime(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        order_id: Optional[str] = None,
        order_link_id: Optional[str] = None,
        side: Optional[m.Side] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.OpenOrders:
        """Open orders.

        Open orders, newest first, with the position of the user stream that they hold.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: Order id
            order_link_id: Client-chosen order reference, unique in the sub-account
            side: Buy or sell
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(ORDER_REALTIME, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "order_link_id": order_link_id, "side": side, "limit": limit, "cursor": cursor})

    def history(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        order_id: Optional[str] = None,
        order_link_id: Optional[str] = None,
        side: Optional[m.Side] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        order_status: Optional[List[m.OrderStatus]] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
    ) -> m.OrderPage:
        """Order history.

        Every order, open or final, by creation, newest first. It may lag a little behind the sequence.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: Order id
            order_link_id: Client-chosen order reference, unique in the sub-account
            side: Buy or sell
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
            order_status: Status, repeated or with commas between
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
        """
        return self._run(ORDER_HISTORY, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "order_link_id": order_link_id, "side": side, "limit": limit, "cursor": cursor, "order_status": order_status, "start_time": start_time, "end_time": end_time})


class ExecutionOperations:
    """Operations `execution`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def list(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        order_id: Optional[str] = None,
        order_link_id: Optional[str] = None,
        side: Optional[m.Side] = None,
        exec_type: Optional[m.ExecType] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.ExecutionPage:
        """Executions.

        Fills and funding payments, by time of execution, newest first.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: Order id
            order_link_id: Client-chosen order reference, unique in the sub-account
            side: Buy or sell
            exec_type: Kind of an execution
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(EXECUTION_LIST, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "order_link_id": order_link_id, "side": side, "exec_type": exec_type, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})


class PositionOperations:
    """Operations `position`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def list(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.Positions:
        """Positions.

        Open positions; with a symbol one record a sub-account, even if flat.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(POSITION_LIST, {"sub_account_address": sub_account_address, "symbol": symbol, "limit": limit, "cursor": cursor})

    def closed_pnl(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        order_id: Optional[str] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.ClosedPnlPage:
        """Closed PnL.

        What each order that reduced a position brought, by its first such fill, newest first; those of liquidation and deleveraging too.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: The closing order
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(POSITION_CLOSED_PNL, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})

    def set_leverage(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        leverage: m.Amount,
    ) -> m.Leverage:
        """Set the leverage.

        Of the position and the open orders of one market. OutOfRange: above the maximum of the risk tier, which the details name. InsufficientBalance: the balance does not cover the higher initial margin. LeverageUnchanged: the leverage has this value already.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            leverage: 1 to the most that the market and the risk tier allow, in steps of 0.01 [ratio]
        """
        return self._run(POSITION_SET_LEVERAGE, {"sub_account_address": sub_account_address, "symbol": symbol, "leverage": leverage})

    def switch_margin_mode(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        margin_mode: m.MarginMode,
        leverage: Optional[m.Amount] = None,
    ) -> m.MarginSetting:
        """Cross or isolated margin.

        Only while flat and without open orders: else PositionExists or OpenOrdersExist. The mode and leverage that are set already answer as they are.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            margin_mode: Margin shared by the sub-account, or kept for one position
            leverage: 1 to the most that the market and the risk tier allow, in steps of 0.01 [ratio]
        """
        return self._run(POSITION_SWITCH_MARGIN_MODE, {"sub_account_address": sub_account_address, "symbol": symbol, "margin_mode": margin_mode, "leverage": leverage})

    def add_margin(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        margin: m.Amount,
    ) -> m.Position:
        """Move margin into an isolated position, or out of it.

        A negative amount takes margin out, down to the initial margin. InsufficientBalance names the largest amount that can be moved as `max`. NotIsolated and PositionNotFound: there is no isolated position.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            margin: Margin to add; negative: to remove [settlement asset]
        """
        return self._run(POSITION_ADD_MARGIN, {"sub_account_address": sub_account_address, "symbol": symbol, "margin": margin})

    def trading_stop(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        tpsl_mode: Optional[m.TpslMode] = None,
        take_profit: Optional[m.Amount] = None,
        stop_loss: Optional[m.Amount] = None,
        tp_trigger_by: Optional[m.TriggerBy] = None,
        sl_trigger_by: Optional[m.TriggerBy] = None,
        tp_size: Optional[m.Amount] = None,
        sl_size: Optional[m.Amount] = None,
    ) -> m.TradingStop:
        """Take-profit and stop-loss of a position.

        Market orders that close on their trigger; one ends the other, and both end with the position. A Full exit replaces the one before, a Partial one is added to the others. A price on the wrong side of the mark is OutOfRange.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            tpsl_mode: Full (default): the whole position
            take_profit: Trigger price, a multiple of the tick_size; 0 removes the exit [quote asset]
            stop_loss: Trigger price, a multiple of the tick_size; 0 removes the exit [quote asset]
            tp_trigger_by: Reference price; LastPrice by default
            sl_trigger_by: Reference price; LastPrice by default
            tp_size: With mode Partial only; absent: the whole position [base asset]
            sl_size: With mode Partial only; absent: the whole position [base asset]
        """
        return self._run(POSITION_TRADING_STOP, {"sub_account_address": sub_account_address, "symbol": symbol, "tpsl_mode": tpsl_mode, "take_profit": take_profit, "stop_loss": stop_loss, "tp_trigger_by": tp_trigger_by, "sl_trigger_by": sl_trigger_by, "tp_size": tp_size, "sl_size": sl_size})


class AccountOperations:
    """Operations `account`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def balances(
        self,
        *,
        sub_account_address: Optional[str] = None,
    ) -> m.Balances:
        """Balances.

        Wallet, equity and margins of one sub-account or of all.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
        """
        return self._run(ACCOUNT_BALANCES, {"sub_account_address": sub_account_address})

    def faucet(
        self,
        *,
        sub_account_address: str,
        asset: str,
        amount: m.Amount,
    ) -> m.Deposit:
        """Test money.

        Deposits test money, up to a daily limit; switched off in production.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
            asset: Asset, by its ticker
            amount: Amount [asset]
        """
        return self._run(ACCOUNT_FAUCET, {"sub_account_address": sub_account_address, "asset": asset, "amount": amount})

    def transfer(
        self,
        *,
        transfer_id: str,
        from_sub_account_address: str,
        to_sub_account_address: str,
        asset: str,
        amount: m.Amount,
    ) -> m.TransferReceipt:
        """Transfer between own sub-accounts.

        The transfer_id makes it idempotent: other content under a used id is 409 DuplicateRequestId.

        An API key needs the scope `transfer`.

        Args:
            transfer_id: You choose the id; a repeated request with it returns the first result
            from_sub_account_address: Source sub-account
            to_sub_account_address: Target sub-account
            asset: Asset, by its ticker
            amount: Amount [asset]
        """
        return self._run(ACCOUNT_TRANSFER, {"transfer_id": transfer_id, "from_sub_account_address": from_sub_account_address, "to_sub_account_address": to_sub_account_address, "asset": asset, "amount": amount})

    def transfers(
        self,
        *,
        sub_account_address: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.TransferPage:
        """Transfers.

        Transfers between own sub-accounts, newest first.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(ACCOUNT_TRANSFERS, {"sub_account_address": sub_account_address, "limit": limit, "cursor": cursor})

    def withdraw(
        self,
        *,
        withdrawal_id: str,
        sub_account_address: str,
        asset: str,
        amount: m.Amount,
        destination: str,
    ) -> m.Withdrawal:
        """Withdraw.

        Takes the amount out of the wallet at once; the withdrawal is `pending` until it has arrived. The withdrawal_id makes it idempotent: other content under a used id is 409 DuplicateRequestId.

        An API key needs the scope `withdraw`.

        Args:
            withdrawal_id: You choose the id; a repeated request with it returns the first result
            sub_account_address: Sub-account
            asset: Asset, by its ticker
            amount: Amount; at most the sub-account's `withdrawable` [asset]
            destination: In full: 64 hex digits, with or without 0x, on the address rail; a party id on the party rail. Short addresses are refused
        """
        return self._run(ACCOUNT_WITHDRAW, {"withdrawal_id": withdrawal_id, "sub_account_address": sub_account_address, "asset": asset, "amount": amount, "destination": destination})


class WithdrawalAddressOperations:
    """Operations `withdrawal_address`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def addresses(self) -> m.WithdrawalAddresses:
        """Withdrawal addresses.

        Listed destinations, by the time of their addition, and whether withdrawals go to those only.

        An API key needs the scope `read`.
        """
        return self._run(WITHDRAWAL_ADDRESS_ADDRESSES, {})

    def add(
        self,
        *,
        destination: str,
        label: Optional[str] = None,
    ) -> m.WithdrawalAddress:
        """List a destination.

        Withdrawals may go there from `effective_time` on, 24 hours later unless the exchange sets another delay. One that is listed already keeps its times. At most 50.

        An API key needs the scope `withdraw`.

        Args:
            destination: In full: 64 hex digits, with or without 0x, on the address rail; a party id on the party rail. Short addresses are refused
            label: At most 64 characters
        """
        return self._run(WITHDRAWAL_ADDRESS_ADD, {"destination": destination, "label": label})

    def restrict(
        self,
        *,
        only_listed: bool,
    ) -> m.WithdrawalAddresses:
        """Withdraw to listed destinations only.

        `true` takes effect before the answer, and calls off an end that waits. `false` takes effect at `loosens_time`, after the same delay as an addition.

        An API key needs the scope `withdraw`.

        Args:
            only_listed: Whether withdrawals go to listed destinations only
        """
        return self._run(WITHDRAWAL_ADDRESS_RESTRICT, {"only_listed": only_listed})

    def remove(
        self,
        *,
        destination: str,
    ) -> m.RemovedWithdrawalAddress:
        """Remove a destination.

        Takes effect before the answer: no withdrawal that was checked before is still on its way.

        An API key needs the scope `withdraw`.

        Args:
            destination: In full: 64 hex digits, with or without 0x, on the address rail; a party id on the party rail. Short addresses are refused
        """
        return self._run(WITHDRAWAL_ADDRESS_REMOVE, {"destination": destination})


class StatementOperations:
    """Operations `statement`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def funding(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.FundingPaymentPage:
        """Funding payments.

        What positions paid and received, by the time of settlement, newest first.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(STATEMENT_FUNDING, {"sub_account_address": sub_account_address, "symbol": symbol, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})

    def transactions(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        type: Optional[m.TransactionType] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.TransactionPage:
        """Transactions.

        Every change of the money of an account, newest first. Money is the wallet and the isolated margins together, so moving margin is none, and each balance_after is the one before plus the amount.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            type: Cause of the change of a wallet
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(STATEMENT_TRANSACTIONS, {"sub_account_address": sub_account_address, "symbol": symbol, "type": type, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})

    def deposits(
        self,
        *,
        sub_account_address: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.DepositPage:
        """Deposits.

        Money that came from outside, newest first.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(STATEMENT_DEPOSITS, {"sub_account_address": sub_account_address, "limit": limit, "cursor": cursor})

    def withdrawals(
        self,
        *,
        sub_account_address: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.WithdrawalPage:
        """Withdrawals.

        Money that left, or is on its way (`pending`), newest first.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(STATEMENT_WITHDRAWALS, {"sub_account_address": sub_account_address, "limit": limit, "cursor": cursor})

    def statistics(
        self,
        *,
        sub_account_address: Optional[str] = None,
        period: Optional[m.Period] = None,
    ) -> m.Statistics:
        """Figures of a period.

        Volume, fees, results and the largest drawdown of one sub-account or of all; exact sums.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            period: How far it reaches back, from a full hour on; 30d by default
        """
        return self._run(STATEMENT_STATISTICS, {"sub_account_address": sub_account_address, "period": period})

    def fee_rates(
        self,
        *,
        symbol: Optional[str] = None,
    ) -> m.FeeRateList:
        """Fee rates.

        What fills cost you in one market or in all; a negative rate is a rebate.

        An API key needs the scope `read`.

        Args:
            symbol: Market symbol, `<base>-<quote>`
        """
        return self._run(STATEMENT_FEE_RATES, {"symbol": symbol})


class UserOperations:
    """Operations `user`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def me(self) -> m.Me:
        """Who am I.

        The user behind the credential, and what the credential may do.

        An API key needs the scope `read`.
        """
        return self._run(USER_ME, {})

    def portfolio(self) -> m.Portfolio:
        """Portfolio.

        Positions, sums and vault balances over all sub-accounts of the credential. Numbers are JSON numbers with exact digits; /position/list and /account/balances carry the same as text.

        An API key needs the scope `read`.
        """
        return self._run(USER_PORTFOLIO, {})

    def sub_accounts(self) -> m.SubAccounts:
        """Sub-accounts.

        Sub-accounts that the credential may see, by index.

        An API key needs the scope `read`.
        """
        return self._run(USER_SUB_ACCOUNTS, {})

    def create_sub_account(
        self,
        *,
        label: Optional[str] = None,
    ) -> m.SubAccount:
        """Open a sub-account.

        Its index is the next one; a user has at most 20. A key bound to sub-accounts opens none.

        An API key needs the scope `account`.

        Args:
            label: Your label, at most 32 characters
        """
        return self._run(USER_CREATE_SUB_ACCOUNT, {"label": label})

    def change_sub_account(
        self,
        *,
        sub_account_address: str,
        label: Optional[str] = None,
        frozen: Optional[bool] = None,
    ) -> m.SubAccount:
        """Change a sub-account.

        Sets its label, freezes it or thaws it.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
            label: Your label, at most 32 characters
            frozen: Frozen: no new or amended orders; cancels are allowed
        """
        return self._run(USER_CHANGE_SUB_ACCOUNT, {"sub_account_address": sub_account_address, "label": label, "frozen": frozen})

    def delete_sub_account(
        self,
        *,
        sub_account_address: str,
    ) -> m.DeletedSubAccount:
        """Delete a sub-account.

        Only one without balance, open orders and positions (409 NotEmpty, OpenOrdersExist, PositionExists). Its index and address are never used again; index 0 stays.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
        """
        return self._run(USER_DELETE_SUB_ACCOUNT, {"sub_account_address": sub_account_address})

    def api_keys(self) -> m.ApiKeys:
        """API keys.

        Keys that are not revoked, newest first.
        """
        return self._run(USER_API_KEYS, {})

    def create_api_key(
        self,
        *,
        public_key: str,
        scopes: List[m.Scope],
        label: Optional[str] = None,
        sub_account_addresses: Optional[List[str]] = None,
        ip_allowlist: Optional[List[str]] = None,
        expires_time: Optional[int] = None,
        require_body_hash: Optional[bool] = None,
    ) -> m.ApiKey:
        """Register an API key.

        A public key is registered once, service-wide, for ever; a user has at most 50 keys.

        Args:
            public_key: Ed25519 public key; you keep the private key
            scopes: Permissions of the key
            label: Your label, at most 64 characters
            sub_account_addresses: Sub-accounts; absent: all, later ones too
            ip_allowlist: CIDR blocks or addresses that may use the key; empty: any
            expires_time: Expiry; absent: never [ms]
            require_body_hash: Whether requests with a body must sign X-BODY-SHA256
        """
        return self._run(USER_CREATE_API_KEY, {"public_key": public_key, "scopes": scopes, "label": label, "sub_account_addresses": sub_account_addresses, "ip_allowlist": ip_allowlist, "expires_time": expires_time, "require_body_hash": require_body_hash})

    def change_api_key(
        self,
        *,
        api_key_id: str,
        label: Optional[str] = None,
        scopes: Optional[List[m.Scope]] = None,
        sub_account_addresses: Optional[List[str]] = None,
        ip_allowlist: Optional[List[str]] = None,
        expires_time: Optional[int] = None,
        require_body_hash: Optional[bool] = None,
    ) -> m.ApiKey:
        """Change an API key.

        Only the fields sent change; it takes effect at once.

        Args:
            api_key_id: API key id
            label: Your label, at most 64 characters
            scopes: Permissions of the key
            sub_account_addresses: Sub-accounts; absent: all, later ones too
            ip_allowlist: CIDR blocks or addresses that may use the key; empty: any
            expires_time: Expiry; absent: never [ms]
            require_body_hash: Whether requests with a body must sign X-BODY-SHA256
        """
        return self._run(USER_CHANGE_API_KEY, {"api_key_id": api_key_id, "label": label, "scopes": scopes, "sub_account_addresses": sub_account_addresses, "ip_allowlist": ip_allowlist, "expires_time": expires_time, "require_body_hash": require_body_hash})

    def revoke_api_key(
        self,
        *,
        api_key_id: str,
    ) -> m.RevokedApiKey:
        """Revoke an API key.

        Its WebSocket connections are closed with 4010; the public key cannot be registered again.

        Args:
            api_key_id: API key id
        """
        return self._run(USER_REVOKE_API_KEY, {"api_key_id": api_key_id})


class RewardOperations:
    """Operations `reward`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def referral(self) -> m.Referral:
        """Referral.

        The caller's own code, who referred the caller, and how many users named the caller.

        An API key needs the scope `read`.
        """
        return self._run(REWARD_REFERRAL, {})

    def refer(
        self,
        *,
        referral_code: str,
    ) -> m.Referral:
        """Name who referred you.

        Once and for ever; the same code again answers 200. A code that leads back to the caller, over however many users, is refused (SelfReferral).

        Args:
            referral_code: 8 characters of 0-9 and A-Z without I, L, O and U; case and surrounding spaces are ignored
        """
        return self._run(REWARD_REFER, {"referral_code": referral_code})

    def rewards(
        self,
        *,
        status: Optional[m.RewardStatus] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.RewardPage:
        """Rewards.

        Newest first. `pending` ones still grow (referral fees of a day, until 00:00 UTC), `claimable` ones wait to be claimed.

        An API key needs the scope `read`.

        Args:
            status: Still growing, ready to be claimed, paid
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(REWARD_REWARDS, {"status": status, "limit": limit, "cursor": cursor})

    def claim(
        self,
        *,
        reward_id: str,
        sub_account_address: str,
    ) -> m.Reward:
        """Claim a reward.

        Credited at once, and once: after a lost answer claim again, to the same result or AlreadyClaimed.

        Args:
            reward_id: Reward id
            sub_account_address: Sub-account that receives the reward
        """
        return self._run(REWARD_CLAIM, {"reward_id": reward_id, "sub_account_address": sub_account_address})


class CompetitionOperations:
    """Operations `competition`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def competitions(
        self,
        *,
        status: Optional[m.CompetitionStatus] = None,
        symbol: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.CompetitionPage:
        """Competitions.

        The latest start first; drafts are left out.

        An API key needs the scope `read`.

        Args:
            status: Status of a competition; it advances with time
            symbol: Market symbol, `<base>-<quote>`
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(COMPETITION_COMPETITIONS, {"status": status, "symbol": symbol, "limit": limit, "cursor": cursor})

    def competition(
        self,
        *,
        competition_id: str,
    ) -> m.Competition:
        """One competition.

        By its id; a draft too.

        An API key needs the scope `read`.

        Args:
            competition_id: Competition id
        """
        return self._run(COMPETITION_COMPETITION, {"competition_id": competition_id})

    def placement(
        self,
        *,
        competition_id: str,
    ) -> m.CompetitionPlacement:
        """Your placement.

        One entry for each own sub-account that has traded in it, by score descending; `[]` before the first trade. Scores follow a fill within seconds.

        An API key needs the scope `read`.

        Args:
            competition_id: Competition id
        """
        return self._run(COMPETITION_PLACEMENT, {"competition_id": competition_id})

    def leaderboard(
        self,
        *,
        competition_id: str,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.Leaderboard:
        """Leaderboard.

        Eligible entries of everybody, by rank.

        An API key needs the scope `read`.

        Args:
            competition_id: Competition id
            limit: Rows a page, 1 to 100; 20 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return self._run(COMPETITION_LEADERBOARD, {"competition_id": competition_id, "limit": limit, "cursor": cursor})


class AccessOperations:
    """Operations `access`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def activate(
        self,
        *,
        code: str,
        public_key: str,
        signature: str,
        signed_at: int,
        nonce: Optional[str] = None,
        party_id: Optional[str] = None,
    ) -> m.ActivationResult:
        """Activate an access code.

        Admits the wallet that signs, with an access code. The wallet need not have logged in. The signature is checked before the code is looked at.

        Args:
            code: Access code; case and surrounding white space are ignored
            public_key: Ed25519 public key: hex, 0x-hex, base64 or base64url
            signature: Ed25519 signature over `service-stage1-activate:{sha256(normalized code)}:{root_address}:{signed_at}`, on the party rail with `:{nonce}` appended
            signed_at: Unix time of the signature, within 300 s of the server's time [s]
            nonce: Required on the party rail: 8 to 64 characters of A-Z, a-z, 0-9, - and _; ignored on the other
            party_id: `<hint>::<fingerprint>`; absent or null: the address rail
        """
        return self._run(ACCESS_ACTIVATE, {"code": code, "public_key": public_key, "signature": signature, "signed_at": signed_at, "nonce": nonce, "party_id": party_id})


class AuthorizeOperations:
    """Operations `authorize`."""

    def __init__(self, run: Runner) -> None:
        self._run = run

    def login(
        self,
        *,
        public_key: str,
        signature: str,
        timestamp_ms: int,
        nonce: str,
        verifying_key: Optional[str] = None,
    ) -> m.Login:
        """Log in.

        Issues a token to the holder of a wallet's key, who signs with it. The first login creates the user and its first sub-account. A failed check is 400, a lost database or backend 500.

        Args:
            public_key: Ed25519 public key (hex, 0x-hex, base64, base64url), or a party id `<hint>::<fingerprint>`
            signature: Ed25519 signature over `SERVICE_AUTH|LOGIN|{public_key}|{timestamp_ms}|{nonce}`
            timestamp_ms: Time of the signature, within 60 s of the server's time [ms]
            nonce: 8 to 64 characters of A-Z, a-z, 0-9, - and _; single use
            verifying_key: Key of a party, at its first login; ignored on the address rail
        """
        return self._run(AUTHORIZE_LOGIN, {"public_key": public_key, "signature": signature, "timestamp_ms": timestamp_ms, "nonce": nonce, "verifying_key": verifying_key})

    def logout(self) -> m.LoggedOut:
        """Log out.

        Ends the token: once this is answered, no request of it has an effect any more. Its WebSocket connections are closed with 4010.
        """
        return self._run(AUTHORIZE_LOGOUT, {})


class Operations:
    """All operations, by group."""

    def __init__(self, run: Runner) -> None:
        self.market = MarketOperations(run)
        self.market_history = MarketHistoryOperations(run)
        self.order = OrderOperations(run)
        self.execution = ExecutionOperations(run)
        self.position = PositionOperations(run)
        self.account = AccountOperations(run)
        self.withdrawal_address = WithdrawalAddressOperations(run)
        self.statement = StatementOperations(run)
        self.user = UserOperations(run)
        self.reward = RewardOperations(run)
        self.competition = CompetitionOperations(run)
        self.access = AccessOperations(run)
        self.authorize = AuthorizeOperations(run)


class AsyncMarketOperations:
    """Operations `market`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def time(self) -> m.ServerTime:
        """Server time.

        The time that timestamps of signed requests are compared with.
        """
        return await self._run(MARKET_TIME, {})

    async def instruments(
        self,
        *,
        symbol: Optional[str] = None,
        status: Optional[m.InstrumentStatus] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.InstrumentPage:
        """Markets.

        Markets with their ticks, steps, limits and fees, by symbol.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            status: State of a market
            limit: Rows a page, 1 to 1000; 500 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(MARKET_INSTRUMENTS, {"symbol": symbol, "status": status, "limit": limit, "cursor": cursor})

    async def tickers(
        self,
        *,
        symbol: Optional[str] = None,
    ) -> m.TickerList:
        """Tickers.

        Prices, 24-hour figures and the predicted funding rate of one market or of all.

        Args:
            symbol: Market symbol, `<base>-<quote>`
        """
        return await self._run(MARKET_TICKERS, {"symbol": symbol})

    async def orderbook(
        self,
        *,
        symbol: str,
        depth: Optional[int] = None,
    ) -> m.OrderBook:
        """Order book.

        Best levels of both sides. `seq` is that of the orderbook topics, so the book joins the stream.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            depth: Rows a page, 1 to 1000; 50 by default [rows]
        """
        return await self._run(MARKET_ORDERBOOK, {"symbol": symbol, "depth": depth})

    async def recent_trades(
        self,
        *,
        symbol: str,
        limit: Optional[int] = None,
    ) -> m.PublicTradeList:
        """Recent trades.

        Public trades of a market, newest first.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            limit: Rows a page, 1 to 1000; 100 by default [rows]
        """
        return await self._run(MARKET_RECENT_TRADES, {"symbol": symbol, "limit": limit})

    async def kline(
        self,
        *,
        symbol: str,
        interval: m.Interval,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> m.CandleList:
        """Candles.

        Candles of a market, newest first; the first may be open (`confirm` false). A candle without trades repeats the last close with volume 0.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            interval: Candle length: minutes, or D, W (from Monday), M; UTC
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 200 by default [rows]
        """
        return await self._run(MARKET_KLINE, {"symbol": symbol, "interval": interval, "start_time": start_time, "end_time": end_time, "limit": limit})


class AsyncMarketHistoryOperations:
    """Operations `market_history`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def mark_kline(
        self,
        *,
        symbol: str,
        interval: m.Interval,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> m.PriceCandleList:
        """Candles of the mark price.

        From a sample a second, newest first; the first may be open. Gaps repeat the last close.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            interval: Candle length: minutes, or D, W (from Monday), M; UTC
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 200 by default [rows]
        """
        return await self._run(MARKET_HISTORY_MARK_KLINE, {"symbol": symbol, "interval": interval, "start_time": start_time, "end_time": end_time, "limit": limit})

    async def index_kline(
        self,
        *,
        symbol: str,
        interval: m.Interval,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> m.PriceCandleList:
        """Candles of the index price.

        From a sample a second, newest first; the first may be open. Gaps repeat the last close.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            interval: Candle length: minutes, or D, W (from Monday), M; UTC
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 200 by default [rows]
        """
        return await self._run(MARKET_HISTORY_INDEX_KLINE, {"symbol": symbol, "interval": interval, "start_time": start_time, "end_time": end_time, "limit": limit})

    async def funding(
        self,
        *,
        symbol: str,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.FundingRatePage:
        """Settled funding rates.

        Settlements of a market, newest first, each with the mark price that payments were taken at.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 100 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(MARKET_HISTORY_FUNDING, {"symbol": symbol, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})

    async def risk_limit(
        self,
        *,
        symbol: Optional[str] = None,
    ) -> m.RiskTierList:
        """Risk limits.

        Margin rates by the value of a position. The maintenance margin is value × rate − mm_deduction, which makes it continuous.

        Args:
            symbol: Market symbol, `<base>-<quote>`
        """
        return await self._run(MARKET_HISTORY_RISK_LIMIT, {"symbol": symbol})

    async def open_interest(
        self,
        *,
        symbol: str,
        interval: Optional[m.OpenInterestInterval] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.OpenInterestPage:
        """Open interest.

        One sample an interval, the first in it, newest first; intervals without any are left out.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            interval: Minutes, or D; UTC. 5 by default
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 100 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(MARKET_HISTORY_OPEN_INTEREST, {"symbol": symbol, "interval": interval, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})

    async def pool(
        self,
        *,
        symbol: str,
    ) -> m.InsurancePool:
        """Insurance pool.

        The current pool of a market: its own funds, the positions it took over, and what its group contributed.

        Args:
            symbol: Market symbol, `<base>-<quote>`
        """
        return await self._run(MARKET_HISTORY_POOL, {"symbol": symbol})

    async def pools(
        self,
        *,
        symbol: Optional[str] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> m.InsurancePoolList:
        """States of the insurance pools.

        One sample a minute and one per change, newest first, of one market or of all.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 100 by default [rows]
        """
        return await self._run(MARKET_HISTORY_POOLS, {"symbol": symbol, "start_time": start_time, "end_time": end_time, "limit": limit})

    async def adl(
        self,
        *,
        symbol: str,
    ) -> m.AdlAlert:
        """State of auto-deleveraging.

        Whether positions of a market are, or are about to be, deleveraged, and why.

        Args:
            symbol: Market symbol, `<base>-<quote>`
        """
        return await self._run(MARKET_HISTORY_ADL, {"symbol": symbol})

    async def adls(
        self,
        *,
        symbol: Optional[str] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> m.AdlAlertList:
        """Changes of auto-deleveraging.

        One record per change of mode, reason or, by 0.01, ratio, newest first, of one market or of all.

        Args:
            symbol: Market symbol, `<base>-<quote>`
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 1000; 100 by default [rows]
        """
        return await self._run(MARKET_HISTORY_ADLS, {"symbol": symbol, "start_time": start_time, "end_time": end_time, "limit": limit})


class AsyncOrderOperations:
    """Operations `order`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def create(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        side: m.Side,
        order_type: m.OrderType,
        qty: m.Amount,
        price: Optional[m.Amount] = None,
        time_in_force: Optional[m.TimeInForceAsked] = None,
        expire_time: Optional[int] = None,
        post_only: Optional[bool] = None,
        reduce_only: Optional[bool] = None,
        close_on_trigger: Optional[bool] = None,
        order_link_id: Optional[str] = None,
        trigger: Optional[m.TriggerAsked] = None,
        tpsl: Optional[m.TpslAsked] = None,
        smp_type: Optional[m.SmpType] = None,
    ) -> m.OrderRef:
        """Place an order.

        200 means that the order has its place in the sequence, not that it succeeded: what became of it arrives as `order` events and in the history. A used order_link_id is 409 with the first `order_id`, so a retry never doubles an order. Exits of a Market order are held against the reference price of each leg at its turn: one that is met already is `Rejected` with `EcTriggerAlreadyMet`.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            side: Buy or sell
            order_type: Limit or market
            qty: Quantity, a multiple of the market's qty_step; 0 with reduce_only and close_on_trigger: the whole position [base asset]
            price: Price, a multiple of the market's tick_size; required for Limit, ignored for Market [quote asset]
            time_in_force: GTC by default; a Market order is IOC. GTT needs expire_time; PostOnly is short for GTC with post_only
            expire_time: With GTT only: 1 second to 90 days from now [ms]
            post_only: Whether the order may only add liquidity
            reduce_only: Whether the order may only reduce a position
            close_on_trigger: Whether the triggered order cancels other orders to free its margin
            order_link_id: Client-chosen order reference, unique in the sub-account
            trigger: Trigger of a conditional order
            tpsl: Exits that the first fill attaches which opens or increases a position in the order's direction: Full (by default) closes the whole position, Partial what this order opened. A position has at most 20 pairs
            smp_type: Which order is canceled when two orders of one user would match
        """
        return await self._run(ORDER_CREATE, {"sub_account_address": sub_account_address, "symbol": symbol, "side": side, "order_type": order_type, "qty": qty, "price": price, "time_in_force": time_in_force, "expire_time": expire_time, "post_only": post_only, "reduce_only": reduce_only, "close_on_trigger": close_on_trigger, "order_link_id": order_link_id, "trigger": trigger, "tpsl": tpsl, "smp_type": smp_type})

    async def amend(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        order_id: Optional[str] = None,
        order_link_id: Optional[str] = None,
        price: Optional[m.Amount] = None,
        qty: Optional[m.Amount] = None,
        trigger: Optional[m.TriggerAmended] = None,
        tpsl: Optional[m.TpslAmended] = None,
        order_iv: Optional[int] = None,
    ) -> m.OrderRef:
        """Amend an order.

        Changes price, total quantity, trigger price or exits. Priority is kept only if the price stays and the quantity falls, or only the exits change. Values equal to the order's change nothing. An amend that is refused at its turn is answered 400 or 409 with its reason; the order stays as it is, and an `order` event says the same.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: Order id
            order_link_id: Alternative to order_id, which takes precedence
            price: Price [quote asset]
            qty: New total quantity [base asset]
            trigger: Trigger of a conditional order
            tpsl: Absent legs stay unchanged; a trigger_price of 0 removes a leg, and an absent trigger_by keeps that of the leg
            order_iv: Expected `version` of the order; 0: no check [count]
        """
        return await self._run(ORDER_AMEND, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "order_link_id": order_link_id, "price": price, "qty": qty, "trigger": trigger, "tpsl": tpsl, "order_iv": order_iv})

    async def cancel(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        order_id: Optional[str] = None,
        order_link_id: Optional[str] = None,
    ) -> m.OrderRef:
        """Cancel an order.

        A fill that is sequenced before the cancel remains; canceling a final order is 409 OrderAlreadyClosed.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: Order id
            order_link_id: Alternative to order_id, which takes precedence
        """
        return await self._run(ORDER_CANCEL, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "order_link_id": order_link_id})

    async def cancel_all(
        self,
        *,
        sub_account_address: str,
        symbol: Optional[str] = None,
        side: Optional[m.Side] = None,
        order_filter: Optional[m.OrderFilter] = None,
        reduce_only: Optional[bool] = None,
    ) -> m.CanceledOrders:
        """Cancel all orders.

        Answers the orders that are being canceled; the list may be empty.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            side: Buy or sell
            order_filter: Open orders to cancel
            reduce_only: Whether the order may only reduce a position
        """
        return await self._run(ORDER_CANCEL_ALL, {"sub_account_address": sub_account_address, "symbol": symbol, "side": side, "order_filter": order_filter, "reduce_only": reduce_only})

    async def create_batch(
        self,
        *,
        orders: List[m.CreateOrderBody],
    ) -> m.BatchResults:
        """Place up to 20 orders.

        Places each order as `/order/create` does, in the order of the list and not atomically. The answer is 200 even if some fail, with a result for each. Counts as one request per 5 orders.

        An API key needs the scope `trade`.

        Args:
            orders: 1 to 20, sequenced in this order
        """
        return await self._run(ORDER_CREATE_BATCH, {"orders": orders})

    async def cancel_batch(
        self,
        *,
        orders: List[m.CancelOrderBody],
    ) -> m.BatchResults:
        """Cancel up to 20 orders.

        Cancels each order as `/order/cancel` does, in the order of the list. Counts as one request per 5 orders.

        An API key needs the scope `trade`.

        Args:
            orders: 1 to 20, sequenced in this order
        """
        return await self._run(ORDER_CANCEL_BATCH, {"orders": orders})

    async def switches(self) -> m.Switches:
        """Dead-man's switches.

        Settings of the sub-accounts whose switch was ever set.

        An API key needs the scope `read`.
        """
        return await self._run(ORDER_SWITCHES, {})

    async def set_switch(
        self,
        *,
        sub_account_address: str,
        enabled: bool,
        time_window: Optional[int] = None,
    ) -> m.Switch:
        """Set a dead-man's switch.

        When your last authenticated connection to /ws/private has been gone for time_window seconds, the sub-account's orders are canceled (CancelByDcp); exits of positions stay. Authenticating again within the window stops it. Connect before you enable it: without a connection the window begins at once.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            enabled: Whether the switch is on
            time_window: Time without a private connection until orders are canceled; 10 by default [s]
        """
        return await self._run(ORDER_SET_SWITCH, {"sub_account_address": sub_account_address, "enabled": enabled, "time_window": time_window})

    async def realtime(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        order_id: Optional[str] = None,
        order_link_id: Optional[str] = None,
        side: Optional[m.Side] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.OpenOrders:
        """Open orders.

        Open orders, newest first, with the position of the user stream that they hold.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: Order id
            order_link_id: Client-chosen order reference, unique in the sub-account
            side: Buy or sell
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(ORDER_REALTIME, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "order_link_id": order_link_id, "side": side, "limit": limit, "cursor": cursor})

    async def history(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        order_id: Optional[str] = None,
        order_link_id: Optional[str] = None,
        side: Optional[m.Side] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        order_status: Optional[List[m.OrderStatus]] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
    ) -> m.OrderPage:
        """Order history.

        Every order, open or final, by creation, newest first. It may lag a little behind the sequence.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: Order id
            order_link_id: Client-chosen order reference, unique in the sub-account
            side: Buy or sell
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
            order_status: Status, repeated or with commas between
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
        """
        return await self._run(ORDER_HISTORY, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "order_link_id": order_link_id, "side": side, "limit": limit, "cursor": cursor, "order_status": order_status, "start_time": start_time, "end_time": end_time})


class AsyncExecutionOperations:
    """Operations `execution`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def list(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        order_id: Optional[str] = None,
        order_link_id: Optional[str] = None,
        side: Optional[m.Side] = None,
        exec_type: Optional[m.ExecType] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.ExecutionPage:
        """Executions.

        Fills and funding payments, by time of execution, newest first.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: Order id
            order_link_id: Client-chosen order reference, unique in the sub-account
            side: Buy or sell
            exec_type: Kind of an execution
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(EXECUTION_LIST, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "order_link_id": order_link_id, "side": side, "exec_type": exec_type, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})


class AsyncPositionOperations:
    """Operations `position`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def list(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.Positions:
        """Positions.

        Open positions; with a symbol one record a sub-account, even if flat.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(POSITION_LIST, {"sub_account_address": sub_account_address, "symbol": symbol, "limit": limit, "cursor": cursor})

    async def closed_pnl(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        order_id: Optional[str] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.ClosedPnlPage:
        """Closed PnL.

        What each order that reduced a position brought, by its first such fill, newest first; those of liquidation and deleveraging too.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            order_id: The closing order
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(POSITION_CLOSED_PNL, {"sub_account_address": sub_account_address, "symbol": symbol, "order_id": order_id, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})

    async def set_leverage(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        leverage: m.Amount,
    ) -> m.Leverage:
        """Set the leverage.

        Of the position and the open orders of one market. OutOfRange: above the maximum of the risk tier, which the details name. InsufficientBalance: the balance does not cover the higher initial margin. LeverageUnchanged: the leverage has this value already.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            leverage: 1 to the most that the market and the risk tier allow, in steps of 0.01 [ratio]
        """
        return await self._run(POSITION_SET_LEVERAGE, {"sub_account_address": sub_account_address, "symbol": symbol, "leverage": leverage})

    async def switch_margin_mode(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        margin_mode: m.MarginMode,
        leverage: Optional[m.Amount] = None,
    ) -> m.MarginSetting:
        """Cross or isolated margin.

        Only while flat and without open orders: else PositionExists or OpenOrdersExist. The mode and leverage that are set already answer as they are.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            margin_mode: Margin shared by the sub-account, or kept for one position
            leverage: 1 to the most that the market and the risk tier allow, in steps of 0.01 [ratio]
        """
        return await self._run(POSITION_SWITCH_MARGIN_MODE, {"sub_account_address": sub_account_address, "symbol": symbol, "margin_mode": margin_mode, "leverage": leverage})

    async def add_margin(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        margin: m.Amount,
    ) -> m.Position:
        """Move margin into an isolated position, or out of it.

        A negative amount takes margin out, down to the initial margin. InsufficientBalance names the largest amount that can be moved as `max`. NotIsolated and PositionNotFound: there is no isolated position.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            margin: Margin to add; negative: to remove [settlement asset]
        """
        return await self._run(POSITION_ADD_MARGIN, {"sub_account_address": sub_account_address, "symbol": symbol, "margin": margin})

    async def trading_stop(
        self,
        *,
        sub_account_address: str,
        symbol: str,
        tpsl_mode: Optional[m.TpslMode] = None,
        take_profit: Optional[m.Amount] = None,
        stop_loss: Optional[m.Amount] = None,
        tp_trigger_by: Optional[m.TriggerBy] = None,
        sl_trigger_by: Optional[m.TriggerBy] = None,
        tp_size: Optional[m.Amount] = None,
        sl_size: Optional[m.Amount] = None,
    ) -> m.TradingStop:
        """Take-profit and stop-loss of a position.

        Market orders that close on their trigger; one ends the other, and both end with the position. A Full exit replaces the one before, a Partial one is added to the others. A price on the wrong side of the mark is OutOfRange.

        An API key needs the scope `trade`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            tpsl_mode: Full (default): the whole position
            take_profit: Trigger price, a multiple of the tick_size; 0 removes the exit [quote asset]
            stop_loss: Trigger price, a multiple of the tick_size; 0 removes the exit [quote asset]
            tp_trigger_by: Reference price; LastPrice by default
            sl_trigger_by: Reference price; LastPrice by default
            tp_size: With mode Partial only; absent: the whole position [base asset]
            sl_size: With mode Partial only; absent: the whole position [base asset]
        """
        return await self._run(POSITION_TRADING_STOP, {"sub_account_address": sub_account_address, "symbol": symbol, "tpsl_mode": tpsl_mode, "take_profit": take_profit, "stop_loss": stop_loss, "tp_trigger_by": tp_trigger_by, "sl_trigger_by": sl_trigger_by, "tp_size": tp_size, "sl_size": sl_size})


class AsyncAccountOperations:
    """Operations `account`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def balances(
        self,
        *,
        sub_account_address: Optional[str] = None,
    ) -> m.Balances:
        """Balances.

        Wallet, equity and margins of one sub-account or of all.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
        """
        return await self._run(ACCOUNT_BALANCES, {"sub_account_address": sub_account_address})

    async def faucet(
        self,
        *,
        sub_account_address: str,
        asset: str,
        amount: m.Amount,
    ) -> m.Deposit:
        """Test money.

        Deposits test money, up to a daily limit; switched off in production.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
            asset: Asset, by its ticker
            amount: Amount [asset]
        """
        return await self._run(ACCOUNT_FAUCET, {"sub_account_address": sub_account_address, "asset": asset, "amount": amount})

    async def transfer(
        self,
        *,
        transfer_id: str,
        from_sub_account_address: str,
        to_sub_account_address: str,
        asset: str,
        amount: m.Amount,
    ) -> m.TransferReceipt:
        """Transfer between own sub-accounts.

        The transfer_id makes it idempotent: other content under a used id is 409 DuplicateRequestId.

        An API key needs the scope `transfer`.

        Args:
            transfer_id: You choose the id; a repeated request with it returns the first result
            from_sub_account_address: Source sub-account
            to_sub_account_address: Target sub-account
            asset: Asset, by its ticker
            amount: Amount [asset]
        """
        return await self._run(ACCOUNT_TRANSFER, {"transfer_id": transfer_id, "from_sub_account_address": from_sub_account_address, "to_sub_account_address": to_sub_account_address, "asset": asset, "amount": amount})

    async def transfers(
        self,
        *,
        sub_account_address: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.TransferPage:
        """Transfers.

        Transfers between own sub-accounts, newest first.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(ACCOUNT_TRANSFERS, {"sub_account_address": sub_account_address, "limit": limit, "cursor": cursor})

    async def withdraw(
        self,
        *,
        withdrawal_id: str,
        sub_account_address: str,
        asset: str,
        amount: m.Amount,
        destination: str,
    ) -> m.Withdrawal:
        """Withdraw.

        Takes the amount out of the wallet at once; the withdrawal is `pending` until it has arrived. The withdrawal_id makes it idempotent: other content under a used id is 409 DuplicateRequestId.

        An API key needs the scope `withdraw`.

        Args:
            withdrawal_id: You choose the id; a repeated request with it returns the first result
            sub_account_address: Sub-account
            asset: Asset, by its ticker
            amount: Amount; at most the sub-account's `withdrawable` [asset]
            destination: In full: 64 hex digits, with or without 0x, on the address rail; a party id on the party rail. Short addresses are refused
        """
        return await self._run(ACCOUNT_WITHDRAW, {"withdrawal_id": withdrawal_id, "sub_account_address": sub_account_address, "asset": asset, "amount": amount, "destination": destination})


class AsyncWithdrawalAddressOperations:
    """Operations `withdrawal_address`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def addresses(self) -> m.WithdrawalAddresses:
        """Withdrawal addresses.

        Listed destinations, by the time of their addition, and whether withdrawals go to those only.

        An API key needs the scope `read`.
        """
        return await self._run(WITHDRAWAL_ADDRESS_ADDRESSES, {})

    async def add(
        self,
        *,
        destination: str,
        label: Optional[str] = None,
    ) -> m.WithdrawalAddress:
        """List a destination.

        Withdrawals may go there from `effective_time` on, 24 hours later unless the exchange sets another delay. One that is listed already keeps its times. At most 50.

        An API key needs the scope `withdraw`.

        Args:
            destination: In full: 64 hex digits, with or without 0x, on the address rail; a party id on the party rail. Short addresses are refused
            label: At most 64 characters
        """
        return await self._run(WITHDRAWAL_ADDRESS_ADD, {"destination": destination, "label": label})

    async def restrict(
        self,
        *,
        only_listed: bool,
    ) -> m.WithdrawalAddresses:
        """Withdraw to listed destinations only.

        `true` takes effect before the answer, and calls off an end that waits. `false` takes effect at `loosens_time`, after the same delay as an addition.

        An API key needs the scope `withdraw`.

        Args:
            only_listed: Whether withdrawals go to listed destinations only
        """
        return await self._run(WITHDRAWAL_ADDRESS_RESTRICT, {"only_listed": only_listed})

    async def remove(
        self,
        *,
        destination: str,
    ) -> m.RemovedWithdrawalAddress:
        """Remove a destination.

        Takes effect before the answer: no withdrawal that was checked before is still on its way.

        An API key needs the scope `withdraw`.

        Args:
            destination: In full: 64 hex digits, with or without 0x, on the address rail; a party id on the party rail. Short addresses are refused
        """
        return await self._run(WITHDRAWAL_ADDRESS_REMOVE, {"destination": destination})


class AsyncStatementOperations:
    """Operations `statement`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def funding(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.FundingPaymentPage:
        """Funding payments.

        What positions paid and received, by the time of settlement, newest first.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(STATEMENT_FUNDING, {"sub_account_address": sub_account_address, "symbol": symbol, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})

    async def transactions(
        self,
        *,
        sub_account_address: Optional[str] = None,
        symbol: Optional[str] = None,
        type: Optional[m.TransactionType] = None,
        start_time: Optional[int] = None,
        end_time: Optional[int] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.TransactionPage:
        """Transactions.

        Every change of the money of an account, newest first. Money is the wallet and the isolated margins together, so moving margin is none, and each balance_after is the one before plus the amount.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            symbol: Market symbol, `<base>-<quote>`
            type: Cause of the change of a wallet
            start_time: Start, inclusive [ms]
            end_time: End, exclusive [ms]
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(STATEMENT_TRANSACTIONS, {"sub_account_address": sub_account_address, "symbol": symbol, "type": type, "start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor})

    async def deposits(
        self,
        *,
        sub_account_address: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.DepositPage:
        """Deposits.

        Money that came from outside, newest first.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(STATEMENT_DEPOSITS, {"sub_account_address": sub_account_address, "limit": limit, "cursor": cursor})

    async def withdrawals(
        self,
        *,
        sub_account_address: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.WithdrawalPage:
        """Withdrawals.

        Money that left, or is on its way (`pending`), newest first.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(STATEMENT_WITHDRAWALS, {"sub_account_address": sub_account_address, "limit": limit, "cursor": cursor})

    async def statistics(
        self,
        *,
        sub_account_address: Optional[str] = None,
        period: Optional[m.Period] = None,
    ) -> m.Statistics:
        """Figures of a period.

        Volume, fees, results and the largest drawdown of one sub-account or of all; exact sums.

        An API key needs the scope `read`.

        Args:
            sub_account_address: Sub-account
            period: How far it reaches back, from a full hour on; 30d by default
        """
        return await self._run(STATEMENT_STATISTICS, {"sub_account_address": sub_account_address, "period": period})

    async def fee_rates(
        self,
        *,
        symbol: Optional[str] = None,
    ) -> m.FeeRateList:
        """Fee rates.

        What fills cost you in one market or in all; a negative rate is a rebate.

        An API key needs the scope `read`.

        Args:
            symbol: Market symbol, `<base>-<quote>`
        """
        return await self._run(STATEMENT_FEE_RATES, {"symbol": symbol})


class AsyncUserOperations:
    """Operations `user`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def me(self) -> m.Me:
        """Who am I.

        The user behind the credential, and what the credential may do.

        An API key needs the scope `read`.
        """
        return await self._run(USER_ME, {})

    async def portfolio(self) -> m.Portfolio:
        """Portfolio.

        Positions, sums and vault balances over all sub-accounts of the credential. Numbers are JSON numbers with exact digits; /position/list and /account/balances carry the same as text.

        An API key needs the scope `read`.
        """
        return await self._run(USER_PORTFOLIO, {})

    async def sub_accounts(self) -> m.SubAccounts:
        """Sub-accounts.

        Sub-accounts that the credential may see, by index.

        An API key needs the scope `read`.
        """
        return await self._run(USER_SUB_ACCOUNTS, {})

    async def create_sub_account(
        self,
        *,
        label: Optional[str] = None,
    ) -> m.SubAccount:
        """Open a sub-account.

        Its index is the next one; a user has at most 20. A key bound to sub-accounts opens none.

        An API key needs the scope `account`.

        Args:
            label: Your label, at most 32 characters
        """
        return await self._run(USER_CREATE_SUB_ACCOUNT, {"label": label})

    async def change_sub_account(
        self,
        *,
        sub_account_address: str,
        label: Optional[str] = None,
        frozen: Optional[bool] = None,
    ) -> m.SubAccount:
        """Change a sub-account.

        Sets its label, freezes it or thaws it.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
            label: Your label, at most 32 characters
            frozen: Frozen: no new or amended orders; cancels are allowed
        """
        return await self._run(USER_CHANGE_SUB_ACCOUNT, {"sub_account_address": sub_account_address, "label": label, "frozen": frozen})

    async def delete_sub_account(
        self,
        *,
        sub_account_address: str,
    ) -> m.DeletedSubAccount:
        """Delete a sub-account.

        Only one without balance, open orders and positions (409 NotEmpty, OpenOrdersExist, PositionExists). Its index and address are never used again; index 0 stays.

        An API key needs the scope `account`.

        Args:
            sub_account_address: Sub-account
        """
        return await self._run(USER_DELETE_SUB_ACCOUNT, {"sub_account_address": sub_account_address})

    async def api_keys(self) -> m.ApiKeys:
        """API keys.

        Keys that are not revoked, newest first.
        """
        return await self._run(USER_API_KEYS, {})

    async def create_api_key(
        self,
        *,
        public_key: str,
        scopes: List[m.Scope],
        label: Optional[str] = None,
        sub_account_addresses: Optional[List[str]] = None,
        ip_allowlist: Optional[List[str]] = None,
        expires_time: Optional[int] = None,
        require_body_hash: Optional[bool] = None,
    ) -> m.ApiKey:
        """Register an API key.

        A public key is registered once, service-wide, for ever; a user has at most 50 keys.

        Args:
            public_key: Ed25519 public key; you keep the private key
            scopes: Permissions of the key
            label: Your label, at most 64 characters
            sub_account_addresses: Sub-accounts; absent: all, later ones too
            ip_allowlist: CIDR blocks or addresses that may use the key; empty: any
            expires_time: Expiry; absent: never [ms]
            require_body_hash: Whether requests with a body must sign X-BODY-SHA256
        """
        return await self._run(USER_CREATE_API_KEY, {"public_key": public_key, "scopes": scopes, "label": label, "sub_account_addresses": sub_account_addresses, "ip_allowlist": ip_allowlist, "expires_time": expires_time, "require_body_hash": require_body_hash})

    async def change_api_key(
        self,
        *,
        api_key_id: str,
        label: Optional[str] = None,
        scopes: Optional[List[m.Scope]] = None,
        sub_account_addresses: Optional[List[str]] = None,
        ip_allowlist: Optional[List[str]] = None,
        expires_time: Optional[int] = None,
        require_body_hash: Optional[bool] = None,
    ) -> m.ApiKey:
        """Change an API key.

        Only the fields sent change; it takes effect at once.

        Args:
            api_key_id: API key id
            label: Your label, at most 64 characters
            scopes: Permissions of the key
            sub_account_addresses: Sub-accounts; absent: all, later ones too
            ip_allowlist: CIDR blocks or addresses that may use the key; empty: any
            expires_time: Expiry; absent: never [ms]
            require_body_hash: Whether requests with a body must sign X-BODY-SHA256
        """
        return await self._run(USER_CHANGE_API_KEY, {"api_key_id": api_key_id, "label": label, "scopes": scopes, "sub_account_addresses": sub_account_addresses, "ip_allowlist": ip_allowlist, "expires_time": expires_time, "require_body_hash": require_body_hash})

    async def revoke_api_key(
        self,
        *,
        api_key_id: str,
    ) -> m.RevokedApiKey:
        """Revoke an API key.

        Its WebSocket connections are closed with 4010; the public key cannot be registered again.

        Args:
            api_key_id: API key id
        """
        return await self._run(USER_REVOKE_API_KEY, {"api_key_id": api_key_id})


class AsyncRewardOperations:
    """Operations `reward`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def referral(self) -> m.Referral:
        """Referral.

        The caller's own code, who referred the caller, and how many users named the caller.

        An API key needs the scope `read`.
        """
        return await self._run(REWARD_REFERRAL, {})

    async def refer(
        self,
        *,
        referral_code: str,
    ) -> m.Referral:
        """Name who referred you.

        Once and for ever; the same code again answers 200. A code that leads back to the caller, over however many users, is refused (SelfReferral).

        Args:
            referral_code: 8 characters of 0-9 and A-Z without I, L, O and U; case and surrounding spaces are ignored
        """
        return await self._run(REWARD_REFER, {"referral_code": referral_code})

    async def rewards(
        self,
        *,
        status: Optional[m.RewardStatus] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.RewardPage:
        """Rewards.

        Newest first. `pending` ones still grow (referral fees of a day, until 00:00 UTC), `claimable` ones wait to be claimed.

        An API key needs the scope `read`.

        Args:
            status: Still growing, ready to be claimed, paid
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(REWARD_REWARDS, {"status": status, "limit": limit, "cursor": cursor})

    async def claim(
        self,
        *,
        reward_id: str,
        sub_account_address: str,
    ) -> m.Reward:
        """Claim a reward.

        Credited at once, and once: after a lost answer claim again, to the same result or AlreadyClaimed.

        Args:
            reward_id: Reward id
            sub_account_address: Sub-account that receives the reward
        """
        return await self._run(REWARD_CLAIM, {"reward_id": reward_id, "sub_account_address": sub_account_address})


class AsyncCompetitionOperations:
    """Operations `competition`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def competitions(
        self,
        *,
        status: Optional[m.CompetitionStatus] = None,
        symbol: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.CompetitionPage:
        """Competitions.

        The latest start first; drafts are left out.

        An API key needs the scope `read`.

        Args:
            status: Status of a competition; it advances with time
            symbol: Market symbol, `<base>-<quote>`
            limit: Rows a page, 1 to 200; 50 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(COMPETITION_COMPETITIONS, {"status": status, "symbol": symbol, "limit": limit, "cursor": cursor})

    async def competition(
        self,
        *,
        competition_id: str,
    ) -> m.Competition:
        """One competition.

        By its id; a draft too.

        An API key needs the scope `read`.

        Args:
            competition_id: Competition id
        """
        return await self._run(COMPETITION_COMPETITION, {"competition_id": competition_id})

    async def placement(
        self,
        *,
        competition_id: str,
    ) -> m.CompetitionPlacement:
        """Your placement.

        One entry for each own sub-account that has traded in it, by score descending; `[]` before the first trade. Scores follow a fill within seconds.

        An API key needs the scope `read`.

        Args:
            competition_id: Competition id
        """
        return await self._run(COMPETITION_PLACEMENT, {"competition_id": competition_id})

    async def leaderboard(
        self,
        *,
        competition_id: str,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> m.Leaderboard:
        """Leaderboard.

        Eligible entries of everybody, by rank.

        An API key needs the scope `read`.

        Args:
            competition_id: Competition id
            limit: Rows a page, 1 to 100; 20 by default [rows]
            cursor: `next_page_cursor` of the previous page, with the same filters
        """
        return await self._run(COMPETITION_LEADERBOARD, {"competition_id": competition_id, "limit": limit, "cursor": cursor})


class AsyncAccessOperations:
    """Operations `access`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def activate(
        self,
        *,
        code: str,
        public_key: str,
        signature: str,
        signed_at: int,
        nonce: Optional[str] = None,
        party_id: Optional[str] = None,
    ) -> m.ActivationResult:
        """Activate an access code.

        Admits the wallet that signs, with an access code. The wallet need not have logged in. The signature is checked before the code is looked at.

        Args:
            code: Access code; case and surrounding white space are ignored
            public_key: Ed25519 public key: hex, 0x-hex, base64 or base64url
            signature: Ed25519 signature over `service-stage1-activate:{sha256(normalized code)}:{root_address}:{signed_at}`, on the party rail with `:{nonce}` appended
            signed_at: Unix time of the signature, within 300 s of the server's time [s]
            nonce: Required on the party rail: 8 to 64 characters of A-Z, a-z, 0-9, - and _; ignored on the other
            party_id: `<hint>::<fingerprint>`; absent or null: the address rail
        """
        return await self._run(ACCESS_ACTIVATE, {"code": code, "public_key": public_key, "signature": signature, "signed_at": signed_at, "nonce": nonce, "party_id": party_id})


class AsyncAuthorizeOperations:
    """Operations `authorize`."""

    def __init__(self, run: AsyncRunner) -> None:
        self._run = run

    async def login(
        self,
        *,
        public_key: str,
        signature: str,
        timestamp_ms: int,
        nonce: str,
        verifying_key: Optional[str] = None,
    ) -> m.Login:
        """Log in.

        Issues a token to the holder of a wallet's key, who signs with it. The first login creates the user and its first sub-account. A failed check is 400, a lost database or backend 500.

        Args:
            public_key: Ed25519 public key (hex, 0x-hex, base64, base64url), or a party id `<hint>::<fingerprint>`
            signature: Ed25519 signature over `SERVICE_AUTH|LOGIN|{public_key}|{timestamp_ms}|{nonce}`
            timestamp_ms: Time of the signature, within 60 s of the server's time [ms]
            nonce: 8 to 64 characters of A-Z, a-z, 0-9, - and _; single use
            verifying_key: Key of a party, at its first login; ignored on the address rail
        """
        return await self._run(AUTHORIZE_LOGIN, {"public_key": public_key, "signature": signature, "timestamp_ms": timestamp_ms, "nonce": nonce, "verifying_key": verifying_key})

    async def logout(self) -> m.LoggedOut:
        """Log out.

        Ends the token: once this is answered, no request of it has an effect any more. Its WebSocket connections are closed with 4010.
        """
        return await self._run(AUTHORIZE_LOGOUT, {})


class AsyncOperations:
    """All operations, by group."""

    def __init__(self, run: AsyncRunner) -> None:
        self.market = AsyncMarketOperations(run)
        self.market_history = AsyncMarketHistoryOperations(run)
        self.order = AsyncOrderOperations(run)
        self.execution = AsyncExecutionOperations(run)
        self.position = AsyncPositionOperations(run)
        self.account = AsyncAccountOperations(run)
        self.withdrawal_address = AsyncWithdrawalAddressOperations(run)
        self.statement = AsyncStatementOperations(run)
        self.user = AsyncUserOperations(run)
        self.reward = AsyncRewardOperations(run)
        self.competition = AsyncCompetitionOperations(run)
        self.access = AsyncAccessOperations(run)
        self.authorize = AsyncAuthorizeOperations(run)

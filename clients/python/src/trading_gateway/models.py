# generated: npm run generate
"""Records of the gateway: what calls return, what feeds deliver, and the parts of inputs. Decimals are `Decimal`, times Unix ms.

The gateway may add values to enumerations; they arrive as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Dict, List, Literal, Optional, Tuple, Type, Union

Amount = Union[Decimal, str]
"""A decimal that is sent: `Decimal` or text, never a float."""

Level = Tuple[Decimal, Decimal]
"""Price and quantity."""

@dataclass(frozen=True)
class ServerTime:
    server_ts_ms: int
    """Time of the server [ms]"""
    time_second: int
    """Unix time in seconds [s]"""
    time_nano: str
    """Unix time in nanoseconds, as digits [ns]"""


InstrumentStatus = Literal["PreLaunch", "Trading", "ReduceOnly", "Closed"]
"""State of a market"""


@dataclass(frozen=True)
class InstrumentPriceFilter:
    """Limits of the price of an order"""

    tick_size: Decimal
    """Every price is a multiple of it [quote asset]"""
    min_price: Decimal
    """Minimum price [quote asset]"""
    max_price: Decimal
    """Maximum price [quote asset]"""


@dataclass(frozen=True)
class InstrumentLotSizeFilter:
    """Limits of the quantity of an order"""

    qty_step: Decimal
    """Every quantity is a multiple of it [base asset]"""
    min_order_qty: Decimal
    """Minimum quantity [base asset]"""
    max_order_qty: Decimal
    """Maximum quantity of a limit order [base asset]"""
    max_mkt_order_qty: Decimal
    """Maximum quantity of a market order [base asset]"""
    min_notional_value: Decimal
    """Minimum of qty × price of an order [quote asset]"""


@dataclass(frozen=True)
class InstrumentLeverageFilter:
    """Limits of the leverage of a position"""

    min_leverage: Decimal
    """Minimum leverage [ratio]"""
    max_leverage: Decimal
    """Maximum leverage [ratio]"""
    leverage_step: Decimal
    """Every leverage is a multiple of it [ratio]"""


@dataclass(frozen=True)
class Instrument:
    symbol: str
    """Market"""
    market_addr: str
    """Address of the market"""
    base_asset: str
    """Traded asset"""
    quote_asset: str
    """Asset of the prices"""
    settle_asset: str
    """Asset of profit, loss and fees"""
    status: InstrumentStatus
    """State of a market"""
    launch_time: int
    """Time at which the market opened [ms]"""
    funding_interval_minutes: int
    """Time between fundings [min]"""
    price_filter: InstrumentPriceFilter
    """Limits of the price of an order"""
    lot_size_filter: InstrumentLotSizeFilter
    """Limits of the quantity of an order"""
    leverage_filter: InstrumentLeverageFilter
    """Limits of the leverage of a position"""
    price_band: Decimal
    """Maximum distance between the mark price and the price of a taker [ratio]"""
    max_open_orders: int
    """Maximum number of open orders of a sub-account in the market [count]"""
    max_conditional_orders: int
    """Maximum number of untriggered orders of a sub-account in the market [count]"""
    maker_fee_rate: Decimal
    """Maker fee; negative: a rebate [ratio]"""
    taker_fee_rate: Decimal
    """Taker fee [ratio]"""
    funding_cap: Decimal
    """Maximum funding rate of an interval, in either direction [ratio]"""


@dataclass(frozen=True)
class InstrumentPage:
    list: List[Instrument]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


@dataclass(frozen=True)
class Ticker:
    symbol: str
    """Market"""
    last_price: Decimal
    """Price of the last trade [quote asset]"""
    mark_price: Decimal
    """Mark price [quote asset]"""
    index_price: Decimal
    """Index price [quote asset]"""
    prev_price_24h: Decimal
    """Last price 24 hours ago [quote asset]"""
    price_24h_pcnt: Decimal
    """Change over 24 hours: 0.0123 is 1.23 % [ratio]"""
    high_price_24h: Decimal
    """Highest price of 24 hours [quote asset]"""
    low_price_24h: Decimal
    """Lowest price of 24 hours [quote asset]"""
    volume_24h: Decimal
    """Volume of 24 hours [base asset]"""
    turnover_24h: Decimal
    """Turnover of 24 hours [quote asset]"""
    open_interest: Decimal
    """Sum of the long positions [base asset]"""
    open_interest_value: Decimal
    """Sum of the long positions at the mark price [quote asset]"""
    funding_rate: Decimal
    """Predicted rate of the running interval [ratio]"""
    next_funding_time: str
    """Next settlement of funding, ISO 8601"""
    next_funding_time_ms: int
    """Next settlement of funding [ms]"""
    ts: int
    """Publication time [ms]"""
    bid1_price: Optional[Decimal] = None
    """Best bid; absent on an empty side [quote asset]"""
    bid1_size: Optional[Decimal] = None
    """Quantity at the best bid [base asset]"""
    ask1_price: Optional[Decimal] = None
    """Best ask; absent on an empty side [quote asset]"""
    ask1_size: Optional[Decimal] = None
    """Quantity at the best ask [base asset]"""


@dataclass(frozen=True)
class TickerList:
    list: List[Ticker]
    """Rows"""


@dataclass(frozen=True)
class OrderBook:
    symbol: str
    """Market"""
    bids: List[Level]
    """Best price first: [price, quantity]"""
    asks: List[Level]
    """Best price first: [price, quantity]"""
    seq: int
    """Book sequence, comparable with that of the orderbook topics [position]"""
    ts: int
    """Publication time [ms]"""
    mts: int
    """Time of the last change in the matching engine [ms]"""


Side = Literal["Buy", "Sell"]
"""Buy or sell"""


@dataclass(frozen=True)
class PublicTrade:
    trade_id: str
    """Trade id"""
    symbol: str
    """Market"""
    price: Decimal
    """Price [quote asset]"""
    qty: Decimal
    """Quantity [base asset]"""
    side: Side
    """Side of the taker"""
    seq: int
    """Market sequence of the fill [position]"""
    timestamp: int
    """Event time [ms]"""
    agg_id: str
    """Id of the aggregated trade that contains the trade"""
    is_liquidation: bool
    """Whether the taker was a liquidation"""


@dataclass(frozen=True)
class PublicTradeList:
    list: List[PublicTrade]
    """Rows"""


Interval = Literal["1", "3", "5", "15", "30", "60", "120", "240", "360", "720", "D", "W", "M"]
"""Candle length: minutes, or D, W (from Monday), M; UTC"""


@dataclass(frozen=True)
class Candle:
    start_time: int
    """Start, inclusive [ms]"""
    end_time: int
    """End, exclusive [ms]"""
    open: Decimal
    """First price [quote asset]"""
    high: Decimal
    """Highest price [quote asset]"""
    low: Decimal
    """Lowest price [quote asset]"""
    close: Decimal
    """Last price [quote asset]"""
    volume: Decimal
    """Volume [base asset]"""
    turnover: Decimal
    """Turnover [quote asset]"""
    trade_count: int
    """Number of trades [count]"""
    confirm: bool
    """Whether the candle is closed"""


@dataclass(frozen=True)
class CandleList:
    list: List[Candle]
    """Rows"""


@dataclass(frozen=True)
class PriceCandle:
    start_time: int
    """Start, inclusive [ms]"""
    end_time: int
    """End, exclusive [ms]"""
    open: Decimal
    """First price [quote asset]"""
    high: Decimal
    """Highest price [quote asset]"""
    low: Decimal
    """Lowest price [quote asset]"""
    close: Decimal
    """Last price [quote asset]"""
    confirm: bool
    """Whether the candle is closed"""


@dataclass(frozen=True)
class PriceCandleList:
    list: List[PriceCandle]
    """Rows"""


@dataclass(frozen=True)
class FundingRate:
    symbol: str
    """Market"""
    funding_rate: Decimal
    """Rate of the interval; positive: longs paid [ratio]"""
    mark_price: Decimal
    """Mark price [quote asset]"""
    funding_time: str
    """Settlement time, ISO 8601"""
    funding_time_ms: int
    """Settlement time [ms]"""


@dataclass(frozen=True)
class FundingRatePage:
    list: List[FundingRate]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


@dataclass(frozen=True)
class RiskTier:
    symbol: str
    """Market"""
    tier: int
    """Number of the tier, from 1 [position]"""
    risk_limit_value: Decimal
    """Maximum position value of the tier [quote asset]"""
    initial_margin_rate: Decimal
    """Initial margin of the position value [ratio]"""
    maintenance_margin_rate: Decimal
    """Maintenance margin of the position value [ratio]"""
    mm_deduction: Decimal
    """Deduction from the maintenance margin, so that the margin has no step between tiers [quote asset]"""
    max_leverage: Decimal
    """Maximum leverage [ratio]"""


@dataclass(frozen=True)
class RiskTierList:
    list: List[RiskTier]
    """Rows"""


OpenInterestInterval = Literal["5", "60", "D"]
"""Minutes, or D; UTC"""


@dataclass(frozen=True)
class OpenInterest:
    symbol: str
    """Market"""
    open_interest: Decimal
    """Sum of the long positions [base asset]"""
    timestamp: int
    """Start of the interval; the value is its first sample [ms]"""


@dataclass(frozen=True)
class OpenInterestPage:
    list: List[OpenInterest]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


AdlMode = Literal["Inactive", "Warning", "Active"]
"""State of auto-deleveraging"""


AdlTriggerReason = Literal["NoTrigger", "PnlDrawdown", "EquityDepleted", "GroupObligation"]
"""Reason of the state of auto-deleveraging"""


@dataclass(frozen=True)
class InsurancePoolInventory:
    symbol: str
    """Market"""
    side: Side
    """Buy or sell"""
    size: Decimal
    """Size of the position, without a sign [base asset]"""
    avg_price: Decimal
    """Average price [quote asset]"""
    mark_price: Decimal
    """Mark price [quote asset]"""
    unrealized_pnl: Decimal
    """Profit and loss at the mark price [settlement asset]"""


@dataclass(frozen=True)
class InsurancePool:
    pool_id: str
    """Insurance pool"""
    pool_group_id: str
    """Group of pools that share losses"""
    cash_balance: Decimal
    """Cash, with the seed [settlement asset]"""
    realized_pnl_cum: Decimal
    """All results since the start, after fees [settlement asset]"""
    unrealized_pnl: Decimal
    """Profit and loss of the inventory at the mark price [settlement asset]"""
    base_equity: Decimal
    """Seed of the pool [settlement asset]"""
    equity: Decimal
    """cash_balance + unrealized_pnl [asset]"""
    group_redistribution_in: Decimal
    """Received from the group so far [settlement asset]"""
    group_redistribution_out: Decimal
    """Paid to the group so far [settlement asset]"""
    group_adl_obligation: Decimal
    """Deficit that the group could not cover; 0 otherwise [settlement asset]"""
    adl_mode: AdlMode
    """State of auto-deleveraging"""
    adl_trigger_reason: AdlTriggerReason
    """Reason of the state of auto-deleveraging"""
    latest_pnl_ratio: Decimal
    """Result of the pool against its maximum of 8 hours, over the largest equity of the group [ratio]"""
    updated_time: int
    """Time of the last change [ms]"""
    inventory: List[InsurancePoolInventory]
    """Positions that the pool took over; empty when flat"""


@dataclass(frozen=True)
class InsurancePoolList:
    list: List[InsurancePool]
    """Rows"""


@dataclass(frozen=True)
class AdlAlert:
    pool_id: str
    """Insurance pool"""
    pool_group_id: str
    """Group of pools that share losses"""
    symbol: str
    """Market"""
    equity: Decimal
    """Of the pool [asset]"""
    adl_mode: AdlMode
    """State of auto-deleveraging"""
    adl_trigger_reason: AdlTriggerReason
    """Reason of the state of auto-deleveraging"""
    latest_pnl_ratio: Decimal
    """Result of the pool against its maximum of 8 hours, over the largest equity of the group [ratio]"""
    updated_time: int
    """Time of the last change [ms]"""


@dataclass(frozen=True)
class AdlAlertList:
    list: List[AdlAlert]
    """Rows"""


OrderType = Literal["Limit", "Market"]
"""Limit or market"""


TimeInForceAsked = Literal["GTC", "GTT", "IOC", "FOK", "PostOnly"]
"""GTC by default; a Market order is IOC. GTT needs expire_time; PostOnly is short for GTC with post_only"""


TriggerBy = Literal["LastPrice", "IndexPrice", "MarkPrice"]
"""Reference price of the trigger"""


TriggerDirection = Literal["Up", "Down"]
"""Triggers at or above, at or below"""


@dataclass(frozen=True)
class TriggerAsked:
    trigger_price: Amount
    """Trigger price, a multiple of the market's tick_size [quote asset]"""
    trigger_by: Optional[TriggerBy] = None
    """Reference price; LastPrice by default"""
    trigger_direction: Optional[TriggerDirection] = None
    """Up: at or above, Down: at or below; by default the side of the reference on which the price lies"""


TpslMode = Literal["Full", "Partial"]
"""Close the whole position, or the filled part of the order"""


@dataclass(frozen=True)
class LegAskedMarket:
    """Market order at the trigger price"""

    trigger_price: Amount
    """Trigger price, a multiple of the market's tick_size [quote asset]"""
    trigger_by: Optional[TriggerBy] = None
    """Reference price; LastPrice by default"""


@dataclass(frozen=True)
class LegAsked:
    market: LegAskedMarket
    """Market order at the trigger price"""


@dataclass(frozen=True)
class TpslAsked:
    """Exits that the first fill attaches which opens or increases a position in the order's direction: Full (by default) closes the whole position, Partial what this order opened. A position has at most 20 pairs"""

    mode: Optional[TpslMode] = None
    """Close the whole position, or the filled part of the order"""
    take_profit: Optional[LegAsked] = None
    """Take-profit"""
    stop_loss: Optional[LegAsked] = None
    """Stop-loss"""


SmpType = Literal["CancelTaker", "CancelMaker", "CancelBoth"]
"""Which order is canceled when two orders of one user would match"""


@dataclass(frozen=True)
class CreateOrderBody:
    sub_account_address: str
    """Sub-account"""
    symbol: str
    """Market symbol, `<base>-<quote>`"""
    side: Side
    """Buy or sell"""
    order_type: OrderType
    """Limit or market"""
    qty: Amount
    """Quantity, a multiple of the market's qty_step; 0 with reduce_only and close_on_trigger: the whole position [base asset]"""
    price: Optional[Amount] = None
    """Price, a multiple of the market's tick_size; required for Limit, ignored for Market [quote asset]"""
    time_in_force: Optional[TimeInForceAsked] = None
    """GTC by default; a Market order is IOC. GTT needs expire_time; PostOnly is short for GTC with post_only"""
    expire_time: Optional[int] = None
    """With GTT only: 1 second to 90 days from now [ms]"""
    post_only: Optional[bool] = None
    """Whether the order may only add liquidity"""
    reduce_only: Optional[bool] = None
    """Whether the order may only reduce a position"""
    close_on_trigger: Optional[bool] = None
    """Whether the triggered order cancels other orders to free its margin"""
    order_link_id: Optional[str] = None
    """Client-chosen order reference, unique in the sub-account"""
    trigger: Optional[TriggerAsked] = None
    """Trigger of a conditional order"""
    tpsl: Optional[TpslAsked] = None
    """Exits that the first fill attaches which opens or increases a position in the order's direction: Full (by default) closes the whole position, Partial what this order opened. A position has at most 20 pairs"""
    smp_type: Optional[SmpType] = None
    """Which order is canceled when two orders of one user would match"""


@dataclass(frozen=True)
class OrderRef:
    order_id: str
    """Order id"""
    order_link_id: str
    """Client-chosen order reference; `""` where the order has none"""


@dataclass(frozen=True)
class TriggerAmended:
    trigger_price: Amount
    """Trigger price, a multiple of the market's tick_size [quote asset]"""
    trigger_by: Optional[Any] = None
    """Reference price of the trigger"""
    trigger_direction: Optional[Any] = None
    """Triggers at or above, at or below"""


@dataclass(frozen=True)
class TpslAmended:
    """Absent legs stay unchanged; a trigger_price of 0 removes a leg, and an absent trigger_by keeps that of the leg"""

    mode: Optional[TpslMode] = None
    """Close the whole position, or the filled part of the order"""
    take_profit: Optional[LegAsked] = None
    """Take-profit"""
    stop_loss: Optional[LegAsked] = None
    """Stop-loss"""


@dataclass(frozen=True)
class AmendOrderBody:
    sub_account_address: str
    """Sub-account"""
    symbol: str
    """Market symbol, `<base>-<quote>`"""
    order_id: Optional[str] = None
    """Order id"""
    order_link_id: Optional[str] = None
    """Alternative to order_id, which takes precedence"""
    price: Optional[Amount] = None
    """Price [quote asset]"""
    qty: Optional[Amount] = None
    """New total quantity [base asset]"""
    trigger: Optional[TriggerAmended] = None
    """Trigger of a conditional order"""
    tpsl: Optional[TpslAmended] = None
    """Absent legs stay unchanged; a trigger_price of 0 removes a leg, and an absent trigger_by keeps that of the leg"""
    order_iv: Optional[int] = None
    """Expected `version` of the order; 0: no check [count]"""


@dataclass(frozen=True)
class CancelOrderBody:
    sub_account_address: str
    """Sub-account"""
    symbol: str
    """Market symbol, `<base>-<quote>`"""
    order_id: Optional[str] = None
    """Order id"""
    order_link_id: Optional[str] = None
    """Alternative to order_id, which takes precedence"""


OrderFilter = Literal["Active", "Conditional", "All"]
"""Open orders to cancel"""


@dataclass(frozen=True)
class CancelAllBody:
    sub_account_address: str
    """Sub-account"""
    symbol: Optional[str] = None
    """Market symbol, `<base>-<quote>`"""
    side: Optional[Side] = None
    """Buy or sell"""
    order_filter: Optional[OrderFilter] = None
    """Open orders to cancel"""
    reduce_only: Optional[bool] = None
    """Whether the order may only reduce a position"""


@dataclass(frozen=True)
class CanceledOrders:
    list: List[OrderRef]
    """Rows"""


@dataclass(frozen=True)
class CreateBatchBody:
    orders: List[CreateOrderBody]
    """1 to 20, sequenced in this order"""


@dataclass(frozen=True)
class BatchResult:
    code: str
    """`OK`, or the error code of this order"""
    message: str
    """Text for developers, in English; the wording may change"""
    order_link_id: str
    """Of the order; of a refused one as it was asked for. `""` where there is none"""
    order_id: Optional[str] = None
    """Order id"""
    details: Optional[Dict[str, Any]] = None
    """Details as in an error body"""


@dataclass(frozen=True)
class BatchResults:
    list: List[BatchResult]
    """Results in the order of the request"""


@dataclass(frozen=True)
class CancelBatchBody:
    orders: List[CancelOrderBody]
    """1 to 20, sequenced in this order"""


@dataclass(frozen=True)
class Switch:
    sub_account_address: str
    """Sub-account"""
    enabled: bool
    """Whether the switch is on"""
    time_window: int
    """Time without a private connection until orders are canceled; 10 by default [s]"""


@dataclass(frozen=True)
class Switches:
    list: List[Switch]
    """Rows"""


@dataclass(frozen=True)
class SwitchBody:
    sub_account_address: str
    """Sub-account"""
    enabled: bool
    """Whether the switch is on"""
    time_window: Optional[int] = None
    """Time without a private connection until orders are canceled; 10 by default [s]"""


MarginMode = Literal["Cross", "Isolated"]
"""Margin shared by the sub-account, or kept for one position"""


OrderStatus = Literal["New", "PartiallyFilled", "Untriggered", "CancelRequested", "Rejected", "PartiallyFilledCanceled", "Filled", "Canceled", "Triggered", "Deactivated", "Expired"]
"""State of an order. Open: New, PartiallyFilled, Untriggered, CancelRequested. Instantaneous: Triggered. All others are final"""


TimeInForce = Literal["GTC", "GTT", "IOC", "FOK"]
"""How long an order stays"""


CancelType = Literal["CancelByUser", "CancelByReduceOnly", "CancelAllBeforeLiq", "CancelAllBeforeAdl", "CancelByAdmin", "CancelBySettle", "CancelByTpSlTsClear", "CancelBySmp", "CancelByDcp", "CancelByTimeInForce", "CancelByExpiry", "CancelByCannotAffordOrderCost", "CancelByOcoTpCanceledBySlTriggered", "CancelByOcoSlCanceledByTpTriggered"]
"""Why an order was canceled"""


CreateType = Literal["CreateByUser", "CreateByStopOrder", "CreateByTakeProfit", "CreateByPartialTakeProfit", "CreateByStopLoss", "CreateByPartialStopLoss", "CreateByLiq", "CreateByTakeOverPassThrough", "CreateByAdlPassThrough", "CreateByAdminClosing", "CreateBySettle"]
"""What created the order"""


RejectReason = Literal["EcNoError", "EcOthers", "EcDuplicatedClOrdId", "EcOrigClOrdIdDoesNotExist", "EcTooLateToCancel", "EcLimitOrderInvalidPrice", "EcNoEnoughQtyToFill", "EcNoImmediateQtyToFill", "EcMarketOrderCannotBePostOnly", "EcPostOnlyWillTakeLiquidity", "EcInvalidSymbolStatus", "EcBySelfMatch", "EcQtyCannotBeZero", "EcReachMaxTradeNum", "EcInvalidPriceScale", "EcInvalidQty", "EcReachRiskPriceLimit", "EcReachRiskLimit", "EcReachMaxOrderNum", "EcOrderNotExist", "EcInsufficientBalance", "EcReduceOnlyNoPosition", "EcReduceOnlySameSide", "EcPositionInLiquidation", "EcOrderVersionMismatch", "EcTriggerAlreadyMet"]
"""Why an order, amend or cancel was refused in the sequence"""


StopOrderType = Literal["TakeProfit", "StopLoss", "PartialTakeProfit", "PartialStopLoss", "Stop"]
"""Kind of a conditional order"""


@dataclass(frozen=True)
class TpslTakeProfitMarket:
    """Market order at the trigger price"""

    trigger_by: TriggerBy
    """Reference price of the trigger"""
    trigger_price: Decimal
    """Trigger price [quote asset]"""


@dataclass(frozen=True)
class TpslTakeProfit:
    """Take-profit"""

    market: TpslTakeProfitMarket
    """Market order at the trigger price"""


@dataclass(frozen=True)
class TpslStopLossMarket:
    """Market order at the trigger price"""

    trigger_by: TriggerBy
    """Reference price of the trigger"""
    trigger_price: Decimal
    """Trigger price [quote asset]"""


@dataclass(frozen=True)
class TpslStopLoss:
    """Stop-loss"""

    market: TpslStopLossMarket
    """Market order at the trigger price"""


@dataclass(frozen=True)
class Tpsl:
    mode: TpslMode
    """Close the whole position, or the filled part of the order"""
    take_profit: Optional[TpslTakeProfit] = None
    """Take-profit"""
    stop_loss: Optional[TpslStopLoss] = None
    """Stop-loss"""


@dataclass(frozen=True)
class Trigger:
    trigger_by: TriggerBy
    """Reference price of the trigger"""
    trigger_direction: TriggerDirection
    """Triggers at or above, at or below"""
    trigger_price: Decimal
    """Trigger price [quote asset]"""


@dataclass(frozen=True)
class Order:
    avg_price: Decimal
    """Average price of the fills; 0 before the first [quote asset]"""
    close_on_trigger: bool
    """Whether the triggered order cancels other orders to free its margin"""
    created_time: str
    """Creation time [ms]"""
    cum_exec_fee: Decimal
    """Sum of the fees; negative: a rebate [settlement asset]"""
    cum_exec_qty: Decimal
    """Filled quantity [base asset]"""
    cum_exec_value: Decimal
    """Value of the fills [quote asset]"""
    last_price_on_created: Decimal
    """Price of the last trade at the creation of the order [quote asset]"""
    leaves_qty: Decimal
    """Open quantity; 0 in every final status [base asset]"""
    leaves_value: Decimal
    """Value of leaves_qty at the order's price [quote asset]"""
    margin_mode: MarginMode
    """Margin shared by the sub-account, or kept for one position"""
    order_id: str
    """Order id"""
    order_status: OrderStatus
    """State of an order. Open: New, PartiallyFilled, Untriggered, CancelRequested. Instantaneous: Triggered. All others are final"""
    order_type: OrderType
    """Limit or market"""
    post_only: bool
    """Whether the order may only add liquidity"""
    price: Decimal
    """Price; 0 for a market order [quote asset]"""
    qty: Decimal
    """Total quantity; for an exit of the whole position, the size of the position [base asset]"""
    reduce_only: bool
    """Whether the order may only reduce a position"""
    side: Side
    """Buy or sell"""
    sub_account_address: str
    """Sub-account"""
    symbol: str
    """Market"""
    time_in_force: TimeInForce
    """How long an order stays"""
    updated_time: str
    """Time of the last change [ms]"""
    version: int
    """1 at creation, one more per accepted amend [count]"""
    cancel_type: Optional[CancelType] = None
    """Why an order was canceled"""
    closed_pnl: Optional[Decimal] = None
    """Realized profit and loss [settlement asset]"""
    create_type: Optional[CreateType] = None
    """What created the order"""
    expire_time: Optional[str] = None
    """Expiry of a GTT order [ms]"""
    order_link_id: Optional[str] = None
    """Client-chosen order reference, unique in the sub-account"""
    reject_reason: Optional[RejectReason] = None
    """Why an order, amend or cancel was refused in the sequence"""
    stop_order_type: Optional[StopOrderType] = None
    """Kind of a conditional order"""
    tpsl: Optional[Tpsl] = None
    """Take-profit and stop-loss of the order"""
    trigger: Optional[Trigger] = None
    """Trigger of a conditional order"""
    smp_type: Optional[SmpType] = None
    """Which order is canceled when two orders of one user would match"""
    parent_order_id: Optional[str] = None
    """Parent order"""
    reject_message: Optional[str] = None
    """Text of `reject_reason`; the wording may change"""


@dataclass(frozen=True)
class OpenOrders:
    list: List[Order]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""
    stream_id: str
    """Identity of the numbering of the user stream"""
    seq: int
    """The list contains every event of the user stream up to this position [position]"""


@dataclass(frozen=True)
class OrderPage:
    list: List[Order]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


ExecType = Literal["Trade", "Funding", "BustTrade", "AdlTrade", "Settle"]
"""Kind of an execution"""


@dataclass(frozen=True)
class Execution:
    base_fee: Decimal
    """Fee; negative: received [settlement asset]"""
    exec_id: str
    """Execution id"""
    exec_price: Decimal
    """Price of the execution [quote asset]"""
    exec_qty: Decimal
    """Quantity of the execution [base asset]"""
    exec_time: str
    """Execution time [ms]"""
    exec_type: ExecType
    """Kind of an execution"""
    exec_value: Decimal
    """exec_price × exec_qty [quote asset]"""
    fee_rate: Decimal
    """Rate of the fee; negative: a rebate [ratio]"""
    index_price: Decimal
    """Index price [quote asset]"""
    is_maker: bool
    """Whether the order rested"""
    leaves_qty: Decimal
    """Open quantity of the order after this fill [base asset]"""
    mark_price: Decimal
    """Mark price [quote asset]"""
    order_id: str
    """Order id"""
    order_price: Decimal
    """Price of the order; 0 for a market order [quote asset]"""
    order_qty: Decimal
    """Quantity of the order [base asset]"""
    order_type: OrderType
    """Limit or market"""
    seq: int
    """Market sequence of the fill; taker and maker share it [position]"""
    side: Side
    """Buy or sell"""
    sub_account_address: str
    """Sub-account"""
    symbol: str
    """Market"""
    closed_size: Optional[Decimal] = None
    """Part of the fill that reduced a position [base asset]"""
    create_type: Optional[CreateType] = None
    """What created the order"""
    order_link_id: Optional[str] = None
    """Client-chosen order reference, unique in the sub-account"""
    stop_order_type: Optional[StopOrderType] = None
    """Kind of a conditional order"""


@dataclass(frozen=True)
class ExecutionPage:
    list: List[Execution]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


PositionMode = Literal["OneWay"]
"""One position per market and sub-account"""


PositionStatus = Literal["Normal", "Liq", "Adl"]
"""Normal, being liquidated, being deleveraged"""


@dataclass(frozen=True)
class Position:
    symbol: str
    """Market"""
    sub_account_address: str
    """Sub-account"""
    side: Optional[Side]
    """Side; "" when flat"""
    size: Decimal
    """Size, without a sign [base asset]"""
    avg_price: Decimal
    """Average price [quote asset]"""
    position_value: Decimal
    """Size at the mark price [quote asset]"""
    mark_price: Decimal
    """Mark price [quote asset]"""
    leverage: Decimal
    """Leverage [ratio]"""
    margin_mode: MarginMode
    """Margin shared by the sub-account, or kept for one position"""
    position_mode: PositionMode
    """One position per market and sub-account"""
    position_status: PositionStatus
    """Normal, being liquidated, being deleveraged"""
    position_im: Decimal
    """Initial margin [settlement asset]"""
    position_mm: Decimal
    """Maintenance margin [settlement asset]"""
    liq_price: Optional[Decimal]
    """Liquidation price; "" where none lies within the market's price limits [quote asset]"""
    bust_price: Optional[Decimal]
    """Bankruptcy price; "" where none lies within the market's price limits [quote asset]"""
    unrealised_pnl: Decimal
    """Profit and loss at the mark price [settlement asset]"""
    cur_realised_pnl: Decimal
    """Realized profit and loss of this position, with fees and funding [settlement asset]"""
    cum_realised_pnl: Decimal
    """Realized profit and loss of all positions of the market, with fees and funding [settlement asset]"""
    liquidation_fee: Decimal
    """Paid to the insurance pool by the liquidation of this position, not in cur_realised_pnl; negative: the pool paid [settlement asset]"""
    take_profit: Optional[Decimal]
    """Price of the take-profit; "" without one [quote asset]"""
    stop_loss: Optional[Decimal]
    """Price of the stop-loss; "" without one [quote asset]"""
    tpsl_mode: TpslMode
    """Close the whole position, or the filled part of the order"""
    adl_rank_indicator: int
    """Rank for deleveraging: 0 to 5; 5 is deleveraged first [position]"""
    risk_tier: int
    """Number of the risk tier, from 1 [position]"""
    break_even_price: Decimal
    """Exit price without profit or loss, with fees [quote asset]"""
    created_time: int
    """Creation time [ms]"""
    updated_time: int
    """Time of the last change [ms]"""
    seq: int
    """User-stream position of the last event of this position [position]"""
    isolated_margin: Optional[Decimal] = None
    """Margin of the isolated position [settlement asset]"""


@dataclass(frozen=True)
class Positions:
    list: List[Position]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""
    stream_id: str
    """Identity of the numbering of the user stream"""
    seq: int
    """The list contains every event of the user stream up to this position [position]"""


@dataclass(frozen=True)
class ClosedPnl:
    symbol: str
    """Market"""
    sub_account_address: str
    """Sub-account"""
    order_id: str
    """Order id"""
    side: Side
    """Side of the closing order"""
    qty: Decimal
    """Quantity of the order [base asset]"""
    closed_size: Decimal
    """Part of the order that reduced the position [base asset]"""
    order_price: Decimal
    """Price of the order; 0 for a market order [quote asset]"""
    order_type: OrderType
    """Limit or market"""
    exec_type: ExecType
    """Kind of an execution"""
    cum_entry_value: Decimal
    """Entry value of the closed part [quote asset]"""
    avg_entry_price: Decimal
    """Average entry price [quote asset]"""
    cum_exit_value: Decimal
    """Exit value of the closed part [quote asset]"""
    avg_exit_price: Decimal
    """Average exit price [quote asset]"""
    closed_pnl: Decimal
    """Exit less entry (a short: entry less exit), less open_fee and close_fee; without funding [settlement asset]"""
    open_fee: Decimal
    """Share of the fees of the entry [settlement asset]"""
    close_fee: Decimal
    """Fees of the exit; negative: a rebate [settlement asset]"""
    liquidation_fee: Decimal
    """Paid to the insurance pool for this order, not in closed_pnl; negative: the pool paid [settlement asset]"""
    fill_count: int
    """Number of fills [count]"""
    leverage: Decimal
    """Leverage [ratio]"""
    created_time: int
    """Time of the first closing fill [ms]"""
    updated_time: int
    """Time of the last closing fill [ms]"""


@dataclass(frozen=True)
class ClosedPnlPage:
    list: List[ClosedPnl]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


@dataclass(frozen=True)
class LeverageBody:
    sub_account_address: str
    """Sub-account"""
    symbol: str
    """Market symbol, `<base>-<quote>`"""
    leverage: Amount
    """1 to the most that the market and the risk tier allow, in steps of 0.01 [ratio]"""


@dataclass(frozen=True)
class Leverage:
    symbol: str
    """Market"""
    leverage: Decimal
    """Leverage [ratio]"""


@dataclass(frozen=True)
class MarginModeBody:
    sub_account_address: str
    """Sub-account"""
    symbol: str
    """Market symbol, `<base>-<quote>`"""
    margin_mode: MarginMode
    """Margin shared by the sub-account, or kept for one position"""
    leverage: Optional[Amount] = None
    """1 to the most that the market and the risk tier allow, in steps of 0.01 [ratio]"""


@dataclass(frozen=True)
class MarginSetting:
    symbol: str
    """Market"""
    margin_mode: MarginMode
    """Margin shared by the sub-account, or kept for one position"""
    leverage: Decimal
    """Leverage [ratio]"""


@dataclass(frozen=True)
class AddMarginBody:
    sub_account_address: str
    """Sub-account"""
    symbol: str
    """Market symbol, `<base>-<quote>`"""
    margin: Amount
    """Margin to add; negative: to remove [settlement asset]"""


@dataclass(frozen=True)
class TradingStopBody:
    sub_account_address: str
    """Sub-account"""
    symbol: str
    """Market symbol, `<base>-<quote>`"""
    tpsl_mode: Optional[TpslMode] = None
    """Full (default): the whole position"""
    take_profit: Optional[Amount] = None
    """Trigger price, a multiple of the tick_size; 0 removes the exit [quote asset]"""
    stop_loss: Optional[Amount] = None
    """Trigger price, a multiple of the tick_size; 0 removes the exit [quote asset]"""
    tp_trigger_by: Optional[TriggerBy] = None
    """Reference price; LastPrice by default"""
    sl_trigger_by: Optional[TriggerBy] = None
    """Reference price; LastPrice by default"""
    tp_size: Optional[Amount] = None
    """With mode Partial only; absent: the whole position [base asset]"""
    sl_size: Optional[Amount] = None
    """With mode Partial only; absent: the whole position [base asset]"""


@dataclass(frozen=True)
class TradingStop:
    symbol: str
    """Market"""
    take_profit: Optional[Decimal]
    """"" without one [quote asset]"""
    stop_loss: Optional[Decimal]
    """"" without one [quote asset]"""


@dataclass(frozen=True)
class Balance:
    sub_account_address: str
    """Sub-account"""
    asset: str
    """Asset, by its ticker"""
    asset_addr: str
    """Address of the asset"""
    wallet_balance: Decimal
    """Wallet balance, without unrealized profit and loss [asset]"""
    equity: Decimal
    """Sum of wallet balance, isolated_margin and unrealized profit and loss [asset]"""
    available_balance: Decimal
    """Amount available to new orders and positions [asset]"""
    margin_used: Decimal
    """Initial margin of Cross positions, and isolated_margin [asset]"""
    order_margin: Decimal
    """Initial margin of the open orders [asset]"""
    maintenance_margin: Decimal
    """Maintenance margin of all positions, isolated ones included [asset]"""
    unrealised_pnl: Decimal
    """Profit and loss at the mark price [settlement asset]"""
    isolated_margin: Decimal
    """Part of margin_used in isolated positions [settlement asset]"""
    withdrawable: Decimal
    """Maximum withdrawal [asset]"""
    updated_time: int
    """Time of the last change [ms]"""
    seq: int
    """User-stream position of the last event of this balance [position]"""


@dataclass(frozen=True)
class Balances:
    list: List[Balance]
    """Rows"""
    stream_id: str
    """Identity of the numbering of the user stream"""
    seq: int
    """The list contains every event of the user stream up to this position [position]"""


@dataclass(frozen=True)
class FaucetBody:
    sub_account_address: str
    """Sub-account"""
    asset: str
    """Asset, by its ticker"""
    amount: Amount
    """Amount [asset]"""


TransferStatus = Literal["pending", "completed", "failed"]
"""State of a movement of money"""


@dataclass(frozen=True)
class Deposit:
    deposit_id: str
    """Deposit id"""
    sub_account_address: str
    """Sub-account"""
    asset: str
    """Asset, by its ticker"""
    amount: Decimal
    """Amount [asset]"""
    status: TransferStatus
    """State of a movement of money"""
    source: Literal["faucet", "rail"]
    """Source of the deposit"""
    created_time: int
    """Creation time [ms]"""
    updated_time: int
    """Time of the last change [ms]"""


@dataclass(frozen=True)
class TransferBody:
    transfer_id: str
    """You choose the id; a repeated request with it returns the first result"""
    from_sub_account_address: str
    """Source sub-account"""
    to_sub_account_address: str
    """Target sub-account"""
    asset: str
    """Asset, by its ticker"""
    amount: Amount
    """Amount [asset]"""


@dataclass(frozen=True)
class TransferReceipt:
    transfer_id: str
    """Transfer; you choose the id"""
    status: TransferStatus
    """State of a movement of money"""


@dataclass(frozen=True)
class Transfer:
    transfer_id: str
    """Transfer; you choose the id"""
    from_sub_account_address: str
    """Source sub-account"""
    to_sub_account_address: str
    """Target sub-account"""
    asset: str
    """Asset, by its ticker"""
    amount: Decimal
    """Amount [asset]"""
    status: TransferStatus
    """State of a movement of money"""
    created_time: int
    """Creation time [ms]"""
    updated_time: int
    """Time of the last change [ms]"""


@dataclass(frozen=True)
class TransferPage:
    list: List[Transfer]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


@dataclass(frozen=True)
class WithdrawalBody:
    withdrawal_id: str
    """You choose the id; a repeated request with it returns the first result"""
    sub_account_address: str
    """Sub-account"""
    asset: str
    """Asset, by its ticker"""
    amount: Amount
    """Amount; at most the sub-account's `withdrawable` [asset]"""
    destination: str
    """In full: 64 hex digits, with or without 0x, on the address rail; a party id on the party rail. Short addresses are refused"""


@dataclass(frozen=True)
class Withdrawal:
    withdrawal_id: str
    """Withdrawal; you choose the id"""
    sub_account_address: str
    """Sub-account"""
    asset: str
    """Asset, by its ticker"""
    amount: Decimal
    """Amount [asset]"""
    status: TransferStatus
    """State of a movement of money"""
    destination: str
    """Address or party id, by the rail of the user"""
    created_time: int
    """Creation time [ms]"""
    updated_time: int
    """Time of the last change [ms]"""


@dataclass(frozen=True)
class WithdrawalAddress:
    destination: str
    """Address or party id, by the rail of the user"""
    label: str
    """Your label"""
    created_time: int
    """Creation time [ms]"""
    effective_time: int
    """Withdrawals to the destination are accepted from this time on [ms]"""


@dataclass(frozen=True)
class WithdrawalAddresses:
    only_listed: bool
    """Whether withdrawals go to listed destinations only"""
    list: List[WithdrawalAddress]
    """Rows"""
    loosens_time: Optional[int] = None
    """End of `only_listed`; absent: none is set [ms]"""


@dataclass(frozen=True)
class AddWithdrawalAddressBody:
    destination: str
    """In full: 64 hex digits, with or without 0x, on the address rail; a party id on the party rail. Short addresses are refused"""
    label: Optional[str] = None
    """At most 64 characters"""


@dataclass(frozen=True)
class RestrictWithdrawalsBody:
    only_listed: bool
    """Whether withdrawals go to listed destinations only"""


@dataclass(frozen=True)
class RemovedWithdrawalAddress:
    destination: str
    """Address or party id that receives the money"""
    deleted: Literal[True]
    """Always true"""


@dataclass(frozen=True)
class FundingPayment:
    symbol: str
    """Market"""
    sub_account_address: str
    """Sub-account"""
    side: Side
    """Side of the position"""
    size: Decimal
    """Size of the position, without a sign [base asset]"""
    mark_price: Decimal
    """Mark price [quote asset]"""
    funding_rate: Decimal
    """Funding rate of an interval [ratio]"""
    payment: Decimal
    """Payment; negative: paid [settlement asset]"""
    funding_time: str
    """Settlement time, ISO 8601"""
    funding_time_ms: int
    """Settlement time [ms]"""


@dataclass(frozen=True)
class FundingPaymentPage:
    list: List[FundingPayment]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


TransactionType = Literal["deposit", "withdrawal", "transfer_in", "transfer_out", "funding", "fee", "realized_pnl", "liquidation_fee", "adl", "reward"]
"""Cause of the change of a wallet"""


@dataclass(frozen=True)
class Transaction:
    id: str
    """Unique and stable"""
    sub_account_address: str
    """Sub-account"""
    asset: str
    """Asset, by its ticker"""
    type: TransactionType
    """Cause of the change of a wallet"""
    amount: Decimal
    """Amount; negative: paid [asset]"""
    balance_after: Decimal
    """Sum of wallet and isolated margins after it: the previous one plus amount [asset]"""
    timestamp: int
    """Event time [ms]"""
    symbol: Optional[str] = None
    """Market"""
    order_id: Optional[str] = None
    """Order id"""
    exec_id: Optional[str] = None
    """Execution id"""


@dataclass(frozen=True)
class TransactionPage:
    list: List[Transaction]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


@dataclass(frozen=True)
class DepositPage:
    list: List[Deposit]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


@dataclass(frozen=True)
class WithdrawalPage:
    list: List[Withdrawal]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


Period = Literal["1d", "7d", "30d", "all"]
"""How far a statistic reaches back"""


@dataclass(frozen=True)
class Statistics:
    volume: Decimal
    """Sum of exec_value over all fills [quote asset]"""
    maker_volume: Decimal
    """Maker volume [quote asset]"""
    taker_volume: Decimal
    """Taker volume [quote asset]"""
    trade_count: int
    """Number of fills [count]"""
    fees_paid: Decimal
    """Fees of fills; negative: more rebates than fees [settlement asset]"""
    liquidation_fee: Decimal
    """Paid to insurance pools by liquidations, not in fees_paid; negative: the pools paid more [settlement asset]"""
    funding_paid: Decimal
    """Sum of the funding; negative: more received than paid [settlement asset]"""
    realised_pnl: Decimal
    """Exit less entry, before fees and funding [settlement asset]"""
    win_count: int
    """Closing orders with a profit after fees [count]"""
    loss_count: int
    """Closing orders with a loss after fees [count]"""
    max_drawdown: Decimal
    """Largest fall of the result (realised PnL less fees, funding and liquidation fees) from its peak within the period, in USDC; of several sub-accounts the largest of theirs [settlement asset]"""
    period: Period
    """How far a statistic reaches back"""
    from_ms: int
    """Start of the period, at a full hour; 0 for all [ms]"""
    to_ms: int
    """End of the period, exclusive [ms]"""


@dataclass(frozen=True)
class FeeRate:
    symbol: str
    """Market"""
    maker_fee_rate: Decimal
    """Maker fee; negative: a rebate [ratio]"""
    taker_fee_rate: Decimal
    """Taker fee [ratio]"""


@dataclass(frozen=True)
class FeeRateList:
    list: List[FeeRate]
    """Rows"""


Rail = Literal["address", "party"]


Scope = Literal["read", "trade", "account", "transfer", "withdraw"]
"""What an API key may do"""


@dataclass(frozen=True)
class Me:
    user_id: str
    """User; derived from the root address, permanent"""
    root_address: str
    """Root address of the wallet"""
    rail: Rail
    """Login method of the wallet: by address, or as a party"""
    whitelisted: bool
    """Whether the wallet is admitted"""
    activated: bool
    """Whether the wallet has activated an access code"""
    badge: bool
    """Whether the wallet has the badge of its access code"""
    multiplier_bps: int
    """Multiplier of rewards; 10000 is one [basis points]"""
    referral_code: str
    """Referral code of the user: 8 characters of Crockford base32"""
    scopes: List[Scope]
    """Permissions of the credential in use"""
    created_time: int
    """Creation time [ms]"""
    party_id: Optional[str] = None
    """Party id, on the party rail"""


@dataclass(frozen=True)
class PortfolioPositions:
    epoch: int
    """Number of funding periods from Unix time 0 to the last settlement [count]"""
    funding_index: float
    """Cumulative funding per unit of the base asset at the last settlement [settlement asset]"""
    margin: float
    """Initial margin; of an isolated position, its own margin [settlement asset]"""
    price: float
    """Average entry price [quote asset]"""
    seq: int
    """User-stream position of the last event of this position [position]"""
    size: float
    """Signed: a short is negative [base asset]"""
    timestamp: int
    """Event time [ms]"""
    timestamp_ms: int
    """Time of the signature [ms]"""
    market_addr: str
    """Address of the market"""
    sid: str
    """Sub-account"""


@dataclass(frozen=True)
class PortfolioSummary:
    """Sums over all sub-accounts"""

    collateral_notional: float
    """Sum of the wallet balances [USDC]"""
    maintenance_margin_required: float
    """Sum of the maintenance margins [USDC]"""
    total_available_balance: float
    """Sum of the available balances [USDC]"""
    total_balance: float
    """Sum of the equities [USDC]"""
    total_margin_used: float
    """Sum of the initial margins of positions and orders [USDC]"""
    total_positions: int
    """Open positions [count]"""
    total_vaults: int
    """Sub-accounts [count]"""
    unrealized_funding_total: float
    """Funding at the predicted rate; negative: to pay [USDC]"""
    unrealized_pnl_total: float
    """Profit and loss at the mark prices [USDC]"""


@dataclass(frozen=True)
class PortfolioVaultBalances:
    asset_addr: str
    """Address of the asset"""
    balance: float
    """Wallet balance [asset]"""
    id: str
    """Sub-account"""


@dataclass(frozen=True)
class Portfolio:
    positions: List[PortfolioPositions]
    """Open positions"""
    summary: PortfolioSummary
    """Sums over all sub-accounts"""
    user_addr: str
    """Root address of the wallet"""
    vault_balances: List[PortfolioVaultBalances]
    """Wallet balances by sub-account"""


@dataclass(frozen=True)
class SubAccount:
    sub_account_address: str
    """Sub-account"""
    index: int
    """Index of the sub-account, from 0; never reused [position]"""
    label: str
    """Your label"""
    frozen: bool
    """Whether the sub-account is frozen: no new or amended orders, cancels are allowed"""
    created_time: int
    """Creation time [ms]"""


@dataclass(frozen=True)
class SubAccounts:
    list: List[SubAccount]
    """Rows"""


@dataclass(frozen=True)
class CreateSubAccountBody:
    label: Optional[str] = None
    """Your label, at most 32 characters"""


@dataclass(frozen=True)
class ChangeSubAccountBody:
    label: Optional[str] = None
    """Your label, at most 32 characters"""
    frozen: Optional[bool] = None
    """Frozen: no new or amended orders; cancels are allowed"""


@dataclass(frozen=True)
class DeletedSubAccount:
    sub_account_address: str
    """Sub-account"""
    deleted: Literal[True]
    """Always true"""


@dataclass(frozen=True)
class ApiKey:
    api_key_id: str
    """API key id"""
    public_key: str
    """0x and 64 lower-case hex digits"""
    label: str
    """Your label"""
    scopes: List[Scope]
    """Permissions of the key"""
    ip_allowlist: List[str]
    """CIDR blocks; empty: any address"""
    require_body_hash: bool
    """Whether requests with a body must sign X-BODY-SHA256"""
    created_time: int
    """Creation time [ms]"""
    sub_account_addresses: Optional[List[str]] = None
    """Absent: all sub-accounts, later ones too"""
    expires_time: Optional[int] = None
    """Expiry; absent: never [ms]"""
    last_used_time: Optional[int] = None
    """Time of the last use [ms]"""


@dataclass(frozen=True)
class ApiKeys:
    list: List[ApiKey]
    """Rows"""


@dataclass(frozen=True)
class CreateApiKeyBody:
    public_key: str
    """Ed25519 public key; you keep the private key"""
    scopes: List[Scope]
    """Permissions of the key"""
    label: Optional[str] = None
    """Your label, at most 64 characters"""
    sub_account_addresses: Optional[List[str]] = None
    """Sub-accounts; absent: all, later ones too"""
    ip_allowlist: Optional[List[str]] = None
    """CIDR blocks or addresses that may use the key; empty: any"""
    expires_time: Optional[int] = None
    """Expiry; absent: never [ms]"""
    require_body_hash: Optional[bool] = None
    """Whether requests with a body must sign X-BODY-SHA256"""


@dataclass(frozen=True)
class ChangeApiKeyBody:
    label: Optional[str] = None
    """Your label, at most 64 characters"""
    scopes: Optional[List[Scope]] = None
    """Permissions of the key"""
    sub_account_addresses: Optional[List[str]] = None
    """Sub-accounts; absent: all, later ones too"""
    ip_allowlist: Optional[List[str]] = None
    """CIDR blocks or addresses that may use the key; empty: any"""
    expires_time: Optional[int] = None
    """Expiry; absent: never [ms]"""
    require_body_hash: Optional[bool] = None
    """Whether requests with a body must sign X-BODY-SHA256"""


@dataclass(frozen=True)
class RevokedApiKey:
    api_key_id: str
    """API key"""
    revoked: Literal[True]
    """Always true"""


@dataclass(frozen=True)
class Referral:
    downline_count: int
    """Number of users with this referrer [count]"""
    referral_code: str
    """The caller's own code"""
    referrer_code: str
    """"" without a referrer"""
    referrer_user_id: str
    """"" without a referrer"""


@dataclass(frozen=True)
class ReferralBody:
    referral_code: str
    """8 characters of 0-9 and A-Z without I, L, O and U; case and surrounding spaces are ignored"""


RewardStatus = Literal["pending", "claimable", "claimed"]
"""Still growing, ready to be claimed, paid"""


RewardKind = Literal["referral", "competition", "activation"]
"""Where a reward comes from"""


@dataclass(frozen=True)
class Reward:
    reward_id: str
    """Reward id"""
    kind: RewardKind
    """Where a reward comes from"""
    asset: str
    """Asset, by its ticker"""
    amount: Decimal
    """Amount [asset]"""
    status: RewardStatus
    """Still growing, ready to be claimed, paid"""
    source_id: str
    """Its source: the id of a competition, or the day of referral fees, YYYY-MM-DD (UTC)"""
    created_time: int
    """Creation time [ms]"""
    claimed_time: Optional[int] = None
    """Time of the claim [ms]"""


@dataclass(frozen=True)
class RewardPage:
    list: List[Reward]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


@dataclass(frozen=True)
class ClaimBody:
    sub_account_address: str
    """Sub-account that receives the reward"""


CompetitionStatus = Literal["draft", "scheduled", "active", "ended", "finalized", "cancelled"]
"""Status of a competition; it advances with time"""


CompetitionMetric = Literal["volume", "realized_pnl", "roi"]
"""What a competition counts"""


@dataclass(frozen=True)
class Scoring:
    metric: CompetitionMetric
    """What a competition counts"""
    start_weight_bps: int
    """Weight of the first day [basis points]"""
    end_weight_bps: int
    """Weight of the last day; linear in between [basis points]"""
    max_daily_contribution_bps: int
    """Maximum share of one day in the total; 0: no cap [basis points]"""
    min_active_days: int
    """Active days that a rank needs; at least one [days]"""
    min_daily_activity_units: int
    """Activity that makes a day active [units of the metric]"""
    consistency_max_bonus_bps: int
    """Bonus at the target of active days [basis points]"""
    consistency_target_days: int
    """Active days that earn the whole bonus; 0: always [days]"""
    use_consistency_multiplier: bool
    """Whether active days earn a bonus"""


@dataclass(frozen=True)
class Competition:
    id: str
    """Permanent id"""
    slug: str
    """Name in URLs, unique"""
    title: str
    """Title"""
    description_md: str
    """Markdown"""
    start_time_ms: int
    """Start, inclusive [ms]"""
    end_time_ms: int
    """End, exclusive [ms]"""
    prize_usdc: int
    """Whole USDC that eligible entries share by score [USDC]"""
    status: CompetitionStatus
    """Status of a competition; it advances with time"""
    scoring: Scoring
    """Scoring of the entries"""
    symbol: Optional[str] = None
    """Market that counts; absent: all"""


@dataclass(frozen=True)
class CompetitionPage:
    list: List[Competition]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


IneligibleReason = Literal["min_active_days", "no_activity", "excluded", "not_started"]
"""Why an entry has no rank"""


@dataclass(frozen=True)
class Placement:
    active_days: int
    """Days with enough activity [days]"""
    eligible: bool
    """Whether the entry counts"""
    metric_value: Decimal
    """Units of the metric over all days [units of the metric]"""
    projected_xp: str
    """Share of 1,000,000 by score, times the activation's multiplier; whole digits [points]"""
    score: Decimal
    """Score [points]"""
    sub_account_address: str
    """Sub-account"""
    ineligible_reason: Optional[IneligibleReason] = None
    """Why an entry has no rank"""
    rank: Optional[int] = None
    """Rank, from 1; only eligible entries have one [position]"""


@dataclass(frozen=True)
class CompetitionPlacement:
    competition: Competition
    """The competition"""
    data: List[Placement]
    """Rows"""


@dataclass(frozen=True)
class Leaderboard:
    competition: Competition
    """The competition"""
    data: List[Placement]
    """Rows"""
    next_page_cursor: str
    """Send it as `cursor` to read the next page; "" on the last page only. A filter may leave a page short or empty before the last one"""


@dataclass(frozen=True)
class ActivateBody:
    code: str
    """Access code; case and surrounding white space are ignored"""
    public_key: str
    """Ed25519 public key: hex, 0x-hex, base64 or base64url"""
    signature: str
    """Ed25519 signature over `service-stage1-activate:{sha256(normalized code)}:{root_address}:{signed_at}`, on the party rail with `:{nonce}` appended"""
    signed_at: int
    """Unix time of the signature, within 300 s of the server's time [s]"""
    nonce: Optional[str] = None
    """Required on the party rail: 8 to 64 characters of A-Z, a-z, 0-9, - and _; ignored on the other"""
    party_id: Optional[str] = None
    """`<hint>::<fingerprint>`; absent or null: the address rail"""


@dataclass(frozen=True)
class ActivationResult:
    activated: Literal[True]
    """Whether the wallet has activated an access code"""
    badge: bool
    """Whether the wallet has the badge of its access code"""
    multiplier_bps: int
    """Multiplier of rewards: 10000 is one times [basis points]"""


@dataclass(frozen=True)
class LoginBody:
    public_key: str
    """Ed25519 public key (hex, 0x-hex, base64, base64url), or a party id `<hint>::<fingerprint>`"""
    signature: str
    """Ed25519 signature over `SERVICE_AUTH|LOGIN|{public_key}|{timestamp_ms}|{nonce}`"""
    timestamp_ms: int
    """Time of the signature, within 60 s of the server's time [ms]"""
    nonce: str
    """8 to 64 characters of A-Z, a-z, 0-9, - and _; single use"""
    verifying_key: Optional[str] = None
    """Key of a party, at its first login; ignored on the address rail"""


@dataclass(frozen=True)
class Login:
    token: str
    """JWT, valid for 7 days"""
    user_id: str
    """User; derived from the root address, permanent"""
    expires_at_ms: int
    """Expiry of the token [ms]"""
    root_address: str
    """Root address of the wallet"""


@dataclass(frozen=True)
class LoggedOut:
    revoked: Literal[True]
    """Always true"""


@dataclass(frozen=True)
class OrderbookEventData:
    type: Literal["snapshot", "delta"]
    symbol: str
    depth: Literal[1, 50, 200, 1000]
    bids: List[Level]
    asks: List[Level]
    seq: int
    """Book sequence of the market after this message"""
    ts: int
    """Time of publication"""
    mts: int
    """Time at which the matching engine produced the change"""
    checksum: int
    """CRC-32 of the best 25 levels after applying this message"""
    stream_id: Optional[str] = None
    prev_seq: Optional[int] = None
    """`seq` of the previous message of this topic on this connection"""


@dataclass(frozen=True)
class OrderbookEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: OrderbookEventData


@dataclass(frozen=True)
class TradeEventData:
    type: Literal["snapshot", "update"]
    ts: int
    """Time of publication"""
    symbol: str
    list: List[PublicTrade]
    """Oldest first; an update has the trades of one matching event"""


@dataclass(frozen=True)
class TradeEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: TradeEventData


@dataclass(frozen=True)
class AggregatedTrade:
    id: str
    """Deterministic; (market_addr, id) is a stable key"""
    price: Decimal
    """Price [quote asset]"""
    side: Side
    qty: Decimal
    """Quantity [base asset]"""
    count: int
    """Number of trades [count]"""
    seq: int
    """Position in the sequence [position]"""
    timestamp: int
    """Event time [ms]"""


@dataclass(frozen=True)
class AggregatedTradeEventData:
    type: Literal["update"]
    ts: int
    """Time of publication"""
    market_addr: str
    symbol: str
    list: List[AggregatedTrade]
    """The trades of one matching event, summed by price and side"""


@dataclass(frozen=True)
class AggregatedTradeEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: AggregatedTradeEventData


@dataclass(frozen=True)
class TickerEventData:
    type: Literal["snapshot"]
    symbol: str
    """Market"""
    last_price: Decimal
    """Price of the last trade [quote asset]"""
    mark_price: Decimal
    """Mark price [quote asset]"""
    index_price: Decimal
    """Index price [quote asset]"""
    prev_price_24h: Decimal
    """Last price 24 hours ago [quote asset]"""
    price_24h_pcnt: Decimal
    """Change over 24 hours: 0.0123 is 1.23 % [ratio]"""
    high_price_24h: Decimal
    """Highest price of 24 hours [quote asset]"""
    low_price_24h: Decimal
    """Lowest price of 24 hours [quote asset]"""
    volume_24h: Decimal
    """Volume of 24 hours [base asset]"""
    turnover_24h: Decimal
    """Turnover of 24 hours [quote asset]"""
    open_interest: Decimal
    """Sum of the long positions [base asset]"""
    open_interest_value: Decimal
    """Sum of the long positions at the mark price [quote asset]"""
    funding_rate: Decimal
    """Predicted rate of the running interval [ratio]"""
    next_funding_time: str
    """Next settlement of funding, ISO 8601"""
    next_funding_time_ms: int
    """Next settlement of funding [ms]"""
    ts: int
    """Publication time [ms]"""
    bid1_price: Optional[Decimal] = None
    """Best bid; absent on an empty side [quote asset]"""
    bid1_size: Optional[Decimal] = None
    """Quantity at the best bid [base asset]"""
    ask1_price: Optional[Decimal] = None
    """Best ask; absent on an empty side [quote asset]"""
    ask1_size: Optional[Decimal] = None
    """Quantity at the best ask [base asset]"""


@dataclass(frozen=True)
class TickerEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: TickerEventData


@dataclass(frozen=True)
class KlineEventData:
    type: Literal["snapshot", "update"]
    ts: int
    """Time of publication"""
    symbol: str
    interval: Interval
    list: List[Candle]


@dataclass(frozen=True)
class KlineEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: KlineEventData


@dataclass(frozen=True)
class Liquidation:
    symbol: str
    """Market"""
    side: Side
    """Side of the liquidated position: Buy is a long"""
    qty: Decimal
    """Quantity [base asset]"""
    price: Decimal
    """Price of the fill; for a takeover by the insurance pool, the bust price [quote asset]"""
    bust_price: Decimal
    """Price at which the equity of the position was zero [quote asset]"""
    exec_type: ExecType
    """Trade: filled in the book; BustTrade: taken over by the insurance pool"""
    timestamp: int
    """Event time [ms]"""
    seq: int
    """Market sequence of the fill [position]"""


@dataclass(frozen=True)
class LiquidationsEventData:
    type: Literal["update"]
    ts: int
    """Time of publication"""
    symbol: str
    list: List[Liquidation]
    """The fills of one matching event"""


@dataclass(frozen=True)
class LiquidationsEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: LiquidationsEventData


@dataclass(frozen=True)
class InsurancePoolEventDataInventory:
    symbol: str
    """Market"""
    side: Side
    size: Decimal
    """Size of the position, without a sign [base asset]"""
    avg_price: Decimal
    """Average price [quote asset]"""
    mark_price: Decimal
    """Mark price [quote asset]"""
    unrealized_pnl: Decimal
    """Profit and loss at the mark price [settlement asset]"""


@dataclass(frozen=True)
class InsurancePoolEventData:
    type: Literal["snapshot"]
    ts: int
    """Time of publication"""
    pool_id: str
    """Insurance pool"""
    pool_group_id: str
    """Group of pools that share losses"""
    cash_balance: Decimal
    """Cash, with the seed [settlement asset]"""
    realized_pnl_cum: Decimal
    """All results since the start, after fees [settlement asset]"""
    unrealized_pnl: Decimal
    """Profit and loss of the inventory at the mark price [settlement asset]"""
    base_equity: Decimal
    """Seed of the pool [settlement asset]"""
    equity: Decimal
    """cash_balance + unrealized_pnl [asset]"""
    group_redistribution_in: Decimal
    """Received from the group so far [settlement asset]"""
    group_redistribution_out: Decimal
    """Paid to the group so far [settlement asset]"""
    group_adl_obligation: Decimal
    """Deficit that the group could not cover; 0 otherwise [settlement asset]"""
    adl_mode: AdlMode
    adl_trigger_reason: AdlTriggerReason
    latest_pnl_ratio: Decimal
    """Result of the pool against its maximum of 8 hours, over the largest equity of the group [ratio]"""
    updated_time: int
    """Time of the last change [ms]"""
    inventory: List[InsurancePoolEventDataInventory]
    """Positions that the pool took over; empty when flat"""


@dataclass(frozen=True)
class InsurancePoolEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: InsurancePoolEventData


@dataclass(frozen=True)
class AdlAlertEventData:
    type: Literal["snapshot", "update"]
    ts: int
    """Time of publication"""
    pool_id: str
    """Insurance pool"""
    pool_group_id: str
    """Group of pools that share losses"""
    symbol: str
    """Market"""
    equity: Decimal
    """Of the pool [asset]"""
    adl_mode: AdlMode
    adl_trigger_reason: AdlTriggerReason
    latest_pnl_ratio: Decimal
    """Result of the pool against its maximum of 8 hours, over the largest equity of the group [ratio]"""
    updated_time: int
    """Time of the last change [ms]"""


@dataclass(frozen=True)
class AdlAlertEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: AdlAlertEventData


@dataclass(frozen=True)
class OrderEventData:
    type: Literal["snapshot", "update"]
    stream_id: str
    seq: int
    ts: int
    """Time of publication"""
    mts: int
    """Time at which the matching engine produced the change"""
    list: List[Order]
    prev_seq: Optional[int] = None
    """`seq` of the previous event of this topic; 0: none"""


@dataclass(frozen=True)
class OrderEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: OrderEventData


@dataclass(frozen=True)
class ExecutionEventData:
    type: Literal["snapshot", "update"]
    stream_id: str
    seq: int
    ts: int
    """Time of publication"""
    mts: int
    """Time at which the matching engine produced the change"""
    list: List[Execution]
    prev_seq: Optional[int] = None
    """`seq` of the previous event of this topic; 0: none"""


@dataclass(frozen=True)
class ExecutionEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: ExecutionEventData


@dataclass(frozen=True)
class PositionEventData:
    type: Literal["snapshot", "update"]
    stream_id: str
    seq: int
    ts: int
    """Time of publication"""
    mts: int
    """Time at which the matching engine produced the change"""
    list: List[Position]
    prev_seq: Optional[int] = None
    """`seq` of the previous event of this topic; 0: none"""


@dataclass(frozen=True)
class PositionEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: PositionEventData


BalanceReason = Literal["deposit", "withdrawal", "transfer_in", "transfer_out", "funding", "fee", "realized_pnl", "liquidation_fee", "adl", "reward", "trade", "order", "margin", "mark"]
"""Why a balance record was sent"""


@dataclass(frozen=True)
class AccountBalanceEventDataList:
    sub_account_address: str
    """Sub-account"""
    asset: str
    """Asset, by its ticker"""
    asset_addr: str
    """Address of the asset"""
    wallet_balance: Decimal
    """Wallet balance, without unrealized profit and loss [asset]"""
    equity: Decimal
    """Sum of wallet balance, isolated_margin and unrealized profit and loss [asset]"""
    available_balance: Decimal
    """Amount available to new orders and positions [asset]"""
    margin_used: Decimal
    """Initial margin of Cross positions, and isolated_margin [asset]"""
    order_margin: Decimal
    """Initial margin of the open orders [asset]"""
    maintenance_margin: Decimal
    """Maintenance margin of all positions, isolated ones included [asset]"""
    unrealised_pnl: Decimal
    """Profit and loss at the mark price [settlement asset]"""
    isolated_margin: Decimal
    """Part of margin_used in isolated positions [settlement asset]"""
    withdrawable: Decimal
    """Maximum withdrawal [asset]"""
    updated_time: int
    """Time of the last change [ms]"""
    seq: int
    """User-stream position of the last event of this balance [position]"""
    reason: Optional[BalanceReason] = None


@dataclass(frozen=True)
class AccountBalanceEventData:
    type: Literal["snapshot", "update"]
    stream_id: str
    seq: int
    ts: int
    """Time of publication"""
    mts: int
    """Time at which the matching engine produced the change"""
    list: List[AccountBalanceEventDataList]
    prev_seq: Optional[int] = None
    """`seq` of the previous event of this topic; 0: none"""


@dataclass(frozen=True)
class AccountBalanceEvent:
    op: Literal["event"]
    topic: str
    server_ts_ms: int
    data: AccountBalanceEventData


TopicEvent = Union[
    OrderbookEvent,
    TradeEvent,
    AggregatedTradeEvent,
    TickerEvent,
    KlineEvent,
    LiquidationsEvent,
    InsurancePoolEvent,
    AdlAlertEvent,
    OrderEvent,
    ExecutionEvent,
    PositionEvent,
    AccountBalanceEvent,
]
"""A message of a topic."""

EVENTS: Dict[str, Type[Any]] = {
    "orderbook": OrderbookEvent,
    "trade": TradeEvent,
    "trade/": AggregatedTradeEvent,
    "ticker": TickerEvent,
    "kline": KlineEvent,
    "all_liquidations": LiquidationsEvent,
    "insurance_pool": InsurancePoolEvent,
    "adl_alert": AdlAlertEvent,
    "order": OrderEvent,
    "execution": ExecutionEvent,
    "position": PositionEvent,
    "account_balance": AccountBalanceEvent,
}
"""Events by the kind of their topic: its name up to the first dot, or `trade/`."""

PRIVATE_TOPICS = ("order", "execution", "position", "account_balance")
"""Topics of the caller's own events."""

ADVICE: Dict[int, str] = {
    1000: "stop",
    1001: "reconnect",
    1002: "fix",
    1003: "fix",
    1007: "fix",
    1008: "fix",
    1009: "fix",
    1011: "back-off",
    1013: "back-off",
    4000: "reconnect",
    4001: "log-in",
    4003: "log-in",
    4008: "reconnect",
    4010: "log-in",
    4029: "back-off",
}
"""What a client does after a close code."""

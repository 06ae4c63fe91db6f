/**
 * Every enumeration of the API. Values are case-sensitive. Clients must tolerate new values in responses.
 *
 * Source: docs/contract/conventions.md#enumerations.
 */
import { Schema } from "effect"

const literals = <const L extends ReadonlyArray<string>>(identifier: string, description: string, values: L) =>
  Schema.Literals(values).annotate({ identifier, description })

export const Side = literals("Side", "Buy or sell", ["Buy", "Sell"])
export type Side = typeof Side.Type
export const OrderType = literals("OrderType", "Limit or market", ["Limit", "Market"])
export type OrderType = typeof OrderType.Type
export const TimeInForce = literals("TimeInForce", "How long an order stays", ["GTC", "GTT", "IOC", "FOK"])
export type TimeInForce = typeof TimeInForce.Type
export const MarginMode = literals("MarginMode", "Margin shared by the sub-account, or kept for one position", [
  "Cross",
  "Isolated"
])
export type MarginMode = typeof MarginMode.Type
export const PositionMode = literals("PositionMode", "One position per market and sub-account", ["OneWay"])
export type PositionMode = typeof PositionMode.Type
export const PositionStatus = literals("PositionStatus", "Normal, being liquidated, being deleveraged", [
  "Normal",
  "Liq",
  "Adl"
])
export type PositionStatus = typeof PositionStatus.Type
export const OrderStatus = literals(
  "OrderStatus",
  "State of an order. Open: New, PartiallyFilled, Untriggered, CancelRequested. Instantaneous: Triggered. All others are final",
  [
    "New",
    "PartiallyFilled",
    "Untriggered",
    "CancelRequested",
    "Rejected",
    "PartiallyFilledCanceled",
    "Filled",
    "Canceled",
    "Triggered",
    "Deactivated",
    "Expired"
  ]
)
export type OrderStatus = typeof OrderStatus.Type
export const CreateType = literals("CreateType", "What created the order", [
  "CreateByUser",
  "CreateByStopOrder",
  "CreateByTakeProfit",
  "CreateByPartialTakeProfit",
  "CreateByStopLoss",
  "CreateByPartialStopLoss",
  "CreateByLiq",
  "CreateByTakeOverPassThrough",
  "CreateByAdlPassThrough",
  "CreateByAdminClosing",
  "CreateBySettle"
])
export type CreateType = typeof CreateType.Type
export const CancelType = literals("CancelType", "Why an order was canceled", [
  "CancelByUser",
  "CancelByReduceOnly",
  "CancelAllBeforeLiq",
  "CancelAllBeforeAdl",
  "CancelByAdmin",
  "CancelBySettle",
  "CancelByTpSlTsClear",
  "CancelBySmp",
  "CancelByDcp",
  "CancelByTimeInForce",
  "CancelByExpiry",
  "CancelByCannotAffordOrderCost",
  "CancelByOcoTpCanceledBySlTriggered",
  "CancelByOcoSlCanceledByTpTriggered"
])
export type CancelType = typeof CancelType.Type
export const RejectReason = literals("RejectReason", "Why an order, amend or cancel was refused in the sequence", [
  "EcNoError",
  "EcOthers",
  "EcDuplicatedClOrdId",
  "EcOrigClOrdIdDoesNotExist",
  "EcTooLateToCancel",
  "EcLimitOrderInvalidPrice",
  "EcNoEnoughQtyToFill",
  "EcNoImmediateQtyToFill",
  "EcMarketOrderCannotBePostOnly",
  "EcPostOnlyWillTakeLiquidity",
  "EcInvalidSymbolStatus",
  "EcBySelfMatch",
  "EcQtyCannotBeZero",
  "EcReachMaxTradeNum",
  "EcInvalidPriceScale",
  "EcInvalidQty",
  "EcReachRiskPriceLimit",
  "EcReachRiskLimit",
  "EcReachMaxOrderNum",
  "EcOrderNotExist",
  "EcInsufficientBalance",
  "EcReduceOnlyNoPosition",
  "EcReduceOnlySameSide",
  "EcPositionInLiquidation",
  "EcOrderVersionMismatch",
  "EcTriggerAlreadyMet"
])
export type RejectReason = typeof RejectReason.Type
export const StopOrderType = literals("StopOrderType", "Kind of a conditional order", [
  "TakeProfit",
  "StopLoss",
  "PartialTakeProfit",
  "PartialStopLoss",
  "Stop"
])
export type StopOrderType = typeof StopOrderType.Type
export const TpslMode = literals("TpslMode", "Close the whole position, or the filled part of the order", [
  "Full",
  "Partial"
])
export type TpslMode = typeof TpslMode.Type
export const TriggerBy = literals("TriggerBy", "Reference price of the trigger", [
  "LastPrice",
  "IndexPrice",
  "MarkPrice"
])
export type TriggerBy = typeof TriggerBy.Type
export const TriggerDirection = literals("TriggerDirection", "Triggers at or above, at or below", ["Up", "Down"])
export type TriggerDirection = typeof TriggerDirection.Type
export const ExecType = literals("ExecType", "Kind of an execution", [
  "Trade",
  "Funding",
  "BustTrade",
  "AdlTrade",
  "Settle"
])
export type ExecType = typeof ExecType.Type
export const SmpType = literals("SmpType", "Which order is canceled when two orders of one user would match", [
  "CancelTaker",
  "CancelMaker",
  "CancelBoth"
])
export type SmpType = typeof SmpType.Type
export const AdlMode = literals("AdlMode", "State of auto-deleveraging", ["Inactive", "Warning", "Active"])
export type AdlMode = typeof AdlMode.Type
export const AdlTriggerReason = literals("AdlTriggerReason", "Reason of the state of auto-deleveraging", [
  "NoTrigger",
  "PnlDrawdown",
  "EquityDepleted",
  "GroupObligation"
])
export type AdlTriggerReason = typeof AdlTriggerReason.Type
export const InstrumentStatus = literals("InstrumentStatus", "State of a market", [
  "PreLaunch",
  "Trading",
  "ReduceOnly",
  "Closed"
])
export type InstrumentStatus = typeof InstrumentStatus.Type
export const OrderFilter = literals("OrderFilter", "Open orders to cancel", ["Active", "Conditional", "All"])
export type OrderFilter = typeof OrderFilter.Type
export const TransferStatus = literals("TransferStatus", "State of a movement of money", [
  "pending",
  "completed",
  "failed"
])
export type TransferStatus = typeof TransferStatus.Type
export const TransactionType = literals("TransactionType", "Cause of the change of a wallet", [
  "deposit",
  "withdrawal",
  "transfer_in",
  "transfer_out",
  "funding",
  "fee",
  "realized_pnl",
  "liquidation_fee",
  "adl",
  "reward"
])
export type TransactionType = typeof TransactionType.Type
/** Why an `account_balance` event was sent: a transaction type, or a change that did not affect the wallet. */
export const BalanceReason = literals("BalanceReason", "Why a balance record was sent", [
  ...TransactionType.literals,
  "trade",
  "order",
  "margin",
  "mark"
])
export type BalanceReason = typeof BalanceReason.Type
export const CompetitionStatus = literals("CompetitionStatus", "Status of a competition; it advances with time", [
  "draft",
  "scheduled",
  "active",
  "ended",
  "finalized",
  "cancelled"
])
export type CompetitionStatus = typeof CompetitionStatus.Type
export const CompetitionMetric = literals("CompetitionMetric", "What a competition counts", [
  "volume",
  "realized_pnl",
  "roi"
])
export type CompetitionMetric = typeof CompetitionMetric.Type
export const IneligibleReason = literals("IneligibleReason", "Why an entry has no rank", [
  "min_active_days",
  "no_activity",
  "excluded",
  "not_started"
])
export type IneligibleReason = typeof IneligibleReason.Type
export const RewardKind = literals("RewardKind", "Where a reward comes from", ["referral", "competition", "activation"])
export type RewardKind = typeof RewardKind.Type
export const RewardStatus = literals("RewardStatus", "Still growing, ready to be claimed, paid", [
  "pending",
  "claimable",
  "claimed"
])
export type RewardStatus = typeof RewardStatus.Type
export const Interval = literals("Interval", "Candle length: minutes, or D, W (from Monday), M; UTC", [
  "1",
  "3",
  "5",
  "15",
  "30",
  "60",
  "120",
  "240",
  "360",
  "720",
  "D",
  "W",
  "M"
])
export type Interval = typeof Interval.Type
export const OpenInterestInterval = literals("OpenInterestInterval", "Minutes, or D; UTC", ["5", "60", "D"])
export type OpenInterestInterval = typeof OpenInterestInterval.Type
export const Period = literals("Period", "How far a statistic reaches back", ["1d", "7d", "30d", "all"])
export type Period = typeof Period.Type
export const Scope = literals("Scope", "What an API key may do", ["read", "trade", "account", "transfer", "withdraw"])
export type Scope = typeof Scope.Type
/** Depths of the order book topic, in price levels per side. */
export const depths = [1, 50, 200, 1000] as const
export type Depth = (typeof depths)[number]

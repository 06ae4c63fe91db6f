/**
 * The enumerations of the gRPC boundary and of the gateway, paired by name.
 *
 * A protobuf enum value is the API's wire name in another spelling: REJECT_REASON_EC_NO_ERROR is "EcNoError". The tables
 * are built once, from the names alone; a name without a counterpart stops the program at start. A message that lacks a
 * required field, or has a value that this version does not know, throws {@link WireError}: a guess would put wrong
 * records into the read models.
 */
import * as Enumerations from "../../domain/Enumerations.ts"
import * as Types from "../../proto/gateway/v1/types.ts"

/** A message that violates the contract. */
export class WireError extends Error {
  override readonly name = "WireError"
}

interface EnumTable<D extends string> {
  readonly name: string
  /** The proto number of a domain value. */
  readonly number: { readonly [K in D]: number }
  /** The domain value of a proto number; undefined for UNSPECIFIED and unknown ones. */
  readonly text: ReadonlyArray<D | undefined>
}

const plain = (name: string): string => name.replaceAll("_", "").toLowerCase()

/** Pairs the values of a protobuf enum with those of the domain by name. */
export const enumTable = <const D extends string>(
  name: string,
  proto: { readonly [name: string]: number },
  values: ReadonlyArray<D>
): EnumTable<D> => {
  const prefix = Object.keys(proto)
    .find((key) => proto[key] === 0)!
    .slice(0, -"UNSPECIFIED".length)
  const numbers = new Map(Object.entries(proto).map(([key, value]) => [plain(key.slice(prefix.length)), value]))
  const number = Object.fromEntries(
    values.map((value) => {
      const found = numbers.get(plain(value))
      if (found === undefined) throw new WireError(`${name}: the protobuf enum has no ${value}`)
      return [value, found]
    })
  ) as { [K in D]: number }
  const text: Array<D | undefined> = []
  for (const value of values) text[number[value]] = value
  return { name, number, text }
}

export const side = enumTable("side", Types.Side, Enumerations.Side.literals)
export const orderType = enumTable("order_type", Types.OrderType, Enumerations.OrderType.literals)
export const timeInForce = enumTable("time_in_force", Types.TimeInForce, Enumerations.TimeInForce.literals)
export const marginMode = enumTable("margin_mode", Types.MarginMode, Enumerations.MarginMode.literals)
export const positionMode = enumTable("position_mode", Types.PositionMode, Enumerations.PositionMode.literals)
export const positionStatus = enumTable("position_status", Types.PositionStatus, Enumerations.PositionStatus.literals)
export const orderStatus = enumTable("order_status", Types.OrderStatus, Enumerations.OrderStatus.literals)
export const createType = enumTable("create_type", Types.CreateType, Enumerations.CreateType.literals)
export const cancelType = enumTable("cancel_type", Types.CancelType, Enumerations.CancelType.literals)
export const rejectReason = enumTable("reject_reason", Types.RejectReason, Enumerations.RejectReason.literals)
export const stopOrderType = enumTable("stop_order_type", Types.StopOrderType, Enumerations.StopOrderType.literals)
export const tpslMode = enumTable("tpsl.mode", Types.TpslMode, Enumerations.TpslMode.literals)
export const triggerBy = enumTable("trigger_by", Types.TriggerBy, Enumerations.TriggerBy.literals)
export const triggerDirection = enumTable(
  "trigger_direction",
  Types.TriggerDirection,
  Enumerations.TriggerDirection.literals
)
export const execType = enumTable("exec_type", Types.ExecType, Enumerations.ExecType.literals)
export const smpType = enumTable("smp_type", Types.SmpType, Enumerations.SmpType.literals)
export const instrumentStatus = enumTable("status", Types.InstrumentStatus, Enumerations.InstrumentStatus.literals)
export const orderFilter = enumTable("order_filter", Types.OrderFilter, Enumerations.OrderFilter.literals)
export const balanceReason = enumTable("reason", Types.BalanceReason, Enumerations.BalanceReason.literals)
export const transferStatus = enumTable("status", Types.TransferStatus, Enumerations.TransferStatus.literals)
export const adlMode = enumTable("adl_mode", Types.AdlMode, Enumerations.AdlMode.literals)
export const adlTriggerReason = enumTable(
  "adl_trigger_reason",
  Types.AdlTriggerReason,
  Enumerations.AdlTriggerReason.literals
)

/** All tables, for the test that checks their completeness. */
export const enumTables = {
  side,
  orderType,
  timeInForce,
  marginMode,
  positionMode,
  positionStatus,
  orderStatus,
  createType,
  cancelType,
  rejectReason,
  stopOrderType,
  tpslMode,
  triggerBy,
  triggerDirection,
  execType,
  smpType,
  instrumentStatus,
  orderFilter,
  balanceReason,
  transferStatus,
  adlMode,
  adlTriggerReason
}

export const optional = <D extends string>(table: EnumTable<D>, number: number): D | undefined => {
  if (number === 0) return undefined
  const text = table.text[number]
  if (text === undefined) throw new WireError(`${table.name}: ${number} is not a known value`)
  return text
}

export const required = <D extends string>(table: EnumTable<D>, number: number): D => {
  const text = table.text[number]
  if (text === undefined) throw new WireError(`${table.name}: ${number} is not a known value`)
  return text
}

export const present = <A>(name: string, value: A | undefined): A => {
  if (value === undefined) throw new WireError(`${name} is missing`)
  return value
}

export const toNumber = <D extends string, N extends number>(table: EnumTable<D>, value: D): N =>
  table.number[value] as N

/**
 * The state machine of an order: every transition, as one table.
 *
 * Its row numbers are those of docs/contract/orders.md#order-statuses. A sequencer asserts each change against it.
 */
import type { OrderStatus } from "./Enumerations.ts"

/** Why an order changed. */
export type Cause =
  | "accepted"
  | "rejected"
  | "filled"
  | "cancel requested"
  | "canceled"
  | "amended"
  | "amend refused"
  | "cancel refused"
  | "triggered"
  | "expired"

/** A row of the table. `from` none: the order's first record. */
export interface Transition {
  readonly row: number
  readonly from: OrderStatus | undefined
  readonly cause: Cause
  readonly to: OrderStatus
}

const rows = (
  row: number,
  from: ReadonlyArray<OrderStatus | undefined>,
  cause: Cause,
  to: ReadonlyArray<OrderStatus>
): ReadonlyArray<Transition> => from.flatMap((from) => to.map((to) => ({ row, from, cause, to })))

const same = (row: number, statuses: ReadonlyArray<OrderStatus>, cause: Cause): ReadonlyArray<Transition> =>
  statuses.map((status) => ({ row, from: status, cause, to: status }))

/**
 * Every transition. Rows 10 and 11 are the remainder of IOC, Market and FOK orders; row 9 is any cancel by the
 * system.
 */
export const transitions: ReadonlyArray<Transition> = [
  ...rows(1, [undefined], "accepted", ["New"]),
  ...rows(2, [undefined], "rejected", ["Rejected"]),
  ...rows(3, [undefined], "accepted", ["Untriggered"]),
  ...rows(4, ["New", "PartiallyFilled"], "filled", ["PartiallyFilled"]),
  ...rows(4, ["CancelRequested"], "filled", ["CancelRequested"]),
  ...rows(5, ["New", "PartiallyFilled", "CancelRequested"], "filled", ["Filled"]),
  ...rows(6, ["New", "PartiallyFilled"], "cancel requested", ["CancelRequested"]),
  ...rows(7, ["CancelRequested"], "canceled", ["Canceled"]),
  ...rows(8, ["CancelRequested"], "canceled", ["PartiallyFilledCanceled"]),
  ...rows(9, ["New"], "canceled", ["Canceled"]),
  ...rows(9, ["PartiallyFilled"], "canceled", ["PartiallyFilledCanceled"]),
  ...rows(12, ["New", "PartiallyFilled"], "expired", ["Expired"]),
  ...rows(13, ["Untriggered"], "triggered", ["Triggered"]),
  ...rows(13, ["Triggered"], "accepted", ["New"]),
  ...rows(14, ["Triggered"], "rejected", ["Rejected"]),
  ...rows(15, ["Untriggered"], "canceled", ["Deactivated"]),
  ...rows(16, ["Untriggered"], "expired", ["Expired"]),
  ...same(17, ["New", "PartiallyFilled", "Untriggered"], "amended"),
  ...same(18, ["New", "PartiallyFilled", "Untriggered", "CancelRequested"], "amend refused"),
  ...rows(19, ["CancelRequested"], "cancel refused", ["New", "PartiallyFilled"])
]

/** The row of a change; `undefined` if the change is not allowed. */
export const transitionOf = (from: OrderStatus | undefined, cause: Cause, to: OrderStatus): Transition | undefined =>
  transitions.find((row) => row.from === from && row.cause === cause && row.to === to)

/** The table as a state diagram in Mermaid, for the documentation. */
export const diagram = (): string => {
  const arrows = transitions
    .filter(({ from, to }) => from !== to)
    .map(({ row, from, cause, to }) => `  ${from ?? "[*]"} --> ${to}: ${row} ${cause}`)
  return ["stateDiagram-v2", ...new Set(arrows)].join("\n")
}

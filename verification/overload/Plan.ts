/** The plan of a load, and its report. */
import type { Second } from "./Seconds.ts"

/** The price at which orders cross. */
export const PRICE = "60000"

export interface User {
  readonly token: string
  readonly vault: string
}
export interface Plan {
  readonly port: number
  /** The process of the gateway. */
  readonly pid: number
  readonly users: ReadonlyArray<User>
  readonly callers: number
  readonly seconds: number
  /** Orders that cross, orders that rest and are canceled, or half of each, which is the default. */
  readonly kind?: Kind
}
export type Kind = "mix" | "rest" | "fill"
/** Times after the load's end, in ms; undefined: not within two minutes. */
export interface Recovery {
  /** Until /ready is 200. */
  readonly ready_ms: number | undefined
  /** Until an order is accepted, and until its event arrives on the private socket of its user. */
  readonly accepted_ms: number | undefined
  readonly shown_ms: number | undefined
}
export interface Report {
  readonly seconds: ReadonlyArray<Second>
  readonly recovery: Recovery
  /** Private sockets that received nothing, and those that were closed. */
  readonly deaf: number
  readonly closed: number
}

export interface SustainedPlan extends Plan {
  /** Requests a second. */
  readonly rate: number
}
export interface SustainedReport extends Omit<Report, "recovery"> {
  /** Due requests for which no caller was free in time. */
  readonly unsent: number
  /** Acknowledged orders, and those that no private socket has shown. */
  readonly acknowledged: number
  readonly unseen: number
  /** Breaks in the numbering of private streams. */
  readonly holes: number
}

export type Calls = {
  readonly run: (plan: Plan) => Promise<Report>
  readonly sustain: (plan: SustainedPlan) => Promise<SustainedReport>
  /** Begins a load that lasts until `end`, which returns the ids of the acknowledged orders. */
  readonly begin: (plan: Omit<Plan, "seconds">) => Promise<void>
  readonly end: (argument: null) => Promise<ReadonlyArray<string>>
}

/** All cases in order, and their run against one backend. */
import { Cause, Clock, Effect, Exit } from "effect"
import { OrderStatus } from "../src/proto/gateway/v1/types.ts"
import { type Case, type Level } from "./Case.ts"
import * as Accounts from "./cases/Accounts.ts"
import * as Audit from "./cases/Audit.ts"
import * as Book from "./cases/Book.ts"
import * as Commands from "./cases/Commands.ts"
import * as Entry from "./cases/Entry.ts"
import * as Funds from "./cases/Funds.ts"
import * as Matching from "./cases/Matching.ts"
import * as Prices from "./cases/Prices.ts"
import * as Risk from "./cases/Risk.ts"
import * as Sequence from "./cases/Sequence.ts"
import * as Unary from "./cases/Unary.ts"
import * as Waiting from "./cases/Waiting.ts"
import { cancelOf } from "./Orders.ts"
import { pick } from "./Record.ts"
import { type Options, World } from "./World.ts"
import { Broken } from "./Expect.ts"

/** The audits run last: they check the events of all other cases. */
export const cases: ReadonlyArray<Case> = [
  ...Prices.cases,
  ...Sequence.cases,
  ...Commands.cases,
  ...Funds.cases,
  ...Book.cases,
  ...Matching.cases,
  ...Unary.cases,
  ...Entry.cases,
  ...Waiting.cases,
  ...Accounts.cases,
  ...Risk.cases,
  ...Audit.cases
]

/** Result of a case. */
export interface Outcome {
  readonly name: string
  readonly level: Level
  readonly clause: string
  readonly claim: string
  readonly took_ms: number
  /** The failure; absent if the case passed. */
  readonly failure?: string
}

const OPEN: ReadonlySet<OrderStatus> = new Set([
  OrderStatus.ORDER_STATUS_NEW,
  OrderStatus.ORDER_STATUS_PARTIALLY_FILLED,
  OrderStatus.ORDER_STATUS_UNTRIGGERED
])

/** Cancels the open orders of a case, so that the next one starts with an empty book. */
const tidy = Effect.gen(function* () {
  const { command, commands, record } = yield* World
  const last = new Map(
    pick(record.events, "order_changed").flatMap(({ order }) => (order === undefined ? [] : [[order.order_id, order]]))
  )
  const open = [...last.values()].filter(({ order_status }) => OPEN.has(order_status))
  const cancels = yield* Effect.forEach(open, (order) => command(order, cancelOf(order.symbol, order.order_id)))
  if (cancels.length > 0) yield* commands.submitAll(cancels)
})

const messageOf = (cause: Cause.Cause<Broken>): string => {
  const error = Cause.squash(cause)
  // a defect is a fault of the suite, or of a record that it cannot process
  return error instanceof Broken ? error.message : `the case failed with a defect: ${String(error)}`
}

const runCase = Effect.fnUntraced(function* ({ claim, clause, level, name, run }: Case) {
  const began = yield* Clock.currentTimeMillis
  const exit = yield* Effect.exit(run)
  yield* Effect.ignore(tidy)
  const took_ms = (yield* Clock.currentTimeMillis) - began
  const outcome: Outcome = { name, level, clause, claim, took_ms }
  return Exit.isSuccess(exit) ? outcome : { ...outcome, failure: messageOf(exit.cause) }
})

/** Runs cases against one backend in sequence. Fails if no run is possible. */
export const run = (
  options: Options,
  chosen: ReadonlyArray<Case>,
  onOutcome: (outcome: Outcome) => void = () => {}
): Effect.Effect<ReadonlyArray<Outcome>, Broken> =>
  Effect.scoped(
    Effect.gen(function* () {
      const world = yield* World.make(options)
      return yield* Effect.forEach(chosen, (entry) =>
        Effect.tap(runCase(entry), (outcome) => Effect.sync(() => onOutcome(outcome)))
      ).pipe(Effect.provideService(World, world))
    })
  )

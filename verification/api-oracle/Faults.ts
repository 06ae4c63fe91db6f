/** Faults of a gateway that users see, and the oracle must find. The backend and its journal stay right. */
import type { Mutant } from "../simulation/Mutant.ts"

export interface Fault extends Mutant {
  readonly name: string
}

export const FAULTS: ReadonlyArray<Fault> = [
  {
    name: "a resume leaves out the first event that was missed",
    module: "/services/read-model/UserSnapshots.ts",
    right: "let after = since.seq\n",
    wrong: "let after = Math.min(since.seq + 1, head)\n"
  },
  {
    name: "a resume shows each missed event twice",
    module: "/ws/PrivateFeed.ts",
    right: "for (const message of replay) this.send(message, at, false)",
    wrong:
      "for (const message of replay) { this.send(message, at, false); this.live.set(message.event.topic, 0); this.send(message, at, false) }"
  },
  {
    name: "a list of orders has those of all sub-accounts",
    module: "/services/read-model/HistoryQueries.ts",
    right: "? subAccounts.resolveWithDeleted(caller, request.sub_account_address)",
    wrong: "? subAccounts.resolveWithDeleted(caller, undefined)"
  },
  {
    name: "a list of positions is one event ahead of its records",
    module: "/services/read-model/PortfolioQueries.ts",
    right: "...markOfList(shown) }\n        }),\n        feeRates",
    wrong: "...markOfList(shown), seq: markOfList(shown).seq + 1 }\n        }),\n        feeRates"
  },
  {
    name: "a closed position is still listed",
    module: "/services/read-model/LastRecords.ts",
    right: `positionsIn(rows).filter(({ size }) => size !== "0")`,
    wrong: "positionsIn(rows)"
  },
  {
    name: "the first changed level of a book is lost",
    module: "/ws/BookTopic.ts",
    right: "for (let i = start; i < afterEnd; i++) {",
    wrong: "for (let i = start + 1; i < afterEnd; i++) {"
  },
  {
    name: "the fee of an order is that of its last change but one",
    module: "/layers/grpc/WireRecords.ts",
    right: `export const toOrder = (from: Types.Order): Order => {
  checkOrder(from)
  const order: Mutable<Order> = {
    avg_price: from.avg_price,
    close_on_trigger: from.close_on_trigger,
    created_time: String(from.created_time_ms),
    cum_exec_fee: from.cum_exec_fee,`,
    wrong: `const lastFees = new Map<string, string>()
export const toOrder = (from: Types.Order): Order => {
  const lastFee = lastFees.get(from.order_id) ?? from.cum_exec_fee
  lastFees.set(from.order_id, from.cum_exec_fee)
  const order: Mutable<Order> = {
    avg_price: from.avg_price,
    close_on_trigger: from.close_on_trigger,
    created_time: String(from.created_time_ms),
    cum_exec_fee: lastFee,`
  }
]

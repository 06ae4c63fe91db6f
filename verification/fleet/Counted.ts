/** Whether an order that is sent twice is one order: raced to two gateways, or cut off and repeated at another. */
import { join } from "node:path"
import { read, seedOf } from "../../src/backend/engine/sequencer/Ids.ts"
import { verifyJournal } from "../harness/BackendProcess.ts"
import * as Child from "../harness/LoadProcess.ts"
import type * as Cut from "./Cut.ts"
import type { Fleet } from "./Fleet.ts"
import type { Counted } from "./Orders.ts"
import type * as Raced from "./Raced.ts"

const withChild = async <C extends Child.Calls, A>(file: string, use: (child: Child.Child<C>) => Promise<A>) => {
  const child = Child.start<C>(join(import.meta.dirname, file))
  return use(child).finally(child.stop)
}
const urlsOf = (fleet: Fleet) => fleet.members.map(({ url }) => url)

/** Sends each of so many signed orders to two gateways at once. */
export const raced = (fleet: Fleet, options: Omit<Raced.Options, "urls">): Promise<Raced.Report> =>
  withChild<Raced.Calls, Raced.Report>("Raced.ts", ({ call }) => call("run", { ...options, urls: urlsOf(fleet) }))

export interface CutOutcome extends Cut.Report {
  /** Orders by the backend's own count: ids that it gave. */
  readonly given: number
}

/** Cuts off so many orders and repeats them elsewhere. Nobody else may place orders meanwhile. */
export const cut = async (fleet: Fleet, options: Omit<Cut.Options, "urls">): Promise<CutOutcome> => {
  const report = await withChild<Cut.Calls, Cut.Report>("Cut.ts", ({ call }) =>
    call("run", { ...options, urls: urlsOf(fleet) })
  )
  const { code, errors, text } = await verifyJournal(fleet.backendDir)
  if (code !== 0) throw new Error(`the journal does not verify: ${errors}`)
  const { epoch }: { readonly epoch: string } = JSON.parse(text)
  const [before, after] = report.bounds.map((id) => read(seedOf(epoch, "order"), id)!.number)
  return { ...report, given: after! - before! - 1 }
}

const miscounted = ({ missing, orders, other, twice }: Counted, asked: number): ReadonlyArray<string> =>
  [
    [`orders in the histories, not ${asked}`, orders === asked ? 0 : orders],
    ["orders missing", missing],
    ["orders there twice", twice],
    ["orders under another id than was answered", other]
  ].flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]))

/** What must not be, in words. */
export const racedViolations = (report: Raced.Report, asked: number): ReadonlyArray<string> => [
  ...(report.successes === asked ? [] : [`${report.successes} successes of ${asked}`]),
  ...(report.doubled === 0 ? [] : [`${report.doubled} requests were taken by both`]),
  ...miscounted(report, asked)
]
export const cutViolations = (report: CutOutcome, asked: number): ReadonlyArray<string> => [
  ...(report.given === asked ? [] : [`the backend counts ${report.given} orders, not ${asked}`]),
  ...miscounted(report, asked)
]

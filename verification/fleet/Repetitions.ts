/** Whether an order that is sent twice is one order: sent to two gateways at once, or cut off and repeated at another. */
import { join } from "node:path"
import { read, seedOf } from "../../src/backend/engine/state/Ids.ts"
import { verifyJournal } from "../harness/BackendProcess.ts"
import type { Fleet } from "../harness/Fleet.ts"
import { type Calls, type LoadProcess, startLoad } from "../harness/LoadProcess.ts"
import type * as Cut from "./Cut.ts"
import type { HistoryCounts } from "./Orders.ts"
import type * as Raced from "./Raced.ts"

const withLoad = async <C extends Calls, A>(file: string, use: (load: LoadProcess<C>) => Promise<A>) => {
  const load = startLoad<C>(join(import.meta.dirname, file))
  return use(load).finally(load.stop)
}
const urlsOf = (fleet: Fleet) => fleet.members.map(({ url }) => url)

/** Sends each signed order to two gateways at once. */
export const raced = (fleet: Fleet, options: Omit<Raced.Options, "urls">): Promise<Raced.Report> =>
  withLoad<Raced.Calls, Raced.Report>("Raced.ts", ({ call }) => call("run", { ...options, urls: urlsOf(fleet) }))

export interface CutOutcome extends Cut.Report {
  /** Orders by the backend's count: the ids that it gave. */
  readonly given: number
}

/** Cuts orders off and repeats them at another gateway. Nobody else may place orders meanwhile. */
export const cut = async (fleet: Fleet, options: Omit<Cut.Options, "urls">): Promise<CutOutcome> => {
  const report = await withLoad<Cut.Calls, Cut.Report>("Cut.ts", ({ call }) =>
    call("run", { ...options, urls: urlsOf(fleet) })
  )
  const { epoch } = verifyJournal(fleet.backendDir)
  const [before, after] = report.bounds.map((id) => read(seedOf(epoch, "order"), id)!.number)
  return { ...report, given: after! - before! - 1 }
}

const miscounted = ({ missing, orders, other, twice }: HistoryCounts, sent: number): ReadonlyArray<string> =>
  [
    [`orders in the histories, not ${sent}`, orders === sent ? 0 : orders],
    ["orders missing", missing],
    ["orders recorded twice", twice],
    ["orders under another id than the answered one", other]
  ].flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]))

/** Every violation, as text. */
export const racedViolations = (report: Raced.Report, sent: number): ReadonlyArray<string> => [
  ...(report.successes === sent ? [] : [`${report.successes} successes of ${sent}`]),
  ...(report.doubled === 0 ? [] : [`${report.doubled} requests were accepted by both`]),
  ...miscounted(report, sent)
]
export const cutViolations = (report: CutOutcome, sent: number): ReadonlyArray<string> => [
  ...(report.given === sent ? [] : [`the backend counts ${report.given} orders, not ${sent}`]),
  ...miscounted(report, sent)
]

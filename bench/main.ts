/** `npm run bench -- NAME`: runs one benchmark and prints its figures. */
import { execFileSync } from "node:child_process"
import { availableParallelism } from "node:os"

const benches: Record<string, () => Promise<{ readonly main: () => Promise<void> }>> = {
  backend: () => import("./Backend.bench.ts"),
  journal: () => import("./Journal.bench.ts"),
  "shared-journal": () => import("./SharedJournal.bench.ts"),
  event: () => import("./Event.bench.ts"),
  "event-latency": () => import("./EventLatency.bench.ts"),
  fanout: () => import("./FanOut.bench.ts"),
  list: () => import("./List.bench.ts"),
  "rest-read": () => import("./RestRead.bench.ts"),
  start: () => import("./Start.bench.ts"),
  "signed-order": () => import("./SignedOrder.bench.ts"),
  "order-entry": () => import("./OrderEntry.bench.ts"),
  exchange: () => import("./Exchange.bench.ts"),
  decimal: () => import("./Decimal.bench.ts"),
  matching: () => import("./Matching.bench.ts"),
  profile: () => import("./Profile.ts")
}

const name = process.argv[2] ?? ""
const bench = benches[name]
if (bench === undefined) {
  console.error(`usage: npm run bench -- NAME\nbenches: ${Object.keys(benches).join(", ")}`)
  process.exit(2)
}
if (availableParallelism() < 2) {
  console.error("ratios need two cores: one for the server, one for the load")
  process.exit(2)
}
// load and backends on one core, the server under test on the other; a database has processes of its own
if (name !== "shared-journal") execFileSync("taskset", ["-apc", "1", String(process.pid)], { stdio: "ignore" })
await (await bench()).main()
process.exit(0)

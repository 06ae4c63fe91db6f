/** Compares price-time priority with a recorded session: `node verification/replay/price-time.ts FILE`. */
import { existsSync } from "node:fs"
import { measure, table } from "./Priority.ts"
import { OPENS_AT, read } from "./Session.ts"

const file = process.argv[2]
if (file === undefined || !existsSync(file)) {
  console.error("usage: node verification/replay/price-time.ts FILE")
  process.exit(2)
}
console.log(table(measure(read(file, OPENS_AT))))

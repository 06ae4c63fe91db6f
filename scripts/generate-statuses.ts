/** Writes the state diagram of orders into docs/contract/orders.md, from the table in src/domain/OrderStatus.ts. */
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { diagram, transitions } from "../src/domain/OrderStatus.ts"
import { filled } from "./reference/Block.ts"

const path = join(dirname(dirname(fileURLToPath(import.meta.url))), "docs/contract/orders.md")

/** Transitions that keep the status, one line per row. */
const stays = (): ReadonlyArray<string> => {
  const rows = new Map<string, Array<string>>()
  for (const { cause, from, row, to } of transitions)
    if (from === to) rows.set(`${row} ${cause}`, [...(rows.get(`${row} ${cause}`) ?? []), to])
  return [...rows].map(([what, statuses]) => `- ${what}: ${statuses.join(", ")}`)
}

const picture = (): string =>
  ["```mermaid", diagram(), "```", "", "These rows keep the status:", "", ...stays()].join("\n")

/** The page with a current diagram. */
const current = (): string => filled(readFileSync(path, "utf8"), "src/domain/OrderStatus.ts", picture())

/** Whether the committed diagram matches the table. */
export const isCurrent = (): boolean => readFileSync(path, "utf8") === current()

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(path, current())
  console.log("wrote the order statuses of docs/contract/orders.md")
}

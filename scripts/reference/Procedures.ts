/** The table of procedures in docs/reference/rpc.md, derived from the endpoints. */
import { derived } from "../../src/rpc/api/Operations.ts"
import { row, table } from "./Table.ts"

export const procedures = (): string => {
  const rows = derived.map(({ endpoint, rpc }) => {
    const { method, params, path, payload, query } = endpoint
    const parts = Object.entries({ params, query, payload: payload.size > 0 ? payload : undefined })
    const taken = parts.filter(([, part]) => part !== undefined).map(([name]) => `\`${name}\``)
    return row(`\`${rpc._tag}\``, taken.join(", "), `\`${method} ${path}\``)
  })
  return `${rows.length} procedures:\n\n${table(["Procedure", "Input", "Endpoint"], rows)}`
}

/** docs/reference/settings.md: every environment variable of the gateway, from the table that reads them. */
import { table as settings } from "../../src/layers/Settings.ts"
import { row, table } from "./Table.ts"

export const page = (): string => {
  const rows = Object.values(settings).map(({ about, default: fallback, name }) =>
    row(`\`${name}\``, fallback === "unset" ? "" : `\`${fallback}\``, about)
  )
  return `# Settings of the gateway

Environment variables, read once at the start. A value that cannot be used stops the start and names its variable. On and off are
written so. Those of the backend, and what changes of them mean for a journal, are in [operations.md](../operations.md#settings).

${table(["Variable", "Default", "Meaning"], rows)}
`
}

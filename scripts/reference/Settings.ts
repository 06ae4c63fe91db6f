/** docs/reference/settings.md: every environment variable of gateway and backend, from the tables that the programs read. */
import { rows as ofBackend } from "../../src/backend/Settings.ts"
import type { Setting } from "../../src/domain/Setting.ts"
import { table as ofGateway } from "../../src/layers/Settings.ts"
import { row, table } from "./Table.ts"

/** Turns names of reference pages into links. */
const linked = (about: string): string => about.replaceAll(/docs\/reference\/([\w-]+\.md)/gu, "[$1]($1)")

const tableOf = (settings: ReadonlyArray<Setting<unknown>>): string =>
  table(
    ["Variable", "Default", "Meaning"],
    settings.map(({ about, accepts, default: fallback, name }) =>
      row(
        `\`${name}\``,
        fallback === "unset" ? "" : `\`${fallback}\``,
        linked(about) + (accepts === undefined ? "" : ` (${accepts})`)
      )
    )
  )

export const page = (): string => `# Settings

Environment variables, read once at the start. An invalid value stops the start with an error that names the variable. Switches are \`on\` or \`off\`.
\`gateway config check\` validates the settings without a start. \`gateway config print\` prints the effective values.

## The gateway

${tableOf(Object.values(ofGateway))}

## The backend

These apply to the embedded backend and to \`npm run backend\`. An existing journal keeps some of them: see
[settings and secrets](../operations/settings.md#settings).

${tableOf(ofBackend)}
`

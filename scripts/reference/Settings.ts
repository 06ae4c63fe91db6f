/** docs/reference/settings.md: every environment variable of gateway and backend, from the tables that read them. */
import { rows as ofBackend } from "../../src/backend/Settings.ts"
import type { Setting } from "../../src/domain/Setting.ts"
import { table as ofGateway } from "../../src/layers/Settings.ts"
import { row, table } from "./Table.ts"

/** The pages of this folder that a meaning names, as links. */
const linked = (about: string): string => about.replaceAll(/docs\/reference\/([\w-]+\.md)/gu, "[$1]($1)")

const tableOf = (settings: ReadonlyArray<Setting<unknown>>): string =>
  table(
    ["Variable", "Default", "Meaning"],
    settings.map(({ about, default: fallback, name }) =>
      row(`\`${name}\``, fallback === "unset" ? "" : `\`${fallback}\``, linked(about))
    )
  )

export const page = (): string => `# Settings

Environment variables, read once at the start. A value that cannot be used stops the start and names its variable. On and off are
written so. \`gateway config check\` says whether a start would take them, \`gateway config print\` what they are.

## The gateway

${tableOf(Object.values(ofGateway))}

## The backend

The embedded backend, and \`npm run backend\`. What a change of them means for a journal is in
[operations.md](../operations.md#settings).

${tableOf(ofBackend)}
`

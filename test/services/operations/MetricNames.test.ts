/** The tables of metrics are those of docs/operations/metrics.md, word by word. */
import { readFileSync } from "node:fs"
import { assert, it } from "vitest"
import { catalogue as ofBackend } from "../../../src/backend/server/BackendMetrics.ts"
import { catalogue } from "../../../src/services/operations/MetricNames.ts"

const documented = readFileSync("docs/operations/metrics.md", "utf8")

it("are documented name by name, with their labels", () => {
  for (const [name, { about, labels }] of Object.entries(catalogue)) {
    const names = (labels as ReadonlyArray<string>).map((label) => `\`${label}\``).join(", ")
    assert.include(documented, `| \`${name}\` | ${names} | ${about} |`)
  }
  for (const [name, about] of Object.entries(ofBackend)) assert.include(documented, `| \`${name}\` | ${about} |`)
})

it("are all that is documented", () => {
  const rows = [...documented.matchAll(/^\| `((?:gateway|backend|process|nodejs)_[a-z_]+)` \|/gmu)]
  assert.sameMembers(
    rows.map((match) => match[1]!),
    [...Object.keys(catalogue), ...Object.keys(ofBackend)]
  )
})

it("follow the naming rules of Prometheus", () => {
  for (const [name, { type }] of Object.entries(catalogue)) {
    assert.strictEqual(name.endsWith("_total"), type === "counter", name)
    if (type === "histogram") assert.match(name, /_seconds$/u)
  }
})

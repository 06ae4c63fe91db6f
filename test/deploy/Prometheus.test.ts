/** Rules and dashboard use existing metrics, and the rules pass their tests. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { Yaml } from "effect/encoding"
import { assert, describe, it } from "vitest"
import { catalogue as ofBackend } from "../../src/backend/server/BackendMetrics.ts"
import { catalogue } from "../../src/services/operations/MetricNames.ts"

const RULES = "deploy/prometheus/alerts.yml"
const TESTS = "deploy/prometheus/alerts.test.yml"
const DASHBOARD = "deploy/grafana/gateway.json"
const read = (path: string): string => readFileSync(path, "utf8")

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly action: string }
}
const rules = (Yaml.parse(read(RULES)) as { groups: ReadonlyArray<{ rules: ReadonlyArray<Rule> }> }).groups.flatMap(
  ({ rules }) => rules
)

interface Panel {
  readonly title: string
  readonly type: string
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}
const panels = (JSON.parse(read(DASHBOARD)) as { panels: ReadonlyArray<Panel> }).panels

const names = new Set([...Object.keys(catalogue), ...Object.keys(ofBackend)])
/** The metrics of an expression, without the suffixes of histograms. */
const named = (expr: string): ReadonlyArray<string> =>
  [...expr.matchAll(/\b(?:gateway|backend|process|nodejs)_[a-z_]+\b/gu)]
    .map((match) => match[0])
    .map((name) => (names.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/u, "")))

describe("the files for Prometheus and Grafana", () => {
  it("use existing metrics only", () => {
    const used = [...rules.map(({ expr }) => expr), ...panels.flatMap(({ targets = [] }) => targets.map((t) => t.expr))]
    const unknown = used.flatMap(named).filter((name) => !names.has(name))
    assert.deepStrictEqual(unknown, [])
    assert.isAbove(used.flatMap(named).length, 60)
  })

  it("use existing labels only", () => {
    const labels: Readonly<Record<string, ReadonlyArray<string>>> = Object.fromEntries(
      Object.entries(catalogue).map(([name, { labels }]) => [name, labels])
    )
    const used = [...rules.map(({ expr }) => expr), ...panels.flatMap(({ targets = [] }) => targets.map((t) => t.expr))]
    for (const expr of used) {
      for (const [, name, selector] of expr.matchAll(/\b((?:gateway|backend|process|nodejs)_[a-z_]+)\{([^}]*)\}/gu)) {
        const [metric] = named(name!)
        const asked = [...selector!.matchAll(/([a-z_]+)\s*(?:=|!)/gu)].map((match) => match[1]!)
        for (const label of asked) assert.include([...(labels[metric!] ?? []), "instance"], label, expr)
      }
    }
  })

  it("show every metric on the dashboard", () => {
    const shown = new Set(panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => named(expr))))
    assert.deepStrictEqual(
      [...names].filter((name) => !shown.has(name)),
      []
    )
  })

  it("give each alert a severity and a runbook section that exists", () => {
    for (const { alert, annotations, labels } of rules) {
      assert.include(["page", "ticket"], labels.severity, alert)
      assert.isAbove(annotations.summary.length, 10, alert)
      for (const [, path, section] of annotations.action.matchAll(/(docs\/[\w/-]+\.md)(?:, ([^:;]+))?/gu))
        assert.match(read(path!), new RegExp(section === undefined ? "^# " : `^## ${section}$`, "mu"), alert)
    }
  })

  it("have a page each, with severity and condition, and no page without an alert", () => {
    const index = read("docs/runbooks/index.md")
    for (const { alert, expr, labels } of rules) {
      const page = read(`docs/runbooks/${alert}.md`)
      assert.include(page, `\`${expr.trim().split(/\s+/u).join(" ").replaceAll("|", "\\|")}\``, alert)
      assert.include(page, `| Severity | ${labels.severity}:`, alert)
      assert.include(index, `[${alert}](${alert}.md)`)
    }
    assert.lengthOf([...index.matchAll(/^\| \[/gmu)], rules.length)
  })

  it("test each alert by name", () => {
    const text = read(TESTS)
    for (const { alert } of rules) assert.include(text, `{alertname="${alert}"}`)
  })
})

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0
describe.skipIf(!hasPromtool)("promtool", () => {
  const promtool = (...args: ReadonlyArray<string>) => {
    const { status, stderr, stdout } = spawnSync("promtool", args, { encoding: "utf8" })
    assert.strictEqual(status, 0, `${stdout}\n${stderr}`)
    return stdout
  }
  it("loads every rule", () => {
    assert.include(promtool("check", "rules", RULES), `${rules.length} rules found`)
  })
  it("fires each alert when it should, and none in normal operation", () => {
    assert.include(promtool("test", "rules", TESTS), "SUCCESS")
  })
})

/** The sidebar: groups of pages by folder, each page by its first heading. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const docs = new URL("../../", import.meta.url)
const titleOf = (path: string): string =>
  /^# (.*)$/mu.exec(readFileSync(new URL(path, docs), "utf8"))![1]!.replaceAll("`", "")

const page = (path: string) => ({
  text: titleOf(path),
  link: `/${path.replace(/(?:README|index)?\.md$/u, "")}`
})
/** Pages of a folder: those that are named first, the others in the order of their names. */
const pages = (folder: string, ...first: ReadonlyArray<string>) => {
  const names = readdirSync(fileURLToPath(new URL(folder, docs))).filter((name) => name.endsWith(".md"))
  const order = [...first.map((name) => `${name}.md`), ...names.toSorted()]
  return [...new Set(order)].filter((name) => names.includes(name)).map((name) => page(`${folder}/${name}`))
}

/** Pages of operations, in the order in which an operator needs them. */
const TASKS = ["machine", "fleet", "settings", "backup", "standby", "upgrade", "failure-points", "metrics", "traces", "capacity", "security", "faults"]

export const sidebar = () => [
  { text: "Guides", items: pages("guides", "first-fill", "first-bot", "market-maker", "client", "embedding", "backend") },
  { text: "Recipes", items: pages("recipes", "index") },
  {
    text: "Reference",
    items: [...pages("reference", "rest", "websocket", "rpc", "errors", "limits"), page("cli.md")]
  },
  // a group that folds has a page of its own: its heading is a link, beside the button that folds it
  { text: "Contract", link: "/contract/", collapsed: true, items: pages("contract", "README").slice(1) },
  {
    text: "Operations",
    link: "/operations/",
    collapsed: true,
    items: [...pages("operations", "index", ...TASKS).slice(1), page("scale.md"), page("benchmarks.md")]
  },
  { text: "Runbooks", link: "/runbooks/", collapsed: true, items: pages("runbooks", "index").slice(1) },
  {
    text: "Development",
    link: "/architecture",
    collapsed: true,
    items: [page("architecture.md"), page("testing.md"), ...pages("decisions", "README")]
  }
]

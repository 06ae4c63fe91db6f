/**
 * Imports of Effect's modules by their own paths. `import { Effect } from "effect"` loads every module of Effect;
 * `import * as Effect from "effect/Effect"` loads only what the module needs, which starts a program sooner.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** The modules that an index re-exports as namespaces. */
const namespaces = new Map<string, ReadonlySet<string>>()
const namespacesOf = (entry: string): ReadonlySet<string> => {
  const known = namespaces.get(entry)
  if (known !== undefined) return known
  const path = fileURLToPath(import.meta.resolve(entry))
  const names = path.endsWith("/index.js")
    ? [...readFileSync(path, "utf8").matchAll(/^export \* as (\w+) from "\.\/\1\.js"/gmu)].map(([, name]) => name!)
    : []
  namespaces.set(entry, new Set(names))
  return namespaces.get(entry)!
}

/** What the index of Effect exports besides namespaces. */
const FUNCTIONS = new Set(["absurd", "cast", "flow", "hole", "identity", "pipe"])

/** Rewrites the imports of emitted JavaScript or declarations. Names that are no namespace stay. */
export const namespaceImports = (text: string): string =>
  text.replaceAll(
    /^import (type )?\{([^}]+)\} from "(effect(?:\/[a-z-]+)?)";?$/gmu,
    (whole, type: string | undefined, list: string, entry: string) => {
      const known = namespacesOf(entry)
      const names = list
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "")
      const moduleOf = (name: string): string => name.replace(/^type /u, "").split(" as ")[0]!
      const rest = names.filter((name) => !known.has(moduleOf(name)))
      if (rest.length === names.length && !rest.every((name) => FUNCTIONS.has(moduleOf(name)))) return whole
      const deep = names
        .filter((name) => known.has(moduleOf(name)))
        .map((name) => {
          const keyword = type !== undefined || name.startsWith("type ") ? "import type" : "import"
          return `${keyword} * as ${name
            .replace(/^type /u, "")
            .split(" as ")
            .at(-1)} from "${entry}/${moduleOf(name)}";`
        })
      const from = entry === "effect" && rest.every((name) => FUNCTIONS.has(moduleOf(name))) ? "effect/Function" : entry
      const left = rest.length === 0 ? [] : [`import ${type ?? ""}{ ${rest.join(", ")} } from "${from}";`]
      return [...deep, ...left].join(" ")
    }
  )

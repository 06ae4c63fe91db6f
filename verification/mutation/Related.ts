/** Which tests reach a module by imports, the nearest first. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"

const root = join(import.meta.dirname, "../..")
const IMPORTS = /\bfrom\s*"(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"\s*\)|\bimport\s+"(\.[^"]+)"/gu
/** Whole exchanges in processes, browsers, documents and suites: too slow to run for each fault. */
const SLOW = /^test\/(?:bench|deploy|docs|e2e|examples|package|page|scripts|verification\/(?!Oracle|Simulation\.))/u

const importsOf = (path: string): ReadonlyArray<string> =>
  [...readFileSync(path, "utf8").matchAll(IMPORTS)].map((match) =>
    resolve(dirname(path), match[1] ?? match[2] ?? match[3]!)
  )

/** Answers the test files that reach a module of src, by how many imports lie between. */
export const relatedTests = (): ((module: string) => ReadonlyArray<string>) => {
  const importers = new Map<string, Set<string>>()
  for (const path of globSync(join(root, "{src,test,verification}/**/*.ts"))) {
    for (const imported of importsOf(path)) {
      const known = importers.get(imported)
      if (known === undefined) importers.set(imported, new Set([path]))
      else known.add(path)
    }
  }
  return (module) => {
    const seen = new Set([join(root, module)])
    const tests: Array<string> = []
    for (const path of seen) {
      for (const importer of importers.get(path) ?? []) seen.add(importer)
      const name = relative(root, path)
      if (name.endsWith(".test.ts") && !SLOW.test(name)) tests.push(name)
    }
    return tests
  }
}

/** Which tests reach a module by imports: those of its name, of its folder, and then the nearest. */
import { globSync, readFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"

const root = join(import.meta.dirname, "../..")
const IMPORTS = /\bfrom\s*"(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"\s*\)|\bimport\s+"(\.[^"]+)"/gu
/** Whole exchanges in processes, browsers, documents and suites: too slow to run for each fault. */
const SLOW =
  /^test\/(?:bench|deploy|docs|e2e|examples|package|page\/Page\.|scripts|verification\/(?!Oracle|Simulation\.))/u

const importsOf = (path: string): ReadonlyArray<string> =>
  [...readFileSync(path, "utf8").matchAll(IMPORTS)].map((match) =>
    resolve(dirname(path), match[1] ?? match[2] ?? match[3]!)
  )

/** Whether a test file has the name of the module. */
export const isNamedAfter = (module: string, test: string): boolean =>
  basename(test, ".test.ts") === basename(module, ".ts")

/** 0: the test of the module by name; 1: a test of its folder; 2: another one. */
const rankOf = (module: string, test: string): number => {
  if (isNamedAfter(module, test)) return 0
  return dirname(test).replace(/^test/u, "src") === dirname(module) ? 1 : 2
}

/** Returns the test files that reach a module of src: by name and folder first, then by the number of imports between. */
export const relatedTests = (): ((module: string) => ReadonlyArray<string>) => {
  const importers = new Map<string, Set<string>>()
  for (const path of globSync(join(root, "{page,src,test,verification}/**/*.ts"))) {
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
    return tests.toSorted((a, b) => rankOf(module, a) - rankOf(module, b))
  }
}

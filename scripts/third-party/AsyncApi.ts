/** The AsyncAPI document, as the specification's own parser reads it. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"

interface Diagnostic {
  /** 0: an error. */
  readonly severity: number
  readonly code: string | number
  readonly message: string
  readonly path: ReadonlyArray<string | number>
}
interface Parsers {
  readonly Parser: new () => {
    readonly parse: (text: string) => Promise<{ readonly document?: object; readonly diagnostics: Array<Diagnostic> }>
  }
}

/** What the parser installed in `home` finds. */
export const parse = async (
  home: string,
  document: string
): Promise<{ readonly ok: boolean; readonly errors: ReadonlyArray<string>; readonly others: number }> => {
  const { Parser } = createRequire(join(home, "package.json"))("@asyncapi/parser") as Parsers
  const parsed = await new Parser().parse(readFileSync(document, "utf8"))
  const errors = parsed.diagnostics.filter(({ severity }) => severity === 0)
  return {
    ok: parsed.document !== undefined && errors.length === 0,
    errors: errors.map(({ code, message, path }) => `${code}: ${message} at ${path.join("/")}`),
    others: parsed.diagnostics.length - errors.length
  }
}

/** The accepted name that a misspelt one probably means. */
import { SchemaAST, type Schema } from "effect"

/** Names that are further off than this are no misspelling. */
const EDITS_MAX = 2

/** How many letters must be put in, left out or replaced to make one text of the other. */
const edits = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const replaced = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[other.length]!
}

/** The names of all fields of a schema, those of nested objects as well. */
export const fieldsOf = (schemas: Iterable<Schema.Top>): ReadonlySet<string> => {
  const names = new Set<string>()
  const seen = new Set<SchemaAST.AST>()
  const walk = (ast: SchemaAST.AST): void => {
    if (seen.has(ast)) return
    seen.add(ast)
    if (SchemaAST.isObjects(ast)) {
      for (const { name, type } of ast.propertySignatures) {
        names.add(String(name))
        walk(type)
      }
    } else if (SchemaAST.isArrays(ast)) for (const type of [...ast.elements, ...ast.rest]) walk(type)
    else if (SchemaAST.isUnion(ast)) for (const type of ast.types) walk(type)
    else if (SchemaAST.isSuspend(ast)) walk(ast.thunk())
  }
  for (const schema of schemas) walk(SchemaAST.toEncoded(schema.ast))
  return names
}

/**
 * The known name that differs only in case and underscores, or by at most `most` letters; `undefined`: none does. Two letters are one
 * typing error that swaps them.
 */
export const nearest = (name: string, known: ReadonlySet<string>, most = EDITS_MAX): string | undefined => {
  const plain = (text: string) => text.replaceAll("_", "").toLowerCase()
  const asked = plain(name)
  let found: string | undefined
  let least = most + 1
  for (const candidate of known) {
    const bare = plain(candidate)
    if (Math.abs(bare.length - asked.length) >= least) continue
    const distance = edits(asked, bare)
    if (distance < least) {
      least = distance
      found = candidate
    }
  }
  return found
}

/**
 * Writes the golden journal of the engine's rules: `node scripts/golden-journal.ts`. To be run once where the rules get a
 * new name, never to make a test pass: it holds what these rules did when they were named.
 */
import { writeFileSync } from "node:fs"
import { Engine, golden, goldenFile } from "./golden-journal/Golden.ts"

const file = goldenFile(Engine.RULES)
writeFileSync(file, golden(1, 120))
process.stdout.write(`${file}\n`)

/** The pages that are committed, read. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type Block, type Page, read } from "../../scripts/docs/Markdown.ts"
import { root } from "../../scripts/docs/Session.ts"

/** Every file that is committed, or about to be. */
export const tracked: ReadonlyArray<string> = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard"],
  { cwd: root, encoding: "utf8" }
)
  .split("\n")
  .filter((path) => path !== "")

export const textOf = (path: string): string => readFileSync(join(root, path), "utf8")

export const pages: ReadonlyArray<Page> = tracked
  .filter((path) => path.endsWith(".md") || path === "llms.txt")
  .map((path) => read(path, textOf(path)))

/** What happens to a block of a page. */
export type Fate =
  /** Output or a picture: nothing that could run. */
  | { readonly kind: "shown" }
  | { readonly kind: "run"; readonly refused: boolean }
  /** A part of a file that is run, or JSON that is held against its schema. */
  | { readonly kind: "file"; readonly file: string }
  | { readonly kind: "json"; readonly schema: string }
  | { readonly kind: "marked"; readonly reason: string }
  | { readonly kind: "unknown" }

const shown = new Set(["text", "mermaid"])
const runnable = new Set(["sh", "ts", "python"])

export const fateOf = ({ language, mark }: Block): Fate => {
  if (shown.has(language)) return { kind: "shown" }
  if (mark.startsWith("no-run:")) return { kind: "marked", reason: mark.slice("no-run:".length).trim() }
  if (language === "json") return { kind: "json", schema: mark }
  if (mark.startsWith("examples/")) return { kind: "file", file: mark }
  if (runnable.has(language) && (mark === "" || mark === "refused")) return { kind: "run", refused: mark === "refused" }
  return { kind: "unknown" }
}

export interface Snippet {
  readonly page: Page
  readonly block: Block
  readonly fate: Fate
  /** Its path and line. */
  readonly at: string
}
export const snippets: ReadonlyArray<Snippet> = pages.flatMap((page) =>
  page.blocks.map((block) => ({ page, block, fate: fateOf(block), at: `${page.path}:${block.line}` }))
)

/** What the tests of the pages read in Markdown: fenced blocks, links, and the anchors of headings. */

/** A fenced block. Its info string is a language and what follows it. */
export interface Block {
  readonly language: string
  /** The rest of the info string: why it is not run, a file that it shows, a schema. */
  readonly mark: string
  readonly text: string
  /** Line of its fence, from 1. */
  readonly line: number
}

export interface Link {
  readonly target: string
  readonly line: number
}

export interface Page {
  /** Below the root, with slashes. */
  readonly path: string
  readonly blocks: ReadonlyArray<Block>
  readonly links: ReadonlyArray<Link>
  readonly anchors: ReadonlySet<string>
}

const FENCE = /^ {0,3}(`{3,})(.*)$/u
const HEADING = /^#{1,6} +(.*?) *#*$/u
const LINK = /(?<!!)\[(?:[^\][]|\[[^\]]*\])*\]\(([^()\s]+)\)|!\[[^\]]*\]\(([^()\s]+)\)/gu

/** The anchor that a heading gets, as code hosts make it; a second one of the same text is numbered. */
const anchorOf = (heading: string, taken: ReadonlySet<string>): string => {
  const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, "$1").replaceAll(/[`*]/gu, "")
  const anchor = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "")
    .replaceAll(" ", "-")
  if (!taken.has(anchor)) return anchor
  let n = 1
  while (taken.has(`${anchor}-${n}`)) n++
  return `${anchor}-${n}`
}

/** Links of the prose, also those whose text goes on in the next line; what stands in code is shown, not linked. */
const linksOf = (prose: string): ReadonlyArray<Link> => {
  const text = prose.replaceAll(/`[^`]*`/gu, (code) => code.replaceAll(/[^\n]/gu, "x"))
  return [...text.matchAll(LINK)].map((match) => ({
    target: match[1] ?? match[2]!,
    line: text.slice(0, match.index).split("\n").length
  }))
}

/** Reads a page; a fence that is not closed is an error, for it would hide the rest. */
export const read = (path: string, text: string): Page => {
  const blocks: Array<Block> = []
  const anchors = new Set<string>()
  const prose: Array<string> = []
  let open: { readonly fence: string; readonly info: string; readonly line: number; readonly lines: Array<string> } | undefined
  for (const [i, line] of text.split("\n").entries()) {
    const fence = FENCE.exec(line)
    prose.push(open === undefined && fence === null ? line : "")
    if (open !== undefined) {
      if (fence !== null && fence[2]!.trim() === "" && fence[1]!.length >= open.fence.length) {
        const [language, ...mark] = open.info.split(/ +/u)
        blocks.push({ language: language!, mark: mark.join(" "), text: `${open.lines.join("\n")}\n`, line: open.line })
        open = undefined
      } else open.lines.push(line)
    } else if (fence !== null) {
      open = { fence: fence[1]!, info: fence[2]!.trim(), line: i + 1, lines: [] }
    } else {
      const heading = HEADING.exec(line)?.[1]
      if (heading !== undefined) anchors.add(anchorOf(heading, anchors))
    }
  }
  if (open !== undefined) throw new Error(`${path}:${open.line}: a fence that is not closed`)
  return { path, blocks, links: linksOf(prose.join("\n")), anchors }
}

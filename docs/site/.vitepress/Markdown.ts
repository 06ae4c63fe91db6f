/** What the site adds to Markdown, so that the pages stay as a code host shows them. */
import { posix } from "node:path"
import type { MarkdownRenderer } from "vitepress"

/** Anchors as code hosts make them, so that one link works in both. */
export const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "")
    .replaceAll(" ", "-")

/** Links to files outside of docs/ lead to the repository. */
export const linkRepository = (md: MarkdownRenderer, code: string): void => {
  md.core.ruler.push("link-repository", ({ env, tokens }) => {
    const from = posix.dirname((env as { readonly relativePath: string }).relativePath)
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.attrGet("href")
      if (token.type !== "link_open" || href === null || /^(?:[a-z]+:|#)/u.test(href)) continue
      const [path = "", anchor] = href.split("#")
      const target = posix.join("docs", from, path)
      const isPage = target.startsWith("docs/") && target.endsWith(".md")
      if (!isPage) token.attrSet("href", `${code}/blob/main/${target}${anchor === undefined ? "" : `#${anchor}`}`)
    }
  })
}

/** An empty header cell is no header: a header row without text is left out, and below an empty first cell the first column names the rows. */
export const nameRows = (md: MarkdownRenderer): void => {
  md.core.ruler.push("name-rows", (state) => {
    const { tokens } = state
    const kept: typeof tokens = []
    let namesRows = false
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i]!
      if (token.type === "thead_open") {
        const end = tokens.findIndex(({ type }, at) => at > i && type === "thead_close")
        const texts = tokens.slice(i, end).flatMap(({ content, type }) => (type === "inline" ? [content] : []))
        namesRows = texts[0] === ""
        if (texts.every((text) => text === "")) {
          i = end
          continue
        }
      }
      const isEmpty = token.type === "th_open" && tokens[i + 1]!.content === ""
      const isFirst = token.type === "td_open" && tokens[i - 1]!.type === "tr_open"
      if (isEmpty) token.tag = tokens[i + 2]!.tag = "td"
      if (isFirst && namesRows) {
        token.tag = tokens[i + 2]!.tag = "th"
        token.attrSet("scope", "row")
      }
      kept.push(token)
    }
    state.tokens = kept
  })
}

/** What a page is about, for search engines: its first paragraph, without marks. */
export const descriptionOf = (source: string): string | undefined =>
  source
    .split("\n\n")
    .find((block) => /^[\p{L}`"[]/u.test(block))
    ?.replaceAll(/\[([^\]]*)\]\([^)]*\)/gu, "$1")
    .replaceAll(/[`*]/gu, "")
    .replaceAll(/\s+/gu, " ")

/** Languages of a recipe, in the order of the tabs. */
const titles: Readonly<Record<string, string>> = { ts: "TypeScript", python: "Python", sh: "curl" }

/** Consecutive code blocks in different languages become one block with tabs. */
export const groupFences = (md: MarkdownRenderer): void => {
  md.core.ruler.push("group-fences", (state) => {
    const languageOf = (i: number): string | undefined => {
      const token = state.tokens[i]
      return token?.type === "fence" ? token.info.split(/\s/u)[0] : undefined
    }
    const grouped: typeof state.tokens = []
    for (let i = 0; i < state.tokens.length; ) {
      const seen = new Set<string>()
      let end = i
      for (let language = languageOf(end); language !== undefined; language = languageOf(end)) {
        if (titles[language] === undefined || seen.has(language)) break
        seen.add(language)
        end++
      }
      if (seen.size < 2) {
        grouped.push(state.tokens[i++]!)
        continue
      }
      const open = new state.Token("container_code-group_open", "div", 1)
      open.info = "code-group"
      const fences = state.tokens.slice(i, end)
      for (const fence of fences) {
        const language = fence.info.split(/\s/u)[0]!
        fence.info = `${language} [${titles[language]}]`
      }
      grouped.push(open, ...fences, new state.Token("container_code-group_close", "div", -1))
      i = end
    }
    state.tokens = grouped
  })
}

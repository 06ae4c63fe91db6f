/** Every citation of the contract, such as `docs/contract/orders.md#reduce-only`, resolves to a heading of its pages. */
import { assert, describe, it } from "vitest"
import { pages, textOf, tracked } from "./Pages.ts"

const headings = new Map(pages.map(({ anchors, path }) => [path, anchors]))

/** Line breaks of prose, with the leader of a comment line; `#` alone would be an anchor. */
const LINE_BREAK = /\n[ \t]*(?:\/{2,3}|\*(?!\/)|#(?= ))?[ \t]*/gu
/** A page of the contract, and its headings after commas. */
const CITATION = /(docs\/contract\/[\w-]+\.md)((?:,? ?#[\w-]+)+)/gu

interface Citation {
  readonly page: string
  readonly anchor: string
}

const citationsOf = (text: string): ReadonlyArray<Citation> =>
  [...text.replaceAll(LINE_BREAK, " ").matchAll(CITATION)].flatMap(([, page, anchors]) =>
    [...anchors!.matchAll(/#([\w-]+)/gu)].map(([, anchor]) => ({ page: page!, anchor: anchor! }))
  )

const resolves = ({ anchor, page }: Citation): boolean => headings.get(page)?.has(anchor) === true

describe("citations of the contract", () => {
  it("resolve to headings", () => {
    const files = tracked.filter((path) => !/\.(?:png|ico|gz|woff2)$/u.test(path) && !path.endsWith("Citations.test.ts"))
    const cited = files.flatMap((path) => citationsOf(textOf(path)).map((citation) => ({ ...citation, path })))
    const wrong = cited.filter((citation) => !resolves(citation))
    console.log(`${cited.length} citations of the contract`)
    assert.deepStrictEqual(
      wrong.map(({ anchor, page, path }) => `${path}: ${page} has no heading #${anchor}`),
      []
    )
  })

  it("can name every heading: each is unique in its page", () => {
    const numbered = pages
      .filter(({ path }) => path.startsWith("docs/contract/"))
      .flatMap(({ anchors, path }) =>
        [...anchors].filter((a) => /-\d+$/u.test(a) && anchors.has(a.replace(/-\d+$/u, ""))).map((a) => `${path}#${a}`)
      )
    assert.deepStrictEqual(numbered, [])
  })

  it("are read in comments, across lines, and after commas", () => {
    const text = [
      "/**",
      " * Rule. Source: docs/contract/websocket.md#limits, #keepalive,",
      " * #slow-consumers; docs/contract/orders.md#reduce-only.",
      " */",
      "# python: docs/contract/boundary.md#lagging,",
      "# and prose"
    ].join("\n")
    assert.deepStrictEqual(
      citationsOf(text).map(({ anchor, page }) => `${page}#${anchor}`),
      [
        "docs/contract/websocket.md#limits",
        "docs/contract/websocket.md#keepalive",
        "docs/contract/websocket.md#slow-consumers",
        "docs/contract/orders.md#reduce-only",
        "docs/contract/boundary.md#lagging"
      ]
    )
  })

  it("fail for a heading or a page that does not exist", () => {
    const of = (text: string) => citationsOf(text).map(resolves)
    assert.deepStrictEqual(of("docs/contract/orders.md#reduce-only"), [true])
    assert.deepStrictEqual(of("docs/contract/orders.md#reduce-only, #reduce-never"), [true, false])
    assert.deepStrictEqual(of(["docs/contract", "order.md#reduce-only"].join("/")), [false])
  })
})

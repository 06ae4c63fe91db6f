/** Links of the pages lead somewhere, and so do the paths of pages that the code names. */
import { dirname, join, normalize } from "node:path"
import { assert, describe, it } from "vitest"
import { read } from "../../scripts/docs/Markdown.ts"
import { pages, textOf, tracked } from "./Pages.ts"

const byPath = new Map(pages.map((page) => [page.path, page]))
const folders = new Set(tracked.flatMap((path) => path.split("/").map((_, i, parts) => parts.slice(0, i).join("/"))))

/** What is wrong with a link of a page; `undefined`: nothing. */
const broken = (from: string, target: string): string | undefined => {
  const [path, anchor] = target.split("#") as [string, string | undefined]
  const to = path === "" ? from : normalize(join(dirname(from), path)).replace(/\/$/u, "")
  if (!tracked.includes(to) && !folders.has(to)) return `there is no ${to}`
  if (anchor === undefined) return undefined
  return byPath.get(to)?.anchors.has(anchor) === true ? undefined : `${to} has no heading #${anchor}`
}

describe("the pages", () => {
  it("have no broken link", () => {
    const links = pages.flatMap(({ links, path }) => links.map((link) => ({ ...link, path })))
    const inside = links.filter(({ target }) => !/^[a-z]+:/u.test(target))
    const wrong = inside.flatMap(({ line, path, target }) => {
      const fault = broken(path, target)
      return fault === undefined ? [] : [`${path}:${line}: ${fault}`]
    })
    console.log(`${inside.length} links within, ${links.length - inside.length} outside: ${wrong.length} broken`)
    assert.deepStrictEqual(wrong, [])
    assert.isAbove(inside.length, 60)
  })

  it("have the addresses that the code names", () => {
    const wrong = tracked
      .filter((path) => /\.(?:ts|mjs|py|sh|yml|proto|md)$/u.test(path) && !path.startsWith("src/proto/"))
      .flatMap((path) => {
        const named = textOf(path).matchAll(/(?<![\w./])(?:docs\/[\w/-]+\.(?:md|json)|llms\.txt)/gu)
        return [...named].filter(([page]) => !tracked.includes(page)).map(([page]) => `${path} names ${page}`)
      })
    assert.deepStrictEqual(wrong, [])
  })

  it("are all reached from the README", () => {
    const seen = new Set(["README.md"])
    for (const path of seen) {
      for (const { target } of byPath.get(path)?.links ?? []) {
        const to = normalize(join(dirname(path), target.split("#")[0]!))
        if (byPath.has(to)) seen.add(to)
      }
    }
    const lonely = pages.map(({ path }) => path).filter((path) => path.startsWith("docs/") && !seen.has(path))
    assert.deepStrictEqual(lonely, [])
  })
})

describe("what reads the pages", () => {
  it("finds blocks, links and anchors as code hosts do", () => {
    const text = [
      "# A `title`, and more",
      "## Twice",
      "## Twice",
      "[one](a.md#x) and `[no](b.md)`",
      "````text out",
      "```sh",
      "````"
    ].join("\n")
    const page = read("page.md", text)
    assert.deepStrictEqual([...page.anchors], ["a-title-and-more", "twice", "twice-1"])
    assert.deepStrictEqual(page.links, [{ target: "a.md#x", line: 4 }])
    assert.deepStrictEqual(page.blocks, [{ language: "text", mark: "out", text: "```sh\n", line: 5 }])
    assert.throws(() => read("page.md", "```sh\nfor ever"), "page.md:1")
  })
})

/** The navigation of a documentation site links the other versions that its host serves. */
import { assert, it } from "vitest"
import { menuOf, versionOf, versionsOf, withVersions } from "../../docs/site/.vitepress/theme/Versions.ts"

const nav = [{ text: "Guides", link: "/guides/" }, { text: menuOf("0.9.0"), items: [{ text: "Changes", link: "https://host/" }] }]

it("links every other version in the menu of the own one, newest first, where a host serves several", () => {
  assert.deepStrictEqual(["/0.9.0/", "/project/1.0.0/", "/docs/", "/"].map(versionOf), ["0.9.0", "1.0.0", undefined, undefined])
  const list = ["0.9.0", "0.10.0", "0.1.1", "0.10.0"]
  const [guides, menu] = withVersions(nav, "0.9.0", list, "https://host/docs/")
  assert.deepStrictEqual(guides, nav[0])
  assert.deepStrictEqual(menu!.items, [
    ...nav[1]!.items!,
    { text: "Version 0.10.0", link: "https://host/docs/0.10.0/", target: "_self" },
    { text: "Version 0.1.1", link: "https://host/docs/0.1.1/", target: "_self" }
  ])
  // what a list cannot have: no link leads out of the folder
  for (const wrong of [null, {}, "0.1.0", ["../evil", "//host", 7]]) assert.deepStrictEqual(versionsOf(wrong), [])
})

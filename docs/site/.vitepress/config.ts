/**
 * The documentation site: the pages of docs/, as they are. `npm ci && npm run build` in docs/site writes docs/site/dist, which the
 * gateway serves at /docs/. `DOCS_BASE=/ npm run build` builds for a host of its own, `npm run export` a version beside others.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitepress"
import { descriptionOf, groupFences, linkRepository, nameRows, slugOf } from "./Markdown.ts"
import { finish } from "./Finish.ts"
import { sidebar } from "./Sidebar.ts"
import { menuOf } from "./theme/Versions.ts"

const manifest = JSON.parse(
  readFileSync(fileURLToPath(new URL("../../../package.json", import.meta.url)), "utf8")
) as { readonly version: string; readonly repository: { readonly url: string } }
const version = process.env["DOCS_VERSION"] ?? manifest.version
const code = manifest.repository.url.replace(/^git\+|\.git$/gu, "")
const base = process.env["DOCS_BASE"] ?? "/docs/"
const icon = readFileSync(fileURLToPath(new URL("../../../page/icon.svg", import.meta.url)), "utf8")

// a copy, because the pages import Vue from the folder above them
const docs = fileURLToPath(new URL("../..", import.meta.url))
const pages = fileURLToPath(new URL("../pages", import.meta.url))
rmSync(pages, { recursive: true, force: true })
mkdirSync(pages)
for (const name of readdirSync(docs).filter((name) => name !== "site"))
  cpSync(join(docs, name), join(pages, name), { recursive: true })

export default defineConfig({
  title: "Trading gateway",
  description: "An open trading gateway with a whole perpetual-futures exchange",
  lang: "en",
  base,
  srcDir: "pages",
  outDir: "dist",
  cacheDir: "node_modules/.cache",
  rewrites: { "contract/README.md": "contract/index.md", "decisions/README.md": "decisions/index.md" },
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    // the pages have no HTML; text such as <hint> is text
    html: false,
    anchor: { slugify: slugOf },
    config: (md) => {
      linkRepository(md, code)
      groupFences(md)
      nameRows(md)
    }
  },
  transformPageData: ({ filePath, title }) => ({ description: descriptionOf(readFileSync(join(pages, filePath), "utf8")) ?? title }),
  themeConfig: {
    nav: [
      { text: "Guides", link: "/guides/first-fill" },
      { text: "Recipes", link: "/recipes/" },
      { text: "Reference", link: "/reference/rest" },
      { text: "Operations", link: "/operations/" },
      {
        text: menuOf(version),
        items: [
          { text: "Changes", link: `${code}/blob/main/CHANGELOG.md` },
          { text: "Releases", link: `${code}/releases` }
        ]
      }
    ],
    sidebar: sidebar(),
    search: {
      provider: "local",
      options: {
        // no name beside the visible text of the button
        translations: { button: { buttonAriaLabel: "" } },
        // a list of pages answers no question
        _render: (source, env, markdown) =>
          /(?:^|\/)(?:index|README)\.md$/u.test(env.relativePath) ? "" : markdown.render(source, env),
        // plain values: a function would need eval, which the policy of the pages refuses
        miniSearch: { searchOptions: { boost: { title: 4, titles: 1, text: 4.5 } } }
      }
    },
    outline: [2, 3]
  },
  buildEnd: ({ outDir }) => finish(outDir, base)
})

/**
 * Builds this version for a static host, beside the versions that are there: `npm run export --prefix docs/site -- <folder> [path]`.
 * The folder becomes the root of the host, or what is at `path` there. It gets a folder for the version, `versions.json`, and an
 * index page that leads to the newest version.
 */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { versionsOf } from "./.vitepress/theme/Versions.ts"

const [to, path = "/"] = process.argv.slice(2)
if (to === undefined) throw new Error("usage: npm run export --prefix docs/site -- <folder> [path]")
const here = import.meta.dirname
const manifest = JSON.parse(readFileSync(join(here, "../../package.json"), "utf8")) as { readonly version: string }
const version = process.env["DOCS_VERSION"] ?? manifest.version
const folder = resolve(process.env["INIT_CWD"] ?? ".", to)

const env = { ...process.env, DOCS_BASE: `${path}${version}/`, DOCS_VERSION: version }
execFileSync(join(here, "node_modules/.bin/vitepress"), ["build"], { cwd: here, env, stdio: "inherit" })
mkdirSync(folder, { recursive: true })
rmSync(join(folder, version), { recursive: true, force: true })
cpSync(join(here, "dist"), join(folder, version), { recursive: true })

const list = join(folder, "versions.json")
const versions = versionsOf([version, ...(existsSync(list) ? (JSON.parse(readFileSync(list, "utf8")) as unknown[]) : [])])
writeFileSync(list, `${JSON.stringify(versions)}\n`)
const newest = `${path}${versions[0]}/`
writeFileSync(
  join(folder, "index.html"),
  `<!doctype html><html lang="en"><title>Trading gateway</title><link rel="icon" href="data:,"><meta http-equiv="refresh" content="0; url=${newest}"><a href="${newest}">Documentation</a></html>\n`
)
console.log(`${folder} has ${versions.join(", ")}`)

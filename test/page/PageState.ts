/** The states of the page that a journey reaches: none violates a rule of axe-core. `SCREENSHOTS` names a folder for their pictures. */
import { mkdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import type axe from "axe-core"
import type { Page } from "playwright-core"
import { assert } from "vitest"

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

const takePicture = async (page: Page, folder: string, state: string): Promise<void> => {
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${state}.png`) })
}

/** Asserts that the page has no violation of accessibility rules; `state` names what it shows. */
export const checkState = async (page: Page, state: string): Promise<void> => {
  const { SCREENSHOTS: folder } = process.env
  if (folder !== undefined) await takePicture(page, folder, state)
  // the page's CSP forbids another script, but not one of the debugger
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(source)
  const found = await page.evaluate(async () => {
    const { axe: loaded } = globalThis as unknown as { readonly axe: typeof axe }
    // of what passes the report has the count alone
    const { violations } = await loaded.run({ resultTypes: ["violations"] })
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" ")}`)
  })
  assert.deepStrictEqual(found, [], state)
}

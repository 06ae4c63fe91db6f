/** Violations of accessibility rules on the page as it is now, by axe-core. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type axe from "axe-core"
import type { Page } from "playwright-core"
import { assert } from "vitest"

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** Asserts that the page has no violation; `state` names what it shows. */
export const assertAccessible = async (page: Page, state: string): Promise<void> => {
  // the page's CSP forbids another script, but not one of the debugger
  await page.evaluate(source)
  const found = await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { readonly axe: typeof axe }).axe.run()
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" ")}`)
  })
  assert.deepStrictEqual(found, [], state)
}

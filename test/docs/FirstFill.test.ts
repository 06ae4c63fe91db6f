/** A new user's way to a first fill is as the page says. */
import { spawnSync } from "node:child_process"
import { assert, it } from "vitest"
import { firstFill, transcript } from "../../scripts/first-fill.ts"
import { textOf } from "./Pages.ts"

const hasTools = spawnSync("bash", ["-c", "openssl version && curl --version"]).status === 0

it.skipIf(!hasTools)("takes at most five commands after npm start is ready", { timeout: 300_000 }, async () => {
  const filled = await firstFill()
  console.log(transcript(filled))
  assert.isAtMost(filled.steps.length, 5)
  const { list } = JSON.parse(filled.steps.at(-1)!.answer)
  assert.deepInclude(list[0], { order_link_id: "first", order_status: "Filled", cum_exec_qty: "0.01", leaves_qty: "0" })
})

it("is written down, with the seconds that it took", () => {
  const page = textOf("docs/guides/first-fill.md")
  const [, commands, seconds] = /\n(\d) commands, (\d+\.\d) s from ready to filled\.\n/u.exec(page) ?? []
  assert.isAtMost(Number(commands), 5)
  assert.isAtMost(Number(seconds), 60)
  assert.include(page, '"order_status":"Filled"')
})

/** A new user's way to a first fill is as the page says. */
import { spawnSync } from "node:child_process"
import { assert, it } from "vitest"
import { read } from "../../scripts/docs/Markdown.ts"
import { firstFill, transcript } from "../../scripts/first-fill.ts"
import { textOf } from "./Pages.ts"

const PAGE = "docs/guides/first-fill.md"
const hasTools = spawnSync("bash", ["-c", "openssl version && curl --version"]).status === 0

it.skipIf(!hasTools)("takes at most five commands after npm start is ready", { timeout: 300_000 }, async () => {
  const filled = await firstFill()
  console.log(transcript(filled))
  assert.isAtMost(filled.steps.length, 5)
  const { list } = JSON.parse(filled.steps.at(-1)!.answer)
  assert.deepInclude(list[0], { order_link_id: "first", order_status: "Filled", cum_exec_qty: "0.01", leaves_qty: "0" })
})

it("is written down as the commands are now, with the seconds that it took", () => {
  const { blocks } = read(PAGE, textOf(PAGE))
  const written = blocks.find(({ language }) => language === "text")!.text
  for (const { text } of blocks.filter(({ language, mark }) => language === "sh" && mark === "")) {
    for (const line of text.trim().split("\n")) assert.include(written, line, "run npm run first-fill -- --write")
  }
  assert.include(written, '"order_status":"Filled"')
  const [, commands, seconds] = /\n(\d) commands, (\d+\.\d) s from ready to filled\.\n/u.exec(textOf(PAGE)) ?? []
  assert.isAtMost(Number(commands), 5)
  assert.isAtMost(Number(seconds), 60)
})

/** verification/kills, with two kills. */
import { expect, it } from "@effect/vitest"
import { run } from "../../verification/kills/Kills.ts"

it("an exchange that is killed under load has every acknowledged order, and the rows of one that was not", async () => {
  const found = await run({ kills: 2, callers: 16, seed: 1 })
  expect(found.acknowledged).toBeGreaterThan(10)
  expect(found.rows["orders"]).toBeGreaterThanOrEqual(found.acknowledged)
  expect(found.messages).toBeGreaterThan(0)
  expect(found.resumed).toBe(2)
  expect([...found.missing, ...found.faults, ...found.differences]).toEqual([])
}, 240_000)

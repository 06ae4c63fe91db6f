/** The comparison of `node verification/api-oracle/main.ts`: one seed, with something that goes wrong. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { FAULTS } from "../../verification/api-oracle/Faults.ts"
import { judge } from "../../verification/api-oracle/Judge.ts"
import { run } from "../../verification/api-oracle/Run.ts"
import { Truth } from "../../verification/api-oracle/Truth.ts"
import { startOne, startTwo } from "../../verification/api-oracle/World.ts"
import { isFleetInstalled } from "../../verification/harness/Fleet.ts"
import { isNatsInstalled } from "../../verification/harness/NatsServer.ts"

const src = join(import.meta.dirname, "../../src")

describe("users of every transport", () => {
  it("see the state of the journal during outages", { timeout: 240_000 }, async () => {
    const world = await (isFleetInstalled ? startTwo({ nats: isNatsInstalled }) : startOne())
    try {
      const seen = await run(world, { seed: 11, actions: 40, users: 3, disturbances: 1 })
      const verdict = judge(Truth.read(world.dataDir), seen)
      assert.deepStrictEqual(verdict.differences, [])
      assert.isAbove(verdict.compared, 300)
      assert.isAbove(verdict.executions, 0)
    } finally {
      await world.close()
    }
  })
})

describe("the planted faults", () => {
  it.each(FAULTS)("$name: has its place in the source", ({ module, right, wrong }) => {
    const [path, ...others] = globSync(`**${module}`, { cwd: src })
    assert.deepStrictEqual(others, [])
    assert.lengthOf(readFileSync(join(src, path!), "utf8").split(right), 2)
    assert.notStrictEqual(right, wrong)
  })
})

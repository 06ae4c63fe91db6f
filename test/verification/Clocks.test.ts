/** All steps: `node verification/clocks/main.ts`. */
import { describe, expect, it } from "@effect/vitest"
import { run } from "../../verification/clocks/Clocks.ts"
import { isFakeTimeInstalled } from "../../verification/harness/FakeTime.ts"

describe.skipIf(!isFakeTimeInstalled)("the clocks of a gateway and its backend", () => {
  it("set back by an hour change no price, no expiry and no credential", async () => {
    expect(await run({ steps: [-3_600], subjects: ["gateway", "backend"] })).toEqual([])
  }, 240_000)
})

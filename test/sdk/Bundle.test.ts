/** Size and content of the SDK's bundle. */
import { assert, describe, it } from "vitest"
import { bundlePlain, BYTES_MAX, compressed } from "../../verification/harness/SdkBundle.ts"

describe("the bundle of the SDK", () => {
  it("is small and has no Effect code", async () => {
    const { code, inputs } = await bundlePlain()
    const bytes = compressed(code)
    console.log(`SDK: ${bytes} bytes minified and compressed, of at most ${BYTES_MAX}`)
    assert.isAtMost(bytes, BYTES_MAX)
    assert.deepStrictEqual(
      inputs.filter((path) => !/^(?:src\/(?:sdk|client|domain|ws\/api)\/|node_modules\/@noble\/)/u.test(path)),
      []
    )
    assert.include(inputs, "src/sdk/Exchange.ts")
  })
})

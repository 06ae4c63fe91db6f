import { assert, describe, it } from "vitest"
import { parseAddress, parseFullAddress } from "../../src/domain/Address.ts"

const full = "fb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"

describe("an address", () => {
  it("is read in canonical, upper-case and short form, with or without 0x", () => {
    for (const text of [`0x${full}`, full, `0x${full.toUpperCase()}`, full.toUpperCase()])
      assert.strictEqual(parseAddress(text), `0x${full}`)
    for (const text of ["0x1", "1", "0x01", `${"0".repeat(63)}1`])
      assert.strictEqual(parseAddress(text), `0x${"0".repeat(63)}1`)
    assert.strictEqual(parseAddress("0xAb"), `0x${"0".repeat(62)}ab`)
  })

  it("is refused where it is empty, too long or has other characters", () => {
    for (const text of ["", "0x", `0x${full}0`, "0xg", " 0x1", "0x1\n", "0X1", "1 "])
      assert.isUndefined(parseAddress(text), JSON.stringify(text))
  })

  it("that the caller need not own is read in full only", () => {
    for (const text of [`0x${full}`, full, `0x${full.toUpperCase()}`])
      assert.strictEqual(parseFullAddress(text), `0x${full}`)
    for (const text of ["0x1", full.slice(1), `0x${full.slice(1)}`, `${full}0`, `0x${full}0`, ""])
      assert.isUndefined(parseFullAddress(text), text)
  })
})

import { assert, describe, it } from "vitest"
import * as KeyFile from "../../page/KeyFile.ts"

const seed = "07".repeat(32)
const refusal = (text: string, passphrase = "") =>
  KeyFile.seedOf(text, passphrase).then(
    () => "accepted",
    (error: Error) => error.message
  )

describe("key files", () => {
  it("are those of the command line", async () => {
    assert.deepStrictEqual(JSON.parse(KeyFile.plain(seed)), { seed })
    assert.strictEqual(await KeyFile.seedOf(KeyFile.plain(seed), ""), seed)
    assert.strictEqual(await KeyFile.seedOf(`{"seed": "0x${"AB".repeat(32)}"}`, ""), "ab".repeat(32))
  })

  it("open with the passphrase that encrypted them, and with no other", async () => {
    const file = await KeyFile.encrypted(seed, "correct horse")
    assert.notInclude(file, seed)
    assert.strictEqual(await KeyFile.seedOf(file, "correct horse"), seed)
    assert.match(await refusal(file, "correct house"), /passphrase is wrong/u)
    assert.match(await refusal(file), /enter its passphrase/u)
    const { data, ...rest } = JSON.parse(file) as { data: string }
    const damaged = JSON.stringify({ ...rest, data: data.replace(/^../u, (byte) => (byte === "00" ? "01" : "00")) })
    assert.match(await refusal(damaged, "correct horse"), /damaged/u)
  })

  it("of other forms are refused", async () => {
    for (const text of [
      "",
      "null",
      "[]",
      '{"seed":"12"}',
      '{"kdf":"PBKDF2-SHA-256","iterations":1e9,"salt":"","iv":"","data":""}',
      '{"kdf":"PBKDF2-SHA-256","iterations":1,"salt":"zz","iv":"00","data":"00"}',
      '{"kdf":"PBKDF2-SHA-256","iterations":1,"salt":"00","iv":"0","data":"00"}',
      '{"kdf":"PBKDF2-SHA-256","iterations":1,"salt":"00","iv":"00","data":"0g"}'
    ])
      assert.match(await refusal(text, "p"), /not a key file/u)
    assert.match(await refusal(JSON.stringify({ seed, hint: "alice" })), /party/u)
    const short = await KeyFile.encrypted("07".repeat(31), "correct horse")
    assert.match(await refusal(short, "correct horse"), /not a key file/u)
  })
})

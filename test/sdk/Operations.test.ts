/** The table of operations equals the OpenAPI document, and keys reproduce the signing vectors. */
import { readFileSync } from "node:fs"
import { assert, describe, it, vi } from "vitest"
import { keyOf, newSeed } from "../../src/sdk/index.ts"
import { isOpen, operations } from "../../src/sdk/Operations.ts"
import { vectors as read } from "../vectors.ts"

const document = JSON.parse(readFileSync(new URL("../../docs/openapi.json", import.meta.url), "utf8")) as {
  readonly paths: Record<string, Record<string, { readonly security?: ReadonlyArray<object> }>>
}
const lines = Object.entries(operations).flatMap(([group, named]) =>
  Object.entries<string>(named).map(([name, line]) => ({ group, name, line }))
)
const inDocument = (line: string) => {
  const [method = "", path = ""] = line.split(" ")
  return document.paths[`/api/v1${path.replace(/:(\w+)/gu, "{$1}")}`]?.[method.toLowerCase()]
}

describe("the operations of the SDK", () => {
  it("equal the document, with the same authentication", () => {
    for (const { group, line, name } of lines) {
      const operation = inDocument(line)
      assert.isDefined(operation, line)
      assert.strictEqual(isOpen(group, name), (operation!.security ?? []).length === 0, line)
    }
  })

  it("include all trader operations; only admin, deprecated and non-API ones are left out", () => {
    const known = new Set(lines.map(({ line }) => line.replace(/:(\w+)/gu, "{$1}")))
    const left = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .map((method) => `${method.toUpperCase()} ${path.replace("/api/v1", "")}`)
        .filter((line) => !known.has(line))
    )
    assert.deepStrictEqual(left.filter((line) => !/ \/(?:admin|authorize\/whitelist)\b/u.test(line)).toSorted(), [
      "GET /.well-known/jwks.json",
      "GET /api-docs/asyncapi.json",
      "GET /api-docs/openapi.json",
      "GET /health",
      "GET /ready",
      "GET /trade/executions"
    ])
  })
})

describe("keys, with the signing vectors", () => {
  it("reproduce the signatures, with WebCrypto and without", async () => {
    // oxlint-disable-next-line typescript/no-explicit-any -- the vectors are JSON of many shapes
    const vectors: any = read("auth.json")
    const sign = async () => {
      const keys = await Promise.all(Object.values<{ seed: string }>(vectors.keys).map(({ seed }) => keyOf(seed)))
      const signatures: Array<ReadonlyArray<string>> = []
      for (const { message } of [...vectors.login, ...vectors.api_key, ...vectors.ws_auth])
        signatures.push(await Promise.all(keys.map((key) => key.sign(message))))
      return signatures
    }
    const expected = [...vectors.login, ...vectors.api_key, ...vectors.ws_auth].map(({ signature }) => signature.hex_0x)
    for (const isKnown of [true, false]) {
      const asked = vi.spyOn(crypto.subtle, "importKey")
      if (!isKnown) asked.mockRejectedValue(new Error("no such curve"))
      try {
        const signatures = await sign()
        for (const [i, signature] of expected.entries()) assert.include(signatures[i]!, signature)
        assert.isAbove(asked.mock.calls.length, 0)
      } finally {
        asked.mockRestore()
      }
    }
    assert.isAbove(expected.length, 10)
  })
})

describe("keys", () => {
  it("load from a seed in any form and from a WebCrypto key pair", async () => {
    const seed = newSeed()
    const key = await keyOf(seed)
    const bytes = Uint8Array.from(Buffer.from(seed, "hex"))
    for (const same of [`0x${seed}`, bytes, key]) {
      const other = await keyOf(same)
      assert.deepStrictEqual([other.public_key, await other.sign("a")], [key.public_key, await key.sign("a")])
    }
    const pair = (await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"])) as CryptoKeyPair
    const kept = await keyOf(pair)
    const signature = Buffer.from((await kept.sign("é")).slice(2), "hex")
    assert.isTrue(await crypto.subtle.verify("Ed25519", pair.publicKey, signature, Buffer.from("é")))
    assert.match(kept.public_key, /^0x[0-9a-f]{64}$/u)
    assert.instanceOf(await keyOf("00").catch((error: unknown) => error), RangeError)
  })
})

/** The API explorer's page, and the worked examples of signing in its description. */
import { createPrivateKey, sign } from "node:crypto"
import { readFileSync } from "node:fs"
import { afterAll, assert, describe, it } from "vitest"
import { loginMessage, requestMessage } from "../../src/domain/SigningMessages.ts"
import { EXAMPLE } from "../../src/http/api/Signing.ts"
import { CHANGES, withChanges } from "../../src/http/SwaggerPage.ts"
import { vectors } from "../vectors.ts"
import { document } from "./Asked.ts"
import { gateway } from "./Fixture.ts"

describe("the page of the API explorer", () => {
  const rest = gateway()
  afterAll(() => rest.dispose())

  it("has every change once: the library's page still has the texts that they replace", async () => {
    const html = await (await rest.fetch("GET", "/swagger-ui", {})).text()
    for (const [text, replacement] of CHANGES) assert.lengthOf(html.split(replacement), 2, text)
    assert.include(html, 'url: "/api-docs/openapi.json"')
    assert.include(html, 'docExpansion: "none"')
    assert.include(html, "filter: true")
    const icon = /<link rel="icon" href="data:image\/svg\+xml,([^"]+)"/u.exec(html)?.[1]
    const file = new URL("../../page/icon.svg", import.meta.url)
    assert.strictEqual(decodeURIComponent(icon ?? ""), readFileSync(file, "utf8").trim())
  })

  it("does not change a page without the texts", () => {
    assert.isUndefined(withChanges("<html></html>"))
    const [[text]] = CHANGES as unknown as [[string]]
    assert.isUndefined(withChanges(text + text))
  })
})

describe("the worked examples of signing", () => {
  const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex")
  const signed = (seed: string, message: string) => {
    const der = Buffer.concat([PKCS8, Buffer.from(seed, "hex")])
    const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" })
    return `0x${sign(null, Buffer.from(message), key).toString("hex")}`
  }
  const { login, request } = EXAMPLE

  it("are the messages that the gateway checks, signed by the keys that they name", () => {
    assert.strictEqual(login.message, loginMessage(login.public_key, login.timestamp_ms, login.nonce))
    assert.strictEqual(login.signature, signed(login.seed, login.message))
    assert.strictEqual(request.message, requestMessage({ ...request, body_sha256: undefined }))
    assert.strictEqual(request.signature, signed(request.seed, request.message))
  })

  it("are in the description of the API", () => {
    const { description } = document.info
    for (const text of [login.message, login.signature, request.message, request.signature]) {
      assert.include(description, text)
    }
  })

  const data = vectors("auth.json") as Record<
    "login" | "api_key",
    ReadonlyArray<{ message: string; signature: { hex_0x: string } }>
  >
  it("are test vectors", () => {
    const known = [...data.login, ...data.api_key].map(({ message, signature }) => `${message} ${signature.hex_0x}`)
    for (const { message, signature } of [login, request]) assert.include(known, `${message} ${signature}`)
  })
})

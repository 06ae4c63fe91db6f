import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "vitest"
import * as Documents from "../../src/http/Documents.ts"

const text = "a document ".repeat(1_000)
const response = () => HttpServerResponse.text(text, { contentType: "text/html" })
const bytesOf = (answer: HttpServerResponse.HttpServerResponse): Uint8Array => {
  if (answer.body._tag !== "Uint8Array") throw new Error(`a body of ${answer.body._tag}`)
  return answer.body.body
}

describe("documents", () => {
  const documents = Documents.make(["/page"])
  const ask = (path: string, accept: string | undefined) => Effect.runPromise(documents(path, accept, response()))

  it("go out compressed to whoever takes gzip, and say so", async () => {
    for (const accept of ["gzip", "br, gzip;q=0.5", "*"]) {
      const answer = await ask("/page", accept)
      assert.strictEqual(answer.headers["content-encoding"], "gzip")
      assert.strictEqual(gunzipSync(bytesOf(answer)).toString(), text)
    }
  })

  it("are compressed once", async () => {
    assert.strictEqual(bytesOf(await ask("/page", "gzip")), bytesOf(await ask("/page", "gzip")))
  })

  it("stay as they are for whoever does not", async () => {
    for (const accept of [undefined, "identity", "gzip;q=0", "br"]) {
      const answer = await ask("/page", accept)
      assert.isUndefined(answer.headers["content-encoding"])
      assert.strictEqual(Buffer.from(bytesOf(answer)).toString(), text)
    }
  })

  it("of other paths are left alone", async () => {
    assert.isUndefined((await ask("/other", "gzip")).headers["content-encoding"])
  })
})

import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { gunzipSync } from "node:zlib"
import { assert, describe, it } from "vitest"
import * as Documents from "../../src/http/Documents.ts"
import { PART_BYTES } from "../../src/http/BulkResponseThrottle.ts"

const text = "a document ".repeat(1_000)
const response = () => HttpServerResponse.text(text, { contentType: "text/html" })
const bytesOf = (answer: HttpServerResponse.HttpServerResponse): Uint8Array => {
  if (answer.body._tag !== "Uint8Array") throw new Error(`a body of ${answer.body._tag}`)
  return answer.body.body
}
const address = "192.0.2.1"

describe("documents", () => {
  const documents = Documents.make(["/page"])
  const ask = (path: string, accept: string | undefined) =>
    Effect.runPromise(documents({ path, acceptEncoding: accept, address }, response()))

  it("are compressed for clients that accept gzip, with Content-Encoding", async () => {
    for (const accept of ["gzip", "br, gzip;q=0.5", "*", "*;q=0, gzip", "GZIP ; q=1"]) {
      const answer = await ask("/page", accept)
      assert.strictEqual(answer.headers["content-encoding"], "gzip")
      assert.strictEqual(answer.headers["vary"], "Accept-Encoding")
      assert.strictEqual(gunzipSync(bytesOf(answer)).toString(), text)
    }
  })

  it("are compressed once", async () => {
    assert.strictEqual(bytesOf(await ask("/page", "gzip")), bytesOf(await ask("/page", "gzip")))
  })

  it("are not compressed for other clients", async () => {
    for (const accept of [undefined, "identity", "gzip;q=0", "br", "gzip;q=0, *", "*, gzip; q=0.00", "*;q=0"]) {
      const answer = await ask("/page", accept)
      assert.isUndefined(answer.headers["content-encoding"])
      assert.strictEqual(answer.headers["vary"], "Accept-Encoding")
      assert.strictEqual(Buffer.from(bytesOf(answer)).toString(), text)
    }
  })

  it("of other paths are not changed", async () => {
    assert.isUndefined((await ask("/other", "gzip")).headers["content-encoding"])
  })

  it("are never an error that was answered at their path", async () => {
    const fresh = Documents.make(["/page"])
    const asked = { path: "/page", acceptEncoding: "gzip", address }
    const refused = HttpServerResponse.jsonUnsafe({ code: "BAD_REQUEST" }, { status: 405 })
    assert.strictEqual(await Effect.runPromise(fresh(asked, refused)), refused)
    const answer = await Effect.runPromise(fresh(asked, response()))
    assert.strictEqual(gunzipSync(bytesOf(answer)).toString(), text)
  })

  it("that are large are sent complete in parts, with their length", async () => {
    const large = Uint8Array.from({ length: 3 * PART_BYTES + 7 }, (_, i) => i)
    const answer = await Effect.runPromise(
      documents({ path: "/page", acceptEncoding: undefined, address }, HttpServerResponse.uint8Array(large))
    )
    if (answer.body._tag !== "Stream") throw new Error(`a body of ${answer.body._tag}`)
    assert.strictEqual(answer.headers["content-length"], String(large.length))
    const parts = await Effect.runPromise(Stream.runCollect(answer.body.stream))
    assert.deepStrictEqual(new Uint8Array(Buffer.concat(parts)), large)
  })

  it("are sent whole up to the size of a part", async () => {
    const sent = async (bytes: number) => {
      const whole = HttpServerResponse.uint8Array(new Uint8Array(bytes))
      return (await Effect.runPromise(documents({ path: "/page", acceptEncoding: undefined, address }, whole))).body
        ._tag
    }
    assert.deepStrictEqual([await sent(PART_BYTES), await sent(PART_BYTES + 1)], ["Uint8Array", "Stream"])
  })
})

/**
 * Malformed requests through the open door of a whole exchange: none may break it, each is answered in the one form. A
 * bounded count is refused always, 10,000 with `FUZZ=10000`; the seed is in the failure text.
 */
import { connect } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { isErrorBody, isMaterialThere, malformed } from "../http/Malformed.ts"
import { vectors } from "../vectors.ts"
import { basic, call, type Exchange, funded, type Session, startExchange } from "./Exchange.ts"

const COUNT = Number(process.env["FUZZ"] ?? 800)
const SEED = Number(process.env["SEED"] ?? 20_260_102)
/** Of the requests at most this many times the refused ones are sent. */
const SENT_MAX = 3

interface RawRequest {
  readonly title: string
  readonly type: string
  readonly error: object | null
  readonly pause?: string
  readonly base64: string
}
const requests = vectors("llhttp-requests/requests.json") as { readonly cases: ReadonlyArray<RawRequest> } | undefined
/** What a parser that is strict takes or refuses; CONNECT, upgrades and HTTP/2 are none of a parser's errors. */
const raw = (requests?.cases ?? []).filter(({ pause, type }) => type === "request" && pause === undefined)

describe("malformed requests", () => {
  let exchange: Exchange
  let user: Session
  beforeAll(async () => {
    exchange = await startExchange()
    user = await funded(exchange)
  })
  afterAll(() => exchange?.close())

  it.skipIf(!isMaterialThere)(`${COUNT} on every route: no fault, one form`, { timeout: 300_000 }, async () => {
    const statuses = new Map<number, number>()
    let refused = 0
    let sent = 0
    const credentials = { bearer: `Bearer ${user.token}`, basic: basic.authorization }
    for (const { body, headers, method, target, text } of malformed(SEED, credentials)) {
      // it would end the session of all that follow
      if (target.startsWith("/api/v1/authorize/logout") && headers["authorization"] === credentials.bearer) continue
      const response = await fetch(`${exchange.url}${target}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: typeof body === "string" ? Buffer.from(body) : new Uint8Array(body) })
      })
      const answer = await response.text()
      const where = `${text} -> ${response.status} ${answer}`
      assert.isBelow(response.status, 500, where)
      if (response.status >= 400) assert.isTrue(isErrorBody(answer), where)
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
      if (response.status >= 400) refused++
      if (refused === COUNT || ++sent === COUNT * SENT_MAX) break
    }
    assert.strictEqual(refused, COUNT)
    if (process.env["FUZZ"] !== undefined) console.log(Object.fromEntries([...statuses].sort(([a], [b]) => a - b)))
    const { status } = await call(exchange, "GET", "/api/v1/user/me", { token: user.token })
    assert.strictEqual(status, 200, "it still serves")
  })

  /** Sends bytes and reads until the server closes the connection, or stays silent. */
  const send = (bytes: Uint8Array): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(Number(new URL(exchange.url).port), "127.0.0.1")
      let text = ""
      socket.setTimeout(80, () => socket.destroy())
      socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")))
      socket.on("error", () => {})
      socket.on("close", () => resolve(text))
      socket.write(bytes)
    })

  it.skipIf(requests === undefined)(`${raw.length} byte by byte: an answer in the one form, or the end`, async () => {
    await Promise.all(
      raw.map(async ({ base64, error, title }) => {
        const answer = await send(Buffer.from(base64, "base64"))
        const answers = answer === "" ? [] : answer.split(/(?=HTTP\/1\.1 \d{3} )/u)
        for (const one of answers) {
          const status = Number(one.split(" ", 2)[1])
          assert.isTrue(status < 500, `${title}: ${one}`)
          // HEAD has no body, a preflight needs none
          const body = one.slice(one.indexOf("\r\n\r\n") + 4)
          if (status >= 400 && body !== "") assert.isTrue(isErrorBody(body), `${title}: ${one}`)
          // a head that is sound is answered, where no route takes its body, before the fault in that is seen
          if (error !== null) assert.include([200, 400, 404, 405], status, title)
          if (status === 400) assert.notStrictEqual(body, "", `${title}: ${one}`)
        }
      })
    )
  })
})

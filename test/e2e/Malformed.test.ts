/**
 * Malformed requests to a complete exchange: none may break it, and each gets an error in the common form. A fixed number
 * runs always, over every transport; 10,000 with `FUZZ=10000`. The failure message contains the seed.
 */
import { connect } from "node:net"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { isErrorBody, isMaterialThere, malformed } from "../http/Malformed.ts"
import { type Answer as CallAnswer, answersOf, post, RawCalls, refusalOf } from "../rpc/RawCalls.ts"
import { type MalformedCall, malformedCalls } from "../rpc/MalformedCalls.ts"
import { publicVectors } from "../vectors.ts"
import { malformedFrames } from "../ws/MalformedFrames.ts"
import { frame, RawSocket } from "../ws/RawSocket.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { call, funded, type Session } from "../../verification/harness/RestClient.ts"

const COUNT = Number(process.env["FUZZ"] ?? 800)
const SEED = Number(process.env["SEED"] ?? 20_260_102)
/** Most malformed requests per source that are sent. */
const SENT_MAX = 3

interface RawRequest {
  readonly title: string
  readonly type: string
  readonly error: object | null
  readonly pause?: string
  readonly base64: string
}
const requests = publicVectors("llhttp-requests/requests.json") as
  { readonly cases: ReadonlyArray<RawRequest> } | undefined
/** Requests that a strict parser accepts or refuses; CONNECT, upgrades and HTTP/2 are not parser errors. */
const raw = (requests?.cases ?? []).filter(({ pause, type }) => type === "request" && pause === undefined)

describe("malformed requests", () => {
  let exchange: Exchange
  let user: Session
  beforeAll(async () => {
    exchange = await startExchange()
    user = await funded(exchange)
  })
  afterAll(() => exchange?.close())

  it.skipIf(!isMaterialThere)(
    `${COUNT} on every route: no server fault, one form of error`,
    { timeout: 3_600_000 },
    async () => {
      const statuses = new Map<number, number>()
      let refused = 0
      let sent = 0
      const credentials = { bearer: `Bearer ${user.token}`, basic: basic.authorization }
      for (const { body, headers, method, target, text } of malformed(SEED, credentials)) {
        // it would end the session of all later requests
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
    }
  )

  /** The result of a call: an error in the common form, a defect of the call, or success; nothing else. */
  const judged = (answer: CallAnswer, where: string): "refused" | "done" => {
    if (answer.exit._tag === "Success") return "done"
    const refusal = refusalOf(answer)
    if (refusal === undefined) assert.strictEqual(answer.exit.cause[0]._tag, "Die", where)
    else {
      assert.notInclude(["INTERNAL", "SERVICE_UNAVAILABLE"], refusal.code, where)
      assert.isString(refusal.details.reason, where)
    }
    return "refused"
  }
  /** The ids of a message's calls without a result, and the number of refused ones. */
  const countedIn = (part: ReadonlyArray<MalformedCall>, answers: ReadonlyArray<CallAnswer>) => {
    const ends = new Map(answers.filter(({ _tag }) => _tag === "Exit").map((answer) => [answer.requestId, answer]))
    let refused = 0
    for (const { id, line } of part) {
      if (id === undefined) refused++
      else {
        const answer = ends.get(id)
        assert.isDefined(answer, `unanswered: ${line}`)
        if (judged(answer, `${line} -> ${JSON.stringify(answer)}`) === "refused") refused++
      }
    }
    return refused
  }
  const parts = function* (size: number): Generator<ReadonlyArray<MalformedCall>> {
    let part: Array<MalformedCall> = []
    let length = 0
    for (const call of malformedCalls(SEED, { bearer: `Bearer ${user.token}`, basic: basic.authorization })) {
      if (part.length === size || length + call.line.length > 60_000) {
        yield part
        part = []
        length = 0
      }
      // messages over the size limit have their own tests
      if (call.line.length > 50_000) continue
      part.push(call)
      length += call.line.length + 1
    }
  }
  // complete calls follow a line that is no call, and a short message has few of them
  const PART = 60

  it.skipIf(!isMaterialThere)(
    `${COUNT} calls over POST /rpc: no fault, each answered`,
    { timeout: 3_600_000 },
    async () => {
      let refused = 0
      for (const part of parts(PART)) {
        const { answers, status } = await post(exchange.url, part.map(({ line }) => `${line}\n`).join(""))
        assert.strictEqual(status, 200)
        refused += countedIn(part, answers)
        if (refused >= COUNT) break
      }
      assert.isAtLeast(refused, COUNT)
    }
  )

  it.skipIf(!isMaterialThere)(
    `${COUNT} calls over a WebSocket: no fault, each answered`,
    { timeout: 3_600_000 },
    async () => {
      let refused = 0
      let calls = await RawCalls.open(exchange.url)
      let sent = 0
      for (const part of parts(PART)) {
        if (++sent % 50 === 0) {
          calls.raw.socket.destroy()
          calls = await RawCalls.open(exchange.url)
        }
        const before = calls.raw.texts.length
        calls.send(part.map(({ line }) => `${line}\n`).join(""))
        const last = part.findLast(({ id }) => id !== undefined)!.id
        const answers = () => answersOf(calls.raw.texts.slice(before).join(""))
        const wanted = part.filter(({ id }) => id !== undefined).length
        await calls.raw.until(
          `the answer to ${last}`,
          () => answers().filter(({ _tag }) => _tag === "Exit").length >= wanted
        )
        refused += countedIn(part, answers())
        if (refused >= COUNT) break
      }
      assert.isUndefined(calls.raw.code)
      calls.raw.socket.destroy()
      assert.isAtLeast(refused, COUNT)
    }
  )

  it.skipIf(!isMaterialThere)(
    `${COUNT} messages on the feeds: no fault, each answered`,
    { timeout: 3_600_000 },
    async () => {
      const paths = ["/ws", "/ws/public", "/ws/private"]
      let sent = 0
      let path = 0
      // a burst on each connection, in which every message gets a response
      const burst = 90
      let open: RawSocket | undefined
      let count = 0
      for (const message of malformedFrames(SEED)) {
        if (open === undefined || count === burst) {
          open?.socket.destroy()
          open = await RawSocket.open(exchange.url, paths[path++ % paths.length]!)
          count = 0
        }
        const before = open.texts.length
        open.write(frame(message))
        count++
        const socket = open
        await socket.until(`an answer to ${message}`, () => socket.ended || socket.texts.length > before)
        const closed: number | undefined = socket.code
        // three failed attempts to authenticate end a connection
        if (socket.ended) {
          assert.strictEqual(closed, 4003, message)
          open = undefined
        } else assert.notInclude(socket.texts.at(-1)!, "INTERNAL", message)
        if (++sent === COUNT) break
      }
      open?.socket.destroy()
      assert.strictEqual(sent, COUNT)
    }
  )

  /** Sends bytes and reads until the server closes the connection or stays silent. */
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

  it.skipIf(requests === undefined)(
    `${raw.length} byte by byte: an error in the common form, or a closed connection`,
    async () => {
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
            // a valid head gets its response, where no route reads the body, before the error in the body is noticed
            if (error !== null) assert.include([200, 400, 404, 405], status, title)
            if (status === 400) assert.notStrictEqual(body, "", `${title}: ${one}`)
          }
        })
      )
    }
  )
})

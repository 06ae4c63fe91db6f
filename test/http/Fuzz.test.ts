/**
 * Malformed requests on every route: none may break the surface. Until a bounded count is refused always, until 100,000
 * are with `FUZZ=100000`; the seed is in the failure text.
 */
import { Effect } from "effect"
import { afterEach, assert, describe, it } from "vitest"
import type { Ticker } from "../../src/domain/Market.ts"
import { operations } from "../../verification/harness/documents/JsonSchema.ts"
import { ADMIN, type Doubles, type Gateway, gateway } from "./Fixture.ts"
import { isErrorBody, isMaterialThere, leaks, type Malformed, malformed, shown as requestOf } from "./Malformed.ts"

const COUNT = Number(process.env["FUZZ"] ?? 600)
const SEED = Number(process.env["SEED"] ?? 20_260_101)
/** Of the requests at most this many times the refused ones are sent. */
const SENT_MAX = 3

const shown = operations.find(({ key }) => key === "GET /market/tickers")!.op.responses["200"].content
const ticker = shown["application/json"].example.list[0] as Ticker
/** Log lines that no malformed request causes: the first request creates the tables of the stores. */
const ignored = ["administrator action", '"message":"Running migration"', '"message":"Migrations complete"']
const credentials = { bearer: "Bearer good", basic: ADMIN }

describe("what is wrong", () => {
  const lines: Array<string> = []
  let gate: Gateway
  afterEach(() => gate.dispose())
  const open = (doubles: Doubles): void => {
    gate = gateway({
      logged: (line) => ignored.some((text) => line.includes(text)) || lines.push(line),
      markets: { ticker: () => ticker },
      ...doubles
    })
  }
  /** Sends a request and looks through its answer and every line that was logged for it. */
  const send = async ({ body, headers, method, target, text }: Malformed) => {
    const { authorization, ...others } = headers
    const response = await gate.fetch(method, target, {
      authorization: authorization ?? null,
      ...(body === undefined ? {} : { raw: body }),
      headers: others
    })
    const answer = await response.text()
    const where = `${text} -> ${response.status} ${answer}`
    if (response.status >= 400) assert.isTrue(isErrorBody(answer), where)
    assert.isFalse(leaks(answer + JSON.stringify([...response.headers])), where)
    const logged = lines.splice(0)
    for (const line of logged) {
      assert.doesNotThrow(() => JSON.parse(line), undefined, line)
      assert.isFalse(leaks(line), line)
    }
    return { status: response.status, logged: logged.length, where, answer }
  }

  it.skipIf(!isMaterialThere)(
    `never breaks a route, and is answered in the one form, ${COUNT} times`,
    async () => {
      open({})
      const counts = new Map<string, number>()
      const refused = new Map<string, number>()
      let sent = 0
      let count = 0
      for (const request of malformed(SEED, credentials)) {
        const { answer, logged, status, where } = await send(request)
        sent++
        assert.isBelow(status, 500, where)
        // what the caller did wrong is nobody's fault here
        assert.strictEqual(logged, 0, where)
        counts.set(String(status), (counts.get(String(status)) ?? 0) + 1)
        if (status >= 400) {
          const { reason } = (JSON.parse(answer) as { readonly details: { readonly reason: string } }).details
          refused.set(reason, (refused.get(reason) ?? 0) + 1)
          count++
        }
        if (count === COUNT || sent === COUNT * SENT_MAX) break
      }
      if (process.env["FUZZ"] !== undefined) console.log(sent, Object.fromEntries(counts), Object.fromEntries(refused))
      assert.strictEqual(count, COUNT)
      // most get past the credentials, and are refused for more than one reason
      assert.isBelow(counts.get("401") ?? 0, COUNT / 5)
      for (const reason of ["InvalidField", "MissingField", "MalformedJson", "UnknownField", "InvalidDecimal"]) {
        assert.isAbove(refused.get(reason) ?? 0, 0, reason)
      }
    },
    3_600_000
  )

  it("behind the surface is logged once for each request, without secrets", async () => {
    const broken = () => Effect.die(new Error("broken"))
    open({
      accounts: { user: broken, isWhitelisted: broken, setWhitelisted: broken, labels: broken, setLabel: broken },
      accessCodes: { create: broken, list: broken, get: broken },
      activation: { activate: broken },
      apiKeys: { list: broken, create: broken, update: broken, revoke: broken },
      history: { subAccounts: broken, orders: broken, executions: broken, movements: broken },
      sequencer: { submit: broken }
    })
    let failed = 0
    for (const operation of operations) {
      const { logged, status, where } = await send(requestOf(operation, credentials))
      assert.strictEqual(logged, status === 500 ? 1 : 0, where)
      failed += logged
    }
    assert.isAbove(failed, operations.length / 3)
  })
})

/**
 * Sends every cell of the table of endpoints through a validating proxy and prints a report as JSON:
 * `node test/spec/through-proxy.ts PROXY_URL`. Started by `npm run third-party`.
 */
import { operations } from "../../verification/harness/documents/JsonSchema.ts"
import { UPSTREAM } from "../../verification/harness/RestClient.ts"
import { cellsOf } from "./Cells.ts"
import { rows } from "./Endpoints.ts"
import { makeWorld } from "./World.ts"

/** Longest answer, in ms: the proxy never answers some bodies that are no JSON. */
const ANSWER_MS_MAX = 1_000

const proxy = process.argv[2]!
const world = await makeWorld()
const violations: Array<string> = []
const refused: Array<string> = []
const rewritten: Array<string> = []
let answers = 0
for (const operation of operations) {
  if (rows[operation.key] === undefined) continue
  for await (const { name, request, status } of cellsOf(world, operation)) {
    const { body, headers, method, target } = request
    const cell = `${operation.key}, ${name}`
    const response = await fetch(`${proxy}${target}`, {
      method,
      headers: { ...headers, [UPSTREAM]: world.exchange.url },
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
      ...(body === undefined ? {} : { body })
    }).catch(() => undefined)
    await response?.arrayBuffer()
    if (response?.headers.has("x-request-id") !== true) {
      refused.push(cell)
      continue
    }
    answers++
    if (response.status !== status) rewritten.push(`${cell}: ${response.status} in place of ${status}`)
    const found = JSON.parse(response.headers.get("sl-violations") ?? "[]") as ReadonlyArray<{
      readonly location: ReadonlyArray<string>
      readonly message: string
    }>
    violations.push(
      ...found.filter(({ location }) => location[0] === "response").map(({ message }) => `${cell}: ${message}`)
    )
  }
}
await world.exchange.close()
console.log(JSON.stringify({ answers, refused, rewritten, violations }))

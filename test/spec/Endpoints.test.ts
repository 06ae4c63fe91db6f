/**
 * The contract's table of endpoints over a socket: every cell gets the response of the contract and of the OpenAPI document.
 * An operation without a row fails. Source: docs/contract/rest.md.
 */
import { readFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Api } from "../../src/http/api/Api.ts"
import { endpointsOf, errorsOf } from "../../src/http/api/EndpointErrors.ts"
import { cellsOf, type Cell } from "./Cells.ts"
import { elsewhere, rows } from "./Endpoints.ts"
import { type Json, operations } from "../../verification/harness/documents/JsonSchema.ts"
import { deviations } from "../../verification/harness/documents/OpenApi.ts"
import { makeWorld, type World } from "./World.ts"

/** The differences between a response and its cell. */
const judge = async (world: World, { name, reason, request, status }: Cell): Promise<ReadonlyArray<string>> => {
  const { body, headers, method, target } = request
  const response = await fetch(`${world.exchange.url}${target}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body })
  })
  const text = await response.text()
  const answer = text === "" ? undefined : (JSON.parse(text) as Json)
  const where = (what: string) => `${name}: ${what}; ${response.status} ${text.slice(0, 300)}`
  if (response.status !== status) return [where(`expected ${status} ${reason ?? ""}`)]
  if (reason !== undefined && !reason.includes(answer?.details?.reason)) return [where(`expected ${reason}`)]
  const credentials = ["authorization", "x-api-key", "x-signature", "x-nonce"].flatMap((each) => headers[each] ?? [])
  // outside production a refused signature includes the verified text
  const repeated = text.replace(answer?.details?.signed_string ?? "", "")
  const leaked = status === 401 ? credentials.filter((each) => repeated.includes(each)) : []
  if (leaked.length > 0) return [where("the refusal repeats credentials")]
  return deviations({ method, target, status, headers: response.headers, text }).map(where)
}

const endpoints = endpointsOf(Api)
/** Reasons that an operation declares for itself. */
const ownReasons = (key: string): ReadonlyArray<string> => {
  const endpoint = endpoints.get(key)
  return endpoint === undefined ? [] : errorsOf(endpoint).own.map(({ reason }) => reason)
}

describe("the table of endpoints", () => {
  let world: World
  const counts = { endpoints: 0, cells: 0, passed: 0 }
  beforeAll(async () => {
    world = await makeWorld()
  })
  afterAll(async () => {
    await world?.exchange.close()
    console.log(`${counts.endpoints} endpoints, ${counts.cells} cells, ${counts.passed} passed`)
  })

  it("has a row for every operation of the document", () => {
    const without = operations.map(({ key }) => key).filter((key) => rows[key] === undefined)
    assert.deepStrictEqual(without, [], "add a row to test/spec/Endpoints.ts")
    const gone = Object.keys(rows).filter((key) => !operations.some((each) => each.key === key))
    assert.deepStrictEqual(gone, [], "rows that no operation stands behind")
  })

  it("lists a reason as tested elsewhere only if that test names it", () => {
    for (const [key, reasons] of Object.entries(elsewhere)) {
      const own = ownReasons(key)
      for (const [reason, file] of Object.entries(reasons)) {
        assert.include(own, reason, key)
        assert.include(readFileSync(file, "utf8"), reason, file)
      }
    }
  })

  for (const operation of operations) {
    it.skipIf(rows[operation.key] === undefined)(operation.key, async () => {
      const wrong: Array<string> = []
      let cells = 0
      const unasked = new Set(ownReasons(operation.key))
      for await (const cell of cellsOf(world, operation)) {
        const found = await judge(world, cell)
        cells++
        for (const each of cell.reason ?? []) unasked.delete(each)
        if (found.length === 0) counts.passed++
        wrong.push(...found)
      }
      counts.cells += cells
      counts.endpoints++
      assert.deepStrictEqual(wrong, [])
      for (const each of Object.keys(elsewhere[operation.key] ?? {})) unasked.delete(each)
      assert.deepStrictEqual([...unasked], [], "own reasons that no cell asks for")
    })
  }
})

/** Every endpoint of the table as an RPC procedure, over each of the three transports. An endpoint without a procedure fails. */
import { Cause, Effect, Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Derived, derived } from "../../src/rpc/api/Operations.ts"
import { Rpcs } from "../../src/rpc/api/Rpcs.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { rows } from "../spec/Endpoints.ts"
import { operations } from "../../verification/harness/documents/JsonSchema.ts"
import { makeWorld, type World } from "../spec/World.ts"
import { callers } from "./Callers.ts"

const TIMEOUT = 60_000
/** Procedures per connection, each called twice. */
const PART = 40

/** The endpoint's name in the table of the tests. */
const keyOf = ({ method, path }: HttpApiEndpoint.Top): string =>
  `${method} ${path
    .replace(/^\/api\/v1(?=\/)/u, "")
    .replaceAll(/:(\w+)/gu, "{$1}")
    .replace(/(?<=.)\/$/u, "")}`

/** A client with procedures by name. */
type Functions = Readonly<
  Record<
    string,
    (request: unknown, options: { readonly headers: Record<string, string> }) => Effect.Effect<unknown, unknown>
  >
>

const decode = (schema: Schema.Top, value: unknown) =>
  Schema.decodeUnknownEffect(schema as Schema.Codec<unknown, unknown>)(value)

describe("the procedures", () => {
  let world: World
  beforeAll(async () => {
    world = await makeWorld()
  }, TIMEOUT)
  afterAll(() => world?.exchange.close())

  it("are one for each operation of the document", () => {
    const keys = derived.map(({ endpoint }) => keyOf(endpoint))
    const documented = operations.map(({ key }) => key).filter((key) => !key.startsWith("GET /api-docs/"))
    assert.deepStrictEqual(keys.toSorted(), documented.toSorted())
    for (const { rpc } of derived) assert.isTrue(Rpcs.requests.has(rpc._tag), rpc._tag)
    assert.strictEqual(Rpcs.requests.size, derived.length + 2)
    assert.deepStrictEqual(
      keys.filter((key) => rows[key] === undefined),
      [],
      "add a row to test/spec/Endpoints.ts"
    )
  })

  /** Calls a procedure with valid arguments, and, where it needs credentials, without any; returns the differences. */
  const judge = (functions: Functions, { endpoint, rpc }: Derived) =>
    Effect.gen(function* () {
      const { access, ok } = rows[keyOf(endpoint)]!
      const { body, path, query, token = world.alice.token } = yield* Effect.promise(async () => ok(world))
      const said = { params: path ?? {}, query: query ?? {}, payload: body }
      const request = rpc.payloadSchema === Schema.Void ? undefined : yield* decode(rpc.payloadSchema, said)
      const call = functions[rpc._tag]!
      if (access !== "none") {
        const refused = yield* Effect.flip(call(request, { headers: {} }))
        if ((refused as { readonly code: string }).code !== "UNAUTHORIZED") return yield* Effect.fail(refused)
      }
      const headers = access === "basic" ? basic : access === "none" ? {} : { authorization: `Bearer ${token}` }
      const answer = yield* call(request, { headers })
      return typeof answer === "object" && answer !== null ? [] : [`${rpc._tag}: ${answer}`]
    }).pipe(Effect.catchCause((cause) => Effect.succeed([`${rpc._tag}: ${Cause.pretty(cause)}`])))

  it("name a refused request by the id in the headers of its call", async () => {
    const headers = { "x-request-id": "call-7" }
    const refused = await callers.HTTP(world.exchange, (client) =>
      Effect.flip(client["user.me"](undefined, { headers }))
    )
    assert.strictEqual((refused as { readonly request_id?: string }).request_id, "call-7")
  })

  for (const [way, caller] of Object.entries(callers)) {
    it(
      `respond over ${way}, and refuse unauthenticated callers`,
      async () => {
        const wrong: Array<ReadonlyArray<string>> = []
        // several connections, since a socket accepts a burst of 100 messages
        for (let at = 0; at < derived.length; at += PART) {
          const part = await caller(world.exchange, (client) =>
            Effect.forEach(derived.slice(at, at + PART), (each) => judge(client as unknown as Functions, each))
          )
          wrong.push(...part)
        }
        assert.strictEqual(wrong.length, derived.length)
        assert.deepStrictEqual(wrong.flat(), [])
      },
      TIMEOUT
    )
  }
})

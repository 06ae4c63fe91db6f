/**
 * The requests to every endpoint as cells of a table: the row's own requests, access by each kind of caller, and every form
 * that the document forbids. A cell is a request with its response by the contract.
 */
import { basic } from "../../verification/harness/Settings.ts"
import { type Keys, nonce } from "../../verification/harness/RestClient.ts"
import { rows } from "./Endpoints.ts"
import { type Json, type Operation, resolved } from "../../verification/harness/documents/JsonSchema.ts"
import type { Ask } from "./Row.ts"
import { scopes, signedBy, type World } from "./World.ts"

export interface Request {
  readonly method: string
  readonly target: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
}
export interface Cell {
  readonly name: string
  readonly request: Request
  readonly status: number
  /** `details.reason`; undefined where the request is accepted. Several where the form alone does not decide. */
  readonly reason: ReadonlyArray<string> | undefined
}

const targetOf = ({ path }: Operation, ask: Ask): string => {
  const filled = path.replaceAll(/\{([a-z_]+)\}/gu, (_, name: string) => encodeURIComponent(ask.path?.[name] ?? ""))
  const query = new URLSearchParams(ask.query).toString()
  return query === "" ? filled : `${filled}?${query}`
}

/** Every request to one operation. */
export async function* cellsOf(world: World, operation: Operation): AsyncGenerator<Cell> {
  const row = rows[operation.key]!
  const { method, op } = operation
  const success = row.status ?? 200
  const credentials = (ask: Ask): Record<string, string> =>
    row.access === "none"
      ? {}
      : row.access === "basic"
        ? basic
        : { authorization: `Bearer ${ask.token ?? world.alice.token}` }
  const requestOf = (ask: Ask, headers = credentials(ask)): Request => {
    const body = ask.body === undefined ? undefined : JSON.stringify(ask.body)
    const type = body === undefined ? {} : { "content-type": "application/json" }
    return { method, target: targetOf(operation, ask), headers: { ...type, ...headers }, body }
  }
  const cell = (name: string, request: Request, status: number, ...reason: ReadonlyArray<string>): Cell => ({
    name,
    request,
    status,
    reason: reason.length === 0 ? undefined : reason
  })

  yield cell("success", requestOf(await row.ok(world)), success)
  for (const { ask, reason, status } of row.refuses ?? []) {
    yield cell(reason, requestOf(await ask(world)), status, reason)
  }

  if (op.responses["304"] !== undefined) {
    const request = requestOf(await row.ok(world))
    yield cell("a tag that still stands", { ...request, headers: { ...request.headers, "if-none-match": "*" } }, 304)
    yield cell("a tag of before", { ...request, headers: { ...request.headers, "if-none-match": '"x"' } }, success)
  }

  // access by each kind of caller
  const sound = await row.ok(world)
  const asked = (headers: Record<string, string>) => requestOf(sound, headers)
  const bearer = (token: string) => asked({ authorization: `Bearer ${token}` })
  const signed = (keys: Keys, options?: Parameters<typeof signedBy>[3]) =>
    asked(signedBy(keys, method, targetOf(operation, sound), options))
  if (row.access === "basic") {
    yield cell("anonymous", asked({}), 401, "BadCredentials")
    yield cell("a token in place of Basic", bearer(world.alice.token), 401, "BadCredentials")
    const wrong = Buffer.from("admin:wrong-horse-battery").toString("base64")
    yield cell("a wrong password", asked({ authorization: `Basic ${wrong}` }), 401, "BadCredentials")
  } else if (row.access !== "none") {
    yield cell("anonymous", asked({}), 401, "MissingToken")
    yield cell("the administrator", asked(basic), 401, "MissingToken")
    yield cell("no token at all", bearer("x.y.z"), 401, "InvalidToken")
    yield cell("an expired token", bearer(world.expiredToken), 401, "ExpiredToken")
    yield cell("a revoked token", bearer(world.revokedToken), 401, "RevokedToken")
    const read = world.only.read
    yield cell(
      "an altered signature",
      asked({ ...signed(read).headers, "x-signature": "00".repeat(64) }),
      401,
      "InvalidSignature"
    )
    yield cell("a stale timestamp", signed(read, { at_ms: Date.now() - 60_000 }), 401, "StaleTimestamp")
    yield cell("a bad nonce", asked({ ...signed(read).headers, "x-nonce": "short" }), 401, "InvalidNonce")
    yield cell(
      "a key nobody knows",
      asked({ ...signed(read).headers, "x-api-key": world.alice.root_address }),
      401,
      "UnknownApiKey",
      "InvalidPublicKey"
    )
    yield cell("an expired key", signed(world.expiredKey), 401, "ExpiredApiKey")
    yield cell("a key from elsewhere", signed(world.farKey), 403, "IpNotAllowed")
    const both = { ...signed(read).headers, authorization: `Bearer ${world.alice.token}` }
    yield cell("token and key together", asked(both), 400, "AmbiguousAuth")
    if (row.access === "bearer") {
      yield cell("an API key", signed(world.only.read), 403, "BearerOnly")
    } else {
      for (const scope of scopes) {
        if (scope !== row.access)
          yield cell(`a key with ${scope} only`, signed(world.only[scope]), 403, "InsufficientScope")
      }
      yield cell("a key with all other scopes", signed(world.allBut[row.access]), 403, "InsufficientScope")
      const ask = await row.ok(world)
      const once = { nonce: nonce() }
      const headers = signedBy(world.only[row.access], method, targetOf(operation, ask), once)
      yield cell("a key with the scope", requestOf(ask, headers), success)
      yield cell("its nonce again", requestOf(ask, headers), 401, "NonceReused")
      yield* strangers(world, operation, requestOf)
    }
  }
  yield* shapes(world, operation, requestOf, cell)
  if (op.parameters.some((each: Json) => each.in !== "header") || method !== "GET")
    yield* foreignForms(requestOf(await row.ok(world)), cell)
}

/** Sub-accounts of others appear not to exist; frozen ones refuse orders. */
async function* strangers(world: World, { key }: Operation, requestOf: (ask: Ask) => Request): AsyncGenerator<Cell> {
  const row = rows[key]!
  const ask = await row.ok(world)
  for (const part of ["path", "query", "body"] as const) {
    for (const name of Object.keys(ask[part] ?? {})) {
      if (!/^(?:from_|to_)?sub_account_address$/u.test(name)) continue
      const withAddress = async (address: string, more = {}): Promise<Request> => {
        const fresh = await row.ok(world)
        return requestOf({ ...fresh, [part]: { ...fresh[part], [name]: address, ...more } })
      }
      yield {
        name: `${name} of another user`,
        request: await withAddress(world.bob.vault),
        status: 404,
        reason: ["SubAccountNotFound"]
      }
      if (name !== "sub_account_address" || part === "path") continue
      const frozen = await withAddress(world.frozen, key === "POST /order/amend" ? { order_link_id: "frozen-1" } : {})
      if (row.frozen === "refused") {
        yield { name: "a frozen sub-account", request: frozen, status: 403, reason: ["SubAccountFrozen"] }
      } else if (part === "query")
        yield { name: "a frozen sub-account", request: frozen, status: 200, reason: undefined }
    }
  }
}

type Make = (name: string, request: Request, status: number, ...reason: ReadonlyArray<string>) => Cell
const SHAPES = ["InvalidField", "OutOfRange", "InvalidDecimal", "InvalidNonce", "InvalidPublicKey", "InvalidCursor"]

/** Every field missing, or with a value that its schema forbids. */
async function* shapes(
  world: World,
  { key, op }: Operation,
  requestOf: (ask: Ask) => Request,
  cell: Make
): AsyncGenerator<Cell> {
  const ask = await rows[key]!.ok(world)
  for (const parameter of op.parameters as ReadonlyArray<Json>) {
    const { name } = parameter
    const schema = resolved(parameter.schema)
    if (parameter.in === "header") continue
    const part = parameter.in as "path" | "query"
    const withValue = (value: string) => requestOf({ ...ask, [part]: { ...ask[part], [name]: value } })
    if (part === "query" && name !== "order_status") {
      const request = requestOf(ask)
      const joined = request.target.includes("?") ? "&" : "?"
      const target = `${request.target}${joined}${name}=1&${name}=2`
      yield cell(`${name} twice`, { ...request, target }, 400, "InvalidField")
    }
    if (part === "query" && parameter.required) {
      const { [name]: _, ...others } = ask.query ?? {}
      yield cell(`${name} missing`, requestOf({ ...ask, query: others }), 400, "MissingField")
    }
    if (schema.enum !== undefined || schema.pattern !== undefined || schema.type === "integer") {
      yield cell(`${name} of no form`, withValue("~"), 400, ...SHAPES)
    }
    if (name === "limit" || name === "depth") {
      yield cell(`${name} 0`, withValue("0"), 400, "OutOfRange")
      yield cell(`${name} too large`, withValue(String(schema.maximum + 1)), 400, "OutOfRange")
    }
    if (name === "cursor") yield cell("an altered cursor", withValue("AAAAAAAA"), 400, "InvalidCursor")
  }
  const body = resolved(op.requestBody?.content["application/json"].schema)
  for (const [name, field] of Object.entries<Json>(body.properties ?? {})) {
    const schema = resolved(field)
    const { [name]: _, ...others } = ask.body ?? {}
    if ((body.required ?? []).includes(name)) {
      yield cell(`${name} missing`, requestOf({ ...ask, body: others }), 400, "MissingField")
    }
    const odd = schema.type === "object" || schema.type === "array" ? "~" : { a: 1 }
    yield cell(`${name} of no form`, requestOf({ ...ask, body: { ...ask.body, [name]: odd } }), 400, ...SHAPES)
    if (field.$ref?.endsWith("/Decimal")) {
      const long = { ...ask.body, [name]: "1.0000000000000000001" }
      yield cell(`${name} with 19 places`, requestOf({ ...ask, body: long }), 400, "TooManyDecimals")
      yield cell(`${name} as a number`, requestOf({ ...ask, body: { ...ask.body, [name]: 1 } }), 400, "InvalidDecimal")
    }
  }
}

/** Bodies and queries that are wrong for any endpoint. */
async function* foreignForms(sound: Request, cell: Make): AsyncGenerator<Cell> {
  const { body, headers, target } = sound
  const joined = target.includes("?") ? "&" : "?"
  yield cell("an unknown parameter", { ...sound, target: `${target}${joined}q=1` }, 400, "UnknownParameter")
  yield cell("a broken escape", { ...sound, target: `${target}${joined}q=%zz` }, 400, "InvalidField")
  if (body === undefined) return
  yield cell("no JSON", { ...sound, body: body.slice(0, -1) }, 400, "MalformedJson")
  yield cell("a list", { ...sound, body: "[]" }, 400, "MalformedJson")
  yield cell(
    "a key twice",
    { ...sound, body: `{"symbol":"x",${body.replace("{", '"symbol":"x",')}` },
    400,
    "MalformedJson"
  )
  yield cell("camelCase", { ...sound, body: body.replace("{", '{"reduceOnly":true,') }, 400, "UnknownField")
  yield cell("another type", { ...sound, headers: { ...headers, "content-type": "text/plain" } }, 415, "WrongMediaType")
  yield cell("too large", { ...sound, body: body.replace("{", `{"x":"${"x".repeat(262_144)}",`) }, 413, "BodyTooLarge")
}

/** Requests with something wrong in them, for every route: the same seed, the same requests. */
import { publicVectors } from "../vectors.ts"
import { type Json, type Operation, operations, resolved } from "../../verification/harness/documents/JsonSchema.ts"
import { orderId, v1 } from "./Fixture.ts"

export interface Malformed {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Record<string, string>
  readonly body: string | Buffer | undefined
  /** For the text of a failure. */
  readonly text: string
}

/** mulberry32: the same seed, the same run. */
const randomOf = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}

const naughty = publicVectors("naughty-strings/blns.json") as ReadonlyArray<string> | undefined
const texts = publicVectors("json-test-suite/parsing.json") as
  { readonly cases: ReadonlyArray<{ readonly base64?: string }> } | undefined

const sound: Record<string, unknown> = {
  sub_account_address: v1,
  from_sub_account_address: v1,
  to_sub_account_address: v1,
  symbol: "BTC-USDC",
  side: "Buy",
  order_type: "Limit",
  qty: "0.5",
  price: "60000",
  order_id: orderId,
  transfer_id: orderId,
  order_link_id: "a-1",
  order_iv: 1,
  asset: "USDC",
  amount: "1",
  label: "x",
  frozen: false,
  scopes: ["read"],
  public_key: "0x00",
  signature: "0x00",
  timestamp_ms: 1,
  nonce: "aaaaaaaa",
  ip_allowlist: ["10.0.0.0/8"],
  interval: "1",
  depth: "5",
  limit: "1",
  order_status: "New",
  start_time: "1",
  cursor: "AAAA"
}
const names = Object.keys(sound)

/** Whether the material is there: it is shared with other projects. */
export const isMaterialThere = naughty !== undefined && texts !== undefined

/** The one error body with its reason, or what was answered in its place. */
export const isErrorBody = (text: string): boolean => {
  try {
    const { code, message, details } = JSON.parse(text) as Json
    return typeof code === "string" && typeof message === "string" && typeof details?.reason === "string"
  } catch {
    return false
  }
}

/** Stands where secrets are sent: no answer and no log line may repeat it. */
export const CANARY = "c4n4ry-7f3e91d2"
const CANARY_BASIC = btoa(`admin:${CANARY}`)
/** Whether a text repeats a secret that was sent. */
export const leaks = (text: string): boolean => text.includes(CANARY) || text.includes(CANARY_BASIC)
const secrets: ReadonlySet<string> = new Set(["signature", "code", "codes", "verifying_key"])

const bodyOf = ({ op }: Operation): Json => op.requestBody?.content["application/json"]

/** Values of Authorization that are accepted. */
export interface Credentials {
  readonly bearer: string
  readonly basic: string
}
const schemesOf = ({ op }: Operation): ReadonlyArray<string> => op.security.flatMap(Object.keys)
/** The credentials that an operation requires, as its document declares. */
const wanted = (operation: Operation | undefined, { basic, bearer }: Credentials): string | undefined => {
  const [scheme] = operation === undefined ? ["bearer"] : schemesOf(operation)
  return scheme === "basic" ? basic : scheme === undefined ? undefined : bearer
}

/** The request that an operation shows, secrets in it replaced by the canary. */
export const shown = (operation: Operation, credentials: Credentials): Malformed => {
  const { method, op, path } = operation
  const authorization = wanted(operation, credentials)
  const example: Record<string, unknown> | undefined = bodyOf(operation)?.example
  const body = example && Object.fromEntries(Object.entries(example).map(([k, v]) => [k, secrets.has(k) ? CANARY : v]))
  const query = (op.parameters as ReadonlyArray<Json>)
    .filter((each) => each.in === "query" && each.required)
    .map((each) => `${each.name}=${encodeURIComponent(each.example)}`)
    .join("&")
  const filled = path.replaceAll(/\{([a-z_]+)\}/gu, (_, name) => (name.endsWith("address") ? v1 : orderId))
  return {
    method,
    target: query === "" ? filled : `${filled}?${query}`,
    headers: authorization === undefined ? {} : { authorization },
    body: body && JSON.stringify(body),
    text: `${method} ${path}`
  }
}

/** Malformed requests without end. Few of them fail for their credentials: most get to where shapes are read. */
export function* malformed(seed: number, credentials: Credentials): Generator<Malformed> {
  if (naughty === undefined || texts === undefined) return
  const random = randomOf(seed)
  const pick = <A>(some: ReadonlyArray<A>): A => some[Math.floor(random() * some.length)]!
  const odd = (): unknown =>
    pick<() => unknown>([
      () => pick(naughty),
      () => pick(naughty),
      () => null,
      () => -1,
      () => 1e308,
      () => 0.5,
      () => Number.MAX_SAFE_INTEGER,
      () => true,
      () => [],
      () => [null],
      () => ({}),
      () => ({ [pick(naughty)]: pick(naughty) }),
      () => "9".repeat(21),
      () => `1.${"0".repeat(19)}`,
      () => "-0"
    ])()
  /** A value that a schema forbids, or one that nobody expects. */
  const forbidden = (schema: Json): unknown => {
    const { enum: choices, items, maxLength, maximum, minimum, type } = resolved(schema)
    return pick<() => unknown>([
      odd,
      () => (type === "string" ? 1 : "1"),
      () => (choices === undefined ? odd() : `${choices[0]}x`),
      () => (maximum === undefined ? odd() : pick([maximum + 1, minimum - 1, maximum - 0.5, `${maximum}`])),
      () => (maxLength < 1_000 ? "x".repeat(maxLength + 1) : odd()),
      () => (items === undefined ? [schema] : [forbidden(items)])
    ])()
  }
  const written = (body: Record<string, unknown>): string => {
    for (const name of Object.keys(body)) if (secrets.has(name)) body[name] = CANARY
    const text = JSON.stringify(body)
    return random() < 0.1 ? text.slice(0, Math.floor(random() * text.length)) : text
  }
  /** The example of an operation with something wrong in it. */
  const spoiled = (operation: Operation): string => {
    const { example, schema } = bodyOf(operation)
    const body: Record<string, unknown> = { ...example }
    const fields = Object.entries<Json>(resolved(schema).properties)
    for (let i = 0; i < 1 + random() * 2; i++) {
      const [name, field] = pick(fields)
      if (random() < 0.15) delete body[name]
      else
        body[random() < 0.9 ? name : name.replaceAll(/_(.)/gu, (_, letter) => letter.toUpperCase())] = forbidden(field)
    }
    return written(body)
  }
  /** Fields of any operation, sound or not. */
  const mixed = (): string => {
    const body: Record<string, unknown> = {}
    for (const name of names) if (random() < 0.7) body[name] = sound[name]
    for (let i = 0; i < 1 + random() * 3; i++) {
      const name = random() < 0.8 ? pick(names) : pick([...naughty, "reduceOnly", "__proto__", "constructor"])
      if (random() < 0.2) delete body[name]
      else body[name] = odd()
    }
    return written(body)
  }
  /** Parameters of an operation, their values sound or forbidden. */
  const parametersOf = ({ op }: Operation): string =>
    (op.parameters as ReadonlyArray<Json>)
      .filter((each) => each.in === "query" && random() < 0.6)
      .map((each) => {
        const value = random() < 0.5 ? (each.example ?? "1") : forbidden(each.schema)
        return `${each.name}=${encodeURIComponent(String(value).toWellFormed())}`
      })
      .join("&")
  const queried = (): string =>
    Array.from({ length: Math.floor(random() * 4) }, () => {
      const value = random() < 0.5 ? pick(naughty) : String(sound[pick(names)])
      return `${pick(names)}=${random() < 0.8 ? encodeURIComponent(value.toWellFormed()) : value.replaceAll(/[^!-~]|#/gu, "%")}`
    }).join("&")

  for (let i = 0; ; i++) {
    const operation = random() < 0.97 ? pick(operations) : undefined
    const route = operation ?? { method: pick(["GET", "PUT", "PATCH"]), path: "/nope" }
    const path = route.path.replaceAll(/\{[a-z_]+\}/gu, () =>
      random() < 0.8 ? pick([v1, orderId]) : encodeURIComponent(pick(naughty).toWellFormed())
    )
    const query = operation !== undefined && random() < 0.6 ? parametersOf(operation) : queried()
    const takesBody = route.method !== "GET" && route.method !== "DELETE"
    const body = !takesBody
      ? undefined
      : random() < 0.2
        ? Buffer.from(pick(texts.cases).base64 ?? "", "base64")
        : operation !== undefined && bodyOf(operation) !== undefined && random() < 0.7
          ? spoiled(operation)
          : mixed()
    const authorization =
      random() < 0.9
        ? wanted(operation, credentials)
        : pick([`Bearer ${CANARY}`, `Basic ${CANARY_BASIC}`, undefined, "Bearer", "Bearer \t x", "Basic %%%"])
    const target = query === "" ? path : `${path}?${query}`
    yield {
      method: route.method,
      target,
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(random() < 0.05
          ? { "x-api-key": pick(["k", "", "0x00", "ab".repeat(32)]), "x-nonce": "n", "x-signature": CANARY }
          : {})
      },
      body: body === undefined || body.length === 0 ? undefined : body,
      text: `seed ${seed}, request ${i}: ${route.method} ${target} ${String(body)}`
    }
  }
}

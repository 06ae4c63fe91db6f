/** Requests with something wrong in them, for every route: the same seed, the same requests. */
import { HttpApi } from "effect/http-api"
import { Api } from "../../src/http/api/Api.ts"
import { vectors } from "../vectors.ts"
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

const naughty = vectors("naughty-strings/blns.json") as ReadonlyArray<string> | undefined
const texts = vectors("json-test-suite/parsing.json") as
  { readonly cases: ReadonlyArray<{ readonly base64?: string }> } | undefined

const routes: Array<{ readonly method: string; readonly path: string }> = []
HttpApi.reflect(Api, { onGroup: () => {}, onEndpoint: ({ endpoint }) => routes.push(endpoint) })

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

/** The one error body, or what was answered in its place. */
export const isErrorBody = (text: string): boolean => {
  try {
    const { code, message } = JSON.parse(text) as { readonly code?: unknown; readonly message?: unknown }
    return typeof code === "string" && typeof message === "string"
  } catch {
    return false
  }
}

/** A number of malformed requests; `credentials` are values of Authorization that are accepted. */
export function* malformed(
  seed: number,
  count: number,
  credentials: { readonly bearer: string; readonly basic: string }
): Generator<Malformed> {
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
  /** A sound body with something wrong in it. */
  const mutated = (): string => {
    const body: Record<string, unknown> = {}
    for (const name of names) if (random() < 0.7) body[name] = sound[name]
    for (let i = 0; i < 1 + random() * 3; i++) {
      const name = random() < 0.8 ? pick(names) : pick([...naughty, "reduceOnly", "__proto__", "constructor"])
      if (random() < 0.2) delete body[name]
      else body[name] = odd()
    }
    const text = JSON.stringify(body)
    return random() < 0.1 ? text.slice(0, Math.floor(random() * text.length)) : text
  }
  const queried = (): string =>
    Array.from({ length: Math.floor(random() * 4) }, () => {
      const value = random() < 0.5 ? pick(naughty) : String(sound[pick(names)])
      return `${pick(names)}=${random() < 0.8 ? encodeURIComponent(value.toWellFormed()) : value.replaceAll(/[^!-~]|#/gu, "%")}`
    }).join("&")

  for (let i = 0; i < count; i++) {
    const route = random() < 0.97 ? pick(routes) : { method: pick(["GET", "PUT", "PATCH"]), path: "/nope" }
    const path = route.path.replaceAll(/:[a-z_]+/gu, () =>
      random() < 0.3 ? v1 : encodeURIComponent(pick(naughty).toWellFormed())
    )
    const query = queried()
    const takesBody = route.method !== "GET" && route.method !== "DELETE"
    const body = !takesBody
      ? undefined
      : random() < 0.3
        ? Buffer.from(pick(texts.cases).base64 ?? "", "base64")
        : mutated()
    const { basic, bearer } = credentials
    const authorization = pick([bearer, bearer, bearer, basic, basic, undefined, "Bearer", "Bearer \t x", "Basic %%%"])
    const target = query === "" ? path : `${path}?${query}`
    yield {
      method: route.method,
      target,
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(random() < 0.1 ? { "x-api-key": pick(["k", "", "0x00"]), "x-nonce": "n" } : {})
      },
      body: body === undefined || body.length === 0 ? undefined : body,
      text: `seed ${seed}, request ${i}: ${route.method} ${target} ${String(body)}`
    }
  }
}

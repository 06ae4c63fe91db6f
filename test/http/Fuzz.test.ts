/**
 * Malformed requests on every route: none may break the surface. A bounded count runs always, all 10,000 and more with
 * `FUZZ=10000`; the seed is in the failure text.
 */
import { afterAll, assert, describe, it } from "vitest"
import { HttpApi } from "effect/http-api"
import { Api } from "../../src/http/api/Api.ts"
import { vectors } from "../vectors.ts"
import { ADMIN, gateway, orderId, v1 } from "./Fixture.ts"

const COUNT = Number(process.env["FUZZ"] ?? 600)

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

describe.skipIf(naughty === undefined || texts === undefined)(`${COUNT} malformed requests`, () => {
  const { fetch, dispose } = gateway()
  afterAll(dispose)

  it("never break a route, and are answered in the one form", async () => {
    const seed = Number(process.env["SEED"] ?? 20_260_101)
    const random = randomOf(seed)
    const pick = <A>(some: ReadonlyArray<A>): A => some[Math.floor(random() * some.length)]!
    const odd = (): unknown =>
      pick<() => unknown>([
        () => pick(naughty!),
        () => pick(naughty!),
        () => null,
        () => -1,
        () => 1e308,
        () => 0.5,
        () => Number.MAX_SAFE_INTEGER,
        () => true,
        () => [],
        () => [null],
        () => ({}),
        () => ({ [pick(naughty!)]: pick(naughty!) }),
        () => "9".repeat(21),
        () => `1.${"0".repeat(19)}`,
        () => "-0"
      ])()
    /** A sound body with something wrong in it. */
    const mutated = (): string => {
      const body: Record<string, unknown> = {}
      for (const name of names) if (random() < 0.7) body[name] = sound[name]
      for (let i = 0; i < 1 + random() * 3; i++) {
        const name = random() < 0.8 ? pick(names) : pick([...naughty!, "reduceOnly", "__proto__", "constructor"])
        if (random() < 0.2) delete body[name]
        else body[name] = odd()
      }
      const text = JSON.stringify(body)
      return random() < 0.1 ? text.slice(0, Math.floor(random() * text.length)) : text
    }
    const queried = (): string =>
      Array.from({ length: Math.floor(random() * 4) }, () => {
        const value = random() < 0.5 ? pick(naughty!) : String(sound[pick(names)])
        return `${pick(names)}=${random() < 0.8 ? encodeURIComponent(value.toWellFormed()) : value.replaceAll(/[^!-~]|#/gu, "%")}`
      }).join("&")

    for (let i = 0; i < COUNT; i++) {
      const route = random() < 0.97 ? pick(routes) : { method: pick(["GET", "PUT", "PATCH"]), path: "/nope" }
      const path = route.path.replaceAll(/:[a-z_]+/gu, () =>
        random() < 0.3 ? v1 : encodeURIComponent(pick(naughty!).toWellFormed())
      )
      const query = queried()
      const hasBody = route.method !== "GET" && route.method !== "DELETE"
      const raw = !hasBody
        ? undefined
        : random() < 0.3
          ? Buffer.from(pick(texts!.cases).base64 ?? "", "base64")
          : mutated()
      const authorization = pick([
        "Bearer good",
        "Bearer good",
        "Bearer good",
        ADMIN,
        ADMIN,
        null,
        "Bearer",
        "Bearer \t x",
        "Basic %%%"
      ])
      const response = await fetch(route.method, query === "" ? path : `${path}?${query}`, {
        authorization,
        ...(raw === undefined || raw.length === 0 ? {} : { raw }),
        headers: random() < 0.1 ? { "x-api-key": pick(["k", "", "0x00"]), "x-nonce": "n" } : {}
      })
      const body = await response.text()
      const where = `seed ${seed}, request ${i}: ${route.method} ${path}?${query} ${String(raw)} -> ${response.status} ${body}`
      assert.isBelow(response.status, 500, where)
      if (response.status >= 400) {
        const { code, message } = JSON.parse(body) as { readonly code: unknown; readonly message: unknown }
        assert.isString(code, where)
        assert.isString(message, where)
      }
    }
  }, 300_000)
})

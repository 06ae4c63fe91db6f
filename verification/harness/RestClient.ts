/** REST calls without the client's code: keys, sign-in and requests, each answer checked against the OpenAPI document. */
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign as edSign
} from "node:crypto"
import { assertDocumented } from "./documents/OpenApi.ts"
import { eventually } from "./Wait.ts"

/** The exchange of a call. */
export interface Target {
  readonly url: string
}
export interface Answer {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
  readonly headers: Headers
}

/** Names the exchange that a request is for, where it goes through a proxy. */
export const UPSTREAM = "x-upstream"
/** A validating proxy in front of all exchanges (`npm run third-party`). */
const PROXY = process.env["E2E_PROXY"]

/** Sends a request, through the proxy if one is set. Fails where the proxy reports that the answer violates the document. */
const send = async (url: string, path: string, init: RequestInit & { readonly headers: Record<string, string> }) => {
  const direct = () => fetch(`${url}${path}`, init)
  if (PROXY === undefined) return direct()
  const response = await fetch(`${PROXY}${path}`, { ...init, headers: { ...init.headers, [UPSTREAM]: url } })
  // without a request id the proxy answered itself: it could not parse the request
  if (!response.headers.has("x-request-id")) return direct()
  const found = JSON.parse(response.headers.get("sl-violations") ?? "[]") as ReadonlyArray<{
    readonly location: ReadonlyArray<string>
    readonly message: string
  }>
  const violations = found.filter(({ location }) => location[0] === "response").map(({ message }) => message)
  if (violations.length > 0) throw new Error(`${init.method} ${path}: ${violations.join("; ")}`)
  return response
}

/** One request. `path` starts below the host; `body` is sent as JSON unless it is text. Fails where the answer is undocumented. */
export const call = async (
  exchange: Target,
  method: string,
  path: string,
  options: { readonly token?: string; readonly body?: unknown; readonly headers?: Record<string, string> } = {}
): Promise<Answer> => {
  const response = await send(exchange.url, path, {
    method,
    headers: {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers
    },
    ...(options.body === undefined
      ? {}
      : { body: typeof options.body === "string" ? options.body : JSON.stringify(options.body) })
  })
  const text = await response.text()
  assertDocumented({ method, target: path, status: response.status, headers: response.headers, text })
  return {
    status: response.status,
    body: response.headers.get("content-type")?.startsWith("application/json") ? JSON.parse(text) : text,
    headers: response.headers
  }
}

export interface Keys {
  readonly publicKey: string
  readonly sign: (message: string) => string
}

const keysOf = (privateKey: KeyObject, publicKey: string): Keys => ({
  publicKey,
  sign: (message) => edSign(null, Buffer.from(message), privateKey).toString("hex")
})

/** The credentials of an API key for one request. */
export const apiKeyHeaders = (
  keys: Keys,
  method: string,
  uri: string,
  options: { readonly at_ms?: number; readonly nonce?: string; readonly body?: string } = {}
): Record<string, string> => {
  const at_ms = options.at_ms ?? Date.now()
  const fresh = options.nonce ?? nonce()
  const hash = options.body === undefined ? undefined : createHash("sha256").update(options.body).digest("hex")
  const message = `SERVICE_API|${method}|${uri}|${at_ms}|${fresh}${hash === undefined ? "" : `|${hash}`}`
  return {
    "x-api-key": keys.publicKey,
    "x-signature": keys.sign(message),
    "x-timestamp-ms": String(at_ms),
    "x-nonce": fresh,
    ...(hash === undefined ? {} : { "x-body-sha256": hash })
  }
}

/** A fresh key pair, its public key as hex. */
export const newKeys = (): Keys => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  return keysOf(privateKey, publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex"))
}

/** The key pair of a seed. `publicKey` is the text that requests carry, in whichever form a test needs. */
export const keysOfSeed = (seed: string, publicKey: string): Keys =>
  keysOf(
    createPrivateKey({
      key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from(seed, "hex")]),
      format: "der",
      type: "pkcs8"
    }),
    publicKey
  )

export const nonce = (): string => randomBytes(16).toString("base64url")

export interface Session {
  readonly token: string
  readonly user_id: string
  readonly root_address: string
  readonly vault: string
}

/** Signs a new wallet in and deposits USDC to its first sub-account. */
export const funded = async (exchange: Target, amount = "10000", now = Date.now()): Promise<Session> => {
  const session = await login(exchange, newKeys(), now)
  const { status, body } = await call(exchange, "POST", "/api/v1/account/faucet", {
    token: session.token,
    body: { sub_account_address: session.vault, asset: "USDC", amount }
  })
  if (status !== 200) throw new Error(`faucet: ${status} ${JSON.stringify(body)}`)
  return session
}

/** Signs a wallet in; returns its token and its first sub-account. */
export const login = async (exchange: Target, keys: Keys, now = Date.now()): Promise<Session> => {
  const fresh = nonce()
  const { status, body } = await call(exchange, "POST", "/api/v1/authorize", {
    body: {
      public_key: keys.publicKey,
      signature: keys.sign(`SERVICE_AUTH|LOGIN|${keys.publicKey}|${now}|${fresh}`),
      timestamp_ms: now,
      nonce: fresh
    }
  })
  if (status !== 200) throw new Error(`login: ${status} ${JSON.stringify(body)}`)
  const accounts = await call(exchange, "GET", "/api/v1/user/sub-accounts", { token: body.token })
  return {
    token: body.token,
    user_id: body.user_id,
    root_address: body.root_address,
    vault: accounts.body.list[0].sub_account_address
  }
}

/** Every record of a list, page after page. A page that a lagging read model refuses (503) is requested again. */
export const listAll = async (exchange: Target, path: string, token: string): Promise<Array<Answer["body"]>> => {
  const all: Array<Answer["body"]> = []
  for (let cursor = ""; ;) {
    const page = `${path}${path.includes("?") ? "&" : "?"}limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`
    const { body, status } = await eventually(
      page,
      () => call(exchange, "GET", page, { token }),
      (answer) => answer.status !== 503
    )
    if (status !== 200) throw new Error(`${page}: ${status} ${JSON.stringify(body)}`)
    all.push(...body.list)
    cursor = body.next_page_cursor
    if (cursor === "") return all
  }
}

/** Creates an order of 0.001 BTC that rests far below the market. */
export const create = (exchange: Target, { token, vault }: Session, order_link_id: string, fields: object = {}) =>
  call(exchange, "POST", "/api/v1/order/create", {
    token,
    body: {
      sub_account_address: vault,
      symbol: "BTC-USDC",
      side: "Buy",
      order_type: "Limit",
      qty: "0.001",
      price: "58000",
      order_link_id,
      ...fields
    }
  })
export const cancel = (exchange: Target, { token, vault }: Session, order_link_id: string) =>
  call(exchange, "POST", "/api/v1/order/cancel", {
    token,
    body: { sub_account_address: vault, symbol: "BTC-USDC", order_link_id }
  })

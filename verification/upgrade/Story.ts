/**
 * What users do before an upgrade, and everything that they can read. It uses no code of the client, so that it runs against any
 * version: paths and bodies are those of 0.1.1, and later versions only add to them.
 */
import { setTimeout as sleep } from "node:timers/promises"
import * as Wallet from "../../src/client/Wallet.ts"
import { ADMIN } from "../harness/Settings.ts"

/** Clock by which requests are signed, Unix ms. */
export type Now = () => number

interface Call {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}
const basic = `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString("base64")}`

/** Longest time in which a read that is refused for now is repeated, in ms. */
const BUSY_MS = 60_000

/** One request. Fails where the answer is not 2xx; a read that a busy gateway refuses (503) is repeated. */
const call = async (url: string, method: string, path: string, { body, headers, token }: Call = {}) => {
  for (const until = performance.now() + BUSY_MS; ; await sleep(250)) {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(path.startsWith("/admin/") ? { authorization: basic } : {}),
        ...headers
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    if (response.ok) return text === "" ? {} : JSON.parse(text)
    const isBusy = method === "GET" && response.status === 503 && performance.now() < until
    if (!isBusy) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  }
}

export const SYMBOL = "BTC-USDC"
const NAMES = ["alice", "bob", "carol"] as const
type Name = (typeof NAMES)[number] | "dora"
/** The seeds of wallets and API keys: the users of the fixture sign in again with them. */
const walletOf = (name: Name) => Wallet.fromSeed(Buffer.from(name.padEnd(32, "-")))
const keyOf = (name: string) => Wallet.fromSeed(Buffer.from(`key of ${name}`.padEnd(32, "-")))
const uuid = (n: number) => `018f3f1e-5d5b-7a00-8000-${String(n).padStart(12, "0")}`

/** Signs a user in; returns the token. */
const login = async (url: string, name: Name, now: Now): Promise<string> => {
  const wallet = walletOf(name)
  const [timestamp_ms, nonce] = [now(), Wallet.nonce()]
  const signature = wallet.sign(Wallet.loginMessage(wallet.login_name, timestamp_ms, nonce))
  const body = { public_key: wallet.login_name, signature, timestamp_ms, nonce }
  return (await call(url, "POST", "/authorize", { body })).token
}

interface User {
  readonly token: string
  readonly vault: string
}

/** Everything that the fixture contains: open orders, positions, triggers, API keys, settings and each kind of history. */
export const tell = async (url: string): Promise<void> => {
  const enter = async (name: Name): Promise<User> => {
    const token = await login(url, name, Date.now)
    let list: ReadonlyArray<{ readonly sub_account_address: string }> = []
    // the read model may lag behind the sign-in
    while (list.length === 0) {
      await sleep(100)
      list = (await call(url, "GET", "/user/sub-accounts", { token })).list
    }
    const vault = list[0]!.sub_account_address
    await call(url, "POST", "/account/faucet", {
      token,
      body: { sub_account_address: vault, asset: "USDC", amount: "100000" }
    })
    return { token, vault }
  }
  const [alice, bob, carol] = [await enter("alice"), await enter("bob"), await enter("carol")]
  const post = ({ token }: User, path: string, body: object) => call(url, "POST", path, { token, body })
  let links = 0
  const order = (user: User, fields: object) =>
    post(user, "/order/create", {
      sub_account_address: user.vault,
      symbol: SYMBOL,
      order_type: "Limit",
      order_link_id: `story-${++links}`,
      ...fields
    })

  // accounts and keys
  const { referral_code } = await call(url, "GET", "/user/referral", { token: alice.token })
  await post(carol, "/user/referral", { referral_code })
  const hedge: string = (await post(alice, "/user/sub-accounts", { label: "hedge" })).sub_account_address
  await post(alice, "/account/transfer", {
    transfer_id: uuid(1),
    from_sub_account_address: alice.vault,
    to_sub_account_address: hedge,
    asset: "USDC",
    amount: "2500"
  })
  await post(alice, "/account/withdrawal-addresses", { destination: keyOf("cold").root_address, label: "cold" })
  await post(bob, "/account/withdrawals", {
    withdrawal_id: uuid(2),
    sub_account_address: bob.vault,
    asset: "USDC",
    amount: "12.5",
    destination: walletOf("bob").root_address
  })
  const key = { public_key: keyOf("alice").public_key, label: "bot", scopes: ["read", "trade"] }
  await post(alice, "/user/api-keys", key)
  await post(alice, "/user/api-keys", {
    public_key: keyOf("bound").public_key,
    label: "bound",
    scopes: ["read"],
    sub_account_addresses: [hedge],
    ip_allowlist: ["10.0.0.0/8"],
    require_body_hash: true
  })
  const lost = await post(bob, "/user/api-keys", {
    public_key: keyOf("lost").public_key,
    label: "lost",
    scopes: ["read"]
  })
  await call(url, "DELETE", `/user/api-keys/${lost.api_key_id}`, { token: bob.token })
  await post(bob, "/order/disconnect-cancel-all", {
    sub_account_address: bob.vault,
    enabled: false,
    time_window: 77
  })

  // administration
  await call(url, "POST", "/admin/access-codes", { body: { count: 2, label: "launch", max_uses: 3, badge: true } })
  await login(url, "dora", Date.now)
  await call(url, "PUT", `/admin/bans/${walletOf("dora").root_address}`, { body: { reason: "stolen keys" } })
  // gateways of a fleet do not set prices
  const setIndex = (price: string) =>
    call(url, "PUT", "/admin/index-price", { body: { symbol: SYMBOL, price } }).catch(() => undefined)
  await setIndex("60000")

  // trades: positions of everybody, one of them partly closed, and margin settings
  const market = { symbol: SYMBOL }
  await post(bob, "/position/set-leverage", { sub_account_address: bob.vault, ...market, leverage: "5" })
  await post(carol, "/position/switch-margin-mode", {
    sub_account_address: carol.vault,
    ...market,
    margin_mode: "Isolated",
    leverage: "3"
  })
  await order(alice, { side: "Sell", qty: "0.2", price: "60010" })
  await order(bob, { side: "Buy", order_type: "Market", qty: "0.08" })
  await order(carol, { side: "Buy", qty: "0.05", price: "60010" })
  await order(alice, { side: "Buy", qty: "0.02", price: "59990" })
  await order(bob, { side: "Sell", qty: "0.03", price: "59990", reduce_only: true, time_in_force: "IOC" })
  await post(carol, "/position/add-margin", { sub_account_address: carol.vault, ...market, margin: "100" })
  await post(bob, "/position/trading-stop", {
    sub_account_address: bob.vault,
    ...market,
    tpsl_mode: "Full",
    take_profit: "66000",
    stop_loss: "54000"
  })

  // orders that are open afterwards, and some that ended
  await order(bob, { side: "Buy", qty: "0.01", price: "58000" })
  await order(carol, {
    side: "Buy",
    qty: "0.01",
    price: "57000",
    tpsl: { mode: "Partial", stop_loss: { market: { trigger_price: "55000.5", trigger_by: "MarkPrice" } } }
  })
  await order(alice, {
    side: "Buy",
    order_type: "Market",
    qty: "0.01",
    trigger: { trigger_price: "63000", trigger_by: "LastPrice", trigger_direction: "Up" }
  })
  await order(alice, {
    side: "Sell",
    qty: "0.01",
    price: "69000",
    time_in_force: "GTT",
    expire_time: Date.now() + 86_400_000
  })
  await order(bob, { side: "Buy", qty: "0.01", price: "57500", order_link_id: "amended" })
  const named = { sub_account_address: bob.vault, symbol: SYMBOL, order_link_id: "amended" }
  await post(bob, "/order/amend", { ...named, qty: "0.02", price: "57400" })
  await order(bob, { side: "Buy", qty: "0.01", price: "57300", order_link_id: "canceled" })
  await post(bob, "/order/cancel", { ...named, order_link_id: "canceled" })
  // the index moves, which liquidates nobody
  await setIndex("60500")
  await order(carol, { side: "Sell", qty: "0.02", price: "59000", time_in_force: "IOC" }).catch(() => undefined)
}

const OWN = [
  "/user/me",
  "/user/sub-accounts",
  "/user/api-keys",
  "/user/referral",
  "/user/rewards",
  "/user/competitions",
  "/user/portfolio",
  "/order/realtime",
  "/order/history",
  "/order/disconnect-cancel-all",
  "/execution/list",
  "/trade/executions",
  "/position/list",
  "/position/closed-pnl",
  "/account/balances",
  "/account/transfer",
  "/account/withdrawals",
  "/account/withdrawal-addresses",
  "/account/deposits",
  "/account/funding",
  "/account/transactions",
  "/account/statistics",
  "/account/fee-rate"
]
const PUBLIC = [
  "/market/instruments-info",
  `/market/orderbook?symbol=${SYMBOL}`,
  `/market/recent-trade?symbol=${SYMBOL}`,
  `/market/funding/history?symbol=${SYMBOL}`,
  `/market/risk-limit?symbol=${SYMBOL}`,
  "/admin/access-codes",
  "/admin/audit"
]

/** Records by user and path. */
export type Records = Record<string, unknown>

/** The fields of an answer that change with each request, though the records are the same. */
const VOLATILE = new Set(["request_id", "time", "ts", "mts", "server_time", "last_used_time", "from_ms", "to_ms"])
const steady = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(steady)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !VOLATILE.has(name))
      .map(([name, each]) => [name, steady(each)])
  )
}

/** Reads what each user can read, with tokens of new sign-ins, and one list with an API key. */
export const readAll = async (url: string, now: Now): Promise<Records> => {
  const records: Records = {}
  for (const name of NAMES) {
    const token = await login(url, name, now)
    for (const path of OWN) records[`${name} ${path}`] = steady(await call(url, "GET", path, { token }))
  }
  for (const path of PUBLIC) records[path] = steady(await call(url, "GET", path))
  const key = keyOf("alice")
  const signed = { method: "GET", uri: "/api/v1/position/list", timestamp_ms: now(), nonce: Wallet.nonce() }
  const headers = {
    "x-api-key": key.public_key,
    "x-signature": key.sign(Wallet.requestMessage({ ...signed, body_sha256: undefined })),
    "x-timestamp-ms": String(signed.timestamp_ms),
    "x-nonce": signed.nonce
  }
  records["alice by API key"] = steady(await call(url, "GET", "/position/list", { headers }))
  return records
}

/** Waits until two reads in a row are equal: all that was sent is written. */
export const readSettled = async (url: string, now: Now = Date.now): Promise<Records> => {
  for (let before = ""; ; await sleep(250)) {
    const records = await readAll(url, now)
    const text = JSON.stringify(records)
    if (text === before) return records
    before = text
  }
}

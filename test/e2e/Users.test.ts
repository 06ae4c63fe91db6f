/** User resources on a running exchange: competitions and prizes, referrals, bans, sub-accounts. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import * as Decimal from "../../src/domain/Decimal.ts"
import { HOUR_MS } from "../../src/domain/Time.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import {
  type Answer,
  apiKeyHeaders,
  call,
  funded,
  login,
  newKeys,
  type Session
} from "../../verification/harness/RestClient.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { movableClock } from "../../verification/harness/Clocks.ts"
import { Socket } from "../../verification/harness/Socket.ts"

const clock = movableClock()
const dataDir = mkdtempSync(join(tmpdir(), "gateway-users-"))
let exchange: Exchange
const start = async () => {
  exchange = await startExchange({ clock: clock.layer, dataDir, env: { INDEX_SOURCE: "manual" } })
}
beforeAll(start)
afterAll(async () => {
  await exchange?.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const admin = (method: string, path: string, body?: unknown) =>
  call(exchange, method, `/api/v1/admin${path}`, { headers: basic, ...(body === undefined ? {} : { body }) })
const get = (session: Pick<Session, "token">, path: string) =>
  call(exchange, "GET", `/api/v1${path}`, { token: session.token })
const post = (session: Pick<Session, "token">, path: string, body: unknown) =>
  call(exchange, "POST", `/api/v1${path}`, { token: session.token, body })
const ok = (answer: Answer, status = 200): Answer["body"] => {
  assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
  return answer.body
}
const refused = (answer: Answer, status: number, reason: string) => {
  assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
  assert.strictEqual(answer.body.details.reason, reason)
}
const anew = async (amount = "100000") => funded(exchange, amount, clock.now())

/** Two users trade `qty` BTC at 60000; the second one is the taker. */
const trade = async (maker: Session, taker: Session, qty: string, price = "60000") => {
  const order = (session: Session, side: string) => ({
    sub_account_address: session.vault,
    symbol: "BTC-USDC",
    side,
    order_type: "Limit",
    qty,
    price
  })
  ok(await post(maker, "/order/create", order(maker, "Sell")))
  ok(await post(taker, "/order/create", order(taker, "Buy")))
}
const scoring = {
  metric: "volume",
  start_weight_bps: 10000,
  end_weight_bps: 5000,
  max_daily_contribution_bps: 0,
  min_active_days: 1,
  min_daily_activity_units: 500,
  consistency_max_bonus_bps: 2000,
  consistency_target_days: 5,
  use_consistency_multiplier: false
}

describe("a referral", () => {
  it("earns a tenth of a day's taker fees, from the time of the referral on", { timeout: 60_000 }, async () => {
    ok(await admin("PUT", "/index-price", { symbol: "BTC-USDC", price: "50000" }))
    const [above, taker, maker] = [await anew(), await anew(), await anew()]
    await trade(maker, taker, "0.02", "50000")
    const { referral_code } = ok(await get(above, "/user/me"))
    const named = ok(await post(taker, "/user/referral", { referral_code: ` ${referral_code.toLowerCase()} ` }))
    assert.deepInclude(named, { downline_count: 0, referrer_code: referral_code, referrer_user_id: above.user_id })
    ok(await post(taker, "/user/referral", { referral_code }))
    assert.strictEqual(ok(await get(above, "/user/referral")).downline_count, 1)
    refused(
      await post(taker, "/user/referral", { referral_code: ok(await get(maker, "/user/me")).referral_code }),
      409,
      "ReferrerAlreadySet"
    )
    refused(await post(above, "/user/referral", { referral_code: named.referral_code }), 400, "SelfReferral")
    refused(await post(above, "/user/referral", { referral_code }), 400, "SelfReferral")
    refused(await post(above, "/user/referral", { referral_code: "00000000" }), 404, "ReferralCodeNotFound")
    refused(await post(above, "/user/referral", { referral_code: "short" }), 400, "InvalidField")

    await trade(maker, taker, "0.1", "50000")
    const list = async () => ok(await get(above, "/user/rewards")).list
    const [pending] = await eventually("accrued", list, (rewards) => rewards.length > 0, 30_000)
    // 5000 × 0.00055, a tenth of it
    assert.deepInclude(pending, { kind: "referral", amount: "0.275", status: "pending" })
    const claim = () => post(above, `/user/rewards/${pending.reward_id}/claim`, { sub_account_address: above.vault })
    refused(await claim(), 400, "RewardPending")
  })
})

describe("a ban", () => {
  it("refuses every credential, closes the sockets and cancels the orders; after its end a new login works", async () => {
    const keys = newKeys()
    const user = await login(exchange, keys, clock.now())
    ok(await post(user, "/account/faucet", { sub_account_address: user.vault, asset: "USDC", amount: "1000" }))
    const bot = newKeys()
    ok(await post(user, "/user/api-keys", { public_key: bot.publicKey, scopes: ["read", "trade"] }), 201)
    const signed = () => {
      const headers = apiKeyHeaders(bot, "GET", "/api/v1/user/me", { at_ms: clock.now() })
      return call(exchange, "GET", "/api/v1/user/me", { headers })
    }
    ok(await signed())
    const order = { symbol: "BTC-USDC", side: "Buy", order_type: "Limit", qty: "0.01", price: "48000" }
    const { order_id } = ok(await post(user, "/order/create", { ...order, sub_account_address: user.vault }))
    const socket = await Socket.open(exchange, "/ws/private")
    socket.send({ op: "auth", bearer: user.token })
    await socket.next("auth", ({ op }) => op === "auth")

    refused(await admin("PUT", `/bans/0x${"12".repeat(32)}`, { reason: "nobody" }), 404, "WalletNotFound")
    const path = `/bans/${user.root_address}`
    assert.deepStrictEqual(ok(await admin("PUT", path, { reason: "stolen keys" })), {
      root_address: user.root_address,
      banned: true
    })
    assert.strictEqual((await socket.closing()).code, 4010)
    refused(await get(user, "/user/me"), 401, "RevokedToken")
    refused(await signed(), 401, "RevokedToken")
    const during = await call(exchange, "POST", "/api/v1/authorize", { body: loginBody(keys) })
    refused(await get(ok(during), "/user/me"), 401, "RevokedToken")
    ok(await admin("PUT", path))

    assert.strictEqual(ok(await admin("DELETE", path)).banned, false)
    refused(await get(user, "/user/me"), 401, "RevokedToken")
    refused(await get(during.body, "/user/me"), 401, "RevokedToken")
    refused(await signed(), 401, "UnknownApiKey")
    const again = await login(exchange, keys, clock.now())
    assert.deepStrictEqual(ok(await get(again, "/user/api-keys")).list, [])
    const canceled = await eventually(
      "canceled",
      async () => ok(await get(again, `/order/history?order_id=${order_id}`)).list[0],
      (seen) => seen?.order_status === "Canceled"
    )
    assert.strictEqual(canceled.cancel_type, "CancelByAdmin")
  })
})

/** A login with these keys, now. */
const loginBody = (keys: ReturnType<typeof newKeys>) => {
  const nonce = crypto.randomUUID()
  const timestamp_ms = clock.now()
  const signature = keys.sign(`SERVICE_AUTH|LOGIN|${keys.publicKey}|${timestamp_ms}|${nonce}`)
  return { public_key: keys.publicKey, signature, timestamp_ms, nonce }
}

describe("a sub-account", () => {
  const remove = (session: Session, address: string) =>
    call(exchange, "DELETE", `/api/v1/user/sub-accounts/${address}`, { token: session.token })

  it("is deleted for good when it is empty, and its index is not reused", async () => {
    const user = await anew("1000")
    const open = async () => ok(await post(user, "/user/sub-accounts", { label: "alpha" }), 201)
    const first = await open()
    const transfer = (from: string, to: string) =>
      post(user, "/account/transfer", {
        transfer_id: crypto.randomUUID(),
        from_sub_account_address: from,
        to_sub_account_address: to,
        asset: "USDC",
        amount: "1000"
      })
    ok(await transfer(user.vault, first.sub_account_address))
    refused(await remove(user, first.sub_account_address), 409, "NotEmpty")
    const order = { symbol: "BTC-USDC", side: "Buy", order_type: "Limit", qty: "0.01", price: "48000" }
    const placed = { ...order, sub_account_address: first.sub_account_address }
    const { order_id } = ok(await post(user, "/order/create", placed))
    refused(await remove(user, first.sub_account_address), 409, "OpenOrdersExist")
    ok(
      await post(user, "/order/cancel", {
        sub_account_address: placed.sub_account_address,
        symbol: order.symbol,
        order_id
      })
    )
    ok(await transfer(first.sub_account_address, user.vault))
    assert.deepStrictEqual(ok(await remove(user, first.sub_account_address)), {
      sub_account_address: first.sub_account_address,
      deleted: true
    })
    refused(await remove(user, first.sub_account_address), 404, "SubAccountNotFound")
    refused(await remove(user, user.vault), 409, "NotEmpty")
    // its records stay readable; it has no balance and takes no order
    const named = (path: string) => get(user, `${path}?sub_account_address=${first.sub_account_address}`)
    const { list: orders } = ok(await named("/order/history"))
    assert.deepStrictEqual(
      orders.map((record: { order_id: string; order_status: string }) => [record.order_id, record.order_status]),
      [[order_id, "Canceled"]]
    )
    assert.lengthOf(ok(await named("/account/transactions")).list, 2)
    assert.strictEqual(ok(await named("/account/statistics")).trade_count, 0)
    refused(await named("/account/balances"), 404, "SubAccountNotFound")
    refused(await post(user, "/order/create", placed), 404, "SubAccountNotFound")
    assert.strictEqual((await open()).index, 2)
    const { list } = ok(await get(user, "/user/sub-accounts"))
    assert.deepStrictEqual(
      list.map(({ index }: { index: number }) => index),
      [0, 2]
    )
  })

  it("refuses orders while it is frozen, and allows cancels", async () => {
    const user = await anew("1000")
    const order = {
      sub_account_address: user.vault,
      symbol: "BTC-USDC",
      side: "Buy",
      order_type: "Limit",
      qty: "0.01",
      price: "48000",
      order_link_id: "a-1"
    }
    ok(await post(user, "/order/create", order))
    const change = (body: unknown) =>
      call(exchange, "PATCH", `/api/v1/user/sub-accounts/${user.vault}`, { token: user.token, body })
    assert.isTrue(ok(await change({ frozen: true, label: "cold" })).frozen)
    refused(await post(user, "/order/create", { ...order, order_link_id: "a-2" }), 403, "SubAccountFrozen")
    ok(
      await post(user, "/order/cancel", { sub_account_address: user.vault, symbol: order.symbol, order_link_id: "a-1" })
    )
    assert.deepInclude(ok(await change({ frozen: false })), { frozen: false, label: "cold" })
    ok(await post(user, "/order/create", { ...order, order_link_id: "a-3" }))
  })
})

describe("a competition", () => {
  it("is scored, ends, and pays its prize once", { timeout: 60_000 }, async () => {
    ok(await admin("PUT", "/index-price", { symbol: "BTC-USDC", price: "50000" }))
    const [u, m] = [await anew(), await anew()]
    const start_time_ms = clock.now() - 1_000
    const end_time_ms = start_time_ms + 8_000
    const competition = ok(
      await admin("POST", "/competitions", {
        slug: "winter",
        title: "Winter",
        description_md: "…",
        start_time_ms,
        end_time_ms,
        prize_usdc: 10000,
        symbol: "BTC-USDC",
        scoring
      }),
      201
    )
    assert.strictEqual(competition.status, "draft")
    refused(await admin("POST", "/competitions", { ...competition, status: "draft" }), 409, "SlugTaken")
    const path = `/user/competitions/${competition.id}`
    assert.deepStrictEqual(ok(await get(u, "/user/competitions")).list, [])
    assert.deepStrictEqual(ok(await get(u, `${path}/placement`)), { competition, data: [] })
    const published = ok(await admin("PATCH", `/competitions/${competition.id}`, { status: "scheduled" }))
    assert.strictEqual(published.status, "active")
    refused(await admin("PATCH", `/competitions/${competition.id}`, { prize_usdc: 1 }), 409, "CompetitionStarted")
    refused(await get(u, "/user/competitions/nonsense/placement"), 400, "InvalidField")
    refused(await get(u, `/user/competitions/${crypto.randomUUID()}/placement`), 404, "CompetitionNotFound")

    await trade(m, u, "0.02", "50000")
    const { data } = await eventually(
      "scored",
      async () => ok(await get(u, `${path}/placement`)),
      (placement) => placement.data.length > 0,
      30_000
    )
    const score = { active_days: 1, eligible: true, metric_value: "1000", score: "1000" }
    // the maker of the fill has the same score: each gets half of a million
    assert.deepStrictEqual(data, [
      { ...score, projected_xp: "500000", sub_account_address: u.vault, rank: data[0].rank }
    ])
    const board = ok(await get(u, `${path}/leaderboard?limit=1`))
    const rest = ok(await get(u, `${path}/leaderboard?limit=1&cursor=${board.next_page_cursor}`))
    const places = [...board.data, ...rest.data].map(({ rank, sub_account_address }) => [rank, sub_account_address])
    assert.deepStrictEqual(
      places,
      [u.vault, m.vault].sort().map((vault, i) => [i + 1, vault])
    )
    assert.strictEqual(rest.next_page_cursor, "")
    refused(await get(u, `${path}/leaderboard?cursor=abc`), 400, "InvalidCursor")

    // the engine's time must pass the end; the gateway's clock passes the hour after it, in a new process
    const statusOf = async () => ok(await get(u, path)).status
    const restart = async (skip_ms: number) => {
      await exchange.close()
      clock.skip(skip_ms)
      await start()
    }
    await eventually("ended", statusOf, (status) => status === "ended", 15_000)
    await restart(HOUR_MS)
    await eventually("finalized", statusOf, (status) => status === "finalized", 20_000)
    await restart(-HOUR_MS)
    refused(await admin("PATCH", `/competitions/${competition.id}`, { status: "cancelled" }), 409, "CompetitionStarted")
    const { list } = ok(await get(u, "/user/rewards?status=claimable"))
    const [prize] = list.filter(({ kind }: { kind: string }) => kind === "competition")
    assert.deepInclude(prize, { amount: "5000", asset: "USDC", source_id: competition.id, status: "claimable" })

    const balances = () => get(u, `/account/balances?sub_account_address=${u.vault}`)
    const wallet = async (): Promise<string> => ok(await balances()).list[0].wallet_balance
    await eventually("caught up", balances, ({ status }) => status === 200)
    const before = await wallet()
    const claim = (session: Session) =>
      post(session, `/user/rewards/${prize.reward_id}/claim`, { sub_account_address: session.vault })
    const claims = await Promise.all([1, 2, 3].map(() => claim(u)))
    assert.deepStrictEqual(claims.map(({ status }) => status).sort(), [200, 409, 409])
    assert.strictEqual(Decimal.format(Decimal.parse(await wallet()) - Decimal.parse(before)), "5000")
    refused(await claim(u), 409, "AlreadyClaimed")
    refused(await claim(m), 404, "RewardNotFound")
  })
})

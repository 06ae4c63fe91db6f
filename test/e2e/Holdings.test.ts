/**
 * Holdings on a running exchange: portfolio, positions and balances of long, short and isolated positions in several
 * sub-accounts, with figures calculated by hand from docs/contract/exchange.md#margin; and their view for a bound API
 * key.
 */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { marketAddress } from "../../src/domain/Address.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import {
  type Answer,
  apiKeyHeaders,
  call,
  funded,
  type Keys,
  newKeys,
  nonce,
  type Session
} from "../../verification/harness/RestClient.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { Socket } from "../../verification/harness/Socket.ts"

let exchange: Exchange
let user: Session
let maker: Session
let second: string
let third: string

const ok = (answer: Answer, status = 200): Answer["body"] => {
  assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
  return answer.body
}
const refused = (answer: Answer, status: number, reason: string) => {
  assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
  assert.strictEqual(answer.body.details.reason, reason)
}
const send = (session: Session, method: string, path: string, body?: unknown) =>
  call(exchange, method, `/api/v1${path}`, { token: session.token, ...(body === undefined ? {} : { body }) })
const get = (session: Session, path: string) => send(session, "GET", path)
const post = (session: Session, path: string, body: unknown) => send(session, "POST", path, body)
const index = async (symbol: string, price: string) =>
  ok(await call(exchange, "PUT", "/api/v1/admin/index-price", { headers: basic, body: { symbol, price } }))
const order = (sub_account_address: string, symbol: string, side: string, qty: string, price: string) => ({
  sub_account_address,
  symbol,
  side,
  order_type: "Limit",
  qty,
  price
})
/** The user's sub-account takes the maker's offer. */
const take = async (vault: string, symbol: string, side: "Buy" | "Sell", qty: string, price: string) => {
  const other = side === "Buy" ? "Sell" : "Buy"
  ok(await post(maker, "/order/create", order(maker.vault, symbol, other, qty, price)))
  ok(await post(user, "/order/create", order(vault, symbol, side, qty, price)))
}
const signed = (keys: Keys, method: string, path: string, body?: object, withHash = false) => {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = apiKeyHeaders(
    keys,
    method,
    `/api/v1${path}`,
    withHash && text !== undefined ? { body: text } : undefined
  )
  return call(exchange, method, `/api/v1${path}`, { headers, ...(text === undefined ? {} : { body: text }) })
}
/** An API key of the user, and its private socket. */
const keyOf = async (fields: object) => {
  const keys = newKeys()
  const { api_key_id } = ok(await post(user, "/user/api-keys", { public_key: keys.publicKey, ...fields }), 201)
  return { keys, api_key_id, change: (body: object) => send(user, "PATCH", `/user/api-keys/${api_key_id}`, body) }
}
const socketOf = async (keys: Keys) => {
  const socket = await Socket.open(exchange, "/ws/private")
  const timestamp_ms = Date.now()
  const fresh = nonce()
  const signature = keys.sign(`SERVICE_WS|AUTH|${timestamp_ms}|${fresh}`)
  socket.send({ op: "auth", api_key: keys.publicKey, signature, timestamp_ms, nonce: fresh })
  assert.isTrue((await socket.next("auth", ({ op }) => op === "auth")).success)
  return socket
}

beforeAll(async () => {
  exchange = await startExchange({ env: { FAUCET_DAILY_LIMIT: "1000000" } })
  await index("BTC-USDC", "60000")
  await index("ETH-USDC", "3000")
  user = await funded(exchange, "30000")
  maker = await funded(exchange, "500000")
  second = ok(await post(user, "/user/sub-accounts", {}), 201).sub_account_address
  third = ok(await post(user, "/user/sub-accounts", { label: "idle" }), 201).sub_account_address
  for (const [to, amount] of [
    [second, "10000"],
    [third, "0.000000000000000001"]
  ]) {
    ok(
      await post(user, "/account/transfer", {
        transfer_id: crypto.randomUUID(),
        from_sub_account_address: user.vault,
        to_sub_account_address: to,
        asset: "USDC",
        amount
      })
    )
  }
  // a cross long of 0.5 BTC with leverage 10 in the first one, with a resting order; a cross short of 2 ETH in the second one,
  // and an isolated short of 0.1 BTC there with leverage 5
  await take(user.vault, "BTC-USDC", "Buy", "0.5", "60000")
  ok(await post(user, "/order/create", order(user.vault, "BTC-USDC", "Buy", "0.1", "50000")))
  await take(second, "ETH-USDC", "Sell", "2", "3000")
  ok(
    await post(user, "/position/switch-margin-mode", {
      sub_account_address: second,
      symbol: "BTC-USDC",
      margin_mode: "Isolated",
      leverage: "5"
    })
  )
  await take(second, "BTC-USDC", "Sell", "0.1", "60000")
  await index("BTC-USDC", "60600")
  await index("ETH-USDC", "2990")
  await eventually(
    "positions",
    () => get(user, "/position/list"),
    ({ body }) => body.list?.length === 3 && body.list.every(({ seq }: { seq: number }) => seq > 0)
  )
})
afterAll(() => exchange?.close())

const positionOf = async (vault: string, symbol: string) =>
  ok(await get(user, `/position/list?sub_account_address=${vault}&symbol=${symbol}`)).list[0]

describe("a position", () => {
  // deposits 30000 − 10000 − 10^-18; fee 30000 × 0.00055 = 16.5
  it("has every field for a cross long", async () => {
    const { created_time, seq, updated_time, ...record } = await positionOf(user.vault, "BTC-USDC")
    assert.deepStrictEqual(record, {
      symbol: "BTC-USDC",
      sub_account_address: user.vault,
      side: "Buy",
      size: "0.5",
      avg_price: "60000",
      position_value: "30300",
      mark_price: "60600",
      leverage: "10",
      margin_mode: "Cross",
      position_mode: "OneWay",
      position_status: "Normal",
      position_im: "3030",
      position_mm: "303",
      // (30000 − 19983.499999999999999999) / (0.5 × 0.99), up to the tick
      liq_price: "20235.4",
      // 60000 − 19983.499999999999999999 / 0.5, up
      bust_price: "20033.1",
      unrealised_pnl: "300",
      cur_realised_pnl: "-16.5",
      cum_realised_pnl: "-16.5",
      liquidation_fee: "0",
      take_profit: "",
      stop_loss: "",
      tpsl_mode: "Full",
      // set at the next ranking
      adl_rank_indicator: record.adl_rank_indicator,
      risk_tier: 1,
      // (30000 + 16.5) / (0.5 × 0.99945), up
      break_even_price: "60066.1"
    })
    assert.include([1, 2, 3, 4, 5], record.adl_rank_indicator)
    assert.isAtMost(created_time, updated_time)
    assert.isAbove(created_time, Date.now() - 600_000)
    assert.isAbove(seq, 0)
  })

  it("has its prices on the other side for a short and for an isolated one", async () => {
    // wallet 10000 − 3.3 − 3.3 − 1200 = 8793.4
    assert.deepInclude(await positionOf(second, "ETH-USDC"), {
      side: "Sell",
      size: "2",
      avg_price: "3000",
      position_value: "5980",
      margin_mode: "Cross",
      position_im: "598",
      position_mm: "59.8",
      unrealised_pnl: "20",
      // (6000 + 8793.4) / (2 × 1.01), down
      liq_price: "7323.46",
      // 3000 + 8793.4 / 2
      bust_price: "7396.7",
      // (6000 − 3.3) / (2 × 1.00055), down
      break_even_price: "2996.7"
    })
    assert.deepInclude(await positionOf(second, "BTC-USDC"), {
      side: "Sell",
      size: "0.1",
      margin_mode: "Isolated",
      leverage: "5",
      isolated_margin: "1200",
      position_im: "1212",
      position_mm: "60.6",
      unrealised_pnl: "-60",
      // (6000 + 1200) / (0.1 × 1.01), down; 60000 + 1200 / 0.1
      liq_price: "71287.1",
      bust_price: "72000"
    })
  })

  it("that is flat is returned only if its market is named, and has no prices", async () => {
    const record = await positionOf(third, "SOL-USDC")
    assert.deepInclude(record, {
      side: "",
      size: "0",
      avg_price: "0",
      position_value: "0",
      leverage: "10",
      position_im: "0",
      position_mm: "0",
      liq_price: "",
      bust_price: "",
      unrealised_pnl: "0",
      cur_realised_pnl: "0",
      break_even_price: "0",
      adl_rank_indicator: 0,
      seq: 0
    })
    assert.notProperty(record, "isolated_margin")
  })
})

describe("balances", () => {
  it("have every field, with cross and isolated margin separate", async () => {
    const { list, seq, stream_id } = ok(await get(user, `/account/balances?sub_account_address=${second}`))
    assert.lengthOf(list, 1)
    const { asset_addr, seq: last, updated_time, ...record } = list[0]
    assert.deepStrictEqual(record, {
      sub_account_address: second,
      asset: "USDC",
      wallet_balance: "8793.4",
      // 8793.4 + 20 + 1200 − 60
      equity: "9953.4",
      available_balance: "8215.4",
      // the ETH short, and 1200 of the isolated BTC short
      margin_used: "1798",
      order_margin: "0",
      maintenance_margin: "120.4",
      unrealised_pnl: "-40",
      isolated_margin: "1200",
      withdrawable: "8215.4"
    })
    assert.match(asset_addr, /^0x[0-9a-f]{64}$/u)
    assert.isAbove(updated_time, Date.now() - 600_000)
    assert.isTrue(last > 0 && last <= seq && stream_id !== "")
    const [first] = ok(await get(user, `/account/balances?sub_account_address=${user.vault}`)).list
    assert.deepInclude(first, {
      wallet_balance: "19983.499999999999999999",
      // 5000 × (1 / 10 + 0.00055)
      order_margin: "502.75",
      available_balance: "16750.749999999999999999",
      withdrawable: "16750.749999999999999999"
    })
  })
})

describe("the portfolio", () => {
  /** The portfolio's figures of each position; shorts are negative. */
  const positionsOf = async (vaults: ReadonlyArray<string>) => {
    const { list } = ok(await get(user, "/position/list"))
    const expected = [
      { sid: user.vault, symbol: "BTC-USDC", margin: 3030, price: 60000, size: 0.5 },
      { sid: second, symbol: "ETH-USDC", margin: 598, price: 3000, size: -2 },
      { sid: second, symbol: "BTC-USDC", margin: 1200, price: 60000, size: -0.1 }
    ]
    return expected
      .filter(({ sid }) => vaults.includes(sid))
      .map(({ symbol, ...position }) => {
        const listed = list.find(
          (one: { symbol: string; sub_account_address: string }) =>
            one.symbol === symbol && one.sub_account_address === position.sid
        )
        return {
          ...position,
          epoch: Math.floor(Date.now() / 28_800_000),
          funding_index: 0,
          seq: listed.seq,
          timestamp: listed.updated_time,
          timestamp_ms: listed.updated_time,
          market_addr: marketAddress(symbol)
        }
      })
  }
  const vault = (id: string, balance: number, asset_addr: string) => ({ id, balance, asset_addr })
  /** A portfolio as text, and the list of positions at the same seqs: ranks change up to a second after the last fill. */
  const portfolioAndList = (read: () => Promise<string>, vaults: ReadonlyArray<string>) => {
    const seqs = (list: ReadonlyArray<{ readonly seq: number }>) => list.map(({ seq }) => seq).toSorted((a, b) => a - b)
    return eventually(
      "the portfolio at the seqs of the list",
      async () => ({ text: await read(), listed: await positionsOf(vaults) }),
      ({ listed, text }) => seqs(JSON.parse(text).positions).join() === seqs(listed).join()
    )
  }

  it("contains every sub-account, with exact figures", async () => {
    const { listed, text } = await portfolioAndList(async () => {
      const response = await fetch(`${exchange.url}/api/v1/user/portfolio`, {
        headers: { authorization: `Bearer ${user.token}` }
      })
      assert.strictEqual(response.headers.get("content-type"), "application/json")
      return response.text()
    }, [user.vault, second])
    assert.include(text, `"balance":19983.499999999999999999,"id":"${user.vault}"`)
    assert.include(text, `"balance":0.000000000000000001,"id":"${third}"`)
    const { positions, summary, user_addr, vault_balances } = JSON.parse(text)
    assert.sameDeepMembers(positions, listed)
    assert.deepStrictEqual(summary, {
      collateral_notional: 28776.9,
      // 303 + 59.8 + 60.6
      maintenance_margin_required: 423.4,
      total_available_balance: 24966.15,
      total_balance: 30236.9,
      // 3030 + 502.75 + 598 + 1200
      total_margin_used: 5330.75,
      total_positions: 3,
      total_vaults: 3,
      // at the predicted rate 0.0001: −3.03 + 0.598 + 0.606
      unrealized_funding_total: -1.826,
      unrealized_pnl_total: 260
    })
    assert.strictEqual(user_addr, user.root_address)
    const { asset_addr } = vault_balances[0]
    assert.sameDeepMembers(vault_balances, [
      vault(user.vault, 19983.5, asset_addr),
      vault(second, 8793.4, asset_addr),
      vault(third, 1e-18, asset_addr)
    ])
  })

  it("of a key bound to some sub-accounts omits the others, also in the sums", async () => {
    const { keys } = await keyOf({ scopes: ["read"], sub_account_addresses: [second, third] })
    const { listed, text } = await portfolioAndList(
      async () => JSON.stringify(ok(await signed(keys, "GET", "/user/portfolio"))),
      [second]
    )
    const { positions, summary, vault_balances } = JSON.parse(text)
    assert.sameDeepMembers(positions, listed)
    assert.deepStrictEqual(summary, {
      collateral_notional: 8793.4,
      maintenance_margin_required: 120.4,
      total_available_balance: 8215.4,
      total_balance: 9953.4,
      total_margin_used: 1798,
      total_positions: 2,
      total_vaults: 2,
      unrealized_funding_total: 1.204,
      unrealized_pnl_total: -40
    })
    assert.sameMembers(
      vault_balances.map(({ id }: { id: string }) => id),
      [second, third]
    )
  })
})

describe("a key bound to a sub-account", () => {
  it("reads and trades on this one only, and opens none", async () => {
    const { keys } = await keyOf({ scopes: ["read", "trade", "account", "transfer"], sub_account_addresses: [second] })
    const mine = { sub_account_address: user.vault }
    for (const path of [
      "/account/balances",
      "/position/list",
      "/order/realtime",
      "/execution/list",
      "/account/statistics"
    ])
      refused(await signed(keys, "GET", `${path}?sub_account_address=${user.vault}`), 404, "SubAccountNotFound")
    refused(
      await signed(keys, "POST", "/order/create", order(user.vault, "BTC-USDC", "Buy", "0.01", "50000")),
      404,
      "SubAccountNotFound"
    )
    refused(await signed(keys, "POST", "/order/cancel-all", mine), 404, "SubAccountNotFound")
    refused(
      await signed(keys, "POST", "/position/set-leverage", { ...mine, symbol: "BTC-USDC", leverage: "3" }),
      404,
      "SubAccountNotFound"
    )
    for (const [from, to] of [
      [second, user.vault],
      [user.vault, second]
    ]) {
      const body = { transfer_id: crypto.randomUUID(), asset: "USDC", amount: "1" }
      refused(
        await signed(keys, "POST", "/account/transfer", {
          ...body,
          from_sub_account_address: from,
          to_sub_account_address: to
        }),
        404,
        "SubAccountNotFound"
      )
    }
    refused(await signed(keys, "POST", "/user/sub-accounts", {}), 403, "InsufficientScope")
    refused(await signed(keys, "PATCH", `/user/sub-accounts/${third}`, { label: "x" }), 404, "SubAccountNotFound")
    refused(await signed(keys, "DELETE", `/user/sub-accounts/${third}`), 404, "SubAccountNotFound")
    refused(await signed(keys, "GET", "/user/api-keys"), 403, "BearerOnly")
    assert.lengthOf(ok(await signed(keys, "GET", "/user/sub-accounts")).list, 1)
    assert.lengthOf(ok(await signed(keys, "GET", "/order/realtime")).list, 0)
    assert.deepInclude(ok(await signed(keys, "GET", "/account/statistics")), { volume: "12000", trade_count: 2 })
    const me = ok(await signed(keys, "GET", "/user/me"))
    assert.deepStrictEqual(me.scopes, ["read", "trade", "account", "transfer"])
  })
})

describe("a change of an API key", () => {
  it("takes effect at once, for requests and open sockets", async () => {
    const { api_key_id, change, keys } = await keyOf({ scopes: ["read", "account"], sub_account_addresses: [second] })
    const me = () => signed(keys, "GET", "/user/me")
    const label = { label: "b" }
    const relabel = (withHash: boolean) => signed(keys, "PATCH", `/user/sub-accounts/${second}`, label, withHash)
    ok(await me())

    const bound = await socketOf(keys)
    ok(await change({ label: "bot" }))
    ok(await change({ sub_account_addresses: [third, second] }))
    assert.strictEqual((await bound.closing()).code, 4010)

    const fenced = await socketOf(keys)
    assert.deepStrictEqual(ok(await change({ ip_allowlist: ["2001:DB8::7/32"] })).ip_allowlist, ["2001:db8::/32"])
    assert.strictEqual((await fenced.closing()).code, 4010)
    refused(await me(), 403, "IpNotAllowed")
    ok(await change({ ip_allowlist: ["::ffff:127.0.0.0/104", "::1/128"] }))
    ok(await me())

    ok(await relabel(false))
    ok(await change({ require_body_hash: true }))
    refused(await relabel(false), 401, "InvalidSignature")
    ok(await relabel(true))
    ok(await me())

    ok(await change({ scopes: ["read"] }))
    const lacking = await relabel(true)
    refused(lacking, 403, "InsufficientScope")
    assert.strictEqual(lacking.body.details.required, "account")

    const revoked = await socketOf(keys)
    assert.deepStrictEqual(ok(await send(user, "DELETE", `/user/api-keys/${api_key_id}`)), {
      api_key_id,
      revoked: true
    })
    assert.strictEqual((await revoked.closing()).code, 4010)
    refused(await me(), 401, "UnknownApiKey")
    for (const who of [user, maker])
      refused(
        await post(who, "/user/api-keys", { public_key: keys.publicKey, scopes: ["read"] }),
        409,
        "KeyAlreadyRegistered"
      )
    refused(await change({ label: "gone" }), 404, "ApiKeyNotFound")
    refused(await send(user, "DELETE", `/user/api-keys/${api_key_id}`), 404, "ApiKeyNotFound")
  })
})

describe("a sub-account", () => {
  const remove = (address: string) => send(user, "DELETE", `/user/sub-accounts/${address}`)

  it("can be deleted only when it is empty, and is then in no list", async () => {
    refused(await remove(second), 409, "PositionExists")
    refused(await remove(third), 409, "NotEmpty")
    const { sub_account_address } = ok(await post(user, "/user/sub-accounts", {}), 201)
    ok(await post(user, "/position/set-leverage", { sub_account_address, symbol: "SOL-USDC", leverage: "3" }))
    ok(await post(user, "/order/disconnect-cancel-all", { sub_account_address, enabled: false }))
    const flat = async () => ok(await get(user, "/position/list?symbol=SOL-USDC")).list.length
    const vaults = async () => ok(await get(user, "/user/portfolio")).summary.total_vaults
    const switches = async () => ok(await get(user, "/order/disconnect-cancel-all")).list.length
    assert.deepStrictEqual([await flat(), await vaults(), await switches()], [4, 4, 1])
    ok(await remove(sub_account_address))
    assert.deepStrictEqual([await flat(), await vaults(), await switches()], [3, 3, 0])
    refused(await get(user, `/position/list?sub_account_address=${sub_account_address}`), 404, "SubAccountNotFound")
  })

  it("that is frozen accepts no new orders, amends or exits; everything else works", async () => {
    const freeze = (frozen: boolean) => send(user, "PATCH", `/user/sub-accounts/${user.vault}`, { frozen })
    const stop = (take_profit: string) =>
      post(user, "/position/trading-stop", { sub_account_address: user.vault, symbol: "BTC-USDC", take_profit })
    const resting = { sub_account_address: user.vault, symbol: "BTC-USDC" }
    const [{ order_id }] = ok(await get(user, "/order/realtime")).list
    ok(await stop("70000"))
    ok(await freeze(true))
    refused(
      await post(user, "/order/create", order(user.vault, "BTC-USDC", "Buy", "0.01", "50000")),
      403,
      "SubAccountFrozen"
    )
    refused(await post(user, "/order/amend", { ...resting, order_id, qty: "0.05" }), 403, "SubAccountFrozen")
    refused(await stop("71000"), 403, "SubAccountFrozen")
    ok(await stop("0"))
    ok(await get(user, "/order/realtime"))
    ok(await post(user, "/position/set-leverage", { ...resting, leverage: "9" }))
    ok(
      await post(user, "/account/transfer", {
        transfer_id: crypto.randomUUID(),
        from_sub_account_address: user.vault,
        to_sub_account_address: second,
        asset: "USDC",
        amount: "1"
      })
    )
    ok(await post(user, "/order/cancel", { ...resting, order_id }))
    ok(await freeze(false))
  })

  it("is limited to twenty per user", async () => {
    const open = () => post(user, "/user/sub-accounts", {})
    for (let n = 3; n < 20; n++) ok(await open(), 201)
    const over = await open()
    refused(over, 400, "LimitReached")
    assert.strictEqual(over.body.details.max, 20)
    const { list } = ok(await get(user, "/user/sub-accounts"))
    assert.deepStrictEqual(
      list.map(({ index }: { index: number }) => index),
      // 3 was deleted
      [0, 1, 2, ...Array.from({ length: 17 }, (_, i) => 4 + i)]
    )
  })
})

describe("a small position of an account with a high balance", () => {
  it("has no liquidation price", async () => {
    await take(user.vault, "DOGE-USDC", "Buy", "100", "0.2")
    assert.deepInclude(await positionOf(user.vault, "DOGE-USDC"), { size: "100", liq_price: "", bust_price: "" })
  })
})

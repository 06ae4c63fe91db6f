/**
 * The contract's table of endpoints as data: a valid request for each, and its own reasons of refusal. Access, forms and
 * headers follow from the row and the document. Source: docs/contract/rest.md.
 */
import { randomBytes, randomUUID } from "node:crypto"
import { login, newKeys, nonce } from "../../verification/harness/RestClient.ts"
import type { Reason } from "../../src/domain/Reason.ts"
import { admissionRows } from "./AdmissionRows.ts"
import { type Ask, type Refusal, refuses, type Row } from "./Row.ts"
import type { World } from "./World.ts"

const symbol = "BTC-USDC"
const NOBODY = "018f3f1e-5d5b-7a00-8000-00000000ffff"
const own = (world: World) => ({ sub_account_address: world.alice.vault })
const market = (world: World) => ({ ...own(world), symbol })
const noSymbol = (ask: Ask = { query: { symbol: "NO-SUCH" } }) => refuses(404, "SymbolNotFound", () => ask)
const order = (world: World) => ({
  ...market(world),
  side: "Buy",
  order_type: "Limit",
  qty: "0.001",
  price: "59000",
  order_link_id: world.fresh()
})
const taken = async (world: World) => ({ ...market(world), order_link_id: await world.resting() })

const read = (query: (world: World) => Record<string, string> = () => ({}), ...more: ReadonlyArray<Refusal>): Row => ({
  access: "read",
  ok: (world) => ({ query: query(world) }),
  refuses: more
})
const publicRead = (query: Record<string, string>): Row => ({
  access: "none",
  ok: () => ({ query }),
  ...("symbol" in query ? { refuses: [noSymbol({ query: { ...query, symbol: "NO-SUCH" } })] } : {})
})
const wallet = (): Ask => ({ path: { root_address: `0x${randomBytes(32).toString("hex")}` } })
const loggedIn = async (world: World): Promise<Ask> => ({ token: (await login(world.exchange, newKeys())).token })
const signedIn = (over: Record<string, unknown> = {}): Ask => {
  const keys = newKeys()
  const stamp = { timestamp_ms: Date.now(), nonce: nonce(), ...over }
  const message = `SERVICE_AUTH|LOGIN|${keys.publicKey}|${stamp.timestamp_ms}|${stamp.nonce}`
  return { body: { public_key: keys.publicKey, signature: keys.sign(message), ...stamp, ...over } }
}
/** A new sub-account of Alice, with a deposit if an amount is given. */
const opened = async (world: World, amount?: string): Promise<string> => {
  const { body } = await world.ask(world.alice, "POST", "/user/sub-accounts", {})
  const sub_account_address = body.sub_account_address as string
  if (amount !== undefined) {
    await world.ask(world.alice, "POST", "/account/faucet", { sub_account_address, asset: "USDC", amount })
  }
  return sub_account_address
}
const keyId = async (world: World): Promise<string> => {
  const body = { public_key: newKeys().publicKey, scopes: ["read"] }
  return (await world.ask(world.alice, "POST", "/user/api-keys", body)).body.api_key_id as string
}
const transfer = (world: World, fields: Record<string, unknown> = {}): Ask => ({
  body: {
    transfer_id: randomUUID(),
    from_sub_account_address: world.alice.vault,
    to_sub_account_address: world.second,
    asset: "USDC",
    amount: "1",
    ...fields
  }
})

/** The leverage of Alice's first sub-account, independent of the positions in the others. */
const leverageOf = async (world: World): Promise<string> => {
  const path = `/position/list?symbol=${symbol}&sub_account_address=${world.alice.vault}`
  return (await world.ask(world.alice, "GET", path)).body.list[0].leverage
}

const withdrawal = (world: World, fields: Record<string, unknown> = {}): Ask => ({
  body: {
    withdrawal_id: randomUUID(),
    ...own(world),
    asset: "USDC",
    amount: "1",
    destination: world.alice.root_address,
    ...fields
  }
})

/** Rows by method and path below /api/v1. */
export const rows: Record<string, Row> = {
  ...admissionRows,
  "POST /authorize": {
    access: "none",
    ok: () => signedIn(),
    refuses: [
      refuses(400, "InvalidSignature", () => signedIn({ signature: "00".repeat(64) })),
      refuses(400, "InvalidPublicKey", () => signedIn({ public_key: "00".repeat(32) })),
      refuses(400, "StaleTimestamp", () => signedIn({ timestamp_ms: 1 })),
      refuses(400, "InvalidNonce", () => signedIn({ nonce: "short" })),
      refuses(400, "UnknownPartyKey", () => signedIn({ public_key: `a::1220${randomBytes(32).toString("hex")}` })),
      refuses(400, "NonceReused", async (world) => {
        const ask = signedIn()
        await world.ask(world.bob, "POST", "/authorize", ask.body)
        return ask
      })
    ]
  },
  "POST /authorize/logout": { access: "bearer", ok: loggedIn },
  "PUT /authorize/whitelist/{root_address}": { access: "basic", ok: wallet },
  "GET /authorize/whitelist/{root_address}": { access: "basic", ok: wallet },
  "DELETE /authorize/whitelist/{root_address}": { access: "basic", ok: wallet },

  "GET /market/time": publicRead({}),
  "GET /market/instruments-info": publicRead({ symbol }),
  "GET /market/tickers": publicRead({ symbol }),
  "GET /market/orderbook": publicRead({ symbol, depth: "5" }),
  "GET /market/kline": publicRead({ symbol, interval: "1" }),
  "GET /market/mark-price-kline": publicRead({ symbol, interval: "1" }),
  "GET /market/index-price-kline": publicRead({ symbol, interval: "1" }),
  "GET /market/recent-trade": publicRead({ symbol }),
  "GET /market/funding/history": publicRead({ symbol }),
  "GET /market/risk-limit": publicRead({ symbol }),
  "GET /market/open-interest": publicRead({ symbol, interval: "5" }),
  "GET /market/insurance-pool": publicRead({ symbol }),
  "GET /market/insurance-pool/history": publicRead({ symbol }),
  "GET /market/adl-alert": publicRead({ symbol }),
  "GET /market/adl-alert/history": publicRead({ symbol }),

  "POST /order/create": {
    access: "trade",
    ok: (world) => ({ body: order(world) }),
    frozen: "refused",
    refuses: [
      refuses(404, "SymbolNotFound", (world) => ({ body: { ...order(world), symbol: "NO-SUCH" } })),
      refuses(409, "DuplicateOrderLinkId", (world) => ({ body: { ...order(world), order_link_id: "taker" } })),
      refuses(400, "NotMultipleOfTick", (world) => ({ body: { ...order(world), price: "59000.05" } })),
      refuses(400, "NotMultipleOfStep", (world) => ({ body: { ...order(world), qty: "0.0015" } })),
      refuses(400, "OutOfRange", (world) => ({ body: { ...order(world), qty: "1000" } }))
    ]
  },
  "POST /order/amend": {
    access: "trade",
    ok: async (world) => ({ body: { ...(await taken(world)), qty: "0.002" } }),
    frozen: "refused",
    refuses: [
      refuses(404, "OrderNotFound", (world) => ({ body: { ...market(world), order_id: NOBODY, qty: "0.002" } })),
      refuses(409, "OrderAlreadyClosed", (world) => ({
        body: { ...market(world), order_link_id: "gone", qty: "0.002" }
      })),
      refuses(409, "OrderVersionMismatch", async (world) => ({
        body: { ...(await taken(world)), qty: "0.002", order_iv: 9 }
      })),
      refuses(400, "NotMultipleOfTick", async (world) => ({ body: { ...(await taken(world)), price: "59000.05" } })),
      refuses(400, "NotMultipleOfStep", async (world) => ({ body: { ...(await taken(world)), qty: "0.0015" } })),
      refuses(404, "SymbolNotFound", (world) => ({
        body: { ...own(world), symbol: "NO-SUCH", order_link_id: "gone", qty: "0.002" }
      }))
    ]
  },
  "POST /order/cancel": {
    access: "trade",
    ok: async (world) => ({ body: await taken(world) }),
    refuses: [
      refuses(404, "OrderNotFound", (world) => ({ body: { ...market(world), order_link_id: "never" } })),
      refuses(409, "OrderAlreadyClosed", (world) => ({ body: { ...market(world), order_link_id: "gone" } })),
      refuses(404, "SymbolNotFound", (world) => ({ body: { ...own(world), symbol: "NO-SUCH", order_id: NOBODY } }))
    ]
  },
  "POST /order/cancel-all": {
    access: "trade",
    ok: (world) => ({ body: market(world) }),
    refuses: [refuses(404, "SymbolNotFound", (world) => ({ body: { ...own(world), symbol: "NO-SUCH" } }))]
  },
  "POST /order/create-batch": { access: "trade", ok: (world) => ({ body: { orders: [order(world), order(world)] } }) },
  "POST /order/cancel-batch": { access: "trade", ok: async (world) => ({ body: { orders: [await taken(world)] } }) },
  "GET /order/realtime": read(own, noSymbol()),
  "GET /order/history": read(own, noSymbol()),
  "GET /order/disconnect-cancel-all": read(),
  "POST /order/disconnect-cancel-all": {
    access: "trade",
    ok: (world) => ({ body: { ...own(world), enabled: false } })
  },
  "GET /execution/list": read(own, noSymbol()),
  "GET /trade/executions": read(own, noSymbol()),

  "GET /position/list": read(own, noSymbol()),
  "POST /position/set-leverage": {
    access: "account",
    ok: async (world) => {
      const now = Number(await leverageOf(world))
      return { body: { ...market(world), leverage: String(now === 5 ? 6 : 5) } }
    },
    refuses: [
      refuses(404, "SymbolNotFound", (world) => ({ body: { ...own(world), symbol: "NO-SUCH", leverage: "5" } })),
      refuses(400, "NotMultipleOfStep", (world) => ({ body: { ...market(world), leverage: "5.005" } })),
      refuses(400, "OutOfRange", (world) => ({ body: { ...market(world), leverage: "1000" } })),
      refuses(409, "LeverageUnchanged", async (world) => {
        return { body: { ...market(world), leverage: await leverageOf(world) } }
      })
    ]
  },
  "POST /position/switch-margin-mode": {
    access: "account",
    ok: (world) => ({ body: { sub_account_address: world.empty, symbol, margin_mode: "Isolated" } }),
    refuses: [
      refuses(409, "PositionExists", (world) => ({ body: { ...market(world), margin_mode: "Isolated" } })),
      refuses(409, "OpenOrdersExist", (world) => ({
        body: { sub_account_address: world.frozen, symbol, margin_mode: "Isolated" }
      })),
      refuses(400, "NotMultipleOfStep", (world) => ({
        body: { ...market(world), margin_mode: "Isolated", leverage: "5.005" }
      })),
      refuses(404, "SymbolNotFound", (world) => ({
        body: { ...own(world), symbol: "NO-SUCH", margin_mode: "Isolated" }
      }))
    ]
  },
  "POST /position/add-margin": {
    access: "account",
    ok: async (world) => {
      const body = { sub_account_address: world.second, symbol }
      await world.ask(world.alice, "POST", "/position/switch-margin-mode", { ...body, margin_mode: "Isolated" })
      await world.ask(world.alice, "POST", "/order/create", {
        ...order(world),
        ...body,
        order_type: "Market",
        order_link_id: world.fresh()
      })
      return { body: { ...body, margin: "1" } }
    },
    refuses: [
      refuses(409, "NotIsolated", (world) => ({ body: { ...market(world), margin: "1" } })),
      refuses(404, "PositionNotFound", (world) => ({
        body: { sub_account_address: world.empty, symbol, margin: "1" }
      })),
      refuses(404, "SymbolNotFound", (world) => ({ body: { ...own(world), symbol: "NO-SUCH", margin: "1" } })),
      refuses(400, "InsufficientBalance", (world) => ({
        body: { sub_account_address: world.second, symbol, margin: "99999999" }
      }))
    ]
  },
  "POST /position/trading-stop": {
    access: "trade",
    ok: (world) => ({ body: { ...market(world), stop_loss: "50000" } }),
    refuses: [
      refuses(404, "PositionNotFound", (world) => ({
        body: { sub_account_address: world.empty, symbol, stop_loss: "50000" }
      })),
      refuses(400, "OutOfRange", (world) => ({ body: { ...market(world), stop_loss: "900000" } })),
      refuses(400, "NotMultipleOfTick", (world) => ({ body: { ...market(world), stop_loss: "50000.05" } })),
      refuses(400, "NotMultipleOfStep", (world) => ({
        body: { ...market(world), tpsl_mode: "Partial", stop_loss: "50000", sl_size: "0.0015" }
      })),
      refuses(404, "SymbolNotFound", (world) => ({ body: { ...own(world), symbol: "NO-SUCH", stop_loss: "50000" } }))
    ]
  },
  "GET /position/closed-pnl": read(own, noSymbol()),

  "GET /account/balances": read(own),
  "GET /account/funding": read(own, noSymbol()),
  "GET /account/transactions": read(own, noSymbol()),
  "POST /account/transfer": {
    access: "transfer",
    ok: (world) => transfer(world),
    refuses: [
      refuses(400, "InsufficientBalance", (world) => transfer(world, { amount: "99999999" })),
      refuses(409, "DuplicateRequestId", async (world) => {
        const ask = transfer(world)
        await world.ask(world.alice, "POST", "/account/transfer", ask.body)
        return { body: { ...ask.body, amount: "2" } }
      })
    ]
  },
  "GET /account/transfer": read(own),
  "POST /account/faucet": {
    access: "account",
    ok: (world) => ({ body: { ...own(world), asset: "USDC", amount: "1" } }),
    refuses: [refuses(400, "FaucetLimit", (world) => ({ body: { ...own(world), asset: "USDC", amount: "1000000" } }))]
  },
  "GET /account/deposits": read(own),
  "POST /account/withdrawals": {
    access: "withdraw",
    ok: (world) => withdrawal(world),
    refuses: [
      refuses(400, "InsufficientBalance", (world) => withdrawal(world, { amount: "99999999" })),
      refuses(409, "DuplicateRequestId", async (world) => {
        const ask = withdrawal(world)
        await world.ask(world.alice, "POST", "/account/withdrawals", ask.body)
        return { body: { ...ask.body, amount: "2" } }
      })
    ]
  },
  "GET /account/withdrawals": read(own),
  "GET /account/withdrawal-addresses": read(),
  "POST /account/withdrawal-addresses": {
    access: "withdraw",
    status: 201,
    ok: () => ({ body: { destination: wallet().path!["root_address"]!, label: "cold wallet" } })
  },
  // the addresses are unrestricted already, so this row changes nothing and the other rows can withdraw
  "PUT /account/withdrawal-addresses": { access: "withdraw", ok: () => ({ body: { only_listed: false } }) },
  "DELETE /account/withdrawal-addresses/{destination}": {
    access: "withdraw",
    ok: async (world) => {
      const destination = wallet().path!["root_address"]!
      await world.ask(world.alice, "POST", "/account/withdrawal-addresses", { destination })
      return { path: { destination } }
    },
    refuses: [refuses(404, "DestinationNotFound", () => ({ path: { destination: wallet().path!["root_address"]! } }))]
  },
  "GET /account/statistics": read(own),
  "GET /account/fee-rate": read(() => ({ symbol }), noSymbol()),

  "GET /user/me": read(),
  "GET /user/portfolio": read(),
  "GET /user/sub-accounts": read(),
  "POST /user/sub-accounts": {
    access: "account",
    status: 201,
    ok: async (world) => (world.fresh(), { body: { label: "beta" } })
  },
  "PATCH /user/sub-accounts/{sub_account_address}": {
    access: "account",
    ok: (world) => ({ path: { sub_account_address: world.second }, body: { label: world.fresh() } })
  },
  "DELETE /user/sub-accounts/{sub_account_address}": {
    access: "account",
    ok: async (world) => {
      return { path: { sub_account_address: await opened(world) } }
    },
    refuses: [
      refuses(409, "NotEmpty", async (world) => ({ path: { sub_account_address: await opened(world, "100") } })),
      refuses(409, "OpenOrdersExist", async (world) => {
        const sub_account_address = await opened(world, "100")
        await world.resting(sub_account_address)
        return { path: { sub_account_address } }
      }),
      refuses(409, "PositionExists", async (world) => {
        const sub_account_address = await opened(world, "100")
        const body = { ...order(world), price: "60005" }
        const sold = { ...body, sub_account_address: world.bob.vault, side: "Sell" }
        await world.ask(world.bob, "POST", "/order/create", sold)
        await world.ask(world.alice, "POST", "/order/create", { ...body, sub_account_address })
        return { path: { sub_account_address } }
      })
    ]
  },
  "GET /user/api-keys": { access: "bearer", ok: () => ({}) },
  "POST /user/api-keys": {
    access: "bearer",
    status: 201,
    ok: () => ({ body: { public_key: newKeys().publicKey, scopes: ["read"] } }),
    refuses: [
      refuses(409, "KeyAlreadyRegistered", (world) => ({
        body: { public_key: world.only.read.publicKey, scopes: ["read"] }
      })),
      refuses(400, "InvalidPublicKey", () => ({ body: { public_key: "00", scopes: ["read"] } })),
      refuses(404, "SubAccountNotFound", (world) => ({
        body: { public_key: newKeys().publicKey, scopes: ["read"], sub_account_addresses: [world.bob.vault] }
      }))
    ]
  },
  "PATCH /user/api-keys/{api_key_id}": {
    access: "bearer",
    ok: async (world) => ({ path: { api_key_id: await keyId(world) }, body: { label: "other" } }),
    refuses: [
      refuses(404, "ApiKeyNotFound", () => ({ path: { api_key_id: NOBODY }, body: { label: "other" } })),
      refuses(404, "SubAccountNotFound", async (world) => ({
        path: { api_key_id: await keyId(world) },
        body: { sub_account_addresses: [world.bob.vault] }
      }))
    ]
  },
  "DELETE /user/api-keys/{api_key_id}": {
    access: "bearer",
    ok: async (world) => ({ path: { api_key_id: await keyId(world) } }),
    refuses: [refuses(404, "ApiKeyNotFound", () => ({ path: { api_key_id: NOBODY } }))]
  },
  "GET /user/referral": read(),

  "GET /admin/audit": {
    access: "basic",
    ok: () => ({ query: { action: "banWallet" } }),
    refuses: [refuses(400, "OutOfRange", () => ({ query: { start_time: "2", end_time: "1" } }))]
  },
  "PUT /admin/index-price": {
    access: "basic",
    ok: () => ({ body: { symbol, price: "60000" } }),
    refuses: [
      refuses(400, "NotMultipleOfTick", () => ({ body: { symbol, price: "60000.05" } })),
      refuses(404, "SymbolNotFound", () => ({ body: { symbol: "NO-SUCH", price: "60000" } }))
    ]
  },
  "GET /health": publicRead({}),
  "GET /ready": publicRead({}),
  "GET /.well-known/jwks.json": publicRead({}),
  "GET /api-docs/openapi.json": publicRead({}),
  "GET /api-docs/asyncapi.json": publicRead({})
}

/** Reasons that need another setting, many rows or a broken market, with the test of each. */
export const elsewhere: Record<string, Partial<Record<Reason, string>>> = {
  "POST /access/activate": {
    ModuleDisabled: "test/e2e/Admission.test.ts",
    CodeExpired: "test/e2e/Admission.test.ts",
    NonceReused: "test/services/identity/Activation.test.ts"
  },
  "POST /position/set-leverage": {
    InsufficientBalance: "test/e2e/Commands.test.ts",
    // the embedded backend liquidates within one step and never returns this; another backend may
    PositionInLiquidation: "test/http/Operations.test.ts"
  },
  // for a sub-account with a position, since without one there is nothing to set
  "POST /position/trading-stop": {
    SubAccountFrozen: "test/e2e/Holdings.test.ts",
    LimitReached: "test/backend/engine/TakeProfitStopLoss.test.ts"
  },
  "POST /order/create": { LimitReached: "test/backend/engine/TakeProfitStopLoss.test.ts" },
  // what becomes of an amend at its turn
  "POST /order/amend": {
    InsufficientBalance: "test/backend/engine/AmendRefused.test.ts",
    InvalidQty: "test/backend/engine/AmendRefused.test.ts",
    LimitReached: "test/backend/engine/TakeProfitStopLoss.test.ts",
    PostOnlyWouldTake: "test/e2e/OrderAnswers.test.ts",
    TriggerAlreadyMet: "test/backend/engine/AmendRefused.test.ts"
  },
  "POST /account/faucet": { ModuleDisabled: "test/services/Money.test.ts" },
  "PUT /admin/index-price": { ModuleDisabled: "test/http/handlers/Admin.test.ts" },
  "POST /account/withdrawals": { DestinationNotListed: "test/services/trading/WithdrawalAddresses.test.ts" },
  "POST /account/withdrawal-addresses": { LimitReached: "test/services/trading/WithdrawalAddresses.test.ts" },
  "POST /user/sub-accounts": { LimitReached: "test/backend/engine/Funds.test.ts" },
  "POST /user/api-keys": { LimitReached: "test/services/identity/ApiKeys.test.ts" }
}

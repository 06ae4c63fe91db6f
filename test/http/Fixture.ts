/**
 * The REST surface over doubles of every service below it, driven by raw requests: what is tested is the surface itself
 * (routes, checks, envelope, shapes), not the policies behind the ports.
 */
import { Context, Effect, Layer, Logger, Redacted } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { marketAddress, rootOfKey, subAccountAddress } from "../../src/domain/Address.ts"
import type { Instrument } from "../../src/domain/Market.ts"
import type { Portfolio } from "../../src/domain/Portfolio.ts"
import { allScopes, type ApiKey, type Caller } from "../../src/domain/User.ts"
import * as Http from "../../src/http/Http.ts"
import { Accounts } from "../../src/services/Accounts.ts"
import { ApiKeys } from "../../src/services/ApiKeys.ts"
import { Authenticator, AuthRefused } from "../../src/services/Authenticator.ts"
import { BackendHealth, type LinkState } from "../../src/services/BackendHealth.ts"
import { Cursors } from "../../src/services/Cursors.ts"
import { Funds } from "../../src/services/Funds.ts"
import { Gate } from "../../src/services/Gate.ts"
import { History } from "../../src/services/History.ts"
import { Holdings } from "../../src/services/Holdings.ts"
import { Ids } from "../../src/services/Ids.ts"
import { IndexPrices } from "../../src/services/IndexPrices.ts"
import { Lifecycle } from "../../src/services/Lifecycle.ts"
import { Lists } from "../../src/services/Lists.ts"
import { Klines } from "../../src/services/Klines.ts"
import { Markets } from "../../src/services/Markets.ts"
import { MarketView } from "../../src/services/MarketView.ts"
import { Orders } from "../../src/services/Orders.ts"
import { type Rate, RateLimiter } from "../../src/services/RateLimiter.ts"
import { Readiness } from "../../src/services/Readiness.ts"
import { Referee } from "../../src/services/Referee.ts"
import { Sequencer } from "../../src/services/Sequencer.ts"
import { SigningKeys } from "../../src/services/SigningKeys.ts"
import { SubAccounts } from "../../src/services/SubAccounts.ts"
import { UserStreams } from "../../src/services/UserStreams.ts"

export const root = rootOfKey(new Uint8Array(32).fill(7))
export const v0 = subAccountAddress(root, 0)
export const v1 = subAccountAddress(root, 1)
export const foreign = subAccountAddress(rootOfKey(new Uint8Array(32).fill(8)), 0)
export const userId = "f4d12921-24f9-5d21-bac3-b037fe010f93"
export const orderId = "018f3f1e-5d5b-7a00-8000-000000000001"

export const tokenCaller: Caller = {
  user_id: userId,
  root_address: root,
  rail: "address",
  via: "token",
  credential: "jti-1",
  scopes: new Set(allScopes),
  bound_to: undefined,
  expires_at_ms: undefined
}

export const btc: Instrument = {
  symbol: "BTC-USDC",
  market_addr: marketAddress("BTC-USDC"),
  base_asset: "BTC",
  quote_asset: "USDC",
  settle_asset: "USDC",
  status: "Trading",
  launch_time: 1767225600000,
  funding_interval_minutes: 480,
  price_filter: { tick_size: "0.1", min_price: "0.1", max_price: "1000000" },
  lot_size_filter: {
    qty_step: "0.001",
    min_order_qty: "0.001",
    max_order_qty: "100",
    max_mkt_order_qty: "30",
    min_notional_value: "5"
  },
  leverage_filter: { min_leverage: "1", max_leverage: "50", leverage_step: "0.01" },
  price_band: "0.05",
  max_open_orders: 500,
  max_conditional_orders: 20,
  maker_fee_rate: "0.0002",
  taker_fee_rate: "0.00055",
  funding_cap: "0.005"
}

export const well: LinkState = { connected: true, lag_events: 0, lag_ms: 0, ill: false, ill_for_ms: 0, age_ms: 5 }

const now = 1767225600000

/** What a test may replace; everything else answers like a gateway with one user, one market and no rows. */
export interface Doubles {
  readonly accounts?: Partial<Accounts["Service"]>
  readonly apiKeys?: Partial<ApiKeys["Service"]>
  readonly authenticator?: Partial<Authenticator["Service"]>
  readonly health?: Partial<BackendHealth["Service"]>
  readonly history?: Partial<History["Service"]>
  readonly limiter?: Partial<RateLimiter["Service"]>
  readonly markets?: Partial<MarketView["Service"]>
  readonly referee?: Partial<Referee["Service"]>
  readonly sequencer?: Partial<Sequencer["Service"]>
  readonly embedded?: boolean
  readonly faucet?: boolean
  readonly trustedProxies?: number
}

const apiKey: ApiKey = {
  api_key_id: orderId,
  public_key: `0x${"3d".repeat(32)}`,
  label: "bot",
  scopes: ["read"],
  ip_allowlist: [],
  require_body_hash: false,
  created_time: now
}
export const emptyPortfolio: Portfolio = {
  positions: [],
  summary: {
    collateral_notional: "0",
    maintenance_margin_required: "0",
    total_available_balance: "0",
    total_balance: "0",
    total_margin_used: "0",
    total_positions: 0,
    total_vaults: 0,
    unrealized_funding_total: "0",
    unrealized_pnl_total: "0"
  },
  vault_balances: []
}
const none = { rows: [], next: undefined }
const subAccount = (address: string, index: number) => ({
  sub_account_address: address,
  user_id: userId,
  root_address: root,
  index,
  frozen: false,
  deleted: false,
  created_time: now
})

/** A double that answers what it is given; any other member is a defect, whatever its shape. */
const mock =
  <I, S extends object>(tag: Context.Service<I, S>) =>
  (members: Partial<S>): Layer.Layer<I> =>
    Layer.mock(tag)(members as never)

export const ports = (doubles: Doubles) =>
  Layer.mergeAll(
    mock(Accounts)({
      user: () =>
        Effect.succeed({
          user_id: userId,
          root_address: root,
          rail: "address",
          party_id: undefined,
          referral_code: "7Q2MX9KD",
          activated: false,
          badge: false,
          multiplier_bps: 10000,
          created_time: now
        }),
      isWhitelisted: () => Effect.succeed(false),
      setWhitelisted: () => Effect.void,
      labels: () => Effect.succeed(new Map()),
      setLabel: () => Effect.void,
      ...doubles.accounts
    }),
    mock(ApiKeys)({
      list: () => Effect.succeed([apiKey]),
      create: () => Effect.succeed(apiKey),
      update: () => Effect.succeed(apiKey),
      revoke: () => Effect.void,
      ...doubles.apiKeys
    }),
    mock(Authenticator)({
      bearer: (token) =>
        token === "good"
          ? Effect.succeed(tokenCaller)
          : Effect.fail(new AuthRefused({ reason: token === "" ? "MissingToken" : "InvalidToken", details: {} })),
      signed: () => Effect.fail(new AuthRefused({ reason: "UnknownApiKey", details: {} })),
      basic: (username) =>
        username === "admin" ? Effect.void : Effect.fail(new AuthRefused({ reason: "BadCredentials", details: {} })),
      login: () => Effect.succeed({ token: "good", user_id: userId, expires_at_ms: now, root_address: root }),
      logout: () => Effect.void,
      jwks: { keys: [] },
      ...doubles.authenticator
    }),
    mock(BackendHealth)({ sequencer: () => well, referee: () => well, started: () => true, ...doubles.health }),
    mock(History)({
      position: Effect.undefined,
      subAccounts: () => Effect.succeed([subAccount(v0, 0), subAccount(v1, 1)]),
      orders: () => Effect.succeed(none),
      order: () => Effect.undefined,
      executions: () => Effect.succeed(none),
      movements: () => Effect.succeed(none),
      candles: () => Effect.succeed([]),
      lastSeqs: () => Effect.succeed(new Map()),
      ...doubles.history
    }),
    mock(RateLimiter)({ take: () => Effect.undefined, peek: () => Effect.undefined, ...doubles.limiter }),
    mock(MarketView)({
      instruments: () => [btc],
      instrument: (symbol) => (symbol === btc.symbol ? btc : undefined),
      book: (symbol, depth) => ({
        symbol,
        bids: (
          [
            ["60000", "0.5"],
            ["59999.9", "1"]
          ] as const
        ).slice(0, depth),
        asks: [["60000.1", "0.3"]],
        seq: 7,
        mts: now
      }),
      ticker: () => undefined,
      recentTrades: () => [],
      now: () => now,
      ...doubles.markets
    }),
    mock(Referee)({
      account: () => Effect.succeed({ balances: [], positions: [], as_of_seq: 1 }),
      positions: () => Effect.succeed({ positions: [], as_of_seq: 1 }),
      portfolio: () => Effect.succeed(emptyPortfolio),
      ...doubles.referee
    }),
    mock(Sequencer)({
      submit: ({ body }) =>
        Effect.succeed({
          seq: 1,
          accepted_at_ms: now,
          orders: [{ order_id: orderId }],
          duplicate: false,
          version: undefined,
          result:
            body.type === "create_sub_account" || body.type === "set_sub_account"
              ? { type: "sub_account", sub_account: subAccount(v1, 1) }
              : body.type === "deposit" || body.type === "transfer"
                ? {
                    type: "movement",
                    movement: {
                      transfer_id: orderId,
                      user_id: userId,
                      kind: body.type,
                      from_sub_account_address: undefined,
                      to_sub_account_address: v1,
                      asset: "USDC",
                      amount: body.amount,
                      status: "completed",
                      reference: "faucet",
                      created_time: now,
                      updated_time: now
                    }
                  }
                : undefined
        }),
      subAccounts: () => Effect.succeed([]),
      ...doubles.sequencer
    }),
    mock(UserStreams)({ streamId: () => "s1", head: () => 7 }),
    mock(SigningKeys)({ cursorKey: Redacted.make(new Uint8Array(32).fill(1)) }),
    mock(Ids)({ uuid: Effect.sync(() => crypto.randomUUID()) }),
    Lifecycle.layer
  )

/** The policies that handlers call, over the doubles. */
export const policies = (doubles: Doubles) =>
  Layer.mergeAll(
    Orders.layer,
    Lists.layer,
    Holdings.layer,
    Markets.layer,
    Readiness.layer,
    Funds.layer({ faucet: doubles.faucet ?? true }),
    IndexPrices.layer({ embedded: doubles.embedded ?? true })
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(SubAccounts.layer, Klines.layer)),
    Layer.provideMerge(Layer.mergeAll(Cursors.layer, Gate.layer)),
    Layer.provideMerge(ports(doubles))
  )

export interface Gateway {
  readonly fetch: (method: string, path: string, options?: Ask) => Promise<Response>
  readonly dispose: () => Promise<void>
}
export interface Ask {
  readonly body?: unknown
  /** Bytes of the body as they are, in place of `body`. */
  readonly raw?: string | Uint8Array
  readonly headers?: Record<string, string>
  /** Default: a good bearer token; `null`: no credentials. */
  readonly authorization?: string | null
}

export const ADMIN = `Basic ${btoa("admin:secret")}`

/** A gateway in this process; its answers are those of the socket but for what the transport adds. */
export const gateway = (doubles: Doubles = {}): Gateway => {
  const app = Http.layer({ trustedProxies: doubles.trustedProxies ?? 0 }).pipe(
    Layer.provide(policies(doubles)),
    Layer.provideMerge(HttpServer.layerServices),
    // what a test breaks on purpose is logged, as it should be; nobody reads it here
    Layer.provideMerge(Logger.layer([]))
  )
  const { handler, dispose } = HttpRouter.toWebHandler(app, { disableLogger: true, routerConfig: Http.routerConfig })
  return {
    dispose,
    fetch: (method, path, options = {}) => {
      const headers: Record<string, string> = { ...options.headers }
      const authorization = options.authorization === undefined ? "Bearer good" : options.authorization
      if (authorization !== null) headers["authorization"] = authorization
      const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
      if (body !== undefined) {
        headers["content-type"] ??= "application/json"
        headers["content-length"] ??= String(Buffer.byteLength(body))
      }
      const request = new Request(`http://gateway${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: body as string })
      })
      return handler(request, Context.empty() as never)
    }
  }
}

/** A rate that lets a request pass, or not. */
export const rate = (allowed: boolean): Rate => ({
  bucket: "public",
  allowed,
  limit: 60,
  remaining: allowed ? 59 : 0,
  reset_s: 1,
  window_s: 60
})

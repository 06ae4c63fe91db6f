/**
 * The REST surface over doubles of every service below it, driven by raw requests: what is tested is the surface itself
 * (routes, checks, envelope, shapes), not the policies behind the ports.
 */
import { Clock, Context, Effect, Layer, Logger, Redacted, References } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { marketAddress, rootOfKey, subAccountAddress } from "../../src/domain/Address.ts"
import { Grant } from "../../src/domain/Grant.ts"
import type { AdlAlert, InsurancePool } from "../../src/domain/InsurancePool.ts"
import type { Instrument } from "../../src/domain/Market.ts"
import type { Portfolio } from "../../src/domain/Portfolio.ts"
import type { PositionState } from "../../src/domain/Position.ts"
import { allScopes, type ApiKey, type Caller } from "../../src/domain/User.ts"
import * as Http from "../../src/http/Http.ts"
import type { PageFile } from "../../src/http/Page.ts"
import { AccessCodeIssuer } from "../../src/services/identity/AccessCodeIssuer.ts"
import { AccessCodes } from "../../src/services/identity/AccessCodes.ts"
import { Accounts } from "../../src/services/identity/Accounts.ts"
import { Activation } from "../../src/services/identity/Activation.ts"
import { Administrators } from "../../src/services/identity/Administrators.ts"
import { type AccessMode, LaunchAccess } from "../../src/services/identity/LaunchAccess.ts"
import { ApiKeys } from "../../src/services/identity/ApiKeys.ts"
import { AuditStore } from "../../src/services/identity/AuditStore.ts"
import { AuditTrail } from "../../src/services/identity/AuditTrail.ts"
import { AuthRefused } from "../../src/services/identity/AuthErrors.ts"
import { Authenticator } from "../../src/services/identity/Authenticator.ts"
import { BackendHealth, type LinkState } from "../../src/services/operations/BackendHealth.ts"
import { BanList } from "../../src/services/identity/BanList.ts"
import { Bans } from "../../src/services/rewards/Bans.ts"
import type { CommandAdmission } from "../../src/services/trading/CommandAdmission.ts"
import { Competitions } from "../../src/services/rewards/Competitions.ts"
import { type CompetitionRecord, CompetitionStore } from "../../src/services/rewards/CompetitionStore.ts"
import { Cursors } from "../../src/services/operations/Cursors.ts"
import { DeadMansSwitch } from "../../src/services/trading/DeadMansSwitch.ts"
import { Funds } from "../../src/services/trading/Funds.ts"
import { BackendAvailability } from "../../src/services/operations/BackendAvailability.ts"
import { Grants } from "../../src/services/identity/Grants.ts"
import { History, type LastRecord } from "../../src/services/History.ts"
import { PortfolioQueries } from "../../src/services/read-model/PortfolioQueries.ts"
import { Ids } from "../../src/services/operations/Ids.ts"
import { IndexPrices } from "../../src/services/markets/IndexPrices.ts"
import { Lifecycle } from "../../src/services/operations/Lifecycle.ts"
import { HistoryQueries } from "../../src/services/read-model/HistoryQueries.ts"
import { Klines } from "../../src/services/markets/Klines.ts"
import { MarketHistory } from "../../src/services/markets/MarketHistory.ts"
import { MarketQueries } from "../../src/services/markets/MarketQueries.ts"
import { MarketView } from "../../src/services/markets/MarketView.ts"
import { Metrics } from "../../src/services/Metrics.ts"
import { Orders } from "../../src/services/trading/Orders.ts"
import { type Shown, WrittenHistory } from "../../src/services/read-model/WrittenHistory.ts"
import { ReadYourWrites } from "../../src/services/read-model/ReadYourWrites.ts"
import { Positions } from "../../src/services/trading/Positions.ts"
import { Presence } from "../../src/services/operations/Presence.ts"
import { TradingStatistics } from "../../src/services/read-model/TradingStatistics.ts"
import { type Rate, RateLimiter } from "../../src/services/operations/RateLimiter.ts"
import { Readiness } from "../../src/services/Readiness.ts"
import { Referee } from "../../src/services/Referee.ts"
import { Referrals } from "../../src/services/rewards/Referrals.ts"
import { ReferralStore } from "../../src/services/rewards/ReferralStore.ts"
import { Rewards } from "../../src/services/rewards/Rewards.ts"
import { type RewardRecord, RewardStore } from "../../src/services/rewards/RewardStore.ts"
import { CompetitionScoring } from "../../src/services/rewards/CompetitionScoring.ts"
import { Sequencer } from "../../src/services/Sequencer.ts"
import { SigningKeys } from "../../src/services/operations/SigningKeys.ts"
import { SubAccounts } from "../../src/services/identity/SubAccounts.ts"
import { DeadMansSwitchStore } from "../../src/services/trading/DeadMansSwitchStore.ts"
import { UserStreams } from "../../src/services/read-model/UserStreams.ts"
import { WithdrawalAddresses } from "../../src/services/trading/WithdrawalAddresses.ts"
import * as SqliteStores from "../doubles/SqliteStores.ts"

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
  expires_at_ms: undefined,
  grant: new Grant("credential", "user")
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

export const well: LinkState = {
  connected: true,
  lag_events: 0,
  lag_ms: 0,
  unhealthy: false,
  unhealthy_for_ms: 0,
  age_ms: 5
}

const now = 1767225600000

/** What a test may replace; everything else answers like a gateway with one user, one market and no rows. */
export interface Doubles {
  readonly accessCodes?: Partial<AccessCodes["Service"]>
  readonly page?: ReadonlyArray<PageFile>
  readonly accessMode?: AccessMode
  readonly activation?: Partial<Activation["Service"]>
  readonly accounts?: Partial<Accounts["Service"]>
  readonly administrators?: Partial<Administrators["Service"]>
  readonly audit?: Partial<AuditStore["Service"]>
  readonly apiKeys?: Partial<ApiKeys["Service"]>
  readonly authenticator?: Partial<Authenticator["Service"]>
  readonly bans?: Partial<BanList["Service"]>
  readonly competitions?: Partial<CompetitionStore["Service"]>
  /** Of the short way of orders: how busy the gateway is. */
  readonly commandAdmission?: Partial<CommandAdmission["Service"]>
  readonly health?: Partial<BackendHealth["Service"]>
  readonly history?: Partial<History["Service"]>
  readonly limiter?: Partial<RateLimiter["Service"]>
  readonly markets?: Partial<MarketView["Service"]>
  readonly referee?: Partial<Referee["Service"]>
  readonly referrals?: Partial<ReferralStore["Service"]>
  readonly rewards?: Partial<RewardStore["Service"]>
  readonly sequencer?: Partial<Sequencer["Service"]>
  readonly written?: Partial<typeof WrittenHistory.Service>
  readonly readYourWrites?: Partial<ReadYourWrites["Service"]>
  readonly switches?: Partial<DeadMansSwitchStore["Service"]>
  readonly embedded?: boolean
  readonly faucet?: boolean
  readonly trustedProxies?: number
  readonly metricsPublic?: boolean
  /** The time in which requests are served; default: the real one. */
  readonly clock?: Clock.Clock
  /** Takes every log line; by default what a test breaks on purpose is logged for nobody. */
  readonly logged?: (line: string) => void
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
/** A competition of the user's, and a reward. */
export const draft: CompetitionRecord = {
  id: orderId,
  slug: "winter",
  title: "Winter",
  description_md: "",
  start_time_ms: now + 10 ** 12,
  end_time_ms: now + 10 ** 12 + 10 ** 9,
  prize_usdc: 10_000,
  symbol: btc.symbol,
  scoring: {
    metric: "volume",
    start_weight_bps: 10_000,
    end_weight_bps: 5_000,
    max_daily_contribution_bps: 3_500,
    min_active_days: 2,
    min_daily_activity_units: 500,
    consistency_max_bonus_bps: 2_000,
    consistency_target_days: 5,
    use_consistency_multiplier: true
  },
  state: "draft",
  created_time: now,
  finalized_time: undefined,
  revision: 0
}
export const reward: RewardRecord = {
  reward_id: orderId,
  user_id: userId,
  kind: "referral",
  asset: "USDC",
  amount: "0.66",
  status: "claimable",
  source_id: "2026-01-01",
  created_time: now,
  due_time: now,
  claimed_time: undefined,
  paid_to: undefined
}
/** The position that commands on positions answer. */
export const flat: PositionState = {
  symbol: "BTC-USDC",
  sub_account_address: v1,
  side: "",
  size: "0",
  avg_price: "0",
  position_value: "0",
  mark_price: "60000",
  leverage: "10",
  margin_mode: "Cross",
  position_mode: "OneWay",
  position_status: "Normal",
  position_im: "0",
  position_mm: "0",
  liq_price: "",
  bust_price: "",
  unrealised_pnl: "0",
  cur_realised_pnl: "0",
  cum_realised_pnl: "0",
  liquidation_fee: "0",
  take_profit: "",
  stop_loss: "",
  tpsl_mode: "Full",
  adl_rank_indicator: 0,
  risk_tier: 1,
  break_even_price: "0",
  created_time: now,
  updated_time: now
}
const judged = {
  pool_id: "pool-BTC-USDC",
  pool_group_id: "group-USDC",
  equity: "1000000",
  adl_mode: "Inactive" as const,
  adl_trigger_reason: "NoTrigger" as const,
  latest_pnl_ratio: "0",
  updated_time: now
}
const alert: AdlAlert = { ...judged, symbol: btc.symbol }
const pool: InsurancePool = {
  ...judged,
  cash_balance: "1000000",
  realized_pnl_cum: "0",
  unrealized_pnl: "0",
  base_equity: "1000000",
  group_redistribution_in: "0",
  group_redistribution_out: "0",
  group_adl_obligation: "0",
  inventory: []
}
const none = { rows: [], next: undefined }
/** Rows that contain all that was shown. */
const complete = <A>(rows: A): Shown<A> => ({ rows, isComplete: true })
const noOrders: typeof History.Service.orders = () => Effect.succeed(none)
const flatPositions = (user_id: string, topic?: LastRecord["topic"]): Effect.Effect<ReadonlyArray<LastRecord>> =>
  Effect.succeed(
    topic !== "account_balance"
      ? [v0, v1].map((sub_account_address) => ({
          user_id,
          topic: "position",
          sub_account_address,
          subject: btc.symbol,
          seq: 3,
          record: JSON.stringify({ ...flat, sub_account_address, seq: 3 })
        }))
      : []
  )
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
  (members: { readonly [K in keyof S]?: S[K] | undefined }): Layer.Layer<I> =>
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
      userOfCode: (referral_code) =>
        Effect.succeed({
          user_id: orderId,
          root_address: foreign,
          rail: "address",
          party_id: undefined,
          referral_code,
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
    mock(AccessCodes)({
      create: () => Effect.void,
      list: () => Effect.succeed([]),
      get: (code_id) =>
        Effect.succeed({
          code_id,
          code_hash: "",
          label: "",
          max_uses: 1,
          uses: 0,
          badge: false,
          multiplier_bps: 10_000,
          revoked: false,
          created_time: now
        }),
      revoke: () => Effect.succeed(true),
      ...doubles.accessCodes
    }),
    mock(Activation)({
      activate: () => Effect.succeed({ badge: true, multiplier_bps: 12500 }),
      ...doubles.activation
    }),
    mock(ApiKeys)({
      list: () => Effect.succeed([apiKey]),
      create: () => Effect.succeed(apiKey),
      update: () => Effect.succeed(apiKey),
      revoke: () => Effect.void,
      ...doubles.apiKeys
    }),
    mock(Authenticator)({
      bearerNow: undefined,
      bearer: (token) =>
        token === "good"
          ? Effect.succeed(tokenCaller)
          : Effect.fail(new AuthRefused({ reason: token === "" ? "MissingToken" : "InvalidToken", details: {} })),
      signed: () => Effect.fail(new AuthRefused({ reason: "UnknownApiKey", details: {} })),
      login: () => Effect.succeed({ token: "good", user_id: userId, expires_at_ms: now, root_address: root }),
      logout: () => Effect.void,
      jwks: { keys: [] },
      ...doubles.authenticator
    }),
    Grants.layer,
    mock(Administrators)({
      login: (username) =>
        username === "admin" || username === "operator" || username === "reader"
          ? Effect.succeed({ username, role: username })
          : Effect.fail(new AuthRefused({ reason: "BadCredentials", details: {} })),
      ...doubles.administrators
    }),
    mock(AuditStore)({ append: () => Effect.void, list: () => Effect.succeed([]), ...doubles.audit }),
    mock(BanList)({ stored: () => Effect.undefined, put: () => Effect.void, ...doubles.bans }),
    mock(CompetitionStore)({
      create: () => Effect.void,
      update: () => Effect.void,
      get: () => Effect.succeed(draft),
      list: () => Effect.succeed([]),
      tally: () =>
        Effect.succeed({ revision: 1, counted_to: 0, stream: undefined, eligible_total: "0", settling: false }),
      entriesOf: () => Effect.succeed([]),
      ranked: () => Effect.succeed([]),
      advance: () => Effect.void,
      ...doubles.competitions
    }),
    mock(ReferralStore)({
      referrer: () => Effect.undefined,
      refer: () => Effect.void,
      downline: () => Effect.succeed(0),
      ...doubles.referrals
    }),
    mock(RewardStore)({
      get: () => Effect.succeed(reward),
      list: () => Effect.succeed([reward]),
      direct: (_, sub_account_address) => Effect.succeed(sub_account_address),
      undirect: () => Effect.void,
      claim: () => Effect.succeed(true),
      ...doubles.rewards
    }),
    mock(CompetitionScoring)({ judge: () => Effect.void }),
    mock(BackendHealth)({
      sequencer: () => well,
      referee: () => well,
      started: () => true,
      reported: () => ({ refusing: [], warnings: [] }),
      ...doubles.health
    }),
    mock(WrittenHistory)({
      user: () => Effect.succeed(true),
      reached: () => Effect.succeed(true),
      head: () => undefined,
      openOrders: (query) => Effect.map((doubles.history?.orders ?? noOrders)(query), complete),
      lastRecords: (user_id, topic) =>
        Effect.map((doubles.history?.lastRecords ?? flatPositions)(user_id, topic), complete),
      ...doubles.written
    }),
    mock(History)({
      position: Effect.undefined,
      momentAndPosition: (reads) => Effect.map(reads, (value) => ({ at: undefined, value })),
      subAccounts: () => Effect.succeed([subAccount(v0, 0), subAccount(v1, 1)]),
      orders: noOrders,
      order: () => Effect.undefined,
      executions: () => Effect.succeed(none),
      lastExecution: Effect.succeed(0),
      movements: () => Effect.succeed(none),
      executionsAt: () => Effect.succeed({ rows: [], total: 0 }),
      closedPnls: () => Effect.succeed(none),
      transactions: () => Effect.succeed(none),
      fundingPayments: () => Effect.succeed(none),
      fundingRates: () => Effect.succeed(none),
      openInterest: () => Effect.succeed(none),
      pools: () => Effect.succeed([]),
      adlAlerts: () => Effect.succeed([]),
      marketHours: () => Effect.succeed([]),
      accountHours: () => Effect.succeed([]),
      candles: () => Effect.succeed([]),
      ...doubles.history
    }),
    mock(RateLimiter)({
      take: () => Effect.undefined,
      // as over a wire, so that a double of `take` is all that a test needs
      takeAllNow: undefined,
      takeAll: ([slot]) => doubles.limiter?.take?.(slot!.bucket, slot!.key) ?? Effect.undefined,
      peek: () => Effect.undefined,
      ...doubles.limiter
    }),
    mock(MarketView)({
      pool: () => undefined,
      alert: () => undefined,
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
      account: () => Effect.succeed({ balances: [], positions: [], as_of_seq: 0 }),
      positions: () => Effect.succeed({ positions: [], as_of_seq: 0 }),
      portfolio: () => Effect.succeed({ portfolio: emptyPortfolio, as_of_seq: 1 }),
      riskTiers: Effect.succeed([]),
      feeRates: () => Effect.succeed([]),
      pool: () => Effect.succeed(pool),
      adlAlert: () => Effect.succeed(alert),
      indexCandles: () => Effect.succeed([]),
      ...doubles.referee
    }),
    mock(Sequencer)({
      commands_down_ms: () => 0,
      submit: ({ body }) =>
        Effect.succeed({
          seq: 1,
          accepted_at_ms: now,
          orders: [{ order_id: orderId, order_link_id: "" }],
          duplicate: false,
          version: undefined,
          result:
            body.type === "create_sub_account" || body.type === "set_sub_account"
              ? { type: "sub_account", sub_account: subAccount(v1, 1) }
              : "symbol" in body && body.type !== "set_index_price"
                ? { type: "position", position: flat }
                : body.type === "deposit" || body.type === "transfer" || body.type === "withdraw"
                  ? {
                      type: "movement",
                      movement: {
                        transfer_id: orderId,
                        user_id: userId,
                        kind: body.type === "withdraw" ? "withdrawal" : body.type,
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
      // that of the examples
      subAccounts: () =>
        Effect.succeed([subAccount("0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd", 2)]),
      ...doubles.sequencer
    }),
    mock(UserStreams)({ streamId: () => "s1", head: () => 7 }),
    mock(SigningKeys)({ cursorKey: Redacted.make(new Uint8Array(32).fill(1)) }),
    mock(Ids)({ uuid: Effect.sync(() => crypto.randomUUID()) }),
    SqliteStores.withdrawalAddresses,
    Lifecycle.layer,
    Presence.layer,
    mock(ReadYourWrites)({
      record: () => {},
      awaitUser: () => Effect.void,
      awaitAll: Effect.void,
      ...doubles.readYourWrites
    }),
    mock(DeadMansSwitchStore)({
      of: () => Effect.succeed([]),
      set: () => Effect.void,
      users: Effect.succeed([]),
      absent: () => Effect.void,
      present: () => Effect.void,
      window: () => Effect.void,
      absence: () => Effect.undefined,
      ...doubles.switches
    })
  )

/** The policies that handlers call, over the doubles. */
export const policies = (doubles: Doubles) =>
  Layer.mergeAll(
    Orders.layer,
    Positions.layer,
    DeadMansSwitch.layer,
    HistoryQueries.layer,
    PortfolioQueries.layer,
    MarketQueries.layer,
    MarketHistory.layer,
    TradingStatistics.layer,
    Metrics.layer.pipe(Layer.provideMerge(Readiness.layer)),
    Funds.layer({ faucet: doubles.faucet ?? true }).pipe(
      Layer.provideMerge(WithdrawalAddresses.layer({ delay: "1 day" }))
    ),
    Referrals.layer,
    Rewards.layer,
    Competitions.layer,
    Bans.layer,
    AuditTrail.layer,
    IndexPrices.layer({ embedded: doubles.embedded ?? true })
  ).pipe(
    Layer.provideMerge(Layer.mergeAll(SubAccounts.layer, Klines.layer)),
    Layer.provideMerge(AccessCodeIssuer.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        Cursors.layer,
        BackendAvailability.layer,
        LaunchAccess.layer({ mode: doubles.accessMode ?? "open" })
      )
    ),
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
  /** Disconnects the client. */
  readonly signal?: AbortSignal
}

export const ADMIN = `Basic ${btoa("admin:secret")}`

/** A gateway in this process; its answers are those of the socket but for what the transport adds. */
export const gateway = (doubles: Doubles = {}): Gateway => {
  const app = Http.layer({
    trustedProxies: doubles.trustedProxies ?? 0,
    metricsPublic: doubles.metricsPublic ?? false,
    page: doubles.page ?? []
  }).pipe(
    Layer.provide(policies(doubles)),
    Layer.provideMerge(HttpServer.layerServices),
    Layer.provideMerge(
      Layer.mergeAll(
        Logger.layer(doubles.logged === undefined ? [] : [Logger.map(Logger.formatJson, doubles.logged)]),
        Layer.succeed(References.MinimumLogLevel, "All")
      )
    )
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
        ...(body === undefined ? {} : { body: body as string }),
        ...(options.signal === undefined ? {} : { signal: options.signal })
      })
      return handler(
        request,
        (doubles.clock === undefined ? Context.empty() : Context.make(Clock.Clock, doubles.clock)) as never
      )
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

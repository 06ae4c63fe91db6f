/**
 * The default backend as one Effect: read the settings, recover the exchange from its journal, serve it over gRPC.
 *
 * It is a program behind the gRPC boundary and knows nothing of the gateway. Source: docs/contract/exchange.md.
 */
import { readFile } from "node:fs/promises"
import { Worker } from "node:worker_threads"
import { Effect, Logger, Redacted, References, Result, Schema, type Scope } from "effect"
import type * as Engine from "./engine/Engine.ts"
import { Journal, JournalError } from "./journal/Journal.ts"
import { NewestEvents, replay, snapshot } from "./journal/Replay.ts"
import * as Snapshots from "./journal/Snapshots.ts"
import { machine } from "./engine/EngineMachine.ts"
import * as MarketRules from "./engine/MarketRules.ts"
import * as Decimal from "../domain/Decimal.ts"
import type { GetOpenOrdersRequest, GetOpenOrdersResponse } from "../proto/gateway/v1/sequencer.ts"
import * as Positions from "./engine/referee/Positions.ts"
import * as Reads from "./engine/Reads.ts"
import * as Ids from "./engine/sequencer/Ids.ts"
import { defaultLimits, EventLog } from "./server/EventLog.ts"
import type { ServerTls } from "./server/GrpcServer.ts"
import * as Serve from "./server/Serve.ts"
import type { Settings } from "./Settings.ts"

/** A setting names something that cannot be used. */
export class SettingError extends Schema.TaggedError<SettingError>()("SettingError", {
  message: Schema.String,
  /** What is wrong, one by one, where it is several things. */
  findings: Schema.optionalKey(Schema.Array(Schema.String)),
  cause: Schema.optionalKey(Schema.Unknown)
}) {}

export { machine }

/** Open orders of one page. */
export const PAGE_ORDERS_MAX = 10_000

/** Open orders behind a page token, which is the id of the last order of the page before; that order may be gone. */
const openOrders = (state: Engine.State, request: GetOpenOrdersRequest): GetOpenOrdersResponse => {
  const all = Reads.openOrders(state, request)
  const numberOf = (order_id: string) => Ids.read(state.orderSeed, order_id)?.number ?? 0
  const after = request.page_token === "" ? 0 : numberOf(request.page_token)
  const rest = after === 0 ? all : all.filter((order) => numberOf(order.order_id) > after)
  const orders = rest.slice(0, PAGE_ORDERS_MAX)
  const next_page_token = orders.length < rest.length ? orders.at(-1)!.order_id : ""
  return { orders, as_of_seq: Reads.headSeq(state), next_page_token }
}

const orNotFound = <A>(value: A | undefined, what: string) => value ?? { notFound: `no such ${what}` }

/** The reads of both services over the engine's state. */
export const reads = (state: Engine.State): Serve.Reads => {
  const asOf = <A extends object>(value: A) => ({ ...value, as_of_seq: Reads.headSeq(state) })
  return {
    sequencer: {
      getOrderBook: ({ symbol, depth }) => orNotFound(Reads.orderBook(state, symbol, depth), "market"),
      getOpenOrders: (request) => openOrders(state, request),
      getOrder: (request) => {
        const order = Reads.order(state, request)
        return order === undefined ? { notFound: "no such open order" } : asOf({ order })
      },
      listInstruments: () => asOf({ instruments: Reads.instruments(state) }),
      listSubAccounts: ({ user_id }) => asOf({ sub_accounts: Reads.subAccounts(state, user_id), next_page_token: "" })
    },
    referee: {
      getAccount: ({ sub_account_address }) => orNotFound(Reads.account(state, sub_account_address), "sub-account"),
      getPortfolio: ({ user_id }) => Reads.portfolio(state, user_id),
      listPositions: (request) => asOf({ positions: Reads.positions(state, request), next_page_token: "" }),
      getPrices: ({ symbols }) => ({ prices: Reads.prices(state, symbols) }),
      listRiskTiers: ({ symbol }) => ({ tiers: Reads.riskTiers(state, symbol) }),
      getFeeRates: ({ symbol }) => ({ rates: Reads.feeRates(state, symbol) }),
      listFundingRates: (request) => orNotFound(Reads.fundingRates(state, request), "market"),
      getInsurancePool: ({ symbol }) => orNotFound(Reads.insurancePool(state, symbol), "market"),
      listInsurancePoolHistory: (request) => Reads.insurancePoolHistory(state, request),
      getAdlAlert: ({ symbol }) => orNotFound(Reads.adlAlert(state, symbol), "market"),
      listAdlAlertHistory: (request) => Reads.adlAlertHistory(state, request),
      previewMargin: ({ leverage, sub_account_address, symbol }) => {
        const asked = Positions.readLeverage(leverage)
        return asked === undefined
          ? { invalid: "leverage is a decimal from 1 with at most two places" }
          : orNotFound(Reads.previewMargin(state, sub_account_address, symbol, asked), "sub-account or market")
      }
    },
    prices: () => Reads.prices(state),
    feeAccount: () => Number(Decimal.format(state.fees))
  }
}

const file = (name: string, path: string) =>
  Effect.tryPromise({
    try: () => readFile(path),
    catch: (cause) => new SettingError({ message: `${name}: cannot read ${path}`, cause })
  })

const marketsOf = Effect.fnUntraced(function* (
  path: string | undefined
): Effect.fn.Return<ReadonlyArray<MarketRules.Market>, SettingError> {
  if (path === undefined) return MarketRules.shippedMarkets
  const text = (yield* file("MARKETS_FILE", path)).toString("utf8")
  const read = MarketRules.read(text)
  if (Result.isSuccess(read)) return read.success
  const findings = read.failure.map((error) => `MARKETS_FILE: ${path}: ${error}`)
  return yield* new SettingError({ message: findings.join("\n"), findings })
})

const tlsOf = Effect.fnUntraced(function* (settings: Settings): Effect.fn.Return<ServerTls | undefined, SettingError> {
  const { tlsCa, tlsCert, tlsKey } = settings
  if (tlsCert === undefined && tlsKey === undefined) return undefined
  if (tlsCert === undefined || tlsKey === undefined) {
    return yield* new SettingError({ message: "BACKEND_TLS_CERT and BACKEND_TLS_KEY belong together" })
  }
  return {
    ca: tlsCa === undefined ? undefined : yield* file("BACKEND_TLS_CA", tlsCa),
    cert: yield* file("BACKEND_TLS_CERT", tlsCert),
    key: yield* file("BACKEND_TLS_KEY", tlsKey)
  }
})

/** The thread's module beside this one: as source, or as built. */
const thread = new URL(import.meta.url.endsWith(".ts") ? "./SnapshotThread.ts" : "./SnapshotThread.js", import.meta.url)

/** Takes a snapshot in a thread of its own. */
const takeSnapshot = (journal: string): Serve.Snapshotting => {
  const worker = new Worker(thread, { workerData: journal })
  const done = new Promise<Snapshots.SnapshotHead | undefined>((resolve, reject) => {
    worker.once("message", resolve)
    worker.once("error", reject)
    worker.once("exit", () => resolve(undefined))
  })
  return { done, cancel: () => void worker.terminate() }
}

/** Reads the files that the settings name, as a start does. */
export const check = (settings: Settings): Effect.Effect<void, SettingError> =>
  Effect.andThen(marketsOf(settings.marketsFile), Effect.asVoid(tlsOf(settings)))

/** Without a secret nobody from elsewhere is let in. */
export const hostOf = ({ host, secret }: Settings): string => (secret === undefined ? "127.0.0.1" : host)

/** Serves the exchange of these settings until the scope closes. */
export const serve = Effect.fnUntraced(function* (
  settings: Settings
): Effect.fn.Return<Serve.Serving, SettingError | JournalError | Serve.BindError, Scope.Scope> {
  const { simMaker, indexSource, faucetDailyLimit, openOrdersMax, poolBaseEquity, secret } = settings
  const markets = yield* marketsOf(settings.marketsFile)
  return yield* Serve.serve({
    machine,
    reads,
    config: { markets, simMaker, indexSource, faucetDailyLimit, openOrdersMax, poolBaseEquity },
    directory: settings.dataDir,
    host: hostOf(settings),
    port: settings.port,
    secret: secret === undefined ? undefined : Redacted.value(secret),
    tls: yield* tlsOf(settings),
    limits: { ...defaultLimits, events_kept_max: settings.eventsKept },
    takeSnapshot
  })
})

/** What a journal holds, found by replaying it. */
export interface Verified {
  readonly epoch: string
  readonly rules: string
  readonly entries: number
  readonly at_ms: number
  readonly checkpoints: number
  readonly snapshots: ReadonlyArray<number>
  readonly head_seq: number
  readonly state_hash: string
}

const withJournal = <A>(open: () => Journal, use: (journal: Journal) => A): Effect.Effect<A, JournalError> =>
  Effect.acquireUseRelease(
    Effect.try({ try: open, catch: (cause) => cause as JournalError }),
    (journal) =>
      Effect.try({
        try: () => use(journal),
        catch: (cause) =>
          cause instanceof JournalError
            ? cause
            : new JournalError({ message: `${journal.path} does not replay: ${(cause as Error).message}`, cause })
      }),
    (journal) => Effect.sync(() => journal.close())
  )

const unusable = (journal: Journal, position: number, why: string): JournalError =>
  new JournalError({
    message:
      `the snapshot at position ${position} in ${Snapshots.directoryOf(journal.path)} cannot be used: ${why}. ` +
      `Stop the backend and run "npm run backend -- replay"`
  })

const snapshotsOf = (journal: Journal): ReadonlyMap<number, Snapshots.SnapshotHead> => {
  const directory = Snapshots.directoryOf(journal.path)
  const heads = new Map<number, Snapshots.SnapshotHead>()
  for (const position of Snapshots.list(directory)) {
    try {
      heads.set(position, Snapshots.read(directory, position).head)
    } catch (cause) {
      throw unusable(journal, position, (cause as Error).message)
    }
  }
  return heads
}

/** Told after each entry how many are done, and of how many. */
export type Progress = (done: number, total: number) => void
const unwatched: Progress = () => {}

/** Replays all entries; compares every checksum, checkpoint, link and result, and the given snapshots on the way. */
const replayAll = (journal: Journal, snapshots: ReadonlyMap<number, Snapshots.SnapshotHead>, progress: Progress) => {
  const total = journal.position
  const newest = new NewestEvents(Snapshots.SNAPSHOT_EVENTS)
  const replayed = replay(machine, journal, {
    results: true,
    onEvents: (events) => newest.add(events),
    onEntry: (position, state) => {
      progress(position, total)
      const head = snapshots.get(position)
      if (head === undefined) return
      if (head.chain !== journal.chainAt(position) || head.state_hash !== machine.hash(state))
        throw unusable(journal, position, "it is not of this journal")
    }
  })
  const verified: Verified = {
    epoch: journal.origin.epoch,
    rules: machine.rules,
    entries: replayed.entries,
    at_ms: replayed.at_ms,
    checkpoints: journal.checkpoints().length,
    snapshots: [...snapshots.keys()].sort((a, b) => a - b),
    head_seq: machine.headSeq(replayed.state),
    state_hash: machine.hash(replayed.state)
  }
  return { ...replayed, newest, verified }
}

/**
 * Replays the whole journal read-only, beside a running backend or not, and compares all that can be compared: every
 * checksum, link, checkpoint, result and snapshot.
 */
export const verify = (settings: Settings, progress = unwatched): Effect.Effect<Verified, JournalError> =>
  withJournal(
    () => Journal.read(Serve.journalPath(settings.dataDir)),
    (journal) => {
      const snapshots = snapshotsOf(journal)
      // one that was taken since this reader began is not its business
      const own = new Map([...snapshots].filter(([position]) => position <= journal.position))
      return replayAll(journal, own, progress).verified
    }
  )

/**
 * Replays the whole journal of a stopped backend from its first entry, without its snapshots, and leaves one new
 * snapshot in their place: the cure for damaged ones.
 */
export const rebuild = (settings: Settings, progress = unwatched): Effect.Effect<Verified, JournalError> =>
  withJournal(
    () => Journal.existing(Serve.journalPath(settings.dataDir)),
    (journal) => {
      const directory = Snapshots.directoryOf(journal.path)
      const replayed = replayAll(journal, new Map(), progress)
      const log = new EventLog(journal.origin.epoch)
      replayed.newest.into(log, undefined)
      const { position } = snapshot(machine, journal, { ...replayed, log })
      for (const other of Snapshots.list(directory)) if (other !== position) Snapshots.remove(directory, other)
      return { ...replayed.verified, snapshots: [position] }
    }
  )

const levels = { trace: "Trace", debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** Structured lines on the standard output, from the level of the settings on. */
export const withLogging =
  (settings: Settings) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    effect.pipe(
      Effect.annotateLogs({ program: "backend" }),
      Effect.provide(Logger.layer([Logger.consoleJson])),
      Effect.provideService(References.MinimumLogLevel, levels[settings.logLevel])
    )

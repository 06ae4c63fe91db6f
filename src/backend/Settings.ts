/**
 * The settings of the backend in one table: variable, default, meaning. The worker in the gateway's process and `npm
 * run backend` both read them once through `Config`. Source: docs/contract/configuration.md#variables.
 */
import { Config, Schema } from "effect"
import { SignedDecimal } from "../domain/Decimal.ts"
import {
  all,
  integer,
  logLevel,
  oneOf,
  optional,
  port,
  redacted,
  type Setting,
  url,
  type Values,
  withDefault
} from "../domain/Setting.ts"
import { partsOf } from "./journal/shared/JournalUrl.ts"
import { OPEN_ORDERS_MAX } from "./markets/Limits.ts"

const onOff = (name: string): Config.Config<boolean> =>
  Config.Literals(["on", "off"], name).pipe(Config.map((word) => word === "on"))
/** Non-negative decimal text. */
const amount = (name: string): Config.Config<string> =>
  Config.schema(SignedDecimal.check(Schema.isPattern(/^[0-9]/u, { message: "must not be negative" })), name)

/** A snapshot contains as many, so a start always has at least these. */
const EVENTS_KEPT_MIN = 10_000

/** With this limit, the share of one user while orders are scarce still suffices to quote four markets. */
const OPEN_ORDERS_MIN = 10_000

export const table = {
  dataDir: withDefault("DATA_DIR", Config.String, "./data", "journal of the backend, in `backend/`"),
  port: withDefault("BACKEND_PORT", port, 3011, "port of a backend that runs alone; 0 selects a free one"),
  host: withDefault(
    "HOST",
    Config.String,
    "127.0.0.1",
    "address of a backend that runs alone; 0.0.0.0 in the image; without BACKEND_SECRET always 127.0.0.1"
  ),
  marketsFile: optional(
    "MARKETS_FILE",
    Config.String,
    "JSON file of markets (docs/reference/markets-file.md); default: the four that ship"
  ),
  faucetDailyLimit: withDefault("FAUCET_DAILY_LIMIT", amount, "100000", "maximum faucet deposits per user and UTC day"),
  indexSource: withDefault(
    "INDEX_SOURCE",
    oneOf("simulated", "manual"),
    "simulated",
    "simulated, or manual: only `PUT /admin/index-price` changes it"
  ),
  simMaker: withDefault(
    "SIM_MAKER",
    onOff,
    true,
    "simulated maker that quotes around the index, so that a new exchange has a book"
  ),
  simTakers: withDefault(
    "SIM_TAKERS",
    onOff,
    true,
    "simulated takers that trade with the simulated maker, so that prices, volume and funding move; without SIM_MAKER no effect"
  ),
  eventsKept: withDefault(
    "EVENTS_KEPT",
    integer(EVENTS_KEPT_MIN),
    500_000,
    "newest events in memory, about 450 bytes each and 512 MiB at most: a gateway that has missed no more than these resumes at once, others wait for a replay of the journal"
  ),
  openOrdersMax: withDefault(
    "OPEN_ORDERS_MAX",
    integer(OPEN_ORDERS_MIN, OPEN_ORDERS_MAX),
    OPEN_ORDERS_MAX,
    "maximum open orders of all users together; while more than 80 % are open, one user can have at most 1 % of them. A journal keeps the value that it was created with"
  ),
  poolBaseEquity: withDefault("POOL_BASE_EQUITY", amount, "1000000", "seed capital of each insurance pool"),
  secret: optional("BACKEND_SECRET", redacted, "bearer secret that every call must carry"),
  tlsCa: optional(
    "BACKEND_TLS_CA",
    Config.String,
    "PEM file of a certificate authority: only clients with its certificates can connect (mTLS); requires BACKEND_TLS_CERT"
  ),
  tlsCert: optional("BACKEND_TLS_CERT", Config.String, "PEM file of the backend's certificate; turns TLS on"),
  tlsKey: optional("BACKEND_TLS_KEY", Config.String, "PEM file of its key"),
  logLevel
} as const

/** For a backend that runs alone; the embedded one reports its metrics through the gateway. */
export const metricsPort = optional(
  "METRICS_PORT",
  port,
  "port of the metrics of a backend that runs alone; 0 selects a free one"
)

/** A journal that several backends share, each a process that runs alone. */
const sharedTable = {
  url: optional(
    "JOURNAL_URL",
    url(["postgres:", "postgresql:"], { partsOf }),
    "`postgres://` address of a database with the journal, which several backends share: one leads, the others stand by. It may name several hosts, `a:5432,b:5432`; the one that accepts writes is used. Default: the journal is a file in DATA_DIR. For a backend that runs alone"
  ),
  standbyReads: withDefault(
    "STANDBY_READS",
    onOff,
    false,
    "on: a standby answers the reads of the referee, with its position"
  )
} as const

/** Why a gateway does not start with JOURNAL_URL and an embedded backend. */
export const JOURNAL_OF_EMBEDDED =
  "JOURNAL_URL is for a backend that runs alone, with BACKEND=grpc here: the embedded one has its journal in DATA_DIR"

/** All settings as a list. */
export const rows: ReadonlyArray<Setting<unknown>> = [
  ...Object.values(table),
  metricsPort,
  ...Object.values(sharedTable)
]

export type SharedSettings = Values<typeof sharedTable>

export const sharedSettings: Config.Config<SharedSettings> = all(sharedTable)

export type Settings = Values<typeof table>

export const settings: Config.Config<Settings> = all(table)

/**
 * Every setting of the backend, in one table: variable, default, meaning. Read once through `Config`, in the worker
 * beside a gateway and in `npm run backend` alike. Source: docs/contract/configuration.md#variables.
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
  type Values,
  withDefault
} from "../domain/Setting.ts"
import { OPEN_ORDERS_MAX } from "./engine/sequencer/OpenOrders.ts"

const onOff = (name: string): Config.Config<boolean> =>
  Config.Literals(["on", "off"], name).pipe(Config.map((word) => word === "on"))
/** Decimal text that is not negative. */
const amount = (name: string): Config.Config<string> =>
  Config.schema(SignedDecimal.check(Schema.isPattern(/^[0-9]/u, { message: "must not be negative" })), name)

/** A snapshot holds as many, so a start would have no fewer. */
const EVENTS_KEPT_MIN = 10_000

/** While they are scarce, a user's share of these is still enough to quote four markets. */
const OPEN_ORDERS_MIN = 10_000

export const table = {
  dataDir: withDefault("DATA_DIR", Config.String, "./data", "journal of the backend, in `backend/`"),
  port: withDefault("BACKEND_PORT", port, 3011, "port of the backend where it runs alone; 0 takes a free one"),
  host: withDefault(
    "HOST",
    Config.String,
    "127.0.0.1",
    "address to listen on where it runs alone; 0.0.0.0 in the image; without BACKEND_SECRET always 127.0.0.1"
  ),
  marketsFile: optional(
    "MARKETS_FILE",
    Config.String,
    "JSON file of markets (docs/reference/markets-file.md); default: the four that ship"
  ),
  faucetDailyLimit: withDefault(
    "FAUCET_DAILY_LIMIT",
    amount,
    "100000",
    "most that the faucet gives a user a day (UTC)"
  ),
  indexSource: withDefault(
    "INDEX_SOURCE",
    oneOf("simulated", "manual"),
    "simulated",
    "simulated, or manual: only `PUT /admin/index-price` moves it"
  ),
  simMaker: withDefault(
    "SIM_MAKER",
    onOff,
    true,
    "a participant that quotes around the index, so that a new exchange has a book"
  ),
  eventsKept: withDefault(
    "EVENTS_KEPT",
    integer(EVENTS_KEPT_MIN),
    500_000,
    "newest events that it keeps in memory, some 450 bytes each and 512 MiB at most: a gateway that has missed no more goes on without a snapshot"
  ),
  openOrdersMax: withDefault(
    "OPEN_ORDERS_MAX",
    integer(OPEN_ORDERS_MIN, OPEN_ORDERS_MAX),
    OPEN_ORDERS_MAX,
    "open orders of all users together; while more than 80 % are open, one user may hold at most 1 % of them. A journal keeps the value that it was made with"
  ),
  poolBaseEquity: withDefault("POOL_BASE_EQUITY", amount, "1000000", "seed of each insurance pool"),
  secret: optional("BACKEND_SECRET", redacted, "bearer secret that every call must show"),
  tlsCa: optional("BACKEND_TLS_CA", Config.String, "PEM file of an authority whose clients alone are let in (mTLS)"),
  tlsCert: optional("BACKEND_TLS_CERT", Config.String, "PEM file of the backend's certificate; turns TLS on"),
  tlsKey: optional("BACKEND_TLS_KEY", Config.String, "PEM file of its key"),
  logLevel
} as const

/** Of a backend that runs alone; one beside a gateway tells its metrics there. */
export const metricsPort = optional("METRICS_PORT", port, "port of its metrics where it runs alone; 0 takes a free one")

/** All of them, one by one. */
export const rows: ReadonlyArray<Setting<unknown>> = [...Object.values(table), metricsPort]

export type Settings = Values<typeof table>

export const settings: Config.Config<Settings> = all(table)

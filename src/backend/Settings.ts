/**
 * Every setting of the backend, in one table: variable, default, meaning. Read once through `Config`, in the worker
 * beside a gateway and in `npm run backend` alike. Source: contract 13.
 */
import { Config, type Redacted, Schema } from "effect"
import { SignedDecimal } from "../domain/Decimal.ts"

const onOff = (name: string): Config.Config<boolean> =>
  Config.Literals(["on", "off"], name).pipe(Config.map((word) => word === "on"))
const port = (name: string): Config.Config<number> =>
  Config.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 })), name)
/** Decimal text that is not negative. */
const amount = (name: string): Config.Config<string> =>
  Config.schema(SignedDecimal.check(Schema.isPattern(/^[0-9]/u, { message: "must not be negative" })), name)

export const settings = Config.all({
  /** journal of the backend, in `backend/` */
  dataDir: Config.String("DATA_DIR").pipe(Config.withDefault("./data")),
  /** port where the backend runs alone; 0: any free one */
  port: port("BACKEND_PORT").pipe(Config.withDefault(3011)),
  /** address to listen on; without BACKEND_SECRET always 127.0.0.1 */
  host: Config.String("HOST").pipe(Config.withDefault("0.0.0.0")),
  /** JSON file of markets; default: the ones that ship */
  marketsFile: Config.String("MARKETS_FILE").pipe(Config.withDefault(undefined)),
  /** most that the faucet gives a user a day */
  faucetDailyLimit: amount("FAUCET_DAILY_LIMIT").pipe(Config.withDefault("100000")),
  indexSource: Config.Literals(["simulated", "manual"], "INDEX_SOURCE").pipe(
    Config.withDefault("simulated" as "simulated" | "manual")
  ),
  /** a participant that quotes around the index */
  simMaker: onOff("SIM_MAKER").pipe(Config.withDefault(true)),
  /** seed of each insurance pool */
  poolBaseEquity: amount("POOL_BASE_EQUITY").pipe(Config.withDefault("1000000")),
  /** bearer secret that every call must show */
  secret: Config.Redacted("BACKEND_SECRET").pipe(
    Config.withDefault(undefined as Redacted.Redacted<string> | undefined)
  ),
  /** PEM files: an authority whose clients are let in (mTLS), the backend's certificate and its key (TLS) */
  tlsCa: Config.String("BACKEND_TLS_CA").pipe(Config.withDefault(undefined)),
  tlsCert: Config.String("BACKEND_TLS_CERT").pipe(Config.withDefault(undefined)),
  tlsKey: Config.String("BACKEND_TLS_KEY").pipe(Config.withDefault(undefined)),
  logLevel: Config.Literals(["trace", "debug", "info", "warn", "error"], "LOG_LEVEL").pipe(
    Config.withDefault("info" as "trace" | "debug" | "info" | "warn" | "error")
  )
})

/** Port where a backend that runs alone tells its metrics; default: none. */
export const metricsPort = port("METRICS_PORT").pipe(Config.withDefault(undefined as number | undefined))

export type Settings = Config.Success<typeof settings>

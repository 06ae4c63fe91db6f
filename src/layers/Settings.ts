/**
 * Every setting of the gateway: its variable, unit, default and meaning, in one table.
 *
 * Settings are read once through `Config`, so a test provides them with a `ConfigProvider`. Secrets are `Redacted`. The
 * embedded backend has its own table. docs/reference/settings.md is generated from both.
 * Source: docs/contract/configuration.md#variables.
 */
import { Config, Effect, Schema } from "effect"
import { isPublicKey } from "../domain/Ed25519.ts"
import { bytesOfPublicKey } from "../domain/Identity.ts"
import {
  all,
  integer,
  logLevel,
  oneOf,
  optional,
  port,
  redacted,
  span,
  timer,
  url,
  type Values,
  withDefault
} from "../domain/Setting.ts"
import { transportLimits } from "../domain/TransportLimits.ts"
import { HOST_DEFAULT, PORT_DEFAULT } from "./node/EarlyListen.ts"

/** The value of a setting cannot be used. */
export class SettingUnusable extends Schema.TaggedError<SettingUnusable>()("SettingUnusable", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

const environments = {
  production: "production",
  mainnet: "production",
  testnet: "testnet",
  "testnet beta": "testnet",
  staging: "staging",
  devnet: "staging"
} as const
export type Environment = (typeof environments)[keyof typeof environments]

const environment = (name: string): Config.Config<Environment> =>
  Config.Literals(Object.keys(environments) as Array<keyof typeof environments>, name).pipe(
    Config.map((word) => environments[word])
  )
/** HTTP Basic ends a name at its first colon. */
const basicUsername = (name: string) =>
  Config.schema(Schema.String.check(Schema.isPattern(/^[^:]*$/u, { message: "must not contain a colon" })), name)
const password = (name: string) => Config.schema(Schema.Redacted(Schema.String.check(Schema.isMinLength(12))), name)
const seed = (name: string) =>
  Config.schema(
    Schema.Redacted(Schema.String.check(Schema.isPattern(/^[\da-f]{64}$/iu, { message: "must be 64 hex digits" }))),
    name
  )
/** Items that commas separate; the message does not quote them, since they may be secrets. */
const items = (isItem: (item: string) => boolean, message: string) =>
  Schema.String.check(
    Schema.makeFilter((text: string) => text.split(",").every((item) => isItem(item.trim())) || message)
  )
const addresses = (name: string) =>
  Config.schema(
    items((item) => {
      const port = Number(/^[^\s/]+:(\d{1,5})$/u.exec(item)?.[1])
      return port >= 1 && port <= 65_535
    }, "must be host:port"),
    name
  )
const publicKeys = (name: string) =>
  Config.schema(
    items((item) => {
      const bytes = bytesOfPublicKey(item)
      return bytes !== undefined && isPublicKey(bytes)
    }, "must be Ed25519 public keys, separated by commas"),
    name
  )
const headers = (name: string) =>
  Config.schema(
    Schema.Redacted(items((item) => /^[^=\s]+\s*=/u.test(item), "must be name=value, several separated by commas")),
    name
  )

export const table = {
  port: withDefault("PORT", port, PORT_DEFAULT, "port of REST and WebSocket; 0 selects a free port"),
  host: withDefault("HOST", Config.String, HOST_DEFAULT, "address to listen on; 0.0.0.0 (every address) in the image"),
  environment: withDefault<Environment>(
    "ENVIRONMENT",
    environment,
    "testnet",
    "production, testnet or staging (aliases: mainnet, testnet beta, devnet); the faucet is off in production"
  ),
  dataDir: withDefault(
    "DATA_DIR",
    Config.String,
    "./data",
    "databases and keys of the gateway, journal of the backend"
  ),
  databaseUrl: optional(
    "DATABASE_URL",
    url(["postgres:", "postgresql:"]),
    "postgres://user:password@host:port/database: the database that gateways share; default: SQLite in DATA_DIR"
  ),
  redisUrl: optional(
    "REDIS_URL",
    url(["redis:", "rediss:"], { path: { pattern: /^\/?\d*$/u, about: "the database must be a number" } }),
    "redis://…: gateways share API-key nonces, rate limits, revocations and presence; unset: each gateway keeps its own"
  ),
  natsUrl: optional(
    "NATS_URL",
    url(["nats:", "tls:"]),
    "nats://user:password@host:port: read the event stream from a copy in JetStream; the gateway of the embedded backend or `npm run relay` writes it"
  ),
  backend: withDefault(
    "BACKEND",
    oneOf("embedded", "grpc"),
    "embedded",
    "embedded: run a backend in this process; grpc: connect to external backends"
  ),
  sequencerUrl: optional(
    "SEQUENCER_URL",
    addresses,
    "host:port of the sequencer, with BACKEND=grpc; several, separated by commas, for backends that share a journal (`JOURNAL_URL`)"
  ),
  refereeUrl: optional("REFEREE_URL", addresses, "the same of the referee; default: SEQUENCER_URL"),
  backendSecret: optional("BACKEND_SECRET", redacted, "bearer secret shared with the backends"),
  backendTlsCa: optional(
    "BACKEND_TLS_CA",
    Config.String,
    "PEM file of the backends' certificate authority; enables TLS"
  ),
  backendTlsCert: optional("BACKEND_TLS_CERT", Config.String, "PEM file of the gateway's client certificate (mTLS)"),
  backendTlsKey: optional("BACKEND_TLS_KEY", Config.String, "PEM file of the client certificate's key"),
  jwtSigningKey: optional(
    "JWT_SIGNING_KEY",
    seed,
    "Ed25519 seed, 64 hex digits; default: generated once and kept in DATA_DIR"
  ),
  jwtVerifyKeys: optional(
    "JWT_VERIFY_KEYS",
    publicKeys,
    "older public keys that remain accepted: hex, comma-separated"
  ),
  adminUsername: optional(
    "ADMIN_USERNAME",
    basicUsername,
    "administrator with the role admin; without it and ADMIN_USERS_FILE the Basic endpoints are disabled"
  ),
  adminPassword: optional("ADMIN_PASSWORD", password, "at least 12 characters"),
  adminUsersFile: optional(
    "ADMIN_USERS_FILE",
    Config.String,
    "file of further administrators and their roles: lines of JSON from `gateway admin hash`"
  ),
  loginWindowMs: withDefault(
    "LOGIN_WINDOW_MS",
    integer(1),
    60_000,
    "accepted clock difference of a login signature, ms"
  ),
  apiKeyWindowMs: withDefault(
    "API_KEY_WINDOW_MS",
    span(1),
    30_000,
    "accepted clock difference of an API-key signature, ms"
  ),
  withdrawalAddressDelayMs: withDefault(
    "WITHDRAWAL_ADDRESS_DELAY_MS",
    span(0),
    86_400_000,
    "time after which a new withdrawal address, or the end of `only_listed`, takes effect, ms"
  ),
  accessMode: withDefault(
    "ACCESS_MODE",
    oneOf("off", "open", "closed"),
    "open",
    "open: access codes work, trading is open to all; closed: only whitelisted wallets trade, others read; off: no access codes"
  ),
  activationWindowS: withDefault(
    "ACTIVATION_WINDOW_S",
    integer(1),
    300,
    "accepted clock difference of an activation, s"
  ),
  rateLimitMode: withDefault(
    "RATE_LIMIT_MODE",
    oneOf("enforce", "report", "off"),
    "enforce",
    "enforce; report: headers only; off: a proxy in front limits"
  ),
  ratePublic: withDefault("RATE_PUBLIC", integer(1), 60, "public requests per minute and address"),
  rateToken: withDefault("RATE_TOKEN", integer(1), 30, "private requests per minute and token"),
  rateUser: withDefault(
    "RATE_USER",
    integer(1),
    120,
    "private requests per minute and user, over all tokens of the user"
  ),
  rateApiKey: withDefault("RATE_API_KEY", integer(1), 600, "private requests per minute and API key"),
  commandTargetMs: withDefault(
    "COMMAND_TARGET_MS",
    integer(1, 2_000),
    30,
    "mean time from the submission of a command until its events are shown, above which the limit of commands in flight falls, ms; for a distant backend 30 more than the round trip"
  ),
  wsKeepaliveTimeoutMs: withDefault(
    "WS_KEEPALIVE_TIMEOUT_MS",
    timer(1),
    transportLimits.silence_ms.figure,
    "silence after which a socket is closed, ms"
  ),
  wsPingIntervalMs: withDefault(
    "WS_PING_INTERVAL_MS",
    timer(1),
    transportLimits.ping_interval_ms.figure,
    "time between pings, ms"
  ),
  wsConnectionsPerIp: withDefault(
    "WS_CONNECTIONS_PER_IP",
    integer(0),
    transportLimits.sockets_per_address.figure,
    "sockets per address; 0: no limit"
  ),
  wsConnectionsPerUser: withDefault(
    "WS_CONNECTIONS_PER_USER",
    integer(0),
    transportLimits.sockets_per_user.figure,
    "private sockets per user; 0: no limit"
  ),
  userEventsKept: withDefault(
    "USER_EVENTS_KEPT",
    integer(1),
    10_000,
    "private events kept per user for streams that resume; younger events than USER_EVENTS_KEPT_MS are kept beyond it"
  ),
  userEventsKeptMs: withDefault(
    "USER_EVENTS_KEPT_MS",
    integer(0),
    86_400_000,
    "time for which every private event is kept, ms"
  ),
  arrivalsPerIp: withDefault(
    "ARRIVALS_PER_IP",
    integer(0),
    transportLimits.arrivals_per_s.figure,
    "connections that an address may open per second, later ones are delayed; 0: no limit, as behind TRUSTED_PROXIES"
  ),
  connectionsPerIp: withDefault(
    "CONNECTIONS_PER_IP",
    integer(0),
    transportLimits.connections_per_address.figure,
    "open connections per address, sockets included; 0: no limit, as behind TRUSTED_PROXIES"
  ),
  trustedProxies: withDefault(
    "TRUSTED_PROXIES",
    integer(0),
    0,
    "number of proxies in front whose X-Forwarded-For entries are trusted"
  ),
  metricsPublic: withDefault(
    "METRICS_PUBLIC",
    Config.Boolean,
    false,
    "true: /metrics answers every client, not only those on this machine"
  ),
  otlpEndpoint: optional(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    url(["http:", "https:"]),
    "http://…: base URL of an OTLP/HTTP collector for traces and logs; unset: no export"
  ),
  otlpHeaders: optional("OTEL_EXPORTER_OTLP_HEADERS", headers, "headers for the collector: name=value,name=value"),
  otlpServiceName: withDefault(
    "OTEL_SERVICE_NAME",
    Config.String,
    "trading-gateway",
    "service name of this gateway in traces and logs"
  ),
  drainMs: withDefault("DRAIN_MS", timer(0), 5_000, "time over which sockets are closed at shutdown, ms"),
  logLevel
} as const

export type Settings = Values<typeof table>

export const settings: Config.Config<Settings> = all(table)

/** The first contradiction between settings that are valid one by one. */
const contradiction = (settings: Settings): string | undefined => {
  const { backend, databaseUrl, jwtSigningKey, refereeUrl, sequencerUrl, wsKeepaliveTimeoutMs, wsPingIntervalMs } =
    settings
  if (wsPingIntervalMs >= wsKeepaliveTimeoutMs)
    return "WS_PING_INTERVAL_MS must be less than WS_KEEPALIVE_TIMEOUT_MS: else silent clients are closed before a ping"
  if (backend === "embedded" && (sequencerUrl ?? refereeUrl) !== undefined)
    return `${sequencerUrl === undefined ? "REFEREE_URL" : "SEQUENCER_URL"} requires BACKEND=grpc: else this gateway runs an exchange of its own`
  if (databaseUrl === undefined) return undefined
  if (backend === "embedded")
    return "DATABASE_URL requires BACKEND=grpc: gateways that share a database share a backend"
  if (jwtSigningKey === undefined)
    return "DATABASE_URL requires JWT_SIGNING_KEY, 64 hex digits: gateways accept each other's tokens"
  return undefined
}

/** Fails where settings contradict each other. */
export const consistent = (settings: Settings): Effect.Effect<Settings, SettingUnusable> => {
  const message = contradiction(settings)
  return message === undefined ? Effect.succeed(settings) : Effect.fail(new SettingUnusable({ message }))
}

/**
 * Every setting of the gateway: its variable, unit, default and meaning, in one table.
 *
 * Settings are read once through `Config`, so a test gives them with a `ConfigProvider`. Secrets are `Redacted`. The
 * embedded backend has a table of its own. Source: docs/contract/configuration.md#variables; docs/reference/settings.md
 * is made of both.
 */
import { Config, Schema } from "effect"
import { all, integer, logLevel, oneOf, optional, port, redacted, type Values, withDefault } from "../domain/Setting.ts"
import { transportLimits } from "../domain/TransportLimits.ts"
import { HOST_DEFAULT, PORT_DEFAULT } from "./node/EarlyListen.ts"

/** A setting names something that cannot be used. */
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
const password = (name: string) => Config.schema(Schema.Redacted(Schema.String.check(Schema.isMinLength(12))), name)
const url =
  (...protocols: ReadonlyArray<string>) =>
  (name: string) =>
    Config.schema(
      Schema.Redacted(
        Schema.String.check(
          Schema.makeFilter(
            (text) =>
              (URL.canParse(text) && protocols.includes(new URL(text).protocol)) || `expected ${protocols[0]}//host`
          )
        )
      ),
      name
    )

export const table = {
  port: withDefault("PORT", port, PORT_DEFAULT, "port of REST and WebSocket; 0 takes a free one"),
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
    redacted,
    "postgres://user:password@host:port/database: what gateways share; default: SQLite in DATA_DIR"
  ),
  redisUrl: optional(
    "REDIS_URL",
    url("redis:", "rediss:"),
    "redis://…: gateways share API-key nonces, rate limits, notices of revocations and presence; unset: a gateway is alone"
  ),
  natsUrl: optional(
    "NATS_URL",
    url("nats:", "tls:"),
    "nats://…: the event stream is read from a copy in JetStream, filled by the embedded backend's gateway or `npm run relay`"
  ),
  backend: withDefault(
    "BACKEND",
    oneOf("embedded", "grpc"),
    "embedded",
    "run a backend beside the gateway, or use others"
  ),
  sequencerUrl: optional("SEQUENCER_URL", Config.String, "host:port of the sequencer, with BACKEND=grpc"),
  refereeUrl: optional("REFEREE_URL", Config.String, "host:port of the referee; default: that of the sequencer"),
  backendSecret: optional("BACKEND_SECRET", redacted, "bearer secret shared with the backends"),
  backendTlsCa: optional("BACKEND_TLS_CA", Config.String, "PEM file of the backends' authority; turns TLS on"),
  backendTlsCert: optional("BACKEND_TLS_CERT", Config.String, "PEM file of the gateway's own certificate (mTLS)"),
  backendTlsKey: optional("BACKEND_TLS_KEY", Config.String, "PEM file of its key"),
  jwtSigningKey: optional(
    "JWT_SIGNING_KEY",
    redacted,
    "Ed25519 seed, 64 hex digits; default: made once, kept in DATA_DIR"
  ),
  jwtVerifyKeys: optional("JWT_VERIFY_KEYS", Config.String, "older public keys, hex, comma-separated: still accepted"),
  adminUsername: optional(
    "ADMIN_USERNAME",
    Config.String,
    "administrator with the role admin; unset here and in ADMIN_USERS_FILE: the Basic endpoints are closed"
  ),
  adminPassword: optional("ADMIN_PASSWORD", password, "at least 12 characters"),
  adminUsersFile: optional(
    "ADMIN_USERS_FILE",
    Config.String,
    "file of more administrators with roles: lines of JSON, as `gateway admin hash` prints them"
  ),
  loginWindowMs: withDefault("LOGIN_WINDOW_MS", Config.Int, 60_000, "accepted clock difference of a login, ms"),
  apiKeyWindowMs: withDefault("API_KEY_WINDOW_MS", Config.Int, 30_000, "accepted clock difference of an API key, ms"),
  withdrawalAddressDelayMs: withDefault(
    "WITHDRAWAL_ADDRESS_DELAY_MS",
    integer(0),
    86_400_000,
    "time after which a new withdrawal address, or the end of `only_listed`, takes effect, ms"
  ),
  accessMode: withDefault(
    "ACCESS_MODE",
    oneOf("off", "open", "closed"),
    "open",
    "open: access codes work, nobody is gated; closed: wallets that are not whitelisted only read; off: no access codes"
  ),
  activationWindowS: withDefault(
    "ACTIVATION_WINDOW_S",
    Config.Int,
    300,
    "accepted clock difference of an activation, s"
  ),
  rateLimitMode: withDefault(
    "RATE_LIMIT_MODE",
    oneOf("enforce", "report", "off"),
    "enforce",
    "enforce; report: headers only; off: something in front does it"
  ),
  ratePublic: withDefault("RATE_PUBLIC", Config.Int, 60, "public requests a minute and address"),
  rateToken: withDefault("RATE_TOKEN", Config.Int, 30, "private requests a minute and token"),
  rateUser: withDefault("RATE_USER", Config.Int, 120, "private requests a minute by all tokens of one user together"),
  rateApiKey: withDefault("RATE_API_KEY", Config.Int, 600, "private requests a minute and API key"),
  wsKeepaliveTimeoutMs: withDefault(
    "WS_KEEPALIVE_TIMEOUT_MS",
    Config.Int,
    transportLimits.silence_ms.figure,
    "silence after which a socket is closed, ms"
  ),
  wsPingIntervalMs: withDefault(
    "WS_PING_INTERVAL_MS",
    Config.Int,
    transportLimits.ping_interval_ms.figure,
    "time between pings, ms"
  ),
  wsConnectionsPerIp: withDefault(
    "WS_CONNECTIONS_PER_IP",
    Config.Int,
    transportLimits.sockets_per_address.figure,
    "sockets an address; 0: no limit"
  ),
  wsConnectionsPerUser: withDefault(
    "WS_CONNECTIONS_PER_USER",
    Config.Int,
    transportLimits.sockets_per_user.figure,
    "private sockets a user; 0: no limit"
  ),
  userEventsKept: withDefault(
    "USER_EVENTS_KEPT",
    Config.Int,
    10_000,
    "private events kept of each user for connections that resume; more as long as they are younger than the next"
  ),
  userEventsKeptMs: withDefault("USER_EVENTS_KEPT_MS", Config.Int, 86_400_000, "time that all of them are kept, ms"),
  arrivalsPerIp: withDefault(
    "ARRIVALS_PER_IP",
    Config.Int,
    transportLimits.arrivals_per_s.figure,
    "connections that an address may open a second, those beyond wait their turn; 0: no limit, as behind TRUSTED_PROXIES"
  ),
  connectionsPerIp: withDefault(
    "CONNECTIONS_PER_IP",
    Config.Int,
    transportLimits.connections_per_address.figure,
    "connections of an address, sockets included; 0: no limit, as behind TRUSTED_PROXIES"
  ),
  trustedProxies: withDefault("TRUSTED_PROXIES", Config.Int, 0, "proxies in front whose X-Forwarded-For entry counts"),
  metricsPublic: withDefault(
    "METRICS_PUBLIC",
    Config.Boolean,
    false,
    "on: /metrics answers every client, not only those on this machine"
  ),
  otlpEndpoint: optional(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    url("http:", "https:"),
    "http://…: base address of an OTLP/HTTP collector, which gets traces and logs; unset: none are made"
  ),
  otlpHeaders: optional("OTEL_EXPORTER_OTLP_HEADERS", redacted, "headers for it: name=value,name=value"),
  otlpServiceName: withDefault("OTEL_SERVICE_NAME", Config.String, "trading-gateway", "what it calls this gateway"),
  drainMs: withDefault("DRAIN_MS", Config.Int, 5_000, "time over which sockets are closed at shutdown, ms"),
  logLevel
} as const

export type Settings = Values<typeof table>

export const settings: Config.Config<Settings> = all(table)

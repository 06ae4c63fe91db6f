import { assert, it } from "@effect/vitest"
import { Config, ConfigProvider, Effect, Layer, Logger } from "effect"
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { settings as backendSettings, sharedSettings } from "../../src/backend/Settings.ts"
import * as AdminUsers from "../../src/layers/AdminUsers.ts"
import * as Backends from "../../src/layers/Backends.ts"
import * as Cluster from "../../src/layers/Cluster.ts"
import { consistent, settings } from "../../src/layers/Settings.ts"
import * as Standalone from "../../src/layers/Standalone.ts"
import { limits } from "../../src/services/trading/CommandAdmission.ts"

const read = (environment: Record<string, string>) =>
  settings.pipe(Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(environment)))

it.effect("have a default for every setting", () =>
  Effect.gen(function* () {
    const all = yield* read({})
    assert.strictEqual(all.port, 3010)
    assert.strictEqual(all.environment, "testnet")
    assert.strictEqual(all.adminPassword, undefined)
    assert.strictEqual(all.commandTargetMs, limits.target_ms)
    assert.isFalse(all.metricsPublic)
  })
)

it.effect("Amendment 23: gateway and backend listen on 127.0.0.1 by default", () =>
  Effect.gen(function* () {
    assert.strictEqual((yield* read({})).host, "127.0.0.1")
    assert.strictEqual((yield* backendSettings).host, "127.0.0.1")
  }).pipe(Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown({})))
)

it.effect("accept the aliases of the environments", () =>
  Effect.gen(function* () {
    for (const [alias, environment] of [
      ["mainnet", "production"],
      ["testnet beta", "testnet"],
      ["devnet", "staging"]
    ] as const) {
      assert.strictEqual((yield* read({ ENVIRONMENT: alias })).environment, environment)
    }
  })
)

it.effect("name the invalid variable", () =>
  Effect.gen(function* () {
    const error = yield* read({ PORT: "http" }).pipe(Effect.flip)
    assert.instanceOf(error, Config.ConfigError)
    assert.include(String(error), "PORT")
    assert.include(String(yield* Effect.flip(read({ PORT: "65536" }))), "PORT")
    assert.strictEqual((yield* read({ PORT: "65535" })).port, 65_535)
    for (const url of ["localhost:6379", "http://localhost"]) {
      assert.include(String(yield* Effect.flip(read({ REDIS_URL: url }))), "REDIS_URL")
    }
    for (const scheme of ["redis", "rediss"]) yield* read({ REDIS_URL: `${scheme}://localhost` })
    for (const scheme of ["nats", "tls"]) yield* read({ NATS_URL: `${scheme}://localhost` })
    const journal = (JOURNAL_URL: string) =>
      Effect.provideService(sharedSettings, ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown({ JOURNAL_URL }))
    for (const scheme of ["postgres", "postgresql"]) {
      yield* read({ DATABASE_URL: `${scheme}://user:a,b@localhost/gateway` })
      yield* journal(`${scheme}://user:a,b@one:5432,two:5432/journal`)
    }
    for (const address of [
      "hush",
      "mysql://user:hush@host",
      "postgres://user:hush@host:port/db",
      "postgres://u:hush@a,b:port"
    ])
      for (const error of [yield* Effect.flip(read({ DATABASE_URL: address })), yield* Effect.flip(journal(address))]) {
        assert.match(String(error), /expected postgres:\/\/host[^]*(?:DATABASE|JOURNAL)_URL/u)
        assert.notInclude(String(error), "hush")
      }
    // clients decode the password, which must not be in an error
    for (const [variable, scheme] of [
      ["DATABASE_URL", "postgres"],
      ["REDIS_URL", "redis"],
      ["NATS_URL", "nats"]
    ] as const) {
      yield* read({ [variable]: `${scheme}://user:hu%25sh@host` })
      const text = String(yield* Effect.flip(read({ [variable]: `${scheme}://user:hu%sh@host` })))
      assert.include(text, variable)
      assert.include(text, "%25")
      assert.notInclude(text, "hu%sh")
    }
    for (const path of ["", "/", "/15"]) yield* read({ REDIS_URL: `redis://host:6379${path}` })
    for (const path of ["/main", "/-1"])
      assert.include(String(yield* Effect.flip(read({ REDIS_URL: `redis://host:6379${path}` }))), "must be a number")
    // several hosts have a meaning in a journal's address alone
    for (const [variable, value] of Object.entries({
      REDIS_URL: "redis://one:1,two:2",
      DATABASE_URL: "postgres://one:5432,two:5432/gateway",
      NATS_URL: "redis://localhost",
      ADMIN_PASSWORD: "eleven char",
      ADMIN_USERNAME: "ops:alice",
      WITHDRAWAL_ADDRESS_DELAY_MS: "-1"
    }))
      assert.include(String(yield* Effect.flip(read({ [variable]: value }))), variable)
  })
)

it.effect("have a range, which the message names", () =>
  Effect.gen(function* () {
    const outside = {
      LOGIN_WINDOW_MS: ["0"],
      API_KEY_WINDOW_MS: ["0", "315360000001"],
      WITHDRAWAL_ADDRESS_DELAY_MS: ["-1", "315360000001"],
      ACTIVATION_WINDOW_S: ["0"],
      // RATE_LIMIT_MODE turns limits off
      RATE_PUBLIC: ["0"],
      RATE_TOKEN: ["0"],
      RATE_USER: ["0"],
      RATE_API_KEY: ["0"],
      COMMAND_TARGET_MS: ["0", "2001"],
      WS_KEEPALIVE_TIMEOUT_MS: ["0", "2147483648"],
      WS_PING_INTERVAL_MS: ["0", "2147483648"],
      WS_CONNECTIONS_PER_IP: ["-1"],
      WS_CONNECTIONS_PER_USER: ["-1"],
      USER_EVENTS_KEPT: ["0"],
      USER_EVENTS_KEPT_MS: ["-1"],
      ARRIVALS_PER_IP: ["-1"],
      CONNECTIONS_PER_IP: ["-1"],
      TRUSTED_PROXIES: ["-1"],
      DRAIN_MS: ["-1", "2147483648"]
    }
    for (const [name, values] of Object.entries(outside)) {
      const [below, above] = values
      const least = Number(below) + 1
      const accepted = above === undefined ? `${least} or more` : `${least} to ${Number(above) - 1}`
      for (const value of [...values, "1.5"])
        assert.include(String(yield* Effect.flip(read({ [name]: value }))), name, value)
      for (const value of values)
        assert.include(String(yield* Effect.flip(read({ [name]: value }))), `must be ${accepted}`)
      for (const value of [String(least), ...(above === undefined ? [] : [String(Number(above) - 1)])])
        yield* read({ [name]: value })
    }
  })
)

it.effect("of several items are checked one by one, and the message quotes no secret", () =>
  Effect.gen(function* () {
    const message = (name: string, value: string) => Effect.map(Effect.flip(read({ [name]: value })), String)
    const key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    yield* read({
      JWT_SIGNING_KEY: "AB".repeat(32),
      JWT_VERIFY_KEYS: `${key}, ${key}`,
      SEQUENCER_URL: "10.0.0.5:3011, backend:3011",
      REFEREE_URL: "[::1]:65535",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer x, a=b"
    })
    for (const [name, value, accepted] of [
      ["JWT_SIGNING_KEY", "f00d", "64 hex digits"],
      ["JWT_SIGNING_KEY", `${"f00d".repeat(16)}0`, "64 hex digits"],
      ["JWT_VERIFY_KEYS", `${key},f00d`, "Ed25519 public keys"],
      ["JWT_VERIFY_KEYS", "00".repeat(32), "Ed25519 public keys"],
      ["SEQUENCER_URL", "a:1,f00d", "host:port"],
      ["REFEREE_URL", "f00d:65536", "host:port"],
      ["REFEREE_URL", "f00d:0", "host:port"],
      ["SEQUENCER_URL", "http://f00d:3011", "host:port"],
      ["OTEL_EXPORTER_OTLP_HEADERS", "a=b,f00d", "name=value"],
      ["OTEL_EXPORTER_OTLP_HEADERS", "=f00d", "name=value"]
    ] as const) {
      const text = yield* message(name, value)
      assert.include(text, name)
      assert.include(text, accepted)
      if (name === "JWT_SIGNING_KEY" || name === "OTEL_EXPORTER_OTLP_HEADERS") assert.notInclude(text, "f00d")
    }
  })
)

it.effect("close no silent client before its ping", () =>
  Effect.gen(function* () {
    const all = yield* read({ WS_PING_INTERVAL_MS: "29999" })
    assert.strictEqual(yield* consistent(all), all)
    for (const environment of [{ WS_PING_INTERVAL_MS: "30000" }, { WS_KEEPALIVE_TIMEOUT_MS: "15000" }] as Array<
      Record<string, string>
    >) {
      const { message } = yield* Effect.flip(Effect.flatMap(read(environment), consistent))
      assert.include(message, "WS_PING_INTERVAL_MS must be less than WS_KEEPALIVE_TIMEOUT_MS")
    }
  })
)

it.effect("name backends only for a gateway that uses them", () =>
  Effect.gen(function* () {
    for (const variable of ["SEQUENCER_URL", "REFEREE_URL"]) {
      const { message } = yield* Effect.flip(Effect.flatMap(read({ [variable]: "a:1" }), consistent))
      assert.include(message, `${variable} requires BACKEND=grpc`)
    }
    yield* Effect.flatMap(read({ BACKEND: "grpc", SEQUENCER_URL: "a:1", REFEREE_URL: "b:1" }), consistent)
  })
)

it.effect("never print a secret", () =>
  Effect.gen(function* () {
    const all = yield* read({
      ADMIN_PASSWORD: "correct horse battery",
      JWT_SIGNING_KEY: "ab".repeat(32),
      REDIS_URL: "redis://:correct horse@127.0.0.1"
    })
    assert.notInclude(JSON.stringify(all), "correct horse")
    assert.notInclude(JSON.stringify(all), "abab")
  })
)

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "settings-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

it.effect("name two administrators with one name, and a name without a password", () =>
  Effect.gen(function* () {
    const refusal = (environment: Record<string, string>) =>
      Effect.map(Effect.flip(Effect.flatMap(read(environment), AdminUsers.read)), ({ message }) => message)
    for (const one of [{ ADMIN_USERNAME: "alice" }, { ADMIN_PASSWORD: "correct horse" }])
      assert.include(yield* refusal(one), "ADMIN_USERNAME and ADMIN_PASSWORD")
    const path = join(yield* folder, "administrators")
    const password_hash = `scrypt$N=16384,r=8,p=1$${"A".repeat(22)}$${"B".repeat(43)}`
    writeFileSync(path, JSON.stringify({ username: "alice", role: "reader", password_hash }))
    const all = { ADMIN_USERNAME: "bob", ADMIN_PASSWORD: "correct horse", ADMIN_USERS_FILE: path }
    const [only] = yield* Effect.flatMap(read(all), AdminUsers.read)
    assert.strictEqual(only?.username, "alice")
    assert.include(yield* refusal({ ...all, ADMIN_USERNAME: "alice" }), "alice repeats ADMIN_USERNAME")
  })
)

it.effect("name the addresses of backends, the referee's apart or with the sequencer's, and whole certificates", () =>
  Effect.gen(function* () {
    const endpoints = (environment: Record<string, string>) => Effect.flatMap(read(environment), Backends.endpointsOf)
    const addresses = (environment: Record<string, string>) =>
      Effect.map(endpoints({ SEQUENCER_URL: "a:1", ...environment }), ({ referee, sequencer }) => [
        sequencer.address,
        referee.address
      ])
    assert.deepStrictEqual(yield* addresses({}), ["a:1", "a:1"])
    assert.deepStrictEqual(yield* addresses({ REFEREE_URL: "b:2" }), ["a:1", "b:2"])
    assert.include((yield* Effect.flip(endpoints({ REFEREE_URL: "b:2" }))).message, "SEQUENCER_URL")
    const ca = { SEQUENCER_URL: "a:1", BACKEND_TLS_CA: "/none" }
    for (const half of [{ BACKEND_TLS_CERT: "/none" }, { BACKEND_TLS_KEY: "/none" }])
      assert.include(
        (yield* Effect.flip(endpoints({ ...ca, ...half }))).message,
        "BACKEND_TLS_CERT and BACKEND_TLS_KEY"
      )
    assert.include((yield* Effect.flip(endpoints(ca))).message, "cannot read /none")
    const text = { ...ca, BACKEND_TLS_CA: import.meta.filename }
    assert.include((yield* Effect.flip(endpoints(text))).message, "BACKEND_TLS_CA: the file is no PEM certificate")
    // without an authority the certificate would be unused, and the connection plain
    const certificate = { SEQUENCER_URL: "a:1", BACKEND_TLS_CERT: "/none", BACKEND_TLS_KEY: "/none" }
    assert.include((yield* Effect.flip(endpoints(certificate))).message, "requires BACKEND_TLS_CA")
  })
)

it.effect("of a fleet name what its gateways share", () =>
  Effect.gen(function* () {
    const missing = (environment: Record<string, string>) =>
      Effect.map(
        Effect.flip(Effect.flatMap(read(environment), (all) => Layer.build(Cluster.layer(all)))),
        (error) => (error as Error).message
      )
    const database = { DATABASE_URL: "postgres://127.0.0.1:1/none" }
    assert.include(yield* missing({}), "requires DATABASE_URL")
    assert.include(yield* missing(database), "requires BACKEND=grpc")
    assert.include(yield* missing({ ...database, BACKEND: "grpc" }), "requires JWT_SIGNING_KEY")
  })
)

it.effect("of one machine warn of a history without accounts", () =>
  Effect.gen(function* () {
    const path = yield* folder
    const lines: Array<string> = []
    const start = Effect.gen(function* () {
      lines.length = 0
      // the start ends at the missing address of the backend
      const all = yield* read({ DATA_DIR: path, BACKEND: "grpc" })
      yield* Effect.flip(Layer.build(Standalone.layer(all)))
      return lines.join()
    }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])))
    const [accounts, history] = [join(path, "accounts.sqlite"), join(path, "history.sqlite")]
    assert.strictEqual(yield* start, "", "a new directory")
    writeFileSync(history, "x")
    assert.include(yield* start, `${accounts} is missing or empty`)
    writeFileSync(accounts, "")
    assert.include(yield* start, "Another damaged file")
    writeFileSync(accounts, "x")
    assert.strictEqual(yield* start, "")
  })
)

it.effect("of one machine keep a directory that only its owner can read", () =>
  Effect.gen(function* () {
    const path = yield* folder
    for (const dataDir of [path, join(path, "new")]) {
      if (dataDir === path) chmodSync(path, 0o755)
      // the start ends at the missing address of the backend
      const all = yield* read({ DATA_DIR: dataDir, BACKEND: "grpc" })
      assert.include(String(yield* Effect.flip(Layer.build(Standalone.layer(all)))), "SEQUENCER_URL")
      assert.strictEqual(statSync(dataDir).mode & 0o777, 0o700, dataDir)
    }
  })
)

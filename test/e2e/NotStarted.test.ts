/** A start that fails names the setting, what it accepts, and what the system reported. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber } from "effect"
import { once } from "node:events"
import { readdirSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { afterAll } from "vitest"
import { GATEWAY_LOCK, tryLock } from "../../src/node/FileLock.ts"
import { serve } from "../../src/Serve.ts"
import { freePort, temporaryFolder } from "../../verification/harness/Programs.ts"
import { until } from "../../verification/harness/Wait.ts"

const folder = temporaryFolder("not-started")
afterAll(() => folder.remove())

const starts: ReadonlyArray<readonly [Record<string, string>, ...ReadonlyArray<string>]> = [
  [{ RATE_PUBLIC: "0" }, "RATE_PUBLIC", "must be 1 or more"],
  [{ JWT_SIGNING_KEY: "f00d" }, "JWT_SIGNING_KEY", "must be 64 hex digits"],
  [{ WS_PING_INTERVAL_MS: "30000" }, "WS_PING_INTERVAL_MS must be less than WS_KEEPALIVE_TIMEOUT_MS"],
  [{ BACKEND: "grpc" }, "BACKEND=grpc requires SEQUENCER_URL"],
  [{ DATABASE_URL: "postgres://127.0.0.1:1/none" }, "DATABASE_URL requires BACKEND=grpc"],
  [{ JOURNAL_URL: "postgres://127.0.0.1:1/none" }, "JOURNAL_URL is for a backend that runs alone"],
  [{ DATA_DIR: "/dev/null/data" }, "DATA_DIR: cannot use /dev/null/data", "ENOTDIR"],
  [{ DATA_DIR: "/proc/missing/data" }, "DATA_DIR: cannot use /proc/missing/data", "ENOENT"],
  [{ ADMIN_USERS_FILE: "/dev/null/users" }, "ADMIN_USERS_FILE: cannot read /dev/null/users", "ENOTDIR"]
]

describe("a gateway that does not start", () => {
  for (const [environment, ...texts] of starts)
    it.live(`names ${Object.keys(environment).join()}`, () =>
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(serve)
        for (const text of ["The gateway did not start: ", ...texts]) assert.include(message, text)
        assert.notInclude(message, "f00d")
      }).pipe(
        Effect.provideService(
          ConfigProvider.ConfigProvider,
          ConfigProvider.fromUnknown({ DATA_DIR: folder.path, PORT: "0", LOG_LEVEL: "error", ...environment })
        )
      )
    )

  it.live("names the directory that another gateway uses, and leaves nothing in it", () => {
    const shared = temporaryFolder("shared")
    const environment = {
      BACKEND: "grpc",
      SEQUENCER_URL: "127.0.0.1:1",
      REFEREE_URL: "127.0.0.1:1",
      DATA_DIR: shared.path,
      PORT: "0",
      LOG_LEVEL: "error"
    }
    return Effect.gen(function* () {
      const release = tryLock(join(shared.path, GATEWAY_LOCK))!
      const { message } = yield* Effect.flip(serve)
      assert.include(message, `another gateway is using ${shared.path}; stop it or set another DATA_DIR`)
      assert.deepStrictEqual(readdirSync(shared.path), [GATEWAY_LOCK])
      release()

      const running = yield* Effect.forkChild(serve)
      yield* Effect.promise(() => until("the databases", () => readdirSync(shared.path).includes("history.sqlite")))
      assert.isUndefined(tryLock(join(shared.path, GATEWAY_LOCK)))
      yield* Fiber.interrupt(running)
      tryLock(join(shared.path, GATEWAY_LOCK))!()
    }).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(environment)),
      Effect.ensuring(Effect.sync(() => shared.remove()))
    )
  })

  it.live("names a port in use, writes nothing to DATA_DIR, and leaves a free port free", () => {
    const empty = temporaryFolder("empty")
    const other = createServer().listen(0, "127.0.0.1")
    const refusalOf = (environment: Record<string, string>) =>
      Effect.map(Effect.flip(serve), ({ message }) => message).pipe(
        Effect.provideService(
          ConfigProvider.ConfigProvider,
          ConfigProvider.fromUnknown({ DATA_DIR: empty.path, LOG_LEVEL: "error", ...environment })
        )
      )
    return Effect.gen(function* () {
      if (!other.listening) yield* Effect.promise(() => once(other, "listening"))
      const message = yield* refusalOf({ PORT: String((other.address() as AddressInfo).port) })
      assert.match(message, /cannot listen: .*EADDRINUSE.*; choose another PORT or HOST$/u)
      assert.deepStrictEqual(readdirSync(empty.path), [])

      const port = String(yield* Effect.promise(() => freePort()))
      for (let start = 0; start < 2; start++)
        assert.include(yield* refusalOf({ PORT: port, MARKETS_FILE: "/dev/null/markets" }), "MARKETS_FILE")
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          other.close()
          empty.remove()
        })
      )
    )
  })

  it.live("writes nothing but its lock to an empty DATA_DIR, whatever a file of the settings is", () => {
    const refused = [
      { MARKETS_FILE: "/dev/null/markets" },
      { ADMIN_USERS_FILE: "/dev/null/users" },
      { BACKEND: "grpc", SEQUENCER_URL: "127.0.0.1:1", BACKEND_TLS_CA: "/dev/null/ca.pem" }
    ]
    const empty = temporaryFolder("empty")
    return Effect.forEach(refused, (environment) =>
      Effect.gen(function* () {
        yield* Effect.flip(serve)
        const written = readdirSync(empty.path).filter((name) => name !== GATEWAY_LOCK)
        assert.deepStrictEqual(written, [], JSON.stringify(environment))
      }).pipe(
        Effect.provideService(
          ConfigProvider.ConfigProvider,
          ConfigProvider.fromUnknown({ DATA_DIR: empty.path, PORT: "0", LOG_LEVEL: "error", ...environment })
        )
      )
    ).pipe(Effect.ensuring(Effect.sync(() => empty.remove())))
  })

  for (const name of ["accounts.sqlite", "history.sqlite", "nonces.sqlite"])
    it.live(`names ${name} where it is damaged, and what to do`, () => {
      const damaged = temporaryFolder("damaged")
      const path = join(damaged.path, name)
      writeFileSync(path, "damaged".repeat(1_000))
      return Effect.gen(function* () {
        const { message } = yield* Effect.flip(serve)
        const texts = [path, "file is not a database", 'docs/operations/backup.md, "Another damaged file"']
        for (const text of texts) assert.include(message, text)
      }).pipe(
        Effect.provideService(
          ConfigProvider.ConfigProvider,
          ConfigProvider.fromUnknown({ DATA_DIR: damaged.path, PORT: "0", LOG_LEVEL: "error" })
        ),
        Effect.ensuring(Effect.sync(() => damaged.remove()))
      )
    })
})

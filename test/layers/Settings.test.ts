import { assert, it } from "@effect/vitest"
import { Config, ConfigProvider, Effect } from "effect"
import { settings as backendSettings } from "../../src/backend/Settings.ts"
import { settings } from "../../src/layers/Settings.ts"

const read = (environment: Record<string, string>) =>
  settings.pipe(Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(environment)))

it.effect("have a default for every setting", () =>
  Effect.gen(function* () {
    const all = yield* read({})
    assert.strictEqual(all.port, 3010)
    assert.strictEqual(all.environment, "testnet")
    assert.strictEqual(all.adminPassword, undefined)
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

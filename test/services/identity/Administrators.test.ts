/** Who calls the admin endpoints, and what a guess costs. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { parseAdminUsers, parsePasswordHash, printPasswordHash } from "../../../src/domain/Administrator.ts"
import * as MemoryRateLimitStore from "../../../src/layers/memory/MemoryRateLimitStore.ts"
import * as NodePasswordHashes from "../../../src/layers/node/NodePasswordHashes.ts"
import { Administrators, type AdministratorsOptions } from "../../../src/services/identity/Administrators.ts"
import type { AuthError } from "../../../src/services/identity/AuthErrors.ts"
import { PasswordHashes } from "../../../src/services/identity/PasswordHashes.ts"
import { RateLimiter } from "../../../src/services/operations/RateLimiter.ts"
import * as Ids from "../../doubles/Ids.ts"

const IP = "192.0.2.1"
const hash = `scrypt$N=16384,r=8,p=1$${"A".repeat(22)}$${"B".repeat(43)}`
const admin = { username: "admin", password: Redacted.make("correct horse battery") }
const alice = { username: "alice", role: "operator" as const, password_hash: hash }

/** Administrators whose password is `right`; `checks` counts the hashes. */
const world = (options: Partial<AdministratorsOptions> = {}, verify?: PasswordHashes["Service"]["verify"]) => {
  const counts = { checks: 0, running: 0, most: 0 }
  const hashes = Layer.succeed(PasswordHashes, {
    verify: (password, of) =>
      Effect.suspend(() => {
        counts.checks++
        counts.most = Math.max(counts.most, ++counts.running)
        const check = verify?.(password, of) ?? Effect.as(Effect.yieldNow, password === "right")
        return Effect.ensuring(
          check,
          Effect.sync(() => counts.running--)
        )
      })
  })
  const layer = Layer.fresh(Administrators.layer({ admin, users: [alice], ...options })).pipe(
    Layer.provide(RateLimiter.layer({ mode: "enforce" })),
    Layer.provide(Layer.mergeAll(Ids.layer, hashes, MemoryRateLimitStore.layer()))
  )
  return { counts, layer }
}
const outcomeOf = (error: AuthError): string =>
  error._tag === "AuthRefused" ? error.reason : error._tag === "AuthLimited" ? "limited" : error._tag
const login = (username: string, password: string, ip = IP) =>
  Effect.flatMap(Administrators, (administrators) => administrators.login(username, password, ip)).pipe(
    Effect.map(({ role }) => role as string),
    Effect.catch((error) => Effect.succeed(outcomeOf(error)))
  )

describe("an administrator", () => {
  it.effect("of the settings needs the correct name and password", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* login("admin", "correct horse battery"), "admin")
      assert.strictEqual(yield* login("admin", "correct horse batterx"), "BadCredentials")
      assert.strictEqual(yield* login("Admin", "correct horse battery"), "BadCredentials")
      assert.strictEqual(yield* login("", ""), "BadCredentials")
    }).pipe(Effect.provide(world({ users: [] }).layer))
  )

  it.effect("is refused if none is configured", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* login("admin", "correct horse battery"), "BadCredentials")
    }).pipe(Effect.provide(world({ admin: undefined, users: [] }).layer))
  )

  it.effect("of the file has a role; a right password is hashed once a minute", () => {
    const { counts, layer } = world()
    return Effect.gen(function* () {
      for (let i = 0; i < 100; i++) assert.strictEqual(yield* login("alice", "right"), "operator")
      assert.strictEqual(counts.checks, 1)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* login("alice", "right"), "operator")
      assert.strictEqual(counts.checks, 2)
      assert.strictEqual(yield* login("alice", "wrong"), "BadCredentials")
      assert.strictEqual(yield* login("alice", "right"), "operator")
      assert.strictEqual(counts.checks, 3)
    }).pipe(Effect.provide(layer))
  })

  it.effect("that does not exist costs a hash too, so that the response time reveals no name", () => {
    const { counts, layer } = world()
    return Effect.gen(function* () {
      assert.strictEqual(yield* login("mallory", "right"), "BadCredentials")
      assert.strictEqual(yield* login("admin", "wrong"), "BadCredentials")
      assert.strictEqual(counts.checks, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("is locked out of an address after ten failures a minute, before a hash; success is not counted", () => {
    const { counts, layer } = world()
    return Effect.gen(function* () {
      for (let i = 0; i < 30; i++) assert.strictEqual(yield* login("alice", "right"), "operator")
      const burst = yield* Effect.all(
        Array.from({ length: 100 }, () => login("alice", "guess")),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(burst.filter((outcome) => outcome === "BadCredentials").length, 10)
      assert.strictEqual(burst.filter((outcome) => outcome === "limited").length, 90)
      assert.strictEqual(counts.checks, 11)
      assert.strictEqual(yield* login("alice", "right"), "limited")
      assert.strictEqual(yield* login("alice", "right", "192.0.2.2"), "operator")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* login("alice", "right"), "operator")
    }).pipe(Effect.provide(layer))
  })

  it.effect("is locked out of a whole IPv6 network, however many of its addresses guess at once", () => {
    const { counts, layer } = world()
    return Effect.gen(function* () {
      const burst = yield* Effect.all(
        Array.from({ length: 30 }, (_, n) => login("alice", "guess", `2001:db8::${n + 1}`)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(burst.filter((outcome) => outcome === "limited").length, 20)
      assert.strictEqual(counts.checks, 10)
    }).pipe(Effect.provide(layer))
  })

  it.effect("is checked one at a time, few wait, and the rest are refused at once", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<boolean>()
      const { counts, layer } = world({}, () => Deferred.await(gate))
      yield* Effect.gen(function* () {
        const guesses = yield* Effect.forkChild(
          Effect.all(
            Array.from({ length: 40 }, (_, n) => login("alice", "guess", `192.0.2.${n}`)),
            { concurrency: "unbounded" }
          )
        )
        yield* Effect.yieldNow
        yield* TestClock.adjust("1 second")
        assert.strictEqual(counts.checks, 1)
        assert.strictEqual(yield* login("admin", "correct horse battery"), "admin")
        // what is not checked is no failure of its address
        for (let i = 0; i < 11; i++) assert.strictEqual(yield* login("alice", "guess", "192.0.2.99"), "AuthUnavailable")
        yield* Deferred.succeed(gate, false)
        const outcomes = yield* Fiber.join(guesses)
        assert.strictEqual(yield* login("alice", "guess", "192.0.2.99"), "BadCredentials")
        assert.strictEqual(outcomes.filter((outcome) => outcome === "BadCredentials").length, 32)
        assert.strictEqual(outcomes.filter((outcome) => outcome === "AuthUnavailable").length, 8)
        assert.strictEqual(counts.most, 1)
      }).pipe(Effect.provide(layer))
    })
  )

  it.effect("leaves the place of its check to others, however many checks there were", () => {
    const { counts, layer } = world()
    return Effect.gen(function* () {
      for (let n = 0; n < 100; n++)
        assert.strictEqual(yield* login("alice", "guess", `192.0.2.${n}`), "BadCredentials", String(n))
      assert.strictEqual(counts.checks, 100)
    }).pipe(Effect.provide(layer))
  })

  it.effect("is not known by the password of another one, nor by the same letters in name and password", () => {
    const users = ["alice", "alic", "bob"].map((username) => ({ ...alice, username }))
    let checks = 0
    const { layer } = world({ users }, () => Effect.sync(() => checks++ === 0))
    return Effect.gen(function* () {
      assert.strictEqual(yield* login("alice", "right"), "operator")
      assert.strictEqual(yield* login("bob", "right"), "BadCredentials")
      assert.strictEqual(yield* login("alic", "eright"), "BadCredentials")
      assert.strictEqual(yield* login("alice", "right"), "operator")
      assert.strictEqual(checks, 3)
    }).pipe(Effect.provide(layer))
  })

  it("is not shown by the options that hold the password", () => {
    assert.notInclude(JSON.stringify({ admin }), "horse")
  })
})

describe("a password hash", () => {
  it.live("of Node's scrypt is verified without holding up the event loop, and printed as it is read", () =>
    Effect.gen(function* () {
      const made = yield* NodePasswordHashes.make("päss-word-1234")
      const text = printPasswordHash(made)
      assert.match(text, /^scrypt\$N=32768,r=8,p=3\$/u)
      assert.deepStrictEqual(parsePasswordHash(text), {
        ...made,
        salt: Uint8Array.from(made.salt),
        hash: Uint8Array.from(made.hash)
      })
      const { verify } = yield* PasswordHashes
      let turns = 0
      const timer = setInterval(() => turns++, 1)
      assert.isTrue(yield* verify("päss-word-1234", parsePasswordHash(text)!))
      // the same letters, as another keyboard sends them
      assert.isTrue(yield* verify("pa\u0308ss-word-1234", made))
      assert.isFalse(yield* verify("pass-word-1234", made))
      clearInterval(timer)
      assert.isAbove(turns, 5)
    }).pipe(Effect.provide(NodePasswordHashes.layer))
  )

  it("outside the bounds of its parameters is refused", () => {
    for (const text of [
      hash.replace("N=16384", "N=16385"),
      hash.replace("N=16384", "N=8192"),
      hash.replace("N=16384", "N=262144"),
      hash.replace("r=8", "r=9"),
      hash.replace("r=8", "r=0"),
      hash.replace("p=1", "p=5"),
      hash.replace("p=1", "p=0"),
      hash.replace("scrypt", "argon2"),
      `${hash}B`,
      ""
    ])
      assert.isUndefined(parsePasswordHash(text), text)
    const largest = hash.replace("N=16384,r=8,p=1", "N=131072,r=8,p=4")
    for (const text of [hash, hash.replace("r=8", "r=1"), largest]) assert.isDefined(parsePasswordHash(text), text)
  })
})

describe("a file of administrators", () => {
  it("names every line that is wrong, and no password hash", () => {
    const line = JSON.stringify(alice)
    const { users, wrong } = parseAdminUsers(
      [
        "# administrators",
        "",
        line,
        line,
        '{"username":"bob","role":"root","password_hash":"x"}',
        "not json",
        JSON.stringify({ ...alice, username: "carol", password: "plain text" })
      ].join("\n")
    )
    assert.deepStrictEqual(users, [alice])
    assert.lengthOf(wrong, 4)
    assert.match(wrong[0]!, /^line 4: duplicate username alice$/u)
    assert.match(wrong[1]!, /^line 5: role: expected reader, operator, admin, got "root"$/u)
    assert.match(wrong[2]!, /^line 6: /u)
    assert.match(wrong[3]!, /^line 7: .*password/u)
    assert.notInclude(wrong.join(), "plain text")
    for (const value of ["null", "[]", "7", '"alice"'])
      assert.deepStrictEqual(parseAdminUsers(value).wrong, ["line 1: expected one JSON object"], value)
  })
})

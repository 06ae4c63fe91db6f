import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { once } from "node:events"
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"
import { Worker } from "node:worker_threads"
import * as NodeSignatures from "../../../src/layers/node/NodeSignatures.ts"
import * as NodeSigningKeys from "../../../src/layers/node/NodeSigningKeys.ts"
import { Signatures } from "../../../src/services/identity/Signatures.ts"
import { SigningKeys } from "../../../src/services/operations/SigningKeys.ts"
import type { Data } from "../../doubles/make-signing-keys.ts"

const inDirectory = <A, E>(use: (dataDir: string) => Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "gateway-keys-"))),
    use,
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
  )
const keys = (dataDir: string, seed?: string, verifyKeys: ReadonlyArray<string> = []) =>
  SigningKeys.pipe(
    Effect.provide(
      NodeSigningKeys.layer({ dataDir, seed: seed === undefined ? undefined : Redacted.make(seed), verifyKeys })
    )
  )
const seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
const publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"

describe("NodeSigningKeys", () => {
  it.effect("generates a key once, in one private file, and reads it again", () =>
    inDirectory((root) =>
      Effect.gen(function* () {
        const directory = join(root, "data")
        const first = yield* keys(directory)
        assert.strictEqual(statSync(directory).mode & 0o777, 0o700)
        assert.strictEqual(statSync(join(directory, "jwt-key.json")).mode & 0o777, 0o600)
        // no draft with the seed is left
        assert.deepStrictEqual(readdirSync(directory), ["jwt-key.json"])
        const second = yield* keys(directory)
        assert.deepStrictEqual(second.ring, first.ring)
        assert.deepStrictEqual(Redacted.value(second.cursorKey), Redacted.value(first.cursorKey))
        assert.strictEqual(Redacted.value(first.cursorKey).length, 32)
      })
    )
  )

  it.effect("is made once by gateways that start together", () =>
    inDirectory((dataDir) =>
      Effect.promise(async () => {
        const [rounds, threads] = [20, 2]
        const arrived = new Int32Array(new SharedArrayBuffer(4 * rounds))
        const workerData: Data = { dataDir, rounds, threads, arrived }
        const file = new URL("../../doubles/make-signing-keys.ts", import.meta.url)
        const workers = Array.from({ length: threads }, () => new Worker(file, { workerData }))
        const made = await Promise.all(
          workers.map(async (worker) => ((await once(worker, "message")) as [ReadonlyArray<string>])[0])
        ).finally(() => Promise.all(workers.map((worker) => worker.terminate())))
        assert.deepStrictEqual(made[0], made[1])
        assert.lengthOf(new Set(made[0]), rounds)
      })
    )
  )

  it.effect("restricts a file that others could read, such as one from a backup, to its owner", () =>
    inDirectory((directory) =>
      Effect.gen(function* () {
        const path = join(directory, "jwt-key.json")
        writeFileSync(path, JSON.stringify({ seed }))
        chmodSync(path, 0o644)
        const { current } = yield* keys(directory)
        assert.strictEqual(Buffer.from(current.publicKey).toString("hex"), publicKey)
        assert.strictEqual(statSync(path).mode & 0o777, 0o600)
      })
    )
  )

  it.effect("uses the key of the settings; its kid is the RFC 7638 thumbprint of RFC 8037, A.3", () =>
    inDirectory((directory) =>
      Effect.gen(function* () {
        const { current, ring, sign } = yield* keys(directory, seed)
        assert.strictEqual(Buffer.from(current.publicKey).toString("hex"), publicKey)
        assert.strictEqual(current.kid, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
        assert.deepStrictEqual(ring, [current])
        const { verifySync } = yield* Effect.provide(Signatures, NodeSignatures.layer())
        const message = new Uint8Array([1, 2, 3])
        assert.isTrue(verifySync(current.publicKey, message, sign(message)))
      })
    )
  )

  it.effect("verifies with the file's key and older keys when the settings name a new key", () =>
    inDirectory((directory) =>
      Effect.gen(function* () {
        const old = yield* keys(directory)
        const { current, ring } = yield* keys(directory, seed.toUpperCase(), [
          "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
        ])
        assert.strictEqual(Buffer.from(current.publicKey).toString("hex"), publicKey)
        assert.strictEqual(ring.length, 3)
        assert.isTrue(ring.some(({ kid }) => kid === old.current.kid))
      })
    )
  )

  for (const [name, options] of Object.entries({
    "a short seed": { seed: "00" },
    "a seed that is no hex": { seed: "g".repeat(64) },
    "an older key of small order": { seed, older: [`01${"00".repeat(31)}`] },
    "an older key that is none": { seed, older: ["key"] }
  } as Record<string, { readonly seed: string; readonly older?: ReadonlyArray<string> }>)) {
    it.effect(`refuses ${name}`, () =>
      inDirectory((directory) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(keys(directory, options.seed, options.older))
          assert.strictEqual(error._tag, "SigningKeyInvalid")
        })
      )
    )
  }

  it.effect("neither replaces nor quotes an unreadable file", () =>
    inDirectory((directory) =>
      Effect.gen(function* () {
        const path = join(directory, "jwt-key.json")
        const text = `{"seed":"${seed.slice(0, 60)}"`
        writeFileSync(path, text)
        const error = yield* Effect.flip(keys(directory))
        assert.notInclude(inspect(error, { depth: 9 }), seed.slice(0, 8))
        assert.strictEqual(readFileSync(path, "utf8"), text)
      })
    )
  )

  it.effect("prints no secret", () =>
    inDirectory((directory) =>
      Effect.gen(function* () {
        const all = yield* keys(directory, seed)
        const shown = inspect(all, { depth: 9, showHidden: true }) + JSON.stringify(all)
        assert.notInclude(shown, seed.slice(0, 8))
        assert.notInclude(shown, Buffer.from(Redacted.value(all.cursorKey)).toString("hex"))
      })
    )
  )
})

/** scrypt of Node, on a thread of libuv's pool. */
import { randomBytes, scrypt, type ScryptOptions, timingSafeEqual } from "node:crypto"
import { Effect, Layer } from "effect"
import type { PasswordHash } from "../../domain/Administrator.ts"
import { PasswordHashes } from "../../services/identity/PasswordHashes.ts"

const HASH_BYTES = 32
const SALT_BYTES = 16
/** About 0.1 s and 32 MiB on one core. Source: OWASP Password Storage Cheat Sheet, scrypt. */
const PARAMETERS = { N: 32_768, r: 8, p: 3 }

/** A failure of scrypt (out of memory) is a defect, not a verdict on the password. */
const derive = (password: string, { N, p, r, salt }: Omit<PasswordHash, "hash">): Effect.Effect<Uint8Array> =>
  Effect.callback((resume) => {
    const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r }
    scrypt(password.normalize("NFC"), salt, HASH_BYTES, options, (error, hash) =>
      resume(error === null ? Effect.succeed(hash) : Effect.die(error))
    )
  })

/** A new hash of a password, for a line of ADMIN_USERS_FILE. */
export const make = (password: string): Effect.Effect<PasswordHash> =>
  Effect.suspend(() => {
    const given = { ...PARAMETERS, salt: randomBytes(SALT_BYTES) }
    return Effect.map(derive(password, given), (hash) => ({ ...given, hash }))
  })

export const layer: Layer.Layer<PasswordHashes> = Layer.succeed(PasswordHashes, {
  verify: (password, hash) => Effect.map(derive(password, hash), (derived) => timingSafeEqual(derived, hash.hash))
})

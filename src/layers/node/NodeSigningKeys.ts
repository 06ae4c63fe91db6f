/**
 * The gateway's signing keys: from the settings, or generated once and kept in a file that only its owner can read.
 *
 * The file `jwt-key.json` in the data directory holds the seed. When the settings name another key, the file's key still
 * verifies, so that issued tokens outlive the change.
 */
import { Effect, Layer, Redacted, Schema } from "effect"
import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, randomBytes, sign } from "node:crypto"
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import { isPublicKey } from "../../domain/Ed25519.ts"
import { bytesOfPublicKey } from "../../domain/Identity.ts"
import { SigningKeys, type VerifyKey } from "../../services/operations/SigningKeys.ts"
import * as PrivateFiles from "../../node/PrivateFiles.ts"

/** A key of the settings, or the key file, cannot be used; the gateway must not start. */
export class SigningKeyInvalid extends Schema.TaggedError<SigningKeyInvalid>()("SigningKeyInvalid", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

export interface Options {
  /** JWT_SIGNING_KEY: a seed of 32 bytes, hex. Undefined: the seed of the file. */
  readonly seed: Redacted.Redacted<string> | undefined
  /** JWT_VERIFY_KEYS: older public keys, in any form of docs/contract/authentication.md#signatures. */
  readonly verifyKeys: ReadonlyArray<string>
  /** Folder of the file; created if missing. */
  readonly dataDir: string
}

/** DER of a PKCS #8 private key for Ed25519, up to the 32 bytes of the seed. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex")
const FILE = "jwt-key.json"
const SEED = /^[0-9a-f]{64}$/iu

const privateKeyOf = (seed: string): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8, Buffer.from(seed, "hex")]), format: "der", type: "pkcs8" })

const publicKeyOf = (key: KeyObject): Uint8Array =>
  Uint8Array.from(Buffer.from(createPublicKey(key).export({ format: "jwk" }).x!, "base64url"))

const verifyKeyOf = (publicKey: Uint8Array): VerifyKey => {
  const x = Buffer.from(publicKey).toString("base64url")
  // RFC 7638: the required members, in lexical order
  const kid = createHash("sha256").update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest("base64url")
  return { kid, publicKey }
}

const hasCode = (error: unknown, code: string) => (error as NodeJS.ErrnoException).code === code

const readSeed = (path: string): string | undefined => {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined
    throw error
  }
  // not JSON.parse: its error message quotes the input
  const seed = /^\{"seed":"([0-9a-f]{64})"\}\s*$/u.exec(text)?.[1]
  if (seed === undefined) throw new Error(`${path} contains no seed`)
  return seed
}

/** Generates and stores a seed. The first writer wins, so that two processes that start together use one key. */
const makeSeed = (directory: string, path: string): string => {
  PrivateFiles.makeDirectory(directory)
  const draft = `${path}.${randomBytes(8).toString("hex")}`
  const file = openSync(draft, "wx", 0o600)
  try {
    writeSync(file, JSON.stringify({ seed: randomBytes(32).toString("hex") }))
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  try {
    linkSync(draft, path)
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error
  } finally {
    rmSync(draft)
  }
  return readSeed(path)!
}

const make = (options: Options) => {
  const path = join(options.dataDir, FILE)
  const kept = readSeed(path)
  if (kept !== undefined) PrivateFiles.file(path)
  const given = options.seed === undefined ? undefined : Redacted.value(options.seed)
  if (given !== undefined && !SEED.test(given)) throw new Error("JWT_SIGNING_KEY must be 64 hex digits")
  const seed = given ?? kept ?? makeSeed(options.dataDir, path)
  const key = privateKeyOf(seed)
  const current = verifyKeyOf(publicKeyOf(key))

  const ring = new Map([[current.kid, current]])
  const add = (publicKey: Uint8Array) => {
    const older = verifyKeyOf(publicKey)
    ring.set(older.kid, older)
  }
  if (kept !== undefined) add(publicKeyOf(privateKeyOf(kept)))
  for (const text of options.verifyKeys) {
    const bytes = bytesOfPublicKey(text)
    if (bytes === undefined || !isPublicKey(bytes)) throw new Error("JWT_VERIFY_KEYS must be Ed25519 public keys")
    add(bytes)
  }
  return SigningKeys.of({
    current,
    ring: [...ring.values()],
    sign: (message) => sign(null, message, key),
    cursorKey: Redacted.make(
      new Uint8Array(hkdfSync("sha256", Buffer.from(seed, "hex"), "", "trading-gateway cursor", 32)),
      { label: "cursor key" }
    )
  })
}

export const layer = (options: Options): Layer.Layer<SigningKeys, SigningKeyInvalid> =>
  Layer.effect(
    SigningKeys,
    Effect.try({
      try: () => make(options),
      catch: (cause) =>
        new SigningKeyInvalid({ message: cause instanceof Error ? cause.message : "no signing key", cause })
    })
  )

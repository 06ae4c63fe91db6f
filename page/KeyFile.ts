/**
 * Key files: the seed as the command line reads it (`{"seed": …}`), or encrypted with a passphrase (PBKDF2 and AES-GCM of
 * WebCrypto).
 */
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import { bytesOfSeed } from "../src/client/Seed.ts"

/** Iterations of PBKDF2-HMAC-SHA-256, as OWASP recommends. */
const ITERATIONS = 600_000
/** A file with more iterations is not opened: it would keep the browser busy. */
const ITERATIONS_MAX = 10_000_000
export const PASSPHRASE_MIN = 8

interface Encrypted {
  readonly kdf: "PBKDF2-SHA-256"
  readonly iterations: number
  readonly salt: string
  readonly cipher: "AES-256-GCM"
  readonly iv: string
  readonly data: string
}

const notAKey = (): Error => new Error("The file is not a key file")

const HEX = /^(?:[0-9a-f]{2})*$/iu
const bytes = (hex: string): Uint8Array<ArrayBuffer> => {
  if (!HEX.test(hex)) throw notAKey()
  return hexToBytes(hex) as Uint8Array<ArrayBuffer>
}

const secretOf = async (passphrase: string, salt: Uint8Array<ArrayBuffer>, iterations: number): Promise<CryptoKey> => {
  const material = await crypto.subtle.importKey("raw", new TextEncoder().encode(passphrase), "PBKDF2", false, [
    "deriveKey"
  ])
  const derivation = { name: "PBKDF2", hash: "SHA-256", salt, iterations }
  return crypto.subtle.deriveKey(derivation, material, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"])
}

/** A key file with the seed in plain text: for the command line. */
export const plain = (seed: string): string => `${JSON.stringify({ seed })}\n`

export const encrypted = async (seed: string, passphrase: string): Promise<string> => {
  const salt = crypto.getRandomValues(new Uint8Array(16))
  const iv = crypto.getRandomValues(new Uint8Array(12))
  const key = await secretOf(passphrase, salt, ITERATIONS)
  const data = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, bytes(seed))
  const file: Encrypted = {
    kdf: "PBKDF2-SHA-256",
    iterations: ITERATIONS,
    salt: bytesToHex(salt),
    cipher: "AES-256-GCM",
    iv: bytesToHex(iv),
    data: bytesToHex(new Uint8Array(data))
  }
  return `${JSON.stringify(file)}\n`
}

const hexOf = (seed: unknown): string => {
  try {
    return bytesToHex(bytesOfSeed(seed))
  } catch {
    throw notAKey()
  }
}

/** The seed of a key file of either form, 64 hex digits. Fails with a text for the user. */
export const seedOf = async (text: string, passphrase: string): Promise<string> => {
  let file: Partial<Encrypted & { readonly seed: unknown; readonly hint: unknown }>
  try {
    file = JSON.parse(text) as typeof file
  } catch {
    throw notAKey()
  }
  if (file === null || typeof file !== "object") throw notAKey()
  if (file.hint !== undefined) throw new Error("The key of a party cannot be used in this page")
  if (file.seed !== undefined) return hexOf(file.seed)
  const { data, iterations, iv, kdf, salt } = file
  if (kdf !== "PBKDF2-SHA-256" || typeof data !== "string" || typeof iv !== "string" || typeof salt !== "string")
    throw notAKey()
  if (!Number.isInteger(iterations) || iterations! < 1 || iterations! > ITERATIONS_MAX) throw notAKey()
  if (passphrase === "") throw new Error("The file is encrypted: enter its passphrase")
  const key = await secretOf(passphrase, bytes(salt), iterations!)
  const seed = await crypto.subtle.decrypt({ name: "AES-GCM", iv: bytes(iv) }, key, bytes(data)).catch(() => {
    throw new Error("The passphrase is wrong, or the file is damaged")
  })
  return hexOf(new Uint8Array(seed))
}

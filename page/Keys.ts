/**
 * Ed25519 keys of this browser, as WebCrypto keys in IndexedDB: the wallet, and the API key that the page trades with.
 *
 * The API key can never be read out, not even by this page. The wallet can, until it is sealed, so that its owner can save it.
 * Where the browser has no such keys (old browsers, and pages over plain http from another machine), the wallet is a seed in
 * localStorage; the page warns about that.
 */
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import * as Wallet from "../src/client/Wallet.ts"

export interface Key {
  /** `0x` and 64 hex digits. */
  readonly public_key: string
  /** Whether the browser protects the key: it is not plain text in its storage. */
  readonly guarded: boolean
  readonly sign: (text: string) => Promise<string>
  /** The seed, 64 hex digits; absent for a sealed key. */
  readonly seed?: () => Promise<string>
}

const DATABASE = "trading-gateway"
const STORE = "keys"
const WALLET = "wallet"
const SEED = "trading-gateway/seed"
const ALGORITHM = "Ed25519"
/** DER header of an Ed25519 private key (RFC 8410); the seed follows. */
const PKCS8 = hexToBytes("302e020100300506032b657004220420")

const asPromise = <A>(request: IDBRequest<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result))
    request.addEventListener("error", () => reject(request.error ?? new Error("IndexedDB request failed")))
  })

const inStore = async <A>(mode: IDBTransactionMode, use: (store: IDBObjectStore) => IDBRequest<A>): Promise<A> => {
  const opening = indexedDB.open(DATABASE, 1)
  opening.addEventListener("upgradeneeded", () => opening.result.createObjectStore(STORE))
  const database = await asPromise(opening)
  try {
    return await asPromise(use(database.transaction(STORE, mode).objectStore(STORE)))
  } finally {
    database.close()
  }
}

const seedOf = async (privateKey: CryptoKey): Promise<string> =>
  bytesToHex(new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey)).slice(PKCS8.length))

const keyOf = async ({ privateKey, publicKey }: CryptoKeyPair): Promise<Key> => ({
  public_key: `0x${bytesToHex(new Uint8Array(await crypto.subtle.exportKey("raw", publicKey)))}`,
  guarded: true,
  sign: async (text) => {
    const signature = await crypto.subtle.sign(ALGORITHM, privateKey, new TextEncoder().encode(text))
    return `0x${bytesToHex(new Uint8Array(signature))}`
  },
  ...(privateKey.extractable ? { seed: () => seedOf(privateKey) } : {})
})

const plainKey = (seed: string): Key => {
  const { public_key, sign } = Wallet.fromSeed(seed)
  return { public_key, guarded: false, sign: (text) => Promise.resolve(sign(text)), seed: () => Promise.resolve(seed) }
}

const pairOf = async (seed: string, extractable: boolean): Promise<CryptoKeyPair> => {
  const publicKey = hexToBytes(Wallet.fromSeed(seed).public_key.slice(2))
  const secret = concatBytes(PKCS8, hexToBytes(seed)) as Uint8Array<ArrayBuffer>
  return {
    privateKey: await crypto.subtle.importKey("pkcs8", secret, ALGORITHM, extractable, ["sign"]),
    publicKey: await crypto.subtle.importKey("raw", publicKey as Uint8Array<ArrayBuffer>, ALGORITHM, true, ["verify"])
  }
}

const store = (slot: string, value: unknown): Promise<unknown> => inStore("readwrite", (keys) => keys.put(value, slot))

/** The stored wallet; `undefined`: none yet. */
export const held = async (): Promise<Key | undefined> => {
  const seed = localStorage.getItem(SEED)
  if (seed !== null) return plainKey(seed)
  const pair = await inStore<unknown>("readonly", (keys) => keys.get(WALLET)).catch(() => undefined)
  return pair === undefined ? undefined : keyOf(pair as CryptoKeyPair)
}

/** Keeps a seed as the wallet of this browser; it replaces the wallet before it. */
export const adopt = async (seed: string): Promise<Key> => {
  try {
    const pair = await pairOf(seed, true)
    await store(WALLET, pair)
    localStorage.removeItem(SEED)
    return await keyOf(pair)
  } catch {
    localStorage.setItem(SEED, seed)
    return plainKey(seed)
  }
}

/** Creates and stores a wallet. */
export const make = (): Promise<Key> => adopt(Wallet.generate().seed)

/** Replaces the wallet by one with the same key that cannot be read out. */
export const seal = async (seed: string): Promise<Key> => {
  const pair = await pairOf(seed, false)
  await store(WALLET, pair)
  localStorage.removeItem(SEED)
  return keyOf(pair)
}

/** A key that was registered at the gateway, and its id there. */
export interface Registered {
  readonly id: string
  readonly key: Key
}
interface StoredApiKey {
  readonly id: string
  readonly pair: CryptoKeyPair
}
const apiKeySlot = (wallet: string): string => `api-key/${wallet}`

/** The API key of a wallet in this browser. */
export const apiKey = async (wallet: string): Promise<Registered | undefined> => {
  const found = await inStore<unknown>("readonly", (keys) => keys.get(apiKeySlot(wallet))).catch(() => undefined)
  if (found === undefined) return undefined
  const { id, pair } = found as StoredApiKey
  return { id, key: await keyOf(pair) }
}

/** Creates an API key that cannot be read out; `register` returns its id. `undefined`: the browser cannot keep one. */
export const makeApiKey = async (
  wallet: string,
  register: (public_key: string) => Promise<string>
): Promise<Registered | undefined> => {
  const pair = await crypto.subtle
    ?.generateKey(ALGORITHM, false, ["sign", "verify"])
    .then((made) => made as CryptoKeyPair)
    .catch(() => undefined)
  if (pair === undefined) return undefined
  const key = await keyOf(pair)
  const id = await register(key.public_key)
  await store(apiKeySlot(wallet), { id, pair } satisfies StoredApiKey)
  return { id, key }
}

export const forgetApiKey = (wallet: string): Promise<unknown> =>
  inStore("readwrite", (keys) => keys.delete(apiKeySlot(wallet)))

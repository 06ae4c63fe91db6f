/**
 * The wallet's key: an Ed25519 key that is created in this browser and stays in it.
 *
 * It is a non-extractable WebCrypto key in IndexedDB: it can sign, but not even this page can read it. Where the browser has
 * no such keys (old browsers, and pages over plain http from another machine), it is a seed in localStorage; the page warns
 * about that.
 */
import { bytesToHex } from "@noble/hashes/utils.js"
import * as Wallet from "../src/client/Wallet.ts"

export interface Key {
  /** `0x` and 64 hex digits. */
  readonly public_key: string
  /** Whether the key is non-extractable. */
  readonly guarded: boolean
  readonly sign: (text: string) => Promise<string>
}

const DATABASE = "trading-gateway"
const STORE = "keys"
const SLOT = "wallet"
const SEED = "trading-gateway/seed"
const ALGORITHM = "Ed25519"

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

const guardedKey = async ({ privateKey, publicKey }: CryptoKeyPair): Promise<Key> => ({
  public_key: `0x${bytesToHex(new Uint8Array(await crypto.subtle.exportKey("raw", publicKey)))}`,
  guarded: true,
  sign: async (text) => {
    const signature = await crypto.subtle.sign(ALGORITHM, privateKey, new TextEncoder().encode(text))
    return `0x${bytesToHex(new Uint8Array(signature))}`
  }
})

const seedKey = (seed: string): Key => {
  const { public_key, sign } = Wallet.fromSeed(seed)
  return { public_key, guarded: false, sign: (text) => Promise.resolve(sign(text)) }
}

/** Creates a non-extractable key pair; `undefined` if the browser cannot. */
const guardedPair = async (): Promise<CryptoKeyPair | undefined> => {
  try {
    const pair = (await crypto.subtle.generateKey(ALGORITHM, false, ["sign", "verify"])) as CryptoKeyPair
    await inStore("readwrite", (store) => store.put(pair, SLOT))
    return pair
  } catch {
    return undefined
  }
}

/** The stored key; `undefined`: none yet. */
export const held = async (): Promise<Key | undefined> => {
  const seed = localStorage.getItem(SEED)
  if (seed !== null) return seedKey(seed)
  const pair = await inStore<unknown>("readonly", (store) => store.get(SLOT)).catch(() => undefined)
  return pair === undefined ? undefined : guardedKey(pair as CryptoKeyPair)
}

/** Creates and stores a key. */
export const make = async (): Promise<Key> => {
  const pair = await guardedPair()
  if (pair !== undefined) return guardedKey(pair)
  const { seed } = Wallet.generate()
  localStorage.setItem(SEED, seed)
  return seedKey(seed)
}

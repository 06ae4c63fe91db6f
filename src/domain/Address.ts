/**
 * Derived addresses and ids. Every gateway computes the same values, also after a restore.
 *
 * All are SHA3-256 over the parts named in docs/contract/conventions.md#derivations. A trailing scheme byte separates
 * the kinds. The hashes come from `@noble/hashes`, which also runs in a browser and is synchronous.
 */
import { sha1 } from "@noble/hashes/legacy.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { sha3_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js"
import { Schema } from "effect"

const CANONICAL = /^0x[0-9a-f]{64}$/u

/** Canonical address: `0x` and 64 lower-case hex digits. */
export const Address = Schema.String.check(
  Schema.isPattern(CANONICAL, { message: "expected a canonical address: 0x and 64 lower-case hex digits" })
).annotate({
  identifier: "Address",
  description: "Canonical address: 0x and 64 lower-case hex digits",
  examples: ["0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd"]
})
export type Address = string

const SHORT = /^(?:0x)?[0-9a-fA-F]{1,64}$/u

/**
 * Reads a canonical or short address; `undefined` for anything else.
 * Source: docs/contract/conventions.md#addresses (AIP-40 relaxed parsing).
 */
export const parseAddress = (text: string): Address | undefined => {
  if (CANONICAL.test(text)) return text
  if (!SHORT.test(text)) return undefined
  const digits = text.startsWith("0x") ? text.slice(2) : text
  return digits === "" ? undefined : `0x${digits.toLowerCase().padStart(64, "0")}`
}

const FULL = /^(?:0x)?[0-9a-fA-F]{64}$/u
/** The accepted form of {@link parseFullAddress}, for error texts. */
export const FULL_ADDRESS = "64 hex digits, with or without 0x"

/**
 * Reads an address written in full; `undefined` for anything else, short forms included. Used for addresses that the
 * caller need not own, where a typing error in a short form would name another address.
 * Source: docs/contract/conventions.md#addresses.
 */
export const parseFullAddress = (text: string): Address | undefined =>
  FULL.test(text) ? parseAddress(text) : undefined

const address = (...parts: ReadonlyArray<Uint8Array>): Address => `0x${bytesToHex(sha3_256(concatBytes(...parts)))}`
const bytesOf = (value: Address): Uint8Array => hexToBytes(value.slice(2))
const scheme = (byte: number): Uint8Array => Uint8Array.of(byte)
const u32be = (value: number): Uint8Array => {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}

const OBJECT = 0xfe
const PARTY = 0xf0
const SINGLE_KEY = 0x00
const ONE = `0x${"1".padStart(64, "0")}`

/** Root address of a wallet on the address rail. */
export const rootOfKey = (publicKey: Uint8Array): Address => address(publicKey, scheme(SINGLE_KEY))

/** Root address of a party. It covers the whole id, because two hints with one key are two parties. */
export const rootOfParty = (partyId: string): Address =>
  address(utf8ToBytes(`service-party-root|${partyId}`), scheme(PARTY))

/** Fingerprint of a party's key: multihash `1220` and SHA-256 over the decimal purpose 12 and the key. */
export const fingerprintOfKey = (publicKey: Uint8Array): string =>
  `1220${bytesToHex(sha256(concatBytes(u32be(12), publicKey)))}`

/** Address of the sub-account (trading vault) with this index. */
export const subAccountAddress = (root: Address, index: number): Address =>
  address(bytesOf(root), utf8ToBytes("trading_vault"), u32be(index), scheme(OBJECT))

/** Address of a market. */
export const marketAddress = (symbol: string): Address =>
  address(bytesOf(ONE), utf8ToBytes(`market:${symbol}`), scheme(OBJECT))

/** Address of an asset. */
export const assetAddress = (asset: string): Address =>
  address(bytesOf(ONE), utf8ToBytes(`asset:${asset}`), scheme(OBJECT))

/** Root address of a participant that the service itself runs, such as the simulated market maker. */
export const rootOfService = (name: string): Address => address(utf8ToBytes(name), scheme(OBJECT))

/**
 * Root address of the simulated market maker. No key maps to it, so no one can log in as its user.
 * Source: docs/contract/exchange.md#simulated-maker.
 */
export const SIM_MAKER_ROOT = rootOfService("service-sim-maker")
/** Root address of the simulated takers, likewise. Source: docs/contract/exchange.md#simulated-takers. */
export const SIM_TAKERS_ROOT = rootOfService("service-sim-takers")

const uuidText = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`

/** UUID version 5 (RFC 9562) of a name in a namespace. */
export const uuidV5 = (namespace: string, name: string): string => {
  const bytes = sha1(concatBytes(hexToBytes(namespace.replaceAll("-", "")), utf8ToBytes(name))).slice(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x50
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return uuidText(bytesToHex(bytes))
}

/** The namespace of user ids (that of ISO OIDs), from docs/contract/conventions.md#identifiers. */
export const NAMESPACE = "6ba7b812-9dad-11d1-80b4-00c04fd430c8"

/** User id of a wallet. It depends on the wallet alone, so it survives any restore. */
export const userIdOf = (root: Address): string => uuidV5(NAMESPACE, `user:${root}`)

/**
 * Stable id of an aggregated trade: the first 16 bytes of SHA-256 over market address, price, side, seq and
 * timestamp.
 * Source: docs/contract/websocket.md#aggregated-trades.
 */
export const aggregatedTradeId = (trade: {
  readonly market_addr: Address
  readonly price: string
  readonly side: string
  readonly seq: number
  readonly timestamp: number
}): string =>
  bytesToHex(
    sha256(utf8ToBytes(`${trade.market_addr}|${trade.price}|${trade.side}|${trade.seq}|${trade.timestamp}`)).subarray(
      0,
      16
    )
  )

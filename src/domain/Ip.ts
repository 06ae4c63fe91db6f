/**
 * IP addresses and CIDR blocks as integers, so that a match is a shift and a comparison.
 *
 * An IPv4 address in IPv6 form (`::ffff:192.0.2.1`) becomes IPv4: dual-stack sockets report such addresses.
 */

export interface Ip {
  readonly bits: 32 | 128
  readonly value: bigint
}

const parseV4 = (text: string): bigint | undefined => {
  const parts = text.split(".")
  if (parts.length !== 4) return undefined
  let value = 0n
  for (const part of parts) {
    if (!/^(?:0|[1-9]\d{0,2})$/u.test(part) || Number(part) > 255) return undefined
    value = (value << 8n) | BigInt(part)
  }
  return value
}

/** Value and number of the 16-bit groups on one side of `::`. */
const parseGroups = (text: string): { readonly value: bigint; readonly count: number } | undefined => {
  if (text === "") return { value: 0n, count: 0 }
  let value = 0n
  let count = 0
  const parts = text.split(":")
  for (const [i, part] of parts.entries()) {
    if (i === parts.length - 1 && part.includes(".")) {
      const v4 = parseV4(part)
      if (v4 === undefined) return undefined
      value = (value << 32n) | v4
      count += 2
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/u.test(part)) return undefined
      value = (value << 16n) | BigInt(`0x${part}`)
      count += 1
    }
  }
  return { value, count }
}

const parseV6 = (text: string): bigint | undefined => {
  const halves = text.split("::")
  if (halves.length > 2) return undefined
  const head = parseGroups(halves[0]!)
  if (head === undefined) return undefined
  if (halves.length === 1) return head.count === 8 ? head.value : undefined
  // an IPv4 part is allowed only at the end of the address
  if (halves[0]!.includes(".")) return undefined
  const tail = parseGroups(halves[1]!)
  // "::" replaces at least one group
  if (tail === undefined || head.count + tail.count > 7) return undefined
  return (head.value << BigInt(16 * (8 - head.count))) | tail.value
}

const MAPPED = 0xffffn

/** Reads an address; a zone (`%eth0`) is not part of it. `undefined` for anything else. */
export const parseIp = (text: string): Ip | undefined => {
  if (!text.includes(":")) {
    const value = parseV4(text)
    return value === undefined ? undefined : { bits: 32, value }
  }
  const zone = text.indexOf("%")
  const value = parseV6(zone === -1 ? text : text.slice(0, zone))
  if (value === undefined) return undefined
  return value >> 32n === MAPPED ? { bits: 32, value: value & 0xffff_ffffn } : { bits: 128, value }
}

/** Prints an address; IPv6 by RFC 5952: lower case, the longest run of zero groups as `::`. */
export const printIp = (ip: Ip): string => {
  if (ip.bits === 32) return [24n, 16n, 8n, 0n].map((shift) => (ip.value >> shift) & 0xffn).join(".")
  const groups = Array.from({ length: 8 }, (_, i) => (ip.value >> BigInt(112 - 16 * i)) & 0xffffn)
  let from = 0
  let length = 0
  for (let i = 0; i < 8; i++) {
    let end = i
    while (end < 8 && groups[end] === 0n) end++
    if (end - i > length) [from, length] = [i, end - i]
  }
  const text = (some: ReadonlyArray<bigint>) => some.map((group) => group.toString(16)).join(":")
  return length < 2 ? text(groups) : `${text(groups.slice(0, from))}::${text(groups.slice(from + length))}`
}

export interface Cidr extends Ip {
  readonly prefix: number
}

/** Reads a block, or a bare address as a block of one; bits beyond the prefix are dropped. */
export const parseCidr = (text: string): Cidr | undefined => {
  const slash = text.indexOf("/")
  const ip = text.includes("%") ? undefined : parseIp(slash === -1 ? text : text.slice(0, slash))
  if (ip === undefined) return undefined
  if (slash === -1) return { ...ip, prefix: ip.bits }
  const digits = text.slice(slash + 1)
  if (!/^(?:0|[1-9]\d{0,2})$/u.test(digits)) return undefined
  // the prefix of a mapped block counts from the front of the IPv6 form
  const prefix = Number(digits) - (ip.bits === 32 && text.includes(":") ? 96 : 0)
  if (prefix < 0 || prefix > ip.bits) return undefined
  const host = BigInt(ip.bits - prefix)
  return { bits: ip.bits, value: (ip.value >> host) << host, prefix }
}

/** Prints a block in its one canonical form. */
export const printCidr = (block: Cidr): string => `${printIp(block)}/${block.prefix}`

export const contains = (block: Cidr, ip: Ip): boolean => {
  const host = BigInt(block.bits - block.prefix)
  return block.bits === ip.bits && ip.value >> host === block.value >> host
}

/**
 * The key of a limit per client: an IPv4 address, or the /64 of an IPv6 address, because one subscriber controls a
 * whole /64.
 * Source: docs/contract/limits.md.
 */
export const networkOf = (text: string): string => {
  if (!text.includes(":")) return text
  const ip = parseIp(text)
  if (ip === undefined) return text
  return ip.bits === 32 ? printIp(ip) : printCidr({ bits: 128, value: (ip.value >> 64n) << 64n, prefix: 64 })
}

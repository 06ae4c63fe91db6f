/** Address of a client behind trusted proxies. Source: docs/contract/limits.md. */

const MAPPED = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/iu
/** An address with the port that some proxies append, or in the brackets that IPv6 then needs. */
const WITH_PORT = /^(?:(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/u

const bare = (address: string): string => {
  const parts = WITH_PORT.exec(address)
  return parts === null ? address : (parts[1] ?? parts[2]!)
}

/**
 * The socket's address, or the `trustedProxies`-th entry of X-Forwarded-For from the right: entries further left were
 * written by whoever asked. Fewer entries than proxies: they were passed by, and the socket's counts. IPv4 in IPv6 form is
 * IPv4; a port is no part of an address, else every connection would be another client.
 */
export const clientIpOf = (
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number
): string => {
  const entries = trustedProxies === 0 ? [] : (forwardedFor ?? "").split(",").map((entry) => bare(entry.trim()))
  const address = entries[entries.length - trustedProxies] || (socketAddress ?? "")
  return MAPPED.exec(address)?.[1] ?? address
}

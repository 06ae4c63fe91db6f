/** Address of a client behind trusted proxies. Source: docs/contract/limits.md. */

const MAPPED = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/iu
/** An address with a port, as some proxies append it, or an IPv6 address in brackets. */
const WITH_PORT = /^(?:(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/u

const bare = (address: string): string => {
  const parts = WITH_PORT.exec(address)
  return parts === null ? address : (parts[1] ?? parts[2]!)
}

/**
 * The client's address: that of the socket, or with trusted proxies the `trustedProxies`-th entry of X-Forwarded-For
 * from the right. The client itself may have written the entries further left. If there are fewer entries than
 * proxies, the request bypassed them and the socket's address counts. An IPv4 address in IPv6 form becomes IPv4. The
 * port is removed, because it differs for each connection.
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

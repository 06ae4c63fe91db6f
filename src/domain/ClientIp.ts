/** Address of a client behind trusted proxies. Source: contract 7. */

const MAPPED = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/iu

/**
 * The socket's address, or the `trustedProxies`-th entry of X-Forwarded-For from the right: entries further left were
 * written by whoever asked. Fewer entries than proxies: they were passed by, and the socket's counts. IPv4 in IPv6 form is
 * IPv4.
 */
export const clientIpOf = (
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies: number
): string => {
  const entries = trustedProxies === 0 ? [] : (forwardedFor ?? "").split(",").map((entry) => entry.trim())
  const address = entries[entries.length - trustedProxies] || (socketAddress ?? "")
  return MAPPED.exec(address)?.[1] ?? address
}

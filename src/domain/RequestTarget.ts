/**
 * Checks that a request target is unambiguous.
 * Source: docs/contract/conventions.md#paths-and-methods; RFC 3986 2.3, RFC 9112 3.2.
 */

/**
 * A `;` or a `#`, at which the router would end the path, or a percent-encoded letter, digit, `-`, `.`, `_` or `~`: none of them
 * needs encoding.
 */
const ALIAS = /[#;]|%(?:2[de]|3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\dae])/iu

/** Whether a path is another spelling of a path that the router matches. */
export const isAlias = (path: string): boolean => ALIAS.test(path)

/** How many Host headers a request has, by Node's list of names and values. */
export const hostsOf = (rawHeaders: ReadonlyArray<string>): number => {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4 && name.toLowerCase() === "host") count++
  }
  return count
}

/** The path of a request target. */
export const pathOf = (url: string): string => {
  const at = url.indexOf("?")
  return at === -1 ? url : url.slice(0, at)
}

/**
 * The single addresses of a URL with several hosts, as libpq has them: `postgres://user@a:5432,b:5432/journal`. The first
 * that accepts writes is used.
 */
export const partsOf = (url: string): ReadonlyArray<string> => {
  const [, before, hosts, after] = /^([a-z]+:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/u.exec(url) ?? []
  if (hosts === undefined) return [url]
  return hosts.split(",").map((host) => `${before}${host}${after}`)
}

/** Options of a connection to a gateway. */
import type { Environment } from "./Environment.ts"
import type { KeySource } from "./Key.ts"
import type { Limits } from "./Limits.ts"

/** Set at most one of `key`, `wallet` and `token`; without one, only public operations and topics are available. */
export interface Options {
  /** URL of the gateway, such as `http://127.0.0.1:3010`. */
  readonly url: string
  /** An API key, which signs every request. Recommended for bots: its rate limits are higher than those of a token. */
  readonly key?: KeySource
  /** Whether the signature of an API key covers the body. Default: true if WebCrypto is available. */
  readonly bodyHash?: boolean
  /** A wallet; it logs in and renews its token automatically. */
  readonly wallet?: KeySource
  /** Id of the party, `<hint>::<fingerprint>`, of the key `wallet`; absent: an address wallet. */
  readonly party?: string
  /** A token from another login. */
  readonly token?: string
  /** Ends all calls, feeds and books. */
  readonly signal?: AbortSignal
  /** Time limits and attempts of a call; see the constants of the same names. */
  readonly limits?: Partial<Limits>
  /** Overrides parts of the environment. */
  readonly environment?: Partial<Environment>
}

const NAMES = {
  url: true,
  key: true,
  bodyHash: true,
  wallet: true,
  party: true,
  token: true,
  signal: true,
  limits: true,
  environment: true
} satisfies Record<keyof Options, true>
const CREDENTIALS = ["key", "wallet", "token"] as const
const PROTOCOLS: ReadonlySet<string> = new Set(["http:", "https:"])

const isUrl = (text: string): boolean => {
  try {
    return PROTOCOLS.has(new URL(text).protocol)
  } catch {
    return false
  }
}

/** The URL of the gateway without a slash at its end. Throws a TypeError that names the option which is wrong. */
export const checkedUrl = (options: Options): string => {
  for (const name of Object.keys(options)) {
    if (!(name in NAMES))
      throw new TypeError(`unknown option ${name}; expected one of ${Object.keys(NAMES).join(", ")}`)
  }
  const given = CREDENTIALS.filter((name) => options[name] !== undefined)
  if (given.length > 1)
    throw new TypeError(`expected at most one of ${CREDENTIALS.join(", ")}, got ${given.join(", ")}`)
  const { url } = options
  if (typeof url !== "string" || !isUrl(url))
    throw new TypeError(`url: expected an address such as http://127.0.0.1:3010, got ${JSON.stringify(url)}`)
  return url.replace(/\/+$/u, "")
}

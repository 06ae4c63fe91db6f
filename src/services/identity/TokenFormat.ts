/**
 * The text of bearer tokens: JWTs (RFC 7519) signed with EdDSA, with exactly the header and the claims that this service
 * issues. Texts are not trusted: whatever is not of this form is `undefined`. Signatures are not checked here.
 * Source: docs/contract/authentication.md#tokens.
 */
import { Result } from "effect"
import { Base64Url } from "effect/encoding"
import { parseAddress } from "../../domain/Address.ts"
import { SIGNATURE_BYTES } from "../../domain/Ed25519.ts"
import { isUuid, type Rail } from "../../domain/Identity.ts"

const ISSUER = "trading-gateway"
/** Tolerance of `iat` and `nbf`, in seconds, for clock differences between gateways. */
const LEEWAY_S = 5
/** Longest accepted token; issued ones have about 500 characters. */
const TOKEN_CHARS_MAX = 2048

/** The claims of a token; times are Unix ms. */
export interface Claims {
  readonly jti: string
  readonly user_id: string
  readonly root_address: string
  readonly rail: Rail
  readonly issued_ms: number
  /** Start and end of its validity. */
  readonly from_ms: number
  readonly expires_ms: number
}

/** The parts of a token. */
interface TokenParts {
  readonly head: string
  readonly payload: string
  /** The text that the signature covers. */
  readonly signed: string
  readonly signature: Uint8Array
}

const text = new TextDecoder("utf-8", { fatal: true })

/** Bytes of unpadded base64url, canonical encodings only. */
const bytesOf = (segment: string): Uint8Array | undefined => {
  const bytes = Result.getOrUndefined(Base64Url.decode(segment))
  return bytes !== undefined && Base64Url.encode(bytes) === segment ? bytes : undefined
}

const objectOf = (segment: string): { readonly [key: string]: unknown } | undefined => {
  const bytes = bytesOf(segment)
  if (bytes === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text.decode(bytes))
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const isRail = (value: unknown): value is Rail => value === "address" || value === "party"

/** The audience of the tokens of an environment. */
export const audienceOf = (environment: string): string => `${ISSUER}:${environment}`

/** The parts of a token with a signature of the right length; the signature is not checked. */
export const parseToken = (token: string): TokenParts | undefined => {
  if (token.length > TOKEN_CHARS_MAX) return undefined
  const parts = token.split(".", 4)
  if (parts.length !== 3) return undefined
  const [head, payload, tail] = parts as [string, string, string]
  const signature = bytesOf(tail)
  return signature?.length === SIGNATURE_BYTES ? { head, payload, signed: `${head}.${payload}`, signature } : undefined
}

/** `kid` of a header with exactly the fields of issued tokens, so that foreign parameters have no effect. */
export const kidOf = (head: string): string | undefined => {
  const header = objectOf(head)
  if (header === undefined || header["alg"] !== "EdDSA" || header["typ"] !== "JWT") return undefined
  const kid = header["kid"]
  return typeof kid === "string" && Object.keys(header).length === 3 ? kid : undefined
}

/** The claims of a payload for this audience, whether or not they are valid now. */
export const parseClaims = (payload: string, audience: string): Claims | undefined => {
  const claims = objectOf(payload)
  if (claims === undefined || claims["iss"] !== ISSUER || claims["aud"] !== audience) return undefined
  // seconds are too coarse to order a token and a ban; tokens of earlier versions have no iat_ms
  const { sub, root, rail, iat, iat_ms = Number(iat) * 1000, nbf, exp, jti } = claims
  if (!isUuid(sub) || !isUuid(jti) || !isRail(rail) || !isTime(iat) || !isTime(exp)) return undefined
  if (typeof root !== "string" || parseAddress(root) !== root) return undefined
  if (nbf !== undefined && !isTime(nbf)) return undefined
  if (!isTime(iat_ms) || Math.floor(iat_ms / 1000) !== iat) return undefined
  return {
    jti,
    user_id: sub,
    root_address: root,
    rail,
    issued_ms: iat_ms,
    from_ms: (Math.max(iat, nbf ?? 0) - LEEWAY_S) * 1000,
    expires_ms: exp * 1000
  }
}

/** The header of tokens that the key `kid` signs. */
export const printHeader = (kid: string): string => Base64Url.encode(JSON.stringify({ alg: "EdDSA", typ: "JWT", kid }))

/** The payload of a new token. `exp` is in Unix seconds. */
export const printPayload = (token: {
  readonly audience: string
  readonly user_id: string
  readonly root_address: string
  readonly rail: Rail
  readonly iat_ms: number
  readonly exp: number
  readonly jti: string
}): string => {
  const { audience, exp, iat_ms, jti, rail, root_address, user_id } = token
  return Base64Url.encode(
    JSON.stringify({
      iss: ISSUER,
      aud: audience,
      sub: user_id,
      root: root_address,
      rail,
      iat: Math.floor(iat_ms / 1000),
      iat_ms,
      exp,
      jti
    })
  )
}

/** The last part of a token. */
export const printSignature = (signature: Uint8Array): string => Base64Url.encode(signature)

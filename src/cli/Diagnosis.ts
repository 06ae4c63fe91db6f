/**
 * Why a signature is refused: the checks of a gateway in its order, and if only the equation fails, the text that was
 * most likely signed instead. Pure: the verifier and the time are given.
 *
 * Source: specification, Authentication; docs/contract/authentication.md#signatures, #login, #api-keys,
 * #websocket-authentication.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { bodyHash, loginMessage, requestMessage } from "../client/Wallet.ts"
import { isPublicKey, mayVerify } from "../domain/Ed25519.ts"
import { bytesOfPublicKey, bytesOfSignature, isKeyOfParty, isNonce, parseParty } from "../domain/Identity.ts"
import { authMessage } from "../domain/SigningMessages.ts"

/** What is signed, as its sender writes it. */
export type Signed =
  | { readonly kind: "login"; readonly name: string; readonly timestamp_ms: number; readonly nonce: string }
  | { readonly kind: "socket"; readonly timestamp_ms: number; readonly nonce: string }
  | {
      readonly kind: "request"
      readonly method: string
      readonly uri: string
      readonly timestamp_ms: number
      readonly nonce: string
      /** X-BODY-SHA256, where it is sent. */
      readonly body_sha256: string | undefined
      /** The body itself, where it is known. */
      readonly body: Uint8Array | undefined
    }
  /** Any text. */
  | { readonly kind: "text"; readonly text: string }

export interface Claim {
  readonly signed: Signed
  /** Of the key that signed; of a party, its verifying key. */
  readonly public_key: string
  readonly signature: string
  /** The gateway's time, Unix ms, and how far a timestamp may be from it. */
  readonly now_ms: number
  readonly window_ms: number
}

export type Verify = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

export interface Problem {
  /** The reason that a gateway answers with. */
  readonly reason: string
  readonly message: string
}

export interface Diagnosis {
  readonly valid: boolean
  /** The exact text that must be signed, as UTF-8, without a newline at its end. */
  readonly message: string
  readonly problems: ReadonlyArray<Problem>
  /** What was signed instead, as far as it can be found out. */
  readonly found?: { readonly message: string; readonly why: string }
}

/** The exact text that must be signed. */
export const messageOf = (signed: Signed): string => {
  switch (signed.kind) {
    case "login":
      return loginMessage(signed.name, signed.timestamp_ms, signed.nonce)
    case "socket":
      return authMessage(signed.timestamp_ms, signed.nonce)
    case "request":
      return requestMessage(signed)
    case "text":
      return signed.text
  }
}

/** Windows of the two ways to sign, in ms. Source: docs/contract/authentication.md#login, #api-keys. */
export const windowOf = ({ kind }: Signed): number => (kind === "login" ? 60_000 : 30_000)

const keyProblem = (text: string, bytes: Uint8Array | undefined): Problem | undefined => {
  const reason = "InvalidPublicKey"
  if (bytes === undefined)
    return {
      reason,
      message: `the public key has ${text.length} characters; 32 bytes are 64 hex digits, 0x in front or not, or 43 to 44 of base64`
    }
  return isPublicKey(bytes) ? undefined : { reason, message: "the public key is no point that a key may be" }
}

const timeProblem = ({ now_ms, signed, window_ms }: Claim): Problem | undefined => {
  if (signed.kind === "text") return undefined
  const reason = "StaleTimestamp"
  const { timestamp_ms } = signed
  const skew = timestamp_ms - now_ms
  if (Math.abs(skew) <= window_ms) return undefined
  if (Math.abs(timestamp_ms * 1_000 - now_ms) <= 1_000 * window_ms)
    return { reason, message: `timestamp_ms ${timestamp_ms} is in seconds; it is Unix milliseconds` }
  const side = skew < 0 ? "behind" : "ahead of"
  const apart = Math.abs(skew) < 600_000 ? `${Math.abs(skew)} ms` : `${Math.round(Math.abs(skew) / 60_000)} minutes`
  return { reason, message: `timestamp_ms is ${apart} ${side} ${now_ms}; ${window_ms} ms are accepted` }
}

const requestProblems = (signed: Signed): ReadonlyArray<Problem> => {
  if (signed.kind !== "request") return []
  const reason = "InvalidSignature"
  const { body, body_sha256, method, uri } = signed
  const problems: Array<Problem> = []
  if (/^https?:/u.test(uri))
    problems.push({ reason, message: "the URI is path and query only, without scheme and host" })
  else if (!uri.startsWith("/")) problems.push({ reason, message: "the URI begins with /" })
  if (uri.includes("|")) problems.push({ reason, message: "a raw | in the URI is refused: write it as %7C" })
  if (method !== method.toUpperCase()) problems.push({ reason, message: `the method is ${method.toUpperCase()}` })
  if (body !== undefined && body_sha256 !== undefined && body_sha256.toLowerCase() !== bodyHash(body))
    problems.push({
      reason,
      message: `X-BODY-SHA256 is not of these ${body.length} bytes, whose hash is ${bodyHash(body)}`
    })
  return problems
}

/** Texts that are often signed by mistake, each with what is wrong about it. */
const mistakes = (
  signed: Signed,
  message: string,
  key: Uint8Array
): ReadonlyArray<readonly [why: string, text: string]> => {
  const anywhere: Array<readonly [string, string]> = [
    ["a newline stands at its end", `${message}\n`],
    ["it stands in quotation marks", JSON.stringify(message)],
    ["its SHA-256 was signed, as hex, and not the text itself", bytesToHex(sha256(utf8ToBytes(message)))],
    ["its bytes were signed as hex", bytesToHex(utf8ToBytes(message))],
    ["it was signed in base64", Buffer.from(message).toString("base64")]
  ]
  if (signed.kind === "text") return anywhere
  const { nonce, timestamp_ms } = signed
  const seconds = { ...signed, timestamp_ms: Math.floor(timestamp_ms / 1_000) }
  anywhere.push(
    ["its time is in seconds", messageOf(seconds)],
    [
      "it is a login's",
      loginMessage(signed.kind === "login" ? signed.name : `0x${bytesToHex(key)}`, timestamp_ms, nonce)
    ],
    ["it is a socket's", authMessage(timestamp_ms, nonce)]
  )
  if (signed.kind === "login") {
    const hex = bytesToHex(key)
    for (const name of [hex, `0x${hex}`, hex.toUpperCase(), Buffer.from(key).toString("base64")])
      anywhere.push([`it names ${name}, and the request names ${signed.name}`, loginMessage(name, timestamp_ms, nonce)])
  }
  if (signed.kind === "request") {
    const { body, body_sha256, method, uri } = signed
    const [path] = uri.split("?", 1)
    const other = (fields: Partial<typeof signed>): string => requestMessage({ ...signed, ...fields })
    anywhere.push(
      ["its method is in lower case", other({ method: method.toLowerCase() })],
      ["its method is in upper case", other({ method: method.toUpperCase() })],
      ["its URI lacks the query", other({ uri: path! })],
      ["its URI is decoded, and the request's is not", other({ uri: decoded(uri) })],
      ["its URI is encoded, and the request's is not", other({ uri: encodeURI(uri) })],
      ["its URI ends with /", other({ uri: `${path!}/${uri.slice(path!.length)}` })],
      ["its URI lacks /api/v1", other({ uri: uri.replace(/^\/api\/v1/u, "") })],
      [
        "the hash of the body stands in it, and X-BODY-SHA256 is not sent",
        other({ body_sha256: body && bodyHash(body) })
      ],
      ["the hash of the body is missing in it", other({ body_sha256: undefined })],
      ["the hash of the body is in upper case", other({ body_sha256: body_sha256?.toUpperCase() })],
      ["the hash of the body is in lower case", other({ body_sha256: body_sha256?.toLowerCase() })],
      ["nonce and time have changed places", `SERVICE_API|${method}|${uri}|${nonce}|${timestamp_ms}`]
    )
    if (body !== undefined)
      anywhere.push([
        "the body itself stands at its end",
        `${other({ body_sha256: undefined })}|${new TextDecoder().decode(body)}`
      ])
  }
  return anywhere.filter(([, text]) => text !== message)
}

const decoded = (uri: string): string => {
  try {
    return decodeURIComponent(uri)
  } catch {
    return uri
  }
}

/** Judges a signature as a gateway does, and says all that is wrong with it. */
export const diagnose = (claim: Claim, verify: Verify): Diagnosis => {
  const { public_key, signed } = claim
  const message = messageOf(signed)
  const problems: Array<Problem> = []
  const key = bytesOfPublicKey(public_key)
  const wrongKey = keyProblem(public_key, key)
  if (wrongKey !== undefined) problems.push(wrongKey)
  const party = signed.kind === "login" && signed.name.includes("::") ? parseParty(signed.name) : undefined
  if (signed.kind === "login" && signed.name.includes("::")) {
    if (party === undefined)
      problems.push({ reason: "InvalidPublicKey", message: "a party is <hint>::1220 and 64 hex digits" })
    else if (key !== undefined && !isKeyOfParty(party, key))
      problems.push({ reason: "InvalidPublicKey", message: "the party's fingerprint is not that of the key" })
  }
  if (signed.kind !== "text" && !isNonce(signed.nonce))
    problems.push({ reason: "InvalidNonce", message: "a nonce is 8 to 64 characters of A-Z, a-z, 0-9, - and _" })
  const stale = timeProblem(claim)
  if (stale !== undefined) problems.push(stale)
  problems.push(...requestProblems(signed))

  const signature = bytesOfSignature(claim.signature)
  const reason = "InvalidSignature"
  if (signature === undefined) {
    const { length } = claim.signature
    const text = `the signature has ${length} characters; 64 bytes are 128 hex digits, 0x in front or not, or 86 to 88 of base64`
    return { valid: false, message, problems: [...problems, { reason, message: text }] }
  }
  if (key === undefined || wrongKey !== undefined) return { valid: false, message, problems }
  if (verify(key, utf8ToBytes(message), signature)) return { valid: problems.length === 0, message, problems }
  if (!mayVerify(key, signature)) {
    const text =
      "the signature is not in its strict form: S below the group order, R a canonical point that is not of small order"
    return { valid: false, message, problems: [...problems, { reason, message: text }] }
  }
  const found = mistakes(signed, message, key).find(([, text]) => verify(key, utf8ToBytes(text), signature))
  if (found === undefined) {
    const text = "the signature is not of this text: another key signed, or another text"
    return { valid: false, message, problems: [...problems, { reason, message: text }] }
  }
  const [why, instead] = found
  return {
    valid: false,
    message,
    problems: [...problems, { reason, message: `another text was signed: ${why}` }],
    found: { message: instead, why }
  }
}

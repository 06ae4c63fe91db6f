/**
 * Explains why a gateway refuses a signature. It runs the gateway's checks in the gateway's order. When only the
 * verification fails, it tries texts that clients often sign by mistake. Pure: the caller passes the verifier and the time.
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

/** The fields of the signed text, as the request carries them. */
export type Signed =
  | { readonly kind: "login"; readonly name: string; readonly timestamp_ms: number; readonly nonce: string }
  | { readonly kind: "socket"; readonly timestamp_ms: number; readonly nonce: string }
  | {
      readonly kind: "request"
      readonly method: string
      readonly uri: string
      readonly timestamp_ms: number
      readonly nonce: string
      /** X-BODY-SHA256; `undefined`: the request has no such header. */
      readonly body_sha256: string | undefined
      /** The body; `undefined`: not known. */
      readonly body: Uint8Array | undefined
    }
  /** Any text. */
  | { readonly kind: "text"; readonly text: string }

export interface Claim {
  readonly signed: Signed
  /** The public key; for a party, its verifying key. */
  readonly public_key: string
  readonly signature: string
  /** The gateway's time, Unix ms, and the accepted distance of a timestamp from it, ms. */
  readonly now_ms: number
  readonly window_ms: number
}

export type Verify = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

export interface Problem {
  /** `details.reason` of the gateway's error. */
  readonly reason: string
  readonly message: string
}

export interface Diagnosis {
  readonly valid: boolean
  /** The exact text that must be signed, as UTF-8, without a newline at its end. */
  readonly message: string
  readonly problems: ReadonlyArray<Problem>
  /** The text that was signed instead, if it is one of the common mistakes. */
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
      message: `the public key has ${text.length} characters; expected 64 hex digits, with or without 0x, or 43 to 44 characters of base64`
    }
  return isPublicKey(bytes) ? undefined : { reason, message: "the public key is not a valid Ed25519 point" }
}

const timeProblem = ({ now_ms, signed, window_ms }: Claim): Problem | undefined => {
  if (signed.kind === "text") return undefined
  const reason = "StaleTimestamp"
  const { timestamp_ms } = signed
  const skew = timestamp_ms - now_ms
  if (Math.abs(skew) <= window_ms) return undefined
  if (Math.abs(timestamp_ms * 1_000 - now_ms) <= 1_000 * window_ms)
    return { reason, message: `timestamp_ms ${timestamp_ms} is in seconds; expected Unix milliseconds` }
  const side = skew < 0 ? "behind" : "ahead of"
  const apart = Math.abs(skew) < 600_000 ? `${Math.abs(skew)} ms` : `${Math.round(Math.abs(skew) / 60_000)} minutes`
  return { reason, message: `timestamp_ms is ${apart} ${side} ${now_ms}; at most ${window_ms} ms are accepted` }
}

const requestProblems = (signed: Signed): ReadonlyArray<Problem> => {
  if (signed.kind !== "request") return []
  const reason = "InvalidSignature"
  const { body, body_sha256, method, uri } = signed
  const problems: Array<Problem> = []
  if (/^https?:/u.test(uri))
    problems.push({ reason, message: "sign only the path and query of the URI, without scheme and host" })
  else if (!uri.startsWith("/")) problems.push({ reason, message: "the URI must begin with /" })
  if (uri.includes("|")) problems.push({ reason, message: "the URI must not contain |; encode it as %7C" })
  if (method !== method.toUpperCase())
    problems.push({ reason, message: `write the method in upper case: ${method.toUpperCase()}` })
  if (body !== undefined && body_sha256 !== undefined && body_sha256.toLowerCase() !== bodyHash(body))
    problems.push({
      reason,
      message: `X-BODY-SHA256 does not match the body of ${body.length} bytes; its hash is ${bodyHash(body)}`
    })
  return problems
}

/** Texts that clients often sign by mistake, each with a description of the mistake. */
const mistakes = (
  signed: Signed,
  message: string,
  key: Uint8Array
): ReadonlyArray<readonly [why: string, text: string]> => {
  const anywhere: Array<readonly [string, string]> = [
    ["it has a newline at the end", `${message}\n`],
    ["it is in quotation marks", JSON.stringify(message)],
    ["its SHA-256 in hex was signed, not the text", bytesToHex(sha256(utf8ToBytes(message)))],
    ["it was hex-encoded before signing", bytesToHex(utf8ToBytes(message))],
    ["it was base64-encoded before signing", Buffer.from(message).toString("base64")]
  ]
  if (signed.kind === "text") return anywhere
  const { nonce, timestamp_ms } = signed
  const seconds = { ...signed, timestamp_ms: Math.floor(timestamp_ms / 1_000) }
  anywhere.push(
    ["its time is in seconds", messageOf(seconds)],
    [
      "it is a login message",
      loginMessage(signed.kind === "login" ? signed.name : `0x${bytesToHex(key)}`, timestamp_ms, nonce)
    ],
    ["it is a WebSocket auth message", authMessage(timestamp_ms, nonce)]
  )
  if (signed.kind === "login") {
    const hex = bytesToHex(key)
    for (const name of [hex, `0x${hex}`, hex.toUpperCase(), Buffer.from(key).toString("base64")])
      anywhere.push([
        `it contains the name ${name}, but the request names ${signed.name}`,
        loginMessage(name, timestamp_ms, nonce)
      ])
  }
  if (signed.kind === "request") {
    const { body, body_sha256, method, uri } = signed
    const [path] = uri.split("?", 1)
    const other = (fields: Partial<typeof signed>): string => requestMessage({ ...signed, ...fields })
    anywhere.push(
      ["its method is in lower case", other({ method: method.toLowerCase() })],
      ["its method is in upper case", other({ method: method.toUpperCase() })],
      ["its URI has no query", other({ uri: path! })],
      ["its URI is percent-decoded, the request's is not", other({ uri: decoded(uri) })],
      ["its URI is percent-encoded, the request's is not", other({ uri: encodeURI(uri) })],
      ["its path ends with /", other({ uri: `${path!}/${uri.slice(path!.length)}` })],
      ["its URI has no /api/v1", other({ uri: uri.replace(/^\/api\/v1/u, "") })],
      [
        "it contains the body hash, but the request has no X-BODY-SHA256",
        other({ body_sha256: body && bodyHash(body) })
      ],
      ["it does not contain the body hash", other({ body_sha256: undefined })],
      ["its body hash is in upper case", other({ body_sha256: body_sha256?.toUpperCase() })],
      ["its body hash is in lower case", other({ body_sha256: body_sha256?.toLowerCase() })],
      ["nonce and timestamp are swapped", `SERVICE_API|${method}|${uri}|${nonce}|${timestamp_ms}`]
    )
    if (body !== undefined)
      anywhere.push([
        "it ends with the body itself",
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

/** Checks a signature as a gateway does, and returns all problems. */
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
      problems.push({ reason: "InvalidPublicKey", message: "expected a party id: <hint>::1220 and 64 hex digits" })
    else if (key !== undefined && !isKeyOfParty(party, key))
      problems.push({ reason: "InvalidPublicKey", message: "the fingerprint of the party does not match the key" })
  }
  if (signed.kind !== "text" && !isNonce(signed.nonce))
    problems.push({
      reason: "InvalidNonce",
      message: "expected a nonce of 8 to 64 characters of A-Z, a-z, 0-9, - and _"
    })
  const stale = timeProblem(claim)
  if (stale !== undefined) problems.push(stale)
  problems.push(...requestProblems(signed))

  const signature = bytesOfSignature(claim.signature)
  const reason = "InvalidSignature"
  if (signature === undefined) {
    const { length } = claim.signature
    const text = `the signature has ${length} characters; expected 128 hex digits, with or without 0x, or 86 to 88 characters of base64`
    return { valid: false, message, problems: [...problems, { reason, message: text }] }
  }
  if (key === undefined || wrongKey !== undefined) return { valid: false, message, problems }
  if (verify(key, utf8ToBytes(message), signature)) return { valid: problems.length === 0, message, problems }
  if (!mayVerify(key, signature)) {
    const text =
      "the signature is not in strict form: S must be below the group order, R a canonical point not of small order"
    return { valid: false, message, problems: [...problems, { reason, message: text }] }
  }
  const found = mistakes(signed, message, key).find(([, text]) => verify(key, utf8ToBytes(text), signature))
  if (found === undefined) {
    const text = "the signature does not verify: it is from another key, or for another text"
    return { valid: false, message, problems: [...problems, { reason, message: text }] }
  }
  const [why, instead] = found
  return {
    valid: false,
    message,
    problems: [...problems, { reason, message: `a different text was signed: ${why}` }],
    found: { message: instead, why }
  }
}

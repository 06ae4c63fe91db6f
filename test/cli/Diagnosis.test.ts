/** The diagnosis names each common mistake, and reports a correct signature as valid. */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { type Claim, diagnose, messageOf, type Signed, windowOf } from "../../src/cli/Diagnosis.ts"
import * as Wallet from "../../src/client/Wallet.ts"
import * as NodeSignatures from "../../src/layers/node/NodeSignatures.ts"
import { Signatures } from "../../src/services/identity/Signatures.ts"

const { verifySync } = Effect.runSync(Effect.provide(Signatures, NodeSignatures.layer()))
const wallet = Wallet.fromSeed("9d".repeat(32))
const NOW = 1_767_225_600_000
const body = utf8ToBytes('{"symbol":"BTC-USDC"}')
const nonce = "bG9naW4tbm9uY2U"

const login: Signed = { kind: "login", name: wallet.public_key, timestamp_ms: NOW, nonce }
const socket: Signed = { kind: "socket", timestamp_ms: NOW, nonce }
const request = {
  kind: "request",
  method: "POST",
  uri: "/api/v1/order/create?a=b%20c",
  timestamp_ms: NOW,
  nonce,
  body,
  body_sha256: undefined
} as const satisfies Signed
const bound: Signed = { ...request, body_sha256: Wallet.bodyHash(body) }

const check = (signed: Signed, text: string, claim: Partial<Claim> = {}) =>
  diagnose(
    {
      signed,
      public_key: wallet.public_key,
      signature: wallet.sign(text),
      now_ms: NOW,
      window_ms: windowOf(signed),
      ...claim
    },
    verifySync
  )

describe("a signature", () => {
  for (const signed of [login, socket, request, bound, { kind: "text", text: "hello" }] as const) {
    it(`of a ${signed.kind} is valid when the exact text was signed`, () => {
      const text = messageOf(signed)
      assert.deepStrictEqual(check(signed, text), { valid: true, message: text, problems: [] })
    })
  }

  const hash = Wallet.bodyHash(body)
  const begin = "SERVICE_API|POST|/api/v1/order/create"
  const mistakes: ReadonlyArray<readonly [what: string, signed: Signed, text: string, why: RegExp]> = [
    ["a newline", request, `${messageOf(request)}\n`, /newline/u],
    ["quotation marks", socket, JSON.stringify(messageOf(socket)), /quotation/u],
    ["a hash of the text", login, bytesToHex(sha256(utf8ToBytes(messageOf(login)))), /SHA-256/u],
    ["hex of the text", login, bytesToHex(utf8ToBytes(messageOf(login))), /hex-encoded/u],
    ["base64 of the text", login, Buffer.from(messageOf(login)).toString("base64"), /base64-encoded/u],
    ["seconds", socket, messageOf({ ...socket, timestamp_ms: NOW / 1000 }), /seconds/u],
    ["a login message", socket, messageOf(login), /a login message/u],
    ["a WebSocket auth message", request, messageOf(socket), /a WebSocket auth message/u],
    ["a key in another form", login, messageOf({ ...login, name: wallet.public_key.slice(2) }), /contains the name/u],
    ["a method in lower case", request, messageOf({ ...request, method: "post" }), /lower case/u],
    ["a path without its query", request, `${begin}|${NOW}|${nonce}`, /has no query/u],
    ["a decoded URI", request, `${begin}?a=b c|${NOW}|${nonce}`, /percent-decoded/u],
    ["a slash at the end", request, `${begin}/?a=b%20c|${NOW}|${nonce}`, /ends with \//u],
    [
      "a path without its prefix",
      request,
      `SERVICE_API|POST|/order/create?a=b%20c|${NOW}|${nonce}`,
      /has no \/api\/v1/u
    ],
    ["a hash without its header", request, messageOf(bound), /no X-BODY-SHA256/u],
    ["a hash that is not signed", bound, messageOf(request), /does not contain/u],
    ["a hash in upper case", bound, `${messageOf(request)}|${hash.toUpperCase()}`, /upper case/u],
    ["nonce before time", request, `${begin}?a=b%20c|${nonce}|${NOW}`, /swapped/u],
    ["the body itself", request, `${messageOf(request)}|{"symbol":"BTC-USDC"}`, /ends with the body/u]
  ]
  for (const [what, signed, text, why] of mistakes) {
    it(`over ${what} is refused, and the signed text is found`, () => {
      const { found, problems, valid } = check(signed, text)
      assert.isFalse(valid)
      assert.strictEqual(found?.message, text)
      assert.match(found?.why ?? "", why)
      assert.deepStrictEqual(
        problems.map(({ reason }) => reason),
        ["InvalidSignature"]
      )
    })
  }

  const refused: ReadonlyArray<readonly [what: string, signed: Signed, claim: Partial<Claim>, expected: RegExp]> = [
    ["a key of the wrong length", socket, { public_key: "0x12" }, /4 characters/u],
    ["a key that is not a curve point", socket, { public_key: "02".padEnd(64, "0") }, /not a valid Ed25519 point/u],
    ["a signature of the wrong length", socket, { signature: "0x12" }, /4 characters/u],
    ["a signature that is not strict", socket, { signature: "ff".repeat(64) }, /strict form/u],
    [
      "another key's signature",
      socket,
      { signature: Wallet.fromSeed("11".repeat(32)).sign(messageOf(socket)) },
      /another key/u
    ],
    ["a nonce with other characters", { ...socket, nonce: "a b" }, {}, /nonce of 8 to 64/u],
    ["a past timestamp", socket, { now_ms: NOW + 30_001 }, /30001 ms behind/u],
    ["a future timestamp", login, { now_ms: NOW - 60_001 }, /60001 ms ahead/u],
    ["a timestamp in seconds", { ...socket, timestamp_ms: NOW / 1000 }, {}, /in seconds/u],
    ["a URI with its host", { ...request, uri: "http://host/api/v1/x" }, {}, /without scheme and host/u],
    ["a URI with a raw |", { ...request, uri: "/api/v1/x?a=|" }, {}, /%7C/u],
    ["a URI without its slash", { ...request, uri: "api/v1/x" }, {}, /must begin with/u],
    ["a method in lower case", { ...request, method: "post" }, {}, /upper case: POST/u],
    ["another body's hash", { ...request, body_sha256: "00".repeat(32) }, {}, /does not match the body of 21 bytes/u],
    ["an invalid party", { ...login, name: "a b::12" }, {}, /expected a party id/u],
    ["another key's party", { ...login, name: Wallet.ofParty("me", "11".repeat(32)).login_name }, {}, /fingerprint/u]
  ]
  for (const [what, signed, claim, expected] of refused) {
    it(`with ${what} is refused with the reason`, () => {
      const { problems, valid } = check(signed, messageOf(signed), claim)
      assert.isFalse(valid)
      assert.match(problems.map(({ message }) => message).join("; "), expected)
    })
  }
})

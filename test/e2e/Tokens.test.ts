/**
 * Forged tokens: each is 401, whatever it states as algorithm, key or key location.
 * Source: docs/contract/authentication.md#tokens; RFC 8725; wycheproof.
 */
import { createHmac, generateKeyPairSync, randomBytes, sign } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { publicVectors } from "../vectors.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { call, type Keys, keysOfSeed, login, newKeys } from "../../verification/harness/RestClient.ts"
import { Socket } from "../../verification/harness/Socket.ts"

const wycheproof = publicVectors("wycheproof/json_web_signature_test.json") as
  | {
      readonly testGroups: ReadonlyArray<{
        readonly tests: ReadonlyArray<{ readonly tcId: number; readonly jws: unknown; readonly result: string }>
      }>
    }
  | undefined

const segment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")
const hexToUrl = (hex: string) => Buffer.from(hex, "hex").toString("base64url")

describe("a forged token", () => {
  /** The gateway's own key, so that a token signed with it is refused for its contents. */
  const seed = randomBytes(32).toString("hex")
  let exchange: Exchange
  let good: string
  let kid: string
  let x: string
  let claims: Record<string, unknown>
  let own: Keys

  beforeAll(async () => {
    exchange = await startExchange({ env: { JWT_SIGNING_KEY: seed } })
    good = (await login(exchange, newKeys())).token
    const [head, body] = good.split(".", 2).map((part) => JSON.parse(Buffer.from(part, "base64url").toString()))
    kid = head.kid
    claims = body
    x = (await call(exchange, "GET", "/.well-known/jwks.json")).body.keys[0].x
    own = keysOfSeed(seed, x)
  })
  afterAll(() => exchange?.close())

  const made = (header: Record<string, unknown>, signer: (signed: string) => string, payload = claims) => {
    const signed = `${segment(header)}.${segment(payload)}`
    return `${signed}.${signer(signed)}`
  }
  const byOwn = (signed: string) => hexToUrl(own.sign(signed))
  const hmac = (algorithm: string, secret: string | Buffer) => (signed: string) =>
    createHmac(algorithm, secret).update(signed).digest("base64url")
  const statusOf = async (token: string) =>
    (await call(exchange, "GET", "/api/v1/user/me", { headers: { authorization: `Bearer ${token}` } })).status

  it("is 401, and one that the gateway issued is not", async () => {
    const header = { alg: "EdDSA", typ: "JWT", kid }
    const mine = newKeys()
    const jwk = { kty: "OKP", crv: "Ed25519", x: hexToUrl(mine.publicKey), kid }
    const byMine = (signed: string) => hexToUrl(mine.sign(signed))
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey
    const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey
    const pem = `-----BEGIN PUBLIC KEY-----\n${Buffer.concat([
      Buffer.from("302a300506032b6570032100", "hex"),
      Buffer.from(x, "base64url")
    ]).toString("base64")}\n-----END PUBLIC KEY-----\n`
    const [goodHead, goodClaims, goodTail] = good.split(".") as [string, string, string]
    const now_s = Math.floor(Date.now() / 1000)
    const table: Record<string, string> = {
      ...Object.fromEntries(
        ["none", "None", "NONE", "nOnE", ""].flatMap((alg) => [
          [`alg ${alg} without a signature`, made({ ...header, alg }, () => "")],
          [`alg ${alg} with a good one`, `${segment({ ...header, alg })}.${goodClaims}.${goodTail}`],
          [`alg ${alg} signed by the gateway`, made({ ...header, alg }, byOwn)]
        ])
      ),
      ...Object.fromEntries(
        Object.entries({
          "its bytes": Buffer.from(x, "base64url"),
          "its text": x,
          "its PEM": pem,
          "no bytes": "",
          kid
        }).flatMap(([what, secret]) =>
          (["256", "384", "512"] as const).map((bits) => [
            `HS${bits} keyed with the public key: ${what}`,
            made({ ...header, alg: `HS${bits}` }, hmac(`sha${bits}`, secret))
          ])
        )
      ),
      "HMAC under the name of EdDSA": made(header, hmac("sha512", Buffer.from(x, "base64url"))),
      RS256: made({ ...header, alg: "RS256" }, (signed) =>
        sign("sha256", Buffer.from(signed), rsa).toString("base64url")
      ),
      ES256: made({ ...header, alg: "ES256" }, (signed) =>
        sign("sha256", Buffer.from(signed), { key: elliptic, dsaEncoding: "ieee-p1363" }).toString("base64url")
      ),
      "ES256 of zeros": made({ ...header, alg: "ES256" }, () => Buffer.alloc(64).toString("base64url")),
      "EdDSA of zeros": made(header, () => Buffer.alloc(64).toString("base64url")),
      "another key under the gateway's kid": made(header, byMine),
      ...Object.fromEntries(
        ["", "../../dev/null", "/dev/null", "' OR '1'='1", `${kid}\0`, `${kid} `, "__proto__", "http://127.0.0.1/"].map(
          (other) => [`kid ${JSON.stringify(other)}`, made({ ...header, kid: other }, byOwn)]
        )
      ),
      "kid a list": made({ ...header, kid: [kid] }, byOwn),
      "kid null": made({ ...header, kid: null }, byOwn),
      "a jwk of its own": made({ ...header, jwk }, byMine),
      "a jwk of its own and no kid": made({ alg: "EdDSA", typ: "JWT", jwk }, byMine),
      "a jku of its own": made({ ...header, jku: "http://127.0.0.1:1/jwks.json" }, byMine),
      "an x5u of its own": made({ ...header, x5u: "http://127.0.0.1:1/cert.pem" }, byMine),
      "an x5c of its own": made({ ...header, x5c: [hexToUrl(mine.publicKey)] }, byMine),
      "a jwk, signed by the gateway": made({ ...header, jwk }, byOwn),
      "a critical parameter": made({ ...header, crit: ["exp"], exp: 0 }, byOwn),
      "an unencoded payload": made({ ...header, crit: ["b64"], b64: false }, byOwn),
      compressed: made({ ...header, zip: "DEF" }, byOwn),
      "nested in another one": made({ ...header, cty: "JWT" }, byOwn),
      "over since a second": made(header, byOwn, { ...claims, exp: now_s - 1 }),
      "from the future": made(header, byOwn, { ...claims, iat: now_s + 3_600 }),
      "not before later": made(header, byOwn, { ...claims, nbf: now_s + 3_600 }),
      "of another issuer": made(header, byOwn, { ...claims, iss: "somebody" }),
      "for another audience": made(header, byOwn, { ...claims, aud: "trading-gateway:production" }),
      "two signatures": `${good}.${goodTail}`,
      "no signature": `${goodHead}.${goodClaims}`,
      "an empty signature": `${goodHead}.${goodClaims}.`,
      "five parts": `${goodHead}..${goodClaims}.${goodTail}.`
    }
    for (const [name, token] of Object.entries(table)) assert.strictEqual(await statusOf(token), 401, name)
    const socket = await Socket.open(exchange, "/ws/private")
    socket.send({ op: "auth", bearer: table["alg none without a signature"] })
    assert.strictEqual((await socket.next("refusal", ({ op }) => op === "auth", 20_000)).code, "UNAUTHORIZED")
    socket.ws.terminate()
    // the table starts from accepted tokens
    assert.strictEqual(await statusOf(good), 200)
    assert.strictEqual(await statusOf(made(header, byOwn)), 200)
  })

  const cases = (wycheproof?.testGroups ?? []).flatMap((group) => group.tests)
  const invalid = cases.filter(({ result }) => result === "invalid")
  it.skipIf(wycheproof === undefined)(`wycheproof: all ${invalid.length} invalid ones are 401`, async () => {
    assert.lengthOf(invalid, 355)
    for (const { jws, tcId } of invalid) {
      assert.strictEqual(await statusOf(typeof jws === "string" ? jws : JSON.stringify(jws)), 401, String(tcId))
    }
  })
})

/** The floor: node:http, JSON.parse, manual validation, HS256 or Ed25519 by node:crypto, one unary gRPC call. */
import { createHmac, timingSafeEqual, verify as verifyEd25519 } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { type Body, keyOf, place, SECRET, signedText } from "./peer.ts"
import { serve } from "./usage.ts"

const verify = (token: string): boolean => {
  const dot = token.lastIndexOf(".")
  const expected = createHmac("sha256", SECRET).update(token.slice(0, dot)).digest()
  const given = Buffer.from(token.slice(dot + 1), "base64url")
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
  const claims = JSON.parse(Buffer.from(token.slice(token.indexOf(".") + 1, dot), "base64url").toString()) as {
    exp: number
  }
  return claims.exp * 1_000 > Date.now()
}

let known: ReturnType<typeof keyOf> | undefined
const nonces = new Set<string>()
const verifySigned = ({ headers, method, url }: IncomingMessage): boolean => {
  const nonce = String(headers["x-nonce"])
  known ??= keyOf(String(headers["x-api-key"]))
  const text = signedText(method!, url!, String(headers["x-timestamp-ms"]), nonce)
  if (!verifyEd25519(null, Buffer.from(text), known, Buffer.from(String(headers["x-signature"]), "hex"))) return false
  if (nonces.has(nonce)) return false
  nonces.add(nonce)
  return true
}
const verifyAny = (request: IncomingMessage): boolean =>
  request.headers["x-api-key"] === undefined
    ? verify((request.headers.authorization ?? "").slice(7))
    : verifySigned(request)

const DECIMAL = /^(?:0|[1-9]\d{0,19})(?:\.\d{1,18})?$/u
const sound = (body: Body): boolean =>
  typeof body.sub_account_address === "string" &&
  typeof body.symbol === "string" &&
  (body.side === "Buy" || body.side === "Sell") &&
  (body.order_type === "Limit" || body.order_type === "Market") &&
  DECIMAL.test(body.qty) &&
  DECIMAL.test(body.price) &&
  typeof body.post_only === "boolean" &&
  typeof body.reduce_only === "boolean" &&
  typeof body.order_link_id === "string"

const server = createServer((request, response) => {
  const answer = (status: number, value: unknown) => {
    const text = JSON.stringify(value)
    response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
    response.end(text)
  }
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    if (!verifyAny(request)) return answer(401, { code: "UNAUTHORIZED" })
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Body
    if (!sound(body)) return answer(400, { code: "BAD_REQUEST" })
    place(body, (error, reference) =>
      error === null ? answer(200, reference) : answer(503, { code: "SERVICE_UNAVAILABLE" })
    )
  })
})
server.listen(0, "127.0.0.1", () => serve((server.address() as AddressInfo).port))

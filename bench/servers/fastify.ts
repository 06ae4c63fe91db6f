/** A peer: Fastify with @fastify/jwt (HS256) or Ed25519 by node:crypto, its own JSON schema validation, one unary gRPC call. */
import jwt from "@fastify/jwt"
import Fastify from "fastify"
import { verify } from "node:crypto"
import type { AddressInfo } from "node:net"
import { type Body, keyOf, place, SECRET, signedText } from "./peer.ts"
import { serve } from "./usage.ts"

const app = Fastify()
await app.register(jwt, { secret: SECRET })
const decimal = { type: "string", pattern: "^(?:0|[1-9]\\d{0,19})(?:\\.\\d{1,18})?$" } as const
app.post<{ Body: Body }>(
  "/api/v1/order/create",
  {
    schema: {
      body: {
        type: "object",
        required: ["sub_account_address", "symbol", "side", "order_type", "qty"],
        properties: {
          sub_account_address: { type: "string" },
          symbol: { type: "string" },
          side: { enum: ["Buy", "Sell"] },
          order_type: { enum: ["Limit", "Market"] },
          qty: decimal,
          price: decimal,
          time_in_force: { enum: ["GTC", "IOC", "FOK"] },
          post_only: { type: "boolean" },
          reduce_only: { type: "boolean" },
          order_link_id: { type: "string", pattern: "^[A-Za-z0-9_-]{1,36}$" }
        }
      },
      response: {
        200: { type: "object", properties: { order_id: { type: "string" }, order_link_id: { type: "string" } } }
      }
    },
    onRequest: async (request) => {
      const { headers, method, url } = request
      if (headers["x-api-key"] === undefined) return void (await request.jwtVerify())
      const text = signedText(method, url, String(headers["x-timestamp-ms"]), String(headers["x-nonce"]))
      const signature = Buffer.from(String(headers["x-signature"]), "hex")
      if (!verify(null, Buffer.from(text), keyOf(String(headers["x-api-key"])), signature)) throw new Error("signature")
    }
  },
  (request) =>
    new Promise((resolve, reject) => {
      place(request.body, (error, reference) => (error === null ? resolve(reference) : reject(error)))
    })
)
await app.listen({ port: 0, host: "127.0.0.1" })
serve((app.server.address() as AddressInfo).port)

/** A peer of reads: Fastify, an object serialised by its response schema. */
import Fastify from "fastify"
import type { AddressInfo } from "node:net"
import { book, headers } from "./reads.ts"
import { serve } from "./usage.ts"

const app = Fastify()
const levels = { type: "array", items: { type: "array", items: { type: "string" } } } as const
const integer = { type: "integer" } as const
app.get(
  "/api/v1/market/orderbook",
  {
    schema: {
      querystring: {
        type: "object",
        required: ["symbol"],
        properties: { symbol: { type: "string" }, depth: integer }
      },
      response: {
        200: {
          type: "object",
          properties: {
            symbol: { type: "string" },
            bids: levels,
            asks: levels,
            seq: integer,
            ts: integer,
            mts: integer
          }
        }
      }
    }
  },
  (_, reply) => {
    void reply.headers(headers)
    return Promise.resolve(book)
  }
)
await app.listen({ port: 0, host: "127.0.0.1" })
serve((app.server.address() as AddressInfo).port)

/** Orders: create, amend and cancel, by the short way. Source: contract 3.4. */
import type { Context } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Orders } from "../../services/Orders.ts"
import { Api } from "../api/Api.ts"
import { commands } from "../handlers/OrderHandlers.ts"
import { BODY_BYTES_MAX } from "../security/Door.ts"
import * as ShortWay from "./ShortWay.ts"

/** Whether a command is as plain as nearly all are: one body of a told length. */
const isPlain = (request: IncomingMessage): boolean => {
  const { headers, method } = request
  const length = Number(headers["content-length"])
  return (
    method === "POST" &&
    length > 0 &&
    length <= BODY_BYTES_MAX &&
    headers.host !== undefined &&
    headers["transfer-encoding"] === undefined &&
    headers["content-encoding"] === undefined &&
    ShortWay.isCodingPlain(request)
  )
}

export const make = (orders: Orders["Service"], context: Context.Context<never>, trustedProxies: number) => {
  const around = ShortWay.surroundings(context, trustedProxies)
  const ways = new Map(
    Object.entries(commands(orders)).map(([endpoint, handler]) => {
      const way = ShortWay.make(Api, { group: "order", endpoint }, handler, context)
      return [way.path, way.guarded(way.handled)]
    })
  )
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const served = ways.get(request.url!)
    if (served === undefined || !isPlain(request)) return false
    let body: Buffer | undefined
    request.on("data", (chunk: Buffer) => {
      body = body === undefined ? chunk : Buffer.concat([body, chunk])
    })
    request.on("end", () => ShortWay.run(request, response, served, around, body))
    return true
  }
}

/** The HTTP response to an upgrade request that is refused, with the error body of REST. */
import * as Http from "node:http"
import type { Duplex } from "node:stream"
import * as ApiError from "../domain/ApiError.ts"
import { httpStatusOf } from "../domain/Reason.ts"
import type { OpenReason } from "../services/operations/InProcessFeeds.ts"

/** Writes the response and closes the socket. `fields` are header lines. */
export const refuseUpgrade = (
  socket: Duplex,
  status: number,
  { code, details, message }: Pick<ApiError.ApiError, "code" | "message" | "details">,
  fields: ReadonlyArray<string> = []
): void => {
  const body = JSON.stringify({ code, message, details })
  const head = [
    `HTTP/1.1 ${status} ${Http.STATUS_CODES[status]}`,
    "Connection: close",
    "Content-Type: application/json",
    ...fields,
    `Content-Length: ${Buffer.byteLength(body)}`
  ]
  socket.on("error", () => {})
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy())
}

/** Refuses for now, with the status and the body of a reason. */
export const refuseFor = (socket: Duplex, reason: OpenReason): void =>
  refuseUpgrade(socket, httpStatusOf(reason), ApiError.ofReason(reason), ["Retry-After: 1"])

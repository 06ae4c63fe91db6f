/**
 * The body of a request: its size, its type and its bytes. It is parsed after the credentials, when the endpoint reads its text.
 * Source: docs/contract/conventions.md#json-and-http.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Context, Effect } from "effect"
import type { HttpServerError, HttpServerRequest } from "effect/http"
import { IncomingMessage } from "node:http"
import { InboundBudget } from "../../services/operations/InboundBudget.ts"
import * as RequestBody from "../../services/operations/RequestBody.ts"
import { FastRequest } from "../FastRequest.ts"
import type { RequestState } from "../RequestState.ts"
import { ofReason, type WireError } from "../WireError.ts"

const NO_BODY = new Uint8Array()
const tooLarge = ofReason("BodyTooLarge")
const wrongType = ofReason("WrongMediaType")

const JSON_TYPE = /^application\/json(?:\s*;\s*charset\s*=\s*"?utf-8"?)?\s*$/iu

type BodyError = WireError<"BodyTooLarge" | "WrongMediaType", "BAD_REQUEST">

type Headers = HttpServerRequest.HttpServerRequest["headers"]

/** An absent body. HttpApi reads its type all the same and refuses any other than JSON, so the type is removed. */
const absent = (headers: Headers): undefined => {
  if (headers["content-type"] !== undefined) delete (headers as Record<string, string>)["content-type"]
}

/** Keeps a body for the endpoint, unless its type is wrong. */
const keep = (bytes: Uint8Array, headers: Headers, state: RequestState): BodyError | undefined => {
  if (bytes.byteLength === 0) return absent(headers)
  const type = headers["content-type"]
  if (
    (type !== undefined && type !== "application/json" && !JSON_TYPE.test(type)) ||
    headers["content-encoding"] !== undefined ||
    // Node decodes the chunks alone
    (headers["transfer-encoding"] ?? "chunked").toLowerCase() !== "chunked"
  ) {
    return wrongType
  }
  state.body = bytes
  return undefined
}

/** The bytes of a body. */
const bytesOf = (
  request: HttpServerRequest.HttpServerRequest,
  { clientIp }: RequestState
): Effect.Effect<Uint8Array, BodyError | HttpServerError.HttpServerError> => {
  const { source } = request
  if (!(source instanceof IncomingMessage)) return Effect.map(request.arrayBuffer, (buffer) => new Uint8Array(buffer))
  return Effect.withFiber((fiber) => {
    const response = NodeHttpServerRequest.toServerResponse(request)
    const budget = Context.get(fiber.context, InboundBudget)
    return Effect.catch(
      RequestBody.readEffect(source, response, budget, () => clientIp),
      (unread) =>
        // a request that was cut has no client left to answer
        unread === "too-large" ? Effect.fail(tooLarge) : Effect.interrupt
    ).pipe(Effect.map((body) => body ?? NO_BODY))
  })
}

/** Reads the body into the state of the request; `undefined`: the request has none. */
export const readBody = (
  request: HttpServerRequest.HttpServerRequest,
  state: RequestState
): BodyError | Effect.Effect<void, BodyError | HttpServerError.HttpServerError> | undefined => {
  const { headers } = request
  const length = headers["content-length"]
  const chunked = headers["transfer-encoding"] !== undefined
  if ((length === undefined || length === "0") && !chunked) return absent(headers)
  if (Number(length) > RequestBody.BODY_BYTES_MAX) return tooLarge
  // the body of the fast path has arrived
  if (FastRequest.is(request)) return keep(request.body, headers, state)
  return Effect.flatMap(bytesOf(request, state), (bytes) => {
    const refused = keep(bytes, headers, state)
    return refused === undefined ? Effect.void : Effect.fail(refused)
  })
}

/** The messages of a client: lines of JSON, each checked before the library reads it. */
import type { RpcMessage } from "effect/rpc"
import * as ApiError from "../domain/ApiError.ts"
import { hasDoubledKey, isTooComplex } from "../domain/JsonShape.ts"
import { transportLimits } from "../domain/TransportLimits.ts"
import type { CallError } from "./api/Errors.ts"
import { Rpcs } from "./api/Rpcs.ts"
import { refusalOf } from "./UnknownInput.ts"

export type Id = string | number

/** A call that is not run, and why. */
export interface RefusedCall {
  readonly _tag: "RefusedCall"
  readonly id: Id
  readonly error: CallError
}
/** A line that is no message: the caller breaks the protocol. */
export interface NoMessage {
  readonly _tag: "NoMessage"
  readonly text: string
}

const noMessage = (text: string): NoMessage => ({ _tag: "NoMessage", text })
export const refusedCall = (id: Id, error: CallError): RefusedCall => ({ _tag: "RefusedCall", id, error })

/** Longest part of a caller's text that an answer repeats, in characters. */
const GIVEN_MAX = 64

const isPair = (pair: unknown): boolean =>
  Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === "string")

const doubledKey = ApiError.ofReason("MalformedJson", {}, { message: "expected no key twice" })
const ambiguous = ApiError.ofReason("AmbiguousAuth")
const isAuthorization = ([name]: readonly [string, string]): boolean => name.toLowerCase() === "authorization"

const requestOf = (
  line: string,
  message: Record<string, unknown>
): RpcMessage.RequestEncoded | RefusedCall | NoMessage => {
  const { headers = [], id, tag } = message
  if (typeof id !== "string" && typeof id !== "number") return noMessage("id: expected a string or a number")
  if (hasDoubledKey(line, message)) return refusedCall(id, doubledKey)
  if (typeof tag !== "string" || !Rpcs.requests.has(tag)) {
    const given = typeof tag === "string" ? tag.slice(0, GIVEN_MAX) : typeof tag
    const text = `tag: no procedure "${given}"; docs/reference/rpc.md lists them`
    return refusedCall(id, ApiError.ofReason("NoSuchRoute", { field: "tag", given }, { message: text }))
  }
  if (!Array.isArray(headers) || !headers.every(isPair)) {
    const text = "headers: expected an array of [name, value] pairs of strings"
    return refusedCall(id, ApiError.ofReason("InvalidField", { field: "headers" }, { message: text }))
  }
  // the library would take the last one
  if (headers.length > 1 && headers.filter(isAuthorization).length > 1) return refusedCall(id, ambiguous)
  const refused = refusalOf(tag, message["payload"])
  if (refused !== undefined) return refusedCall(id, refused)
  return { ...(message as object), headers } as unknown as RpcMessage.RequestEncoded
}

const { json_depth, json_members } = transportLimits
const tooComplex = `expected at most ${json_depth.figure} levels and ${json_members.figure} members`

const controls = new Set(["Ack", "Interrupt", "Ping", "Eof"])

/** Reads one line. */
export const read = (line: string): RpcMessage.FromClientEncoded | RefusedCall | NoMessage => {
  if (isTooComplex(line)) return noMessage(tooComplex)
  let message: unknown
  try {
    message = JSON.parse(line)
  } catch {
    return noMessage("expected one JSON object a line")
  }
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    return noMessage("expected one JSON object a line")
  }
  const { _tag } = message as { readonly _tag?: unknown }
  if (_tag === "Request") return requestOf(line, message as Record<string, unknown>)
  if (typeof _tag !== "string" || !controls.has(_tag))
    return noMessage("_tag: expected Request, Ack, Interrupt or Ping")
  return message as RpcMessage.FromClientEncoded
}

const texts = new WeakMap<CallError, string>()

/** The answer to a call that is not run. */
export const refusalText = ({ error, id }: RefusedCall): string => {
  let text = texts.get(error)
  if (text === undefined) {
    text = JSON.stringify({ _tag: "Failure", cause: [{ _tag: "Fail", error }] })
    texts.set(error, text)
  }
  return `{"_tag":"Exit","requestId":${JSON.stringify(id)},"exit":${text}}\n`
}

/** The answer to what is no call. */
export const defectText = (text: string): string => `${JSON.stringify({ _tag: "Defect", defect: text })}\n`

const perMessage = transportLimits.calls_per_message.figure
const inFlight = transportLimits.calls_in_flight.figure
const perSecond = transportLimits.messages_per_s.figure

/** Why a call is refused, whatever its procedure. */
export const overLimit = {
  message: ApiError.ofReason("LimitReached", { max: perMessage }, { message: `at most ${perMessage} calls a message` }),
  inFlight: ApiError.ofReason(
    "RateLimitExceeded",
    { max: inFlight },
    { message: `at most ${inFlight} calls of a connection in flight, streams included` }
  ),
  rate: ApiError.ofReason(
    "RateLimitExceeded",
    { max: perSecond },
    { message: `at most ${perSecond} messages a second` }
  ),
  shutdown: ApiError.ofReason("ShuttingDown"),
  idInUse: ApiError.ofReason("InvalidField", { field: "id" }, { message: "id: a call in flight has the same id" })
} as const

/**
 * Parses client messages: a valid frame, or an error that describes what to change.
 * Source: docs/contract/websocket.md#messages.
 */
import { Result, Schema } from "effect"
import { fieldText, valueAt } from "../domain/InputText.ts"
import { type Details, type Reason, textOf } from "../domain/Reason.ts"
import { ofIssue } from "../domain/SchemaErrorText.ts"
import { ARGS_MAX } from "../domain/TopicNames.ts"
import { Auth, type ClientFrame, Ping, ReqId, Subscribe, Unsubscribe } from "./api/Frames.ts"

/** Why a message is invalid; with its `req_id`, if that is readable. */
export interface InvalidMessage {
  readonly op: "invalid"
  readonly reason: Reason
  readonly message: string
  readonly details: Details
  readonly req_id: ReqId | undefined
}

const decoders = {
  subscribe: Schema.decodeUnknownResult(Subscribe),
  unsubscribe: Schema.decodeUnknownResult(Unsubscribe),
  ping: Schema.decodeUnknownResult(Ping),
  auth: Schema.decodeUnknownResult(Auth)
} as const
const isReqId = Schema.is(ReqId)
const OPS = Object.keys(decoders).join(", ")

const invalid = (
  reason: Reason,
  details: Details,
  req_id: ReqId | undefined,
  message = textOf(reason)
): InvalidMessage => ({
  op: "invalid",
  reason,
  message,
  details,
  req_id
})

/** `null` and `""` mean that a field is absent; docs/contract/conventions.md#json-and-http. */
const withoutBlanks = (record: Record<string, unknown>): Record<string, unknown> => {
  for (const key of Object.keys(record)) {
    if (record[key] === null || (record[key] === "" && key !== "op")) delete record[key]
  }
  return record
}

/** Parses one message. */
export const read = (text: string): ClientFrame | InvalidMessage => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return invalid("MalformedJson", {}, undefined, "expected one JSON object")
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return invalid("MalformedJson", {}, undefined, "expected one JSON object")
  }
  const record = withoutBlanks(value as Record<string, unknown>)
  const req_id = isReqId(record["req_id"]) ? record["req_id"] : undefined
  const op = record["op"]
  if (typeof op !== "string" || !Object.hasOwn(decoders, op)) {
    const reason = op === undefined ? "MissingField" : "InvalidField"
    return invalid(reason, { field: "op" }, req_id, fieldText("op", `one of ${OPS}`, op))
  }
  const args = record["args"]
  if (op === "subscribe" || op === "unsubscribe") {
    if (Array.isArray(args) && args.length > ARGS_MAX) {
      return invalid("LimitReached", { field: "args", max: ARGS_MAX }, req_id, `at most ${ARGS_MAX} topics per message`)
    }
    if (!Array.isArray(args) || args.length === 0) {
      const reason = args === undefined ? "MissingField" : "InvalidField"
      return invalid(reason, { field: "args" }, req_id, fieldText("args", `a list of 1 to ${ARGS_MAX} topics`, args))
    }
    const wrong = args.findIndex((arg) => typeof arg !== "string")
    if (wrong >= 0) {
      return invalid(
        "InvalidField",
        { field: "args" },
        req_id,
        fieldText(`args.${wrong}`, "a topic as text", args[wrong])
      )
    }
  }
  const decoded: Result.Result<ClientFrame, Schema.SchemaError> = decoders[op as ClientFrame["op"]](record)
  if (Result.isSuccess(decoded)) return decoded.success
  const { facts, message } = ofIssue(decoded.failure.issue, (field) => valueAt(record, field))
  return invalid("InvalidField", { field: facts["field"] ?? "" }, req_id, message)
}

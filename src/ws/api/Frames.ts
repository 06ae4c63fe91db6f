/**
 * Messages of the WebSocket endpoints, one JSON object per text frame. Source: specification, Events, Messages;
 * docs/contract/websocket.md#messages.
 *
 * Unknown fields are ignored. In an optional field `""` and `null` mean that it is absent.
 */
import { Schema } from "effect"
import { Uuid } from "../../domain/Identity.ts"
import { Millis } from "../../domain/Time.ts"

/** Correlates a reply with its request; echoed with its type. */
export const ReqId = Schema.Union([
  Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(64)),
  Schema.Int
]).annotate({
  identifier: "ReqId",
  description: "1 to 64 characters, or an integer; echoed in the reply"
})
export type ReqId = typeof ReqId.Type

const reqId = { req_id: Schema.optionalKey(ReqId) }
const seq = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** A position in the caller's user stream to resume after. */
export const Since = Schema.Struct({ stream_id: Schema.String, seq })
export type Since = typeof Since.Type

const args = Schema.Array(Schema.String)

export const Subscribe = Schema.Struct({
  op: Schema.Literal("subscribe"),
  args,
  ...reqId,
  since: Schema.optionalKey(Since),
  since_seq: Schema.optionalKey(seq.annotate({ description: "Like `since`, for the current stream" }))
})
export type Subscribe = typeof Subscribe.Type

export const Unsubscribe = Schema.Struct({ op: Schema.Literal("unsubscribe"), args, ...reqId })
export type Unsubscribe = typeof Unsubscribe.Type

export const Ping = Schema.Struct({ op: Schema.Literal("ping"), ...reqId, ts: Schema.optionalKey(Schema.Int) })
export type Ping = typeof Ping.Type

/**
 * Either `bearer`, or the four fields of an API key. Source: docs/contract/authentication.md#websocket-authentication.
 */
export const Auth = Schema.Struct({
  op: Schema.Literal("auth"),
  ...reqId,
  bearer: Schema.optionalKey(Schema.String),
  api_key: Schema.optionalKey(Schema.String),
  signature: Schema.optionalKey(Schema.String),
  timestamp_ms: Schema.optionalKey(Millis),
  nonce: Schema.optionalKey(Schema.String)
})
export type Auth = typeof Auth.Type

export const ClientFrame = Schema.Union([Subscribe, Unsubscribe, Ping, Auth])
export type ClientFrame = typeof ClientFrame.Type

/** Result of a resume: whether the events after `since` follow. */
export const Resume = Schema.Struct({
  recovered: Schema.Boolean,
  stream_id: Schema.String,
  head_seq: seq.annotate({ description: "Last position of the caller's stream" })
})
export type Resume = typeof Resume.Type

export const Subscribed = Schema.Struct({
  op: Schema.Literal("subscribed"),
  args: args.annotate({ description: "Accepted topics" }),
  ...reqId,
  resume: Schema.optionalKey(Resume)
})
export const Unsubscribed = Schema.Struct({ op: Schema.Literal("unsubscribed"), args, ...reqId })

const failure = {
  code: Schema.String.annotate({ description: "Code of the error catalogue" }),
  message: Schema.String,
  details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
}
export const ErrorFrame = Schema.Struct({
  op: Schema.Literal("error"),
  ...failure,
  topic: Schema.optionalKey(Schema.String),
  ...reqId
})
export type ErrorFrame = typeof ErrorFrame.Type

export const AuthAccepted = Schema.Struct({
  op: Schema.Literal("auth"),
  success: Schema.Literal(true),
  user_id: Uuid,
  ...reqId,
  stream_id: Schema.String,
  head_seq: seq,
  expires_at_ms: Schema.optionalKey(Millis.annotate({ description: "Absent: a key without expiry" }))
})
export const AuthRefusal = Schema.Struct({
  op: Schema.Literal("auth"),
  success: Schema.Literal(false),
  user_id: Schema.Null,
  ...reqId,
  ...failure
})
export const Pong = Schema.Struct({
  op: Schema.Literal("pong"),
  ...reqId,
  client_ts: Schema.optionalKey(Schema.Int.annotate({ description: "`ts` of the ping" })),
  server_ts: Millis
})
export const EventFrame = Schema.Struct({
  op: Schema.Literal("event"),
  topic: Schema.String,
  server_ts_ms: Millis,
  data: Schema.Unknown
})

export const ServerFrame = Schema.Union([
  Subscribed,
  Unsubscribed,
  ErrorFrame,
  AuthAccepted,
  AuthRefusal,
  Pong,
  EventFrame
])
export type ServerFrame = typeof ServerFrame.Type

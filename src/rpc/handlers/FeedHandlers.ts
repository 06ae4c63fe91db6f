/** Handlers of the feeds: each opens an in-process connection, sends the frames that a socket would send, and streams its messages. */
import { Effect, Schema, Stream } from "effect"
import type { Headers } from "effect/http"
import * as ApiError from "../../domain/ApiError.ts"
import { type Code, textOf } from "../../domain/Reason.ts"
import { parseTopic } from "../../domain/Topic.ts"
import { InProcessFeeds, type ConnectionEnded, type Opening } from "../../services/operations/InProcessFeeds.ts"
import type { DomainError } from "../../services/DomainError.ts"
import { type Advice, closeCodes, closeReasonOf } from "../../ws/api/CloseCodes.ts"
import { type Auth, type ClientFrame, ServerFrame } from "../../ws/api/Frames.ts"
import { ApiErrors } from "../api/Errors.ts"
import { AccountMessage, Feeds, MarketMessage } from "../api/Feeds.ts"
import { currentPeer } from "./Peer.ts"

type Failure = typeof ApiErrors.Type

const frameOf = Schema.decodeUnknownSync(Schema.fromJsonString(ServerFrame))
const failureOf = Schema.decodeUnknownSync(ApiErrors)

const BEARER = /^bearer +/iu

/** The auth frame, from the credential headers of REST. An API key signs the message of a socket. */
const authOf = (headers: Headers.Headers): Auth => {
  const fields = {
    bearer: headers["authorization"]?.replace(BEARER, ""),
    api_key: headers["x-api-key"],
    signature: headers["x-signature"],
    nonce: headers["x-nonce"]
  }
  const timestamp = headers["x-timestamp-ms"]
  const said = Object.entries(fields).filter(([, value]) => value !== undefined)
  return {
    op: "auth",
    ...(Object.fromEntries(said) as Partial<Record<keyof typeof fields, string>>),
    ...(timestamp === undefined ? {} : { timestamp_ms: Number(timestamp) })
  }
}

const codeOf: Record<Advice, Code> = {
  "log-in": "UNAUTHORIZED",
  "back-off": "SERVICE_UNAVAILABLE",
  reconnect: "SERVICE_UNAVAILABLE",
  fix: "BAD_REQUEST",
  stop: "SERVICE_UNAVAILABLE"
}
/** Why a stream ended, by the close code of a socket. */
const endedBy = ({ code }: ConnectionEnded): Failure => {
  const reason = closeReasonOf(code) ?? "Internal"
  const { advice, text } = closeCodes[reason]
  const wire = reason === "TooMany" ? "RateLimitExceeded" : codeOf[advice]
  return failureOf({ code: wire, message: text, details: { close_code: code } })
}

const failure = (error: Failure | DomainError | ConnectionEnded): Failure => {
  if (!("_tag" in error)) return error
  return error._tag === "ConnectionEnded"
    ? endedBy(error)
    : failureOf(ApiError.ofReason(error.reason, error.details, { message: error.message ?? textOf(error.reason) }))
}

/** The message of a frame; `undefined`: the frame is none of the subscribed topics. */
const messageOf = (text: string): Effect.Effect<unknown, Failure> => {
  const frame = frameOf(text)
  switch (frame.op) {
    case "subscribed": {
      const { args, resume } = frame
      return Effect.succeed({ kind: "subscribed", topics: args, ...(resume === undefined ? {} : { resume }) })
    }
    case "event": {
      const { data, server_ts_ms, topic } = frame
      const parsed = parseTopic(topic)
      const kind = typeof parsed === "string" ? parsed : parsed.kind === "private" ? parsed.name : parsed.kind
      return Effect.succeed({ kind, topic, server_ts_ms, data })
    }
    case "auth":
      return frame.success ? Effect.undefined : Effect.fail(failureOf(frame))
    case "error":
      return Effect.fail(failureOf(frame))
    default:
      return Effect.undefined
  }
}

const make = Effect.gen(function* () {
  const feeds = yield* InProcessFeeds

  const stream = <A>(
    endpoint: Opening["endpoint"],
    frames: ReadonlyArray<ClientFrame>,
    decode: (message: unknown) => A
  ): Stream.Stream<A, Failure> =>
    Stream.unwrap(
      Effect.map(currentPeer, (from) =>
        feeds.open({ endpoint, peer: from, messages: frames.map((frame) => JSON.stringify(frame)) })
      )
    ).pipe(
      Stream.mapEffect(messageOf),
      Stream.filter((message) => message !== undefined),
      Stream.map(decode),
      Stream.mapError(failure)
    )

  return Feeds.of({
    "feed.market": ({ topics }) =>
      stream("public", [{ op: "subscribe", args: topics }], Schema.decodeUnknownSync(MarketMessage)),
    "feed.account": ({ since, topics }, { headers }) =>
      stream(
        "private",
        [authOf(headers), { op: "subscribe", args: topics, ...(since === undefined ? {} : { since }) }],
        Schema.decodeUnknownSync(AccountMessage)
      )
  })
})

export const layer = Feeds.toLayer(make)

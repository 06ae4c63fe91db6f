/**
 * The AsyncAPI document of the WebSocket endpoints, generated from the schemas of the frames.
 *
 * Actions are from the gateway's point of view: it receives client messages and sends replies and events.
 * Source: docs/contract/websocket.md; AsyncAPI 3.0.
 */
import { Schema } from "effect"
import { Address } from "../../domain/Address.ts"
import { Decimal, SignedDecimal } from "../../domain/Decimal.ts"
import { ExecType, Side } from "../../domain/Enumerations.ts"
import { Millis } from "../../domain/Time.ts"
import { closeCodes } from "./CloseCodes.ts"
import { TIME } from "./Examples.ts"
import * as Frames from "./Frames.ts"
import * as JsonSchemas from "./JsonSchemas.ts"
import { privateTopics, publicTopics, type TopicPayload } from "./Topics.ts"

interface Message {
  readonly id: string
  readonly title: string
  readonly summary: string
  readonly payload: Schema.Top
  readonly example?: object
}

const req_id = "1"

const messages = {
  subscribe: {
    id: "subscribe",
    title: "Subscribe",
    summary:
      "Subscribe to topics, at most 50 per message. A repeated subscription starts the topic again. `since` resumes private topics after a position in the user stream.",
    payload: Frames.Subscribe,
    example: { op: "subscribe", args: ["orderbook.50.BTC-USDC"], req_id }
  },
  unsubscribe: {
    id: "unsubscribe",
    title: "Unsubscribe",
    summary: "Unsubscribe from topics.",
    payload: Frames.Unsubscribe,
    example: { op: "unsubscribe", args: ["orderbook.50.BTC-USDC"], req_id }
  },
  ping: {
    id: "ping",
    title: "Ping",
    summary: "Request a pong. Allowed before authentication.",
    payload: Frames.Ping,
    example: { op: "ping", req_id, ts: TIME }
  },
  auth: {
    id: "auth",
    title: "Authenticate",
    summary:
      "Authenticate with `bearer`, or with an API key: `api_key`, `signature`, `timestamp_ms` and `nonce`. The key signs SERVICE_WS|AUTH|{timestamp_ms}|{nonce}. A repeated message of the same user replaces the credential and its expiry.",
    payload: Frames.Auth,
    example: { op: "auth", bearer: "eyJhbGciOiJFZERTQSJ9.e30.AA", req_id }
  },
  subscribed: {
    id: "subscribed",
    title: "Subscribed",
    summary: "The accepted topics. Always sent, before the first event of a topic.",
    payload: Frames.Subscribed,
    example: { op: "subscribed", args: ["orderbook.50.BTC-USDC"], req_id }
  },
  unsubscribed: {
    id: "unsubscribed",
    title: "Unsubscribed",
    summary: "The topics that were removed; no event of them follows.",
    payload: Frames.Unsubscribed,
    example: { op: "unsubscribed", args: ["orderbook.50.BTC-USDC"], req_id }
  },
  pong: {
    id: "pong",
    title: "Pong",
    summary: "The immediate reply to a ping.",
    payload: Frames.Pong,
    example: { op: "pong", req_id, client_ts: TIME, server_ts: TIME + 3 }
  },
  accepted: {
    id: "authAccepted",
    title: "Authenticated",
    summary: "The authenticated user and the position of the user stream.",
    payload: Frames.AuthAccepted,
    example: {
      op: "auth",
      success: true,
      user_id: "f4d12921-24f9-5d21-bac3-b037fe010f93",
      req_id,
      stream_id: "s1",
      head_seq: 0,
      expires_at_ms: TIME + 604_800_000
    }
  },
  refused: {
    id: "authRefused",
    title: "Not authenticated",
    summary: "The reason of the refusal. After the third one the connection is closed with 4003.",
    payload: Frames.AuthRefusal,
    example: {
      op: "auth",
      success: false,
      user_id: null,
      req_id,
      code: "UNAUTHORIZED",
      message: "the token is not valid",
      details: { reason: "InvalidToken" }
    }
  },
  error: {
    id: "error",
    title: "Error",
    summary:
      "A message, or one of its topics, was refused; the connection stays open. Before a shutdown: SERVICE_UNAVAILABLE, going away.",
    payload: Frames.ErrorFrame,
    example: {
      op: "error",
      code: "BAD_REQUEST",
      message: 'unknown depth: expected 1, 50, 200, 1000, got "7"',
      topic: "orderbook.7.BTC-USDC",
      req_id: "4",
      details: { reason: "InvalidField", field: "args" }
    }
  }
} satisfies Record<string, Message>

/** The event message of a topic: the frame with the topic's data. */
const eventOf = ({ carries, data, description, example, id, pattern, title }: TopicPayload): Message => ({
  id: `${id}Event`,
  title,
  summary: description,
  payload: Schema.Struct({
    ...Frames.EventFrame.fields,
    topic: Schema.String.check(Schema.isPattern(new RegExp(pattern, "u"))),
    data
  }),
  ...(carries === undefined ? {} : { example: { op: "event", topic: example, server_ts_ms: TIME + 4, data: carries } })
})

const events = { public: publicTopics.map(eventOf), private: privateTopics.map(eventOf) }

interface Operation {
  readonly name: string
  readonly summary: string
  readonly request: Message
  readonly replies: ReadonlyArray<Message>
}

const { accepted, auth, error, ping, pong, refused, subscribe, subscribed, unsubscribe, unsubscribed } = messages
const common: ReadonlyArray<Operation> = [
  { name: "subscribe", summary: "Subscribe to topics", request: subscribe, replies: [subscribed, error] },
  { name: "unsubscribe", summary: "Unsubscribe from topics", request: unsubscribe, replies: [unsubscribed, error] },
  { name: "ping", summary: "Measure the round-trip time", request: ping, replies: [pong, error] }
]
const authenticate: Operation = {
  name: "auth",
  summary: "Authenticate the connection",
  request: auth,
  replies: [accepted, refused, error]
}
const open: ReadonlyArray<Operation> = [
  ...common,
  { name: "auth", summary: "Always refused: authenticate on /ws/private", request: auth, replies: [refused, error] }
]

interface Channel {
  readonly id: string
  readonly address: string
  readonly title: string
  readonly description: string
  readonly operations: ReadonlyArray<Operation>
  readonly events: ReadonlyArray<Message>
}

const channels: ReadonlyArray<Channel> = [
  {
    id: "public",
    address: "/ws/public",
    title: "Public feeds",
    description: "Market data, without authentication.",
    operations: open,
    events: events.public
  },
  {
    id: "private",
    address: "/ws/private",
    title: "Private feeds",
    description:
      "Orders, executions, positions and balances of one user. Authenticate within 10 s. All topics share one sequence, `seq`, without gaps.",
    operations: [authenticate, ...common],
    events: events.private
  },
  {
    id: "general",
    address: "/ws",
    title: "General feeds",
    description: "`/ws` is an alias of `/ws/public`; private topics need `/ws/private`.",
    operations: open,
    events: events.public
  }
]

const list = <A, B>(items: ReadonlyArray<A>, f: (item: A) => readonly [string, B]): Record<string, B> =>
  Object.fromEntries(items.map(f))
const capital = (text: string): string => text[0]!.toUpperCase() + text.slice(1)

const messagesOf = ({ events, operations }: Channel): ReadonlyArray<Message> => [
  ...new Set([...operations.flatMap(({ replies, request }) => [request, ...replies]), ...events])
]

const close = Object.values(closeCodes).map(({ advice, code, text }) => ({ code, text, advice }))

const channelOf = (channel: Channel): object => ({
  address: channel.address,
  title: channel.title,
  description: channel.description,
  messages: list(messagesOf(channel), ({ id }) => [id, { $ref: `#/components/messages/${id}` }]),
  bindings: { ws: { method: "GET", bindingVersion: "0.1.0" } },
  "x-close-codes": close
})

const operationsOf = (channel: Channel): ReadonlyArray<readonly [string, object]> => {
  const on = { $ref: `#/channels/${channel.id}` }
  const named = (some: ReadonlyArray<Message>) =>
    some.map(({ id }) => ({ $ref: `#/channels/${channel.id}/messages/${id}` }))
  return [
    ...channel.operations.map(
      ({ name, replies, request, summary }) =>
        [
          `${channel.id}${capital(name)}`,
          {
            action: "receive",
            channel: on,
            summary,
            messages: named([request]),
            reply: { channel: on, messages: named(replies) }
          }
        ] as const
    ),
    [
      `${channel.id}Events`,
      { action: "send", channel: on, summary: "Send events", messages: named([...channel.events, error]) }
    ]
  ]
}

/** The document for a version of the API. */
export const asyncApi = (version: string) => {
  const all = [...new Set(channels.flatMap(messagesOf))]
  // first, so that they keep their names in the definitions
  const forms = { Decimal, SignedDecimal, Millis, Side, ExecType, Address }
  const schemas = JsonSchemas.make({ ...forms, ...list(all, ({ id, payload }) => [capital(id), payload]) })
  return {
    asyncapi: "3.0.0",
    info: {
      title: "Trading Gateway",
      version,
      description:
        "WebSocket feeds of the trading gateway. Each text frame is one JSON object. Prices and quantities are decimal text, times are Unix milliseconds. Limits of a connection: 20 messages per second (burst 100), frames of 64 KiB, 200 topics. The gateway sends a ping every 15 s and closes a connection after 30 s of silence. `x-close-codes` lists every close code and how the client should react.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" }
    },
    defaultContentType: "application/json",
    servers: { local: { host: "localhost:3010", protocol: "ws", description: "A gateway on this machine" } },
    channels: list(channels, (channel) => [channel.id, channelOf(channel)]),
    operations: Object.fromEntries(channels.flatMap(operationsOf)),
    components: {
      messages: list(all, ({ example, id, summary, title }) => [
        id,
        {
          name: id,
          title,
          summary,
          contentType: "application/json",
          payload: { $ref: `#/components/schemas/${capital(id)}` },
          ...(example === undefined ? {} : { examples: [{ name: id, payload: example }] })
        }
      ]),
      schemas
    }
  }
}

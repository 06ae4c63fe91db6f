/**
 * A row for every operation of the WebSocket endpoints: its message, and the response that it must get.
 * Source: docs/contract/websocket.md#messages.
 */
import { document, nameOf } from "../../verification/harness/documents/AsyncApi.ts"
import type { Frame } from "../../verification/harness/Socket.ts"
import { type FeedStory, SYMBOL } from "./FeedStory.ts"

export interface Cell {
  readonly name: string
  readonly message: Frame
  /** The contents of the response. */
  readonly reply: object
  /** Sent without authentication, where the endpoint requires it. */
  readonly anonymous?: true
}
type Row = (story: FeedStory, path: string) => ReadonlyArray<Cell>

const isPrivate = (path: string): boolean => path === "/ws/private"
const topicOf = (path: string): string => (isPrivate(path) ? "order" : `trade.${SYMBOL}`)
const refused = { op: "error", code: "BAD_REQUEST" }

/** A message without each of its required members, and with each member of a wrong type. */
const malformed = (message: Frame): ReadonlyArray<Cell> => {
  const { properties, required } =
    document.components.schemas[nameOf(document.components.messages[message.op].payload.$ref)]
  const members = Object.keys(properties).filter((member) => member !== "op")
  const without = (member: string) => Object.fromEntries(Object.entries(message).filter(([key]) => key !== member))
  return [
    ...members.map((member) => ({
      name: `${member} of another type`,
      message: { ...message, [member]: [[]] },
      reply: refused
    })),
    ...members
      .filter((member) => required.includes(member))
      .map((member) => ({ name: `no ${member}`, message: without(member), reply: refused })),
    { name: "a req_id of 65 characters", message: { ...message, req_id: "x".repeat(65) }, reply: refused },
    { name: "a req_id of none", message: { ...message, req_id: true }, reply: refused }
  ]
}
/** The request ids that are echoed, with their types. */
const echoed = (message: Frame, reply: object): ReadonlyArray<Cell> =>
  ["1", "x".repeat(64), 0, -3, 2 ** 53 - 1].map((req_id) => ({
    name: `req_id ${req_id}`,
    message: { ...message, req_id },
    reply: { ...reply, req_id }
  }))

const lists = (op: "subscribe" | "unsubscribe", done: "subscribed" | "unsubscribed"): Row => {
  return (_, path) => {
    const topic = topicOf(path)
    const message = { op, args: [topic] }
    const args = op === "subscribe" ? [topic] : []
    return [
      ...echoed(message, { op: done, args }),
      ...malformed(message),
      { name: "no topic", message: { op, args: [] }, reply: refused },
      { name: "a topic that is no text", message: { op, args: [topic, 5] }, reply: refused },
      { name: "51 topics", message: { op, args: Array.from({ length: 51 }, () => topic) }, reply: refused },
      { name: "50 topics", message: { op, args: Array.from({ length: 50 }, () => topic) }, reply: { op: done, args } },
      { name: "a topic of nobody", message: { op, args: ["nope.BTC"] }, reply: { op: done, args: [] } },
      ...(isPrivate(path)
        ? [{ name: "nobody", message, reply: { op: done, args: [] }, anonymous: true } as const]
        : [{ name: "another market", message: { op, args: ["trade.NO-USDC"] }, reply: { op: done, args: [] } }])
    ]
  }
}

/** By the name of the request message. */
export const operationRows: Readonly<Record<string, Row>> = {
  subscribe: lists("subscribe", "subscribed"),
  unsubscribe: lists("unsubscribe", "unsubscribed"),
  ping: () => [
    ...echoed({ op: "ping" }, { op: "pong" }),
    { name: "a time", message: { op: "ping", ts: 1767225600000 }, reply: { op: "pong", client_ts: 1767225600000 } },
    { name: "nobody", message: { op: "ping" }, reply: { op: "pong" }, anonymous: true },
    ...malformed({ op: "ping" })
  ],
  auth: ({ trader }, path) => {
    const message = { op: "auth", bearer: trader.token }
    const no = (code: string) => ({ op: "auth", success: false, user_id: null, code })
    if (!isPrivate(path)) {
      return [...echoed(message, no("BAD_REQUEST")), ...malformed(message)]
    }
    const key = { op: "auth", api_key: "a", signature: "b", timestamp_ms: 1, nonce: "c" }
    const yes = { op: "auth", success: true, user_id: trader.user_id }
    const first = echoed(message, yes).map((cell) => ({ ...cell, anonymous: true }) as const)
    return [
      ...first,
      { name: "again", message, reply: yes },
      { name: "no credential", message: { op: "auth" }, reply: no("UNAUTHORIZED"), anonymous: true },
      { name: "a token of nobody", message: { op: "auth", bearer: "x" }, reply: no("UNAUTHORIZED"), anonymous: true },
      { name: "a key of nobody", message: key, reply: no("UNAUTHORIZED"), anonymous: true },
      { name: "two credentials", message: { ...key, ...message }, reply: no("BAD_REQUEST"), anonymous: true },
      ...["signature", "timestamp_ms", "nonce"].map((member) => ({
        name: `no ${member}`,
        message: { ...key, [member]: null },
        reply: no("BAD_REQUEST"),
        anonymous: true as const
      })),
      ...malformed(message)
    ]
  }
}

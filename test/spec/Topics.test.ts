/**
 * The topics and operations of the AsyncAPI document, on every endpoint of a running exchange. A topic or an operation
 * without a row fails. Source: docs/contract/websocket.md#endpoints, #messages, #public-topics,
 * #private-topics.
 */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { call } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import type { Frame, Socket } from "../../verification/harness/Socket.ts"
import { document, messageOf, nameOf } from "../../verification/harness/documents/AsyncApi.ts"
import { type FeedStory, makeStory, WAIT_MS } from "./FeedStory.ts"
import { operationRows } from "./FeedOperations.ts"
import { topicRows } from "./Topics.ts"

interface Reference {
  readonly $ref: string
}
interface Operation {
  readonly action: "send" | "receive"
  readonly channel: Reference
  readonly messages: ReadonlyArray<Reference>
  readonly reply?: { readonly messages: ReadonlyArray<Reference> }
}
const named = (refs: ReadonlyArray<Reference> = []) => refs.map(({ $ref }) => nameOf($ref))
const operations = Object.entries<Operation>(document.operations).map(([key, operation]) => ({
  key,
  action: operation.action,
  path: document.channels[nameOf(operation.channel.$ref)].address as string,
  messages: named(operation.messages),
  replies: named(operation.reply?.messages)
}))
const described = operations.flatMap(({ action, messages, path }) =>
  action === "send" ? messages.filter((message) => message !== "error").map((message) => ({ message, path })) : []
)
const asked = operations.flatMap((each) => (each.action === "receive" ? [{ ...each, op: each.messages[0]! }] : []))
const paths = [...new Set(described.map(({ path }) => path))]

let story: FeedStory
/** Every frame of a name on a path, from the start of the story. */
const record = new Map<string, Array<Frame>>()
const followers: Array<Socket> = []
const namesOf = (path: string): ReadonlyArray<string> =>
  described.filter((each) => each.path === path).flatMap(({ message }) => topicRows[message]?.names(story) ?? [])

const follow = async (path: string): Promise<void> => {
  const socket = await story.open(path)
  followers.push(socket)
  socket.ws.on("message", (data: Buffer) => {
    const frame = JSON.parse(data.toString())
    if (frame.op !== "event") return
    const key = `${path} ${frame.topic}`
    record.set(key, [...(record.get(key) ?? []), frame])
  })
  const args = namesOf(path)
  const subscribed = await story.ask(socket, { op: "subscribe", args })
  assert.deepStrictEqual(subscribed.args, args)
}

beforeAll(async () => {
  story = await makeStory()
  for (const path of paths) await follow(path)
  await story.happen()
})
afterAll(async () => {
  for (const socket of followers) socket.close()
  await story?.close()
})

describe("the table of topics", () => {
  it("has a row for every topic of the document, and no other", () => {
    const messages = [...new Set(described.map(({ message }) => message))]
    assert.deepStrictEqual(messages.toSorted(), Object.keys(topicRows).toSorted(), "rows of test/spec/Topics.ts")
  })

  for (const { message, path } of described) {
    const row = topicRows[message]
    if (row === undefined) continue
    it(`${path}, ${message}: starts and continues as documented`, async () => {
      for (const name of row.names(story)) {
        const all = () => Promise.resolve((record.get(`${path} ${name}`) ?? []).map(({ data }) => data))
        const data = await eventually(
          `${name} to tell the story`,
          all,
          (list) => list.some((each) => row.done(each, story)),
          WAIT_MS
        )
        const types = data.map(({ type }) => type)
        if (row.begins) assert.strictEqual(types.shift(), "snapshot", name)
        assert.deepStrictEqual([...new Set(types)], [row.follow(name)], name)
        await row.whole?.(await all(), story, name)
      }
    })

    it(`${path}, ${message}: starts again at a new subscription, and ends when unsubscribed`, async () => {
      const socket = await story.open(path)
      for (const name of row.names(story)) {
        for (let i = 0; i < 2; i++) {
          const reply = await story.ask(socket, { op: "subscribe", args: [name, name] })
          assert.deepStrictEqual([reply.op, reply.args], ["subscribed", [name]])
          if (!row.begins) continue
          const { data } = await socket.event(name, () => true, WAIT_MS)
          assert.strictEqual(data.type, "snapshot", name)
          if (row.asRest === undefined) continue
          const { body } = await call(story.exchange, "GET", `/api/v1${row.asRest.path}`)
          assert.deepStrictEqual(data.list, row.asRest.of(body))
        }
        const left = await story.ask(socket, { op: "unsubscribe", args: [name] })
        assert.deepStrictEqual([left.op, left.args], ["unsubscribed", [name]])
        assert.deepStrictEqual((await story.ask(socket, { op: "unsubscribe", args: [name] })).args, [])
      }
      socket.close()
    })

    it(`${path}, ${message}: is refused on other endpoints`, async () => {
      const elsewhere = paths.filter(
        (other) => !described.some((each) => each.path === other && each.message === message)
      )
      for (const other of elsewhere) {
        const socket = await story.open(other)
        for (const name of row.names(story)) {
          assert.deepStrictEqual((await story.ask(socket, { op: "subscribe", args: [name] })).args, [])
          const error = await socket.next("refusal", ({ topic }) => topic === name, WAIT_MS)
          assert.deepStrictEqual([error.op, error.code], ["error", "BAD_REQUEST"], `${name} on ${other}`)
        }
        socket.close()
      }
    })
  }
})

describe("the table of operations", () => {
  it("has a row for every operation of the document, and no other", () => {
    const ops = [...new Set(asked.map(({ op }) => op))]
    assert.deepStrictEqual(ops.toSorted(), Object.keys(operationRows).toSorted(), "rows of test/spec/FeedOperations.ts")
  })

  for (const { key, op, path, replies } of asked) {
    const row = operationRows[op]
    if (row === undefined) continue
    it(`${key}: gets the documented response on its endpoint`, async () => {
      const cells = row(story, path)
      for (const { anonymous, message, name, reply } of cells) {
        const socket = await story.open(path, anonymous)
        socket.send(message)
        const frame = await socket.next(name, ({ op: its }) => its !== "event", WAIT_MS)
        const where = `${name}: ${JSON.stringify(frame)}`
        assert.include(replies, messageOf(path, frame), where)
        assert.deepInclude(frame, reply, where)
        // the connection stays open
        socket.send({ op: "ping", ts: 7 })
        assert.strictEqual((await socket.next("pong", ({ op: its }) => its === "pong", WAIT_MS)).client_ts, 7)
        socket.close()
      }
      assert.isAtLeast(cells.length, 4)
    })
  }
})

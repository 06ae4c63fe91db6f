/** The AsyncAPI document: its structure, its examples, and that it speaks of every topic and nothing else. */
import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { Schema } from "effect"
import { checksum } from "../../src/domain/Book.ts"
import { parseTopic, printTopic, privateTopics } from "../../src/domain/Topic.ts"
import { closeCodes } from "../../src/ws/api/CloseCodes.ts"
import { ClientFrame, ServerFrame } from "../../src/ws/api/Frames.ts"
import * as Topics from "../../src/ws/api/Topics.ts"
import { feedPaths } from "../../src/ws/Endpoints.ts"
import { document, messageOf, nameOf, sent, wrongWith } from "../../verification/harness/documents/AsyncApi.ts"

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

const { channels, components, operations } = document
const at = (ref: string): Json =>
  ref
    .slice(2)
    .split("/")
    .reduce((value: Json, key) => value?.[key], document)
const refsIn = (value: Json): ReadonlyArray<string> =>
  value === null || typeof value !== "object"
    ? []
    : Object.entries<Json>(value).flatMap(([key, member]) => (key === "$ref" ? [member] : refsIn(member)))

describe("the AsyncAPI document", () => {
  it("is one of version 3, and every reference leads somewhere", () => {
    assert.strictEqual(document.asyncapi, "3.0.0")
    assert.isAbove(refsIn(document).length, 100)
    assert.deepStrictEqual(
      refsIn(document).filter((ref) => at(ref) === undefined),
      []
    )
  })

  it("has a channel for each endpoint", () => {
    assert.deepStrictEqual(
      Object.values<Json>(channels)
        .map(({ address }) => address)
        .toSorted(),
      Object.keys(feedPaths).toSorted()
    )
  })

  it("has only messages of the channel in each operation, and each message in an operation", () => {
    for (const operation of Object.values<Json>(operations)) {
      const channel = nameOf(operation.channel.$ref)
      assert.include(["send", "receive"], operation.action)
      const refs = [...operation.messages, ...(operation.reply?.messages ?? [])].map(({ $ref }) => $ref)
      for (const ref of refs) assert.match(ref, new RegExp(`^#/channels/${channel}/messages/`, "u"))
      if (operation.reply !== undefined) assert.strictEqual(nameOf(operation.reply.channel.$ref), channel)
    }
    const spoken = refsIn(operations).filter((ref) => ref.includes("/messages/"))
    for (const [name, { messages }] of Object.entries<Json>(channels)) {
      for (const message of Object.keys(messages)) assert.include(spoken, `#/channels/${name}/messages/${message}`)
    }
    const used = new Set(Object.values<Json>(channels).flatMap(({ messages }) => Object.keys(messages)))
    assert.deepStrictEqual([...used].toSorted(), Object.keys(components.messages).toSorted())
  })

  it("leaves no schema unused", () => {
    const used = new Set(
      refsIn({ channels, components })
        .filter((ref) => ref.includes("/schemas/"))
        .map(nameOf)
    )
    assert.deepStrictEqual(
      Object.keys(components.schemas).filter((name) => !used.has(name)),
      []
    )
  })

  it("names the code of every way to close", () => {
    for (const channel of Object.values<Json>(channels)) {
      assert.deepStrictEqual(
        channel["x-close-codes"].map(({ code }: Json) => code),
        Object.values(closeCodes).map(({ code }) => code)
      )
    }
  })

  it("shows valid examples, which gateway and clients decode", () => {
    const isClient = Schema.is(ClientFrame)
    const isServer = Schema.is(ServerFrame)
    let shown = 0
    for (const [name, { examples }] of Object.entries<Json>(components.messages)) {
      for (const { payload } of examples ?? []) {
        assert.isUndefined(wrongWith(name, payload), name)
        assert.isTrue(isClient(payload) || isServer(payload), name)
        shown++
      }
    }
    assert.strictEqual(shown, 10 + Topics.publicTopics.length)
    const { asks, bids, checksum: expected } = components.messages.orderbookEvent.examples[0].payload.data
    assert.strictEqual(checksum(bids, asks), expected)
  })

  it("documents every topic under its name, and no other", () => {
    for (const { example, pattern } of [...Topics.publicTopics, ...Topics.privateTopics]) {
      const topic = parseTopic(example)
      if (typeof topic === "string") throw new Error(`${example}: ${topic}`)
      assert.strictEqual(printTopic(topic), example)
      assert.match(example, new RegExp(pattern, "u"))
    }
    assert.deepStrictEqual(
      Topics.privateTopics.map(({ example }) => example),
      [...privateTopics]
    )
    for (const other of ["", "trade", "trade.", "orderbook.BTC-USDC", "orderbook.7.BTC-USDC", "trade/0xAB", "orders"]) {
      assert.isFalse(
        Topics.publicTopics.some(({ pattern }) => new RegExp(pattern, "u").test(other)),
        other
      )
    }
  })

  it("is held against every frame that a test receives over a socket of its own", () => {
    const root = new URL("../../", import.meta.url)
    // the other document covers messages over /rpc
    const openings = /new WebSocket\((?!.*\/rpc`)|Sec-WebSocket-Key: \$/u
    const files = ["test/", "verification/harness/"].flatMap((folder) =>
      readdirSync(new URL(folder, root), { recursive: true, encoding: "utf8" }).map((file) => `${folder}${file}`)
    )
    const opens = files.filter(
      (file) =>
        file.endsWith(".ts") &&
        !file.endsWith("Document.test.ts") &&
        openings.test(readFileSync(new URL(file, root), "utf8"))
    )
    assert.includeMembers(opens, [
      "test/ws/RawSocket.ts",
      "verification/harness/Socket.ts",
      "verification/harness/WebSocketWorld.ts"
    ])
    for (const file of opens) {
      assert.include(readFileSync(new URL(file, root), "utf8"), "messageOf(", `${file}: use one of the sockets above`)
    }
  })

  it("finds what is wrong with a frame", () => {
    const pong = { op: "pong", server_ts: 1 }
    assert.strictEqual(messageOf("/ws", pong), "pong")
    for (const wrong of [
      { ...pong, server_ts: "1" },
      { ...pong, more: 1 },
      { op: "gnop" },
      { op: "event", topic: "order", server_ts_ms: 1, data: {} }
    ]) {
      assert.throws(() => messageOf("/ws", wrong))
    }
    assert.include(sent("/ws/private"), "accountBalanceEvent")
    assert.notInclude(sent("/ws/public"), "orderEvent")
  })
})

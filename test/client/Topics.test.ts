/** Checks of each message, and repairs. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { BACKOFF_MAX_MS } from "../../src/client/Backoff.ts"
import { checksum } from "../../src/domain/Book.ts"
import { ARGS_MAX } from "../../src/domain/TopicNames.ts"
import { FAULTS_MAX, type Subscribed, Topics } from "../../src/client/Topics.ts"
import { FakeGateway, type FakeSocket, type Message, polite, quiet, settled, snapshot, update } from "./FakeSockets.ts"

const topic = "orderbook.50.BTC-USDC"
const levels = { symbol: "BTC-USDC", depth: 50, bids: [["60000", "0.5"]], asks: [], ts: 1, mts: 1 }
const whole = { type: "snapshot", ...levels, seq: 1, stream_id: "b", checksum: 3583956136 }
const delta = (seq: number, prev_seq: number, fields: object = {}) => ({
  type: "delta",
  ...levels,
  bids: [],
  checksum: 3583956136,
  seq,
  prev_seq,
  ...fields
})
const faultsOf = (gateway: FakeGateway) =>
  gateway.news.flatMap((event) => (event.kind === "fault" ? [event.fault] : []))

describe("a book", () => {
  it.effect("reloads after a gap, a wrong checksum or crossed prices", () =>
    Effect.gen(function* () {
      let times = 0
      const gateway = new FakeGateway((message, socket) => {
        polite(message, socket)
        if (message.op !== "subscribe") return
        socket.tell(topic, whole)
        times++
        if (times === 1) socket.tell(topic, delta(4, 3))
        if (times === 2) socket.tell(topic, delta(2, 1, { checksum: 7 }))
        const asks = [["59999", "1"]] as const
        if (times === 3) socket.tell(topic, delta(2, 1, { asks, checksum: checksum([["60000", "0.5"]], asks) }))
        if (times === 4) socket.tell(topic, delta(2, 1))
        // dropped until the requested snapshot
        else socket.tell(topic, delta(9, 8))
      })
      const feed = yield* gateway.open({ topics: [topic] })
      yield* settled(() => feed.book("BTC-USDC", 50)?.seq === 2 && feed.book("BTC-USDC", 50)!.sound, "a sound book")
      assert.deepStrictEqual(faultsOf(gateway), ["gap", "checksum", "crossed"])
      assert.strictEqual(feed.book("BTC-USDC", 50)!.faults, 3)
      assert.strictEqual(times, 4)
      // four snapshots and the one valid delta
      assert.strictEqual(feed.counts().messages, 5)
      assert.isTrue(gateway.news.every((event) => event.kind !== "orderbook" || event.book.sound))
    })
  )

  it.effect("that never verifies drops the connection, with back-off", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway((message, socket) => {
        polite(message, socket)
        if (message.op === "subscribe") socket.tell(topic, { ...whole, checksum: 7 })
      })
      const feed = yield* gateway.open({ topics: [topic] })
      yield* settled(() => gateway.states.at(-1) === "lost", "the line is given up")
      assert.strictEqual(gateway.sockets[0]!.sent.length, FAULTS_MAX)
      assert.strictEqual(feed.counts().faults.checksum, FAULTS_MAX)
      assert.lengthOf(gateway.sockets, 1)
      yield* TestClock.adjust(BACKOFF_MAX_MS)
      yield* settled(() => gateway.sockets.length > 1 && gateway.states.at(-1) === "lost", "it is given up again")
      // the next connection has as many tries
      assert.strictEqual(gateway.sockets[1]!.sent.length, FAULTS_MAX)
    })
  )

  it.effect("counts faults in a row: a change that verifies ends the row, a snapshot does not", () =>
    Effect.gen(function* () {
      const tried = { verified: 0, never: 0 }
      /** After each snapshot the change before the fault verifies, or there is none. */
      const openBook = (kind: keyof typeof tried) => {
        const gateway = new FakeGateway((message, socket) => {
          polite(message, socket)
          if (message.op !== "subscribe" || ++tried[kind] > 2 * FAULTS_MAX) return
          socket.tell(topic, whole)
          if (kind === "verified") socket.tell(topic, delta(2, 1))
          socket.tell(topic, delta(9, 8))
        })
        return Effect.as(gateway.open({ topics: [topic] }), gateway)
      }
      const never = yield* openBook("never")
      yield* settled(() => never.states.at(-1) === "lost", "the line is given up")
      assert.lengthOf(faultsOf(never), FAULTS_MAX)
      const verified = yield* openBook("verified")
      yield* settled(() => tried.verified > 2 * FAULTS_MAX, "it reloads on")
      assert.lengthOf(faultsOf(verified), 2 * FAULTS_MAX)
      assert.lengthOf(verified.sockets, 1)
      assert.notStrictEqual(verified.states.at(-1), "lost")
    })
  )
})

describe("a private topic", () => {
  const begun = Effect.fnUntraced(function* (
    topics: ReadonlyArray<string>,
    answer?: (message: Message, socket: FakeSocket) => void
  ) {
    const gateway = new FakeGateway((message, socket) => {
      polite(message, socket)
      answer?.(message, socket)
    })
    const feed = yield* gateway.open({ topics })
    for (const name of topics) gateway.last.tell(name, snapshot(10))
    const seqs = () =>
      gateway.news.flatMap((event) =>
        "data" in event && event.data.type === "update" && "seq" in event.data ? [event.data.seq] : []
      )
    return { gateway, feed, seqs, socket: gateway.last }
  })

  it.effect("requests missing events after its own last one, and emits nothing until then", () =>
    Effect.gen(function* () {
      const { feed, gateway, socket, seqs } = yield* begun(["order", "execution"])
      socket.tell("order", update(11, 3))
      socket.tell("order", update(14, 12)) // 12 is missing
      socket.tell("execution", update(15, 9))
      socket.tell("order", update(16, 14))
      assert.deepStrictEqual(seqs(), [11, 15])
      assert.deepStrictEqual(socket.sent.at(-1).since, { stream_id: "s1", seq: 11 })
      yield* quiet
      for (const [seq, prev] of [
        [12, 11],
        [14, 12],
        [16, 14]
      ] as const)
        socket.tell("order", update(seq, prev))
      assert.deepStrictEqual(seqs(), [11, 15, 12, 14, 16])
      assert.deepStrictEqual(feed.counts().faults, { gap: 1, repetition: 0, checksum: 0, crossed: 0, stream: 0 })
      assert.deepStrictEqual(faultsOf(gateway), ["gap"])
    })
  )

  it.effect("drops and reports a repetition", () =>
    Effect.gen(function* () {
      const { gateway, socket, seqs } = yield* begun(["order", "execution"])
      socket.tell("order", update(11, 0))
      socket.tell("order", update(11, 0))
      // topics of one frame arrive in order, so 12 was skipped
      socket.tell("execution", update(13, 0))
      socket.tell("order", update(12, 11))
      socket.tell("order", update(14, 11))
      assert.deepStrictEqual(seqs(), [11, 13, 14])
      assert.deepStrictEqual(faultsOf(gateway), ["repetition", "repetition"])
    })
  )

  it.effect("must continue from its snapshot", () =>
    Effect.gen(function* () {
      const { gateway, socket, seqs } = yield* begun(["order"])
      socket.tell("order", update(12, 11))
      assert.deepStrictEqual(seqs(), [])
      assert.deepStrictEqual([faultsOf(gateway), socket.sent.at(-1).since], [["gap"], { stream_id: "s1", seq: 10 }])
    })
  )

  it.effect("starts again with a new stream", () =>
    Effect.gen(function* () {
      const { gateway, socket, seqs } = yield* begun(["order"])
      socket.tell("order", update(1, 0, [], "s2"))
      assert.deepStrictEqual(faultsOf(gateway), ["stream"])
      assert.isUndefined(socket.sent.at(-1).since)
      yield* quiet
      socket.tell("order", snapshot(5, [], "s2"))
      socket.tell("order", update(6, 0, [], "s2"))
      assert.deepStrictEqual(seqs(), [6])
    })
  )

  it.effect("reports an unrequested snapshot as a gap", () =>
    Effect.gen(function* () {
      const { feed, gateway, socket } = yield* begun(["order"])
      socket.tell("order", update(11, 0))
      socket.tell("order", snapshot(3, [], "s2"))
      assert.deepStrictEqual(gateway.news.at(-2), {
        kind: "resume",
        recovered: false,
        topics: ["order"],
        since: { stream_id: "s1", seq: 11 }
      })
      assert.strictEqual(gateway.news.at(-1)!.kind, "order")
      assert.strictEqual(feed.counts().unrecovered, 1)
    })
  )

  it.effect("is removed after a final refusal, and requested again after a temporary one", () =>
    Effect.gen(function* () {
      let isLost = true
      const gateway = new FakeGateway((message, socket) => {
        if (message.op !== "subscribe") return polite(message, socket)
        const { args, req_id } = message
        const accepted = args.filter((name: string) => name !== "execution" && !(isLost && name === "order"))
        socket.say({ op: "subscribed", args: accepted, req_id })
        if (args.includes("execution"))
          socket.say({ op: "error", code: "BAD_REQUEST", message: "unknown", topic: "execution", req_id })
        if (isLost)
          socket.say({ op: "error", code: "SERVICE_UNAVAILABLE", message: "unavailable", topic: "order", req_id })
        isLost = false
      })
      const states = () => gateway.events.flatMap((event) => (event.kind === "state" ? [event.state] : []))
      yield* Effect.forkScoped(gateway.open({ topics: ["order", "execution"] }))
      yield* settled(() => gateway.states.at(-1) === "lost", "it is given up")
      assert.deepStrictEqual(states().at(-1), { type: "lost", code: 1013, reason: "unavailable" })
      assert.deepStrictEqual(
        gateway.news.flatMap((event) => (event.kind === "refused" ? [event.error.topic] : [])),
        ["execution", "order"]
      )
      yield* TestClock.adjust(BACKOFF_MAX_MS)
      yield* settled(() => gateway.states.at(-1) === "live", "it is back")
      assert.deepStrictEqual(gateway.last.sent.at(-1).args, ["order"])
    })
  )

  it.effect("has no resume to report where the gateway refuses it after an interruption", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway((message, socket, connection) => {
        if (connection === 1 || message.since === undefined) return polite(message, socket)
        const { args, req_id, since } = message
        const resume = { recovered: false, stream_id: since.stream_id, head_seq: 99 }
        socket.say({ op: "subscribed", args: [], req_id, resume })
        for (const topic of args) socket.say({ op: "error", code: "BAD_REQUEST", message: "unknown", topic, req_id })
      })
      const feed = yield* gateway.open({ topics: ["order", "trade.BTC-USDC"] })
      gateway.last.tell("order", snapshot(3))
      gateway.last.drop()
      yield* TestClock.adjust(BACKOFF_MAX_MS)
      yield* settled(() => gateway.states.at(-1) === "live", "it is back")
      assert.deepStrictEqual(
        gateway.news.flatMap(({ kind }) => (kind === "resume" || kind === "refused" ? [kind] : [])),
        ["refused"]
      )
      const { resumed, unrecovered } = feed.counts()
      assert.deepStrictEqual([resumed, unrecovered], [0, 0])
    })
  )

  it.effect("ends its feed where the gateway refuses it for good and no other is left", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway((message, socket) => {
        if (message.op !== "subscribe") return polite(message, socket)
        const { args, req_id } = message
        socket.say({ op: "subscribed", args: [], req_id })
        for (const topic of args) socket.say({ op: "error", code: "BAD_REQUEST", message: "unknown", topic, req_id })
      })
      const ended = yield* Effect.flip(gateway.open({ topics: ["order", "execution"] }))
      assert.deepStrictEqual([ended.code, ended.message], [1003, "unknown"])
      assert.notInclude(gateway.states, "live")
    })
  )
})

describe("a subscription", () => {
  it.effect("of many topics is sent in frames of at most 50, and is complete with the last of them", () =>
    Effect.gen(function* () {
      const topics = Array.from({ length: 2 * ARGS_MAX + 1 }, (_, i) => `trade.M${i}-USDC`)
      const held: Array<() => void> = []
      const gateway = new FakeGateway((message, socket) => void held.push(() => polite(message, socket)))
      const opening = yield* Effect.forkScoped(gateway.open({ topics }))
      yield* settled(() => held.length === 3, "three frames")
      assert.deepStrictEqual(
        gateway.last.sent.map(({ args }) => args),
        [topics.slice(0, ARGS_MAX), topics.slice(ARGS_MAX, 2 * ARGS_MAX), topics.slice(2 * ARGS_MAX)]
      )
      for (const reply of [held[2]!, held[0]!]) reply()
      yield* quiet
      assert.deepStrictEqual(gateway.states, ["connecting"])
      held[1]!()
      yield* Fiber.join(opening)
      assert.deepStrictEqual(gateway.states, ["connecting", "live"])
    })
  )

  it("of nothing is complete at once; without a connection it is not made", () => {
    const topics = new Topics(["trade.BTC-USDC"], { now: () => 0, emit: () => assert.fail(), disconnect: assert.fail })
    const results: Array<Subscribed> = []
    const done = (result: Subscribed): void => void results.push(result)
    topics.subscribe([], done)
    topics.subscribe(["trade.BTC-USDC"], done)
    topics.subscribe(["trade.BTC-USDC", "order"], done)
    assert.deepStrictEqual(results, [{ accepted: [], resume: undefined }, undefined, undefined])
  })

  it.effect("reports a resume that failed, whatever the order of the replies", () =>
    Effect.gen(function* () {
      for (const failing of ["order", "execution"]) {
        const gateway = new FakeGateway((message, socket, connection) => {
          if (message.op !== "subscribe" || connection === 1) return polite(message, socket)
          const { args, req_id, since } = message
          const resume = { recovered: !args.includes(failing), stream_id: since.stream_id, head_seq: 99 }
          socket.say({ op: "subscribed", args, req_id, resume })
        })
        const feed = yield* gateway.open({ topics: ["order", "execution"] })
        gateway.last.tell("order", snapshot(3))
        gateway.last.tell("execution", snapshot(4))
        gateway.last.drop()
        yield* TestClock.adjust(BACKOFF_MAX_MS)
        yield* settled(() => gateway.states.at(-1) === "live", "it is back")
        assert.lengthOf(
          gateway.last.sent.filter(({ op }) => op === "subscribe"),
          2
        )
        assert.deepStrictEqual(feed.state.get(), {
          type: "live",
          resume: { recovered: false, stream_id: "s1", head_seq: 99 }
        })
        const { resumed, unrecovered } = feed.counts()
        assert.deepStrictEqual([resumed, unrecovered], [1, 1])
      }
    })
  )

  it.effect("unsubscribes from any number of topics in frames that the gateway takes", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway((message, socket) => {
        if (message.op !== "unsubscribe") polite(message, socket)
        // the contract's limit; an error of the whole frame has no topic
        else if (message.args.length === 0 || message.args.length > ARGS_MAX)
          socket.say({ op: "error", code: "INVALID_ARGUMENT", message: "args", req_id: message.req_id })
        else socket.say({ op: "unsubscribed", args: message.args, req_id: message.req_id })
      })
      const topics = Array.from({ length: ARGS_MAX + 1 }, (_, i) => `trade.M${i}-USDC`)
      const feed = yield* gateway.open({ topics })
      yield* feed.unsubscribe(topics)
      yield* feed.unsubscribe([])
      assert.deepStrictEqual(
        gateway.last.sent.flatMap(({ args, op }) => (op === "unsubscribe" ? [args] : [])),
        [topics.slice(0, ARGS_MAX), topics.slice(ARGS_MAX)]
      )
      assert.deepStrictEqual(
        gateway.news.filter(({ kind }) => kind === "refused"),
        []
      )
    })
  )

  it.effect("passes on nothing of a topic that was unsubscribed while its messages were on their way", () =>
    Effect.gen(function* () {
      const gateway = new FakeGateway((message, socket) => {
        if (message.op === "unsubscribe") socket.say({ op: "unsubscribed", args: message.args, req_id: message.req_id })
        else polite(message, socket)
      })
      const feed = yield* gateway.open({ topics: ["trade.BTC-USDC", topic] })
      gateway.last.tell(topic, whole)
      gateway.last.tell("trade.BTC-USDC", { type: "update", list: [] })
      assert.isNumber(feed.age("trade.BTC-USDC"))
      yield* feed.unsubscribe(["trade.BTC-USDC", topic])
      const count = gateway.news.length
      gateway.last.tell("trade.BTC-USDC", { type: "update", list: [] })
      gateway.last.tell(topic, delta(9, 8))
      assert.lengthOf(gateway.news, count)
      assert.isUndefined(feed.age("trade.BTC-USDC"))
      assert.isUndefined(feed.book("BTC-USDC", 50))
      // a new subscription of the book begins with its snapshot
      yield* feed.subscribe([topic])
      gateway.last.tell(topic, delta(2, 1))
      assert.lengthOf(gateway.news, count)
      gateway.last.tell(topic, whole)
      assert.lengthOf(gateway.news, count + 1)
    })
  )
})

/** A socket of calls without a server: the shutdown, the message rate, and how it ends. */
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import type { RpcConnection } from "../../src/services/operations/RpcConnections.ts"
import { CallSession } from "../../src/ws/CallSession.ts"
import type { EndReason } from "../../src/ws/Connection.ts"
import { defaults } from "../../src/ws/Limits.ts"
import { Flusher } from "../../src/ws/Outbox.ts"

/** A session of one caller, and what it does. */
const opened = (take: (text: string) => void = () => {}, { reads = true } = {}) => {
  const did = {
    written: [] as Array<string>,
    pings: 0,
    pongs: 0,
    /** Messages that reached the calls, and whether they may run. */
    taken: [] as Array<readonly [text: string, mayRun: boolean]>,
    refused: 0,
    /** Bytes of input that are held, and ends of the calls. */
    held: 0,
    callsClosed: 0,
    closed: [] as Array<string>,
    ends: [] as Array<EndReason>,
    faults: [] as Array<unknown>
  }
  const at = { now: 1_000, isBusy: false }
  /** Callbacks of a socket that does not read. */
  const waiting: Array<() => void> = []
  const now = () => at.now
  const report = (fault: unknown) => void did.faults.push(fault)
  let line: RpcConnection | undefined
  const session = new CallSession(
    {
      hub: { now, monotonic: now, flusher: new Flusher({ now, monotonic: now }, report), report },
      limits: defaults,
      run: (effect) => void Effect.runFork(effect),
      ending: (reason) => void did.ends.push(reason),
      gone: () => {}
    },
    {
      deflated: false,
      write: (bytes) => void did.written.push(bytes.toString()),
      pending: () => (reads ? 0 : 1),
      whenTaken: (then) => (reads ? then() : void waiting.push(then)),
      close: (reason) => void did.closed.push(reason),
      ping: () => did.pings++,
      pong: () => did.pongs++,
      terminate: () => {}
    },
    "203.0.113.1",
    {
      peer: { address: "203.0.113.1", protocol: "http" } as never,
      headers: [],
      held: { set: (bytes) => void (did.held = bytes) },
      accept: (connection) => {
        line = connection
        return {
          take: (text, mayRun) => {
            did.taken.push([text, mayRun])
            take(text)
          },
          refuse: () => did.refused++,
          isBusy: () => at.isBusy,
          closed: () => did.callsClosed++
        }
      }
    }
  )
  return { session, did, at, line: line!, read: () => waiting.splice(0).forEach((then) => then()) }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe("a socket of calls", () => {
  it("refuses calls from the announcement of a shutdown, and closes once none is in flight", async () => {
    const { at, did, line, session } = opened()
    at.isBusy = true
    session.announce()
    assert.strictEqual(did.refused, 1)
    session.end("GoingAway")
    await turn()
    assert.deepStrictEqual(did.closed, [])
    at.isBusy = false
    line.idle()
    // the last reply is sent first
    assert.deepStrictEqual(did.closed, [])
    await turn()
    assert.deepStrictEqual(did.closed, ["GoingAway"])
    line.idle()
    await turn()
    assert.deepStrictEqual([did.closed, did.ends], [["GoingAway"], ["GoingAway"]])
  })

  it("closes at once for any other reason, also while calls are in flight", () => {
    const { at, did, session } = opened()
    at.isBusy = true
    session.end("TooMany")
    assert.deepStrictEqual(did.closed, ["TooMany"])
  })

  it("sends what waited for room once the client has read, in order", async () => {
    const { did, line, read } = opened(() => {}, { reads: false })
    line.sendNow("first")
    await turn()
    line.sendNow("x".repeat(1024 * 1024))
    const sends = ["second", "third"].map((text) => Effect.runFork(line.send(text)))
    await turn()
    await turn()
    assert.lengthOf(did.written, 1)
    // the client reads as long as anything is written to it
    for (let written = 0; written < did.written.length;) {
      written = did.written.length
      read()
      await turn()
      await turn()
    }
    const all = did.written.join("")
    const places = ["first", "x", "second", "third"].map((text) => all.indexOf(text))
    assert.isAtLeast(places[0]!, 0)
    assert.deepStrictEqual(
      places,
      places.toSorted((a, b) => a - b)
    )
    for (const send of sends) assert.isDefined(send.pollUnsafe())
  })

  it("ends a send that waits for room with its connection", async () => {
    const { line, session } = opened(() => {}, { reads: false })
    line.sendNow("first")
    await turn()
    line.sendNow("x".repeat(1024 * 1024))
    // one waits for the socket already, one does not yet
    const first = Effect.runFork(line.send("last"))
    await turn()
    await turn()
    const second = Effect.runFork(line.send("last"))
    assert.isUndefined(first.pollUnsafe(), "it waits")
    session.closed()
    await turn()
    await turn()
    assert.isDefined(first.pollUnsafe())
    assert.isDefined(second.pollUnsafe())
  })

  it("sends at once while there is room", async () => {
    const { did, line } = opened()
    await Effect.runPromise(line.send("a reply"))
    await turn()
    assert.lengthOf(did.written, 1)
    assert.include(did.written[0], "a reply")
  })

  it("counts no acknowledgement of a chunk against the message rate, and no more than it has sent", () => {
    const { did, line, session } = opened()
    const ack = `{"_tag":"Ack","requestId":"1"}\n`
    for (let i = 0; i < defaults.message_burst; i++) session.text("call")
    for (let i = 0; i < 2; i++) line.sendNow('{"_tag":"Chunk"}')
    for (let i = 0; i < 3; i++) session.text(ack)
    assert.deepStrictEqual(
      did.taken.slice(-3).map(([, mayRun]) => mayRun),
      [true, true, false]
    )
    // a longer text is no acknowledgement
    line.sendNow('{"_tag":"Chunk"}')
    session.text(`{"_tag":"Ack","requestId":"1","x":"${"x".repeat(100)}"}\n`)
    assert.isFalse(did.taken.at(-1)![1])
  })

  it("writes nothing for an empty reply", async () => {
    const { did, line } = opened()
    line.sendNow("")
    await Effect.runPromise(line.send(""))
    await turn()
    assert.deepStrictEqual(did.written, [])
  })

  it("ends with TooBig where a call is too large", () => {
    const { did, line } = opened()
    line.tooLarge()
    assert.deepStrictEqual(did.closed, ["TooBig"])
  })

  it("is pinged at each interval, and ends after more than its silence, which a ping of its own ends", () => {
    const { at, did, session } = opened()
    const tick = (passed: number): void => {
      at.now += passed
      session.tick({ monotonic_ms: at.now, wall_ms: 0 }, { private: false, public: false })
    }
    const { ping_interval_ms, silence_ms } = defaults
    tick(ping_interval_ms - 1)
    assert.strictEqual(did.pings, 0)
    tick(1)
    assert.strictEqual(did.pings, 1)
    session.pinged(Buffer.alloc(0))
    tick(silence_ms)
    assert.deepStrictEqual(did.ends, [])
    tick(1)
    assert.deepStrictEqual(did.ends, ["Silent"])
  })

  it("answers pings until it ends", () => {
    const { did, session } = opened()
    session.pinged(Buffer.alloc(0))
    assert.strictEqual(did.pongs, 1)
    session.end("GoingAway")
    session.pinged(Buffer.alloc(0))
    assert.strictEqual(did.pongs, 1)
  })

  it("ends a client that takes nothing for too long", async () => {
    const { at, did, line, session } = opened(() => {}, { reads: false })
    line.sendNow("first")
    await turn()
    const health = { private: false, public: false }
    at.now += defaults.outbound_age_ms
    session.heard()
    session.tick({ monotonic_ms: at.now, wall_ms: at.now }, health)
    assert.deepStrictEqual(did.ends, [])
    session.tick({ monotonic_ms: at.now + 1, wall_ms: at.now }, health)
    assert.deepStrictEqual(did.ends, ["SlowConsumer"])
  })

  it("refuses each call above the message rate, and none once the flood has ended it", () => {
    const { at, did, session } = opened()
    for (let i = 0; i <= defaults.message_burst; i++) session.text("call")
    assert.lengthOf(did.taken, defaults.message_burst + 1)
    assert.deepStrictEqual(did.taken.at(-2), ["call", true])
    assert.deepStrictEqual(did.taken.at(-1), ["call", false])
    // above the rate for as long as a client may be; some messages still pass
    let sent = 0
    while (did.closed.length === 0 && sent++ < 100_000) {
      at.now += 1
      session.text("call")
    }
    assert.isAtLeast(at.now, 1_000 + defaults.flood_ms)
    assert.lengthOf(did.taken, defaults.message_burst + sent)
    session.text("late")
    assert.lengthOf(did.taken, defaults.message_burst + sent)
  })

  it("ends once, by the first reason", () => {
    const { did, session } = opened()
    session.end("TooBig")
    session.end("Internal")
    assert.deepStrictEqual([did.ends, did.closed], [["TooBig"], ["TooBig"]])
  })

  it("reads nothing after invalid bytes, and ends by them alone", () => {
    const { did, session } = opened()
    session.refused("ProtocolError")
    session.refused("ProtocolError")
    session.text("call")
    session.closed()
    assert.deepStrictEqual([did.taken, did.ends], [[], ["ProtocolError"]])
  })

  it("releases the input that is held, and its calls, when it is closed", () => {
    const { did, line, session } = opened()
    line.hold(100)
    assert.strictEqual(did.held, 100)
    session.closed()
    assert.deepStrictEqual([did.held, did.callsClosed, did.ends], [0, 1, ["Peer"]])
  })

  it("ends by a fault of a call, and reports it", () => {
    const fault = new Error("a fault")
    const { did, session } = opened(() => {
      throw fault
    })
    session.text("call")
    assert.deepStrictEqual([did.faults, did.closed], [[fault], ["Internal"]])
  })
})

/** The messages of a socket of calls: lines in parts, messages behind others, the shutdown, and what is held. */
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { transportLimits } from "../../src/domain/TransportLimits.ts"
import { Connection, type CallServer } from "../../src/rpc/CallServer.ts"
import { SocketCalls } from "../../src/rpc/SocketCalls.ts"
import { answersOf, callOf, refusalOf } from "./RawCalls.ts"

const unfinished = transportLimits.unfinished_bytes.figure

/** The calls of a socket, which the test runs and ends; `runsAtOnce`: those after the first one run by themselves. */
const opened = (runsAtOnce = false) => {
  const did = { forked: 0, begun: [] as Array<string | number>, now: "", held: 0, tooLarge: 0, idle: 0, closed: 0 }
  /** Messages under way, in order: each ends by its call. */
  const works: Array<() => void> = []
  let connection!: Connection
  const server: Pick<CallServer, "open" | "close"> = {
    open: (carrier) =>
      (connection = new Connection(
        0,
        (_, message) => Effect.sync(() => void did.begun.push(message._tag === "Request" ? message.id : message._tag)),
        carrier
      )),
    close: (closed) => {
      closed.close()
      did.closed++
    }
  }
  const calls = new SocketCalls(
    server as CallServer,
    {
      peer: { address: undefined, forwarded: undefined },
      headers: [],
      send: () => Effect.void,
      sendNow: (text) => void (did.now += text),
      tooLarge: () => did.tooLarge++,
      hold: (bytes) => void (did.held = bytes),
      idle: () => did.idle++
    },
    (effect, then) => {
      const work = () => {
        Effect.runSync(effect)
        then()
      }
      if (runsAtOnce && did.forked++ > 0) work()
      else works.push(work)
    }
  )
  const reply = (requestId: string) =>
    Effect.runSync(
      connection.respond({ _tag: "Exit", requestId: requestId as never, exit: { _tag: "Success", value: null } })
    )
  return { calls, did, reply, works, work: () => works.shift()!() }
}
const time = (id: string) => callOf(id, "market.time")

describe("the messages of a socket", () => {
  it("may hold parts of a line, which are held until its end", () => {
    const { calls, did, work } = opened()
    const [first, second] = [time("a"), time("b")]
    calls.take(first.slice(0, 20), true)
    calls.take(first.slice(20, 30), true)
    assert.strictEqual(did.held, 30)
    calls.take(first.slice(30) + second.slice(0, 5), true)
    assert.strictEqual(did.held, 5)
    work()
    calls.take(second.slice(5), true)
    work()
    assert.deepStrictEqual([did.begun, did.held], [["a", "b"], 0])
  })

  it(`may hold ${unfinished} characters of a line, and end the connection with one more`, () => {
    const { calls, did } = opened()
    calls.take("x".repeat(unfinished - 1), true)
    calls.take("x", true)
    assert.deepStrictEqual([did.held, did.tooLarge], [unfinished, 0])
    calls.take("x", true)
    assert.deepStrictEqual([did.held, did.tooLarge], [unfinished, 1])
  })

  it("run in order, one behind the other, and are held until then", () => {
    const { calls, did, work } = opened()
    for (const id of ["a", "b", "c"]) calls.take(time(id), true)
    assert.deepStrictEqual([did.begun, did.held], [[], time("b").length + time("c").length])
    work()
    assert.deepStrictEqual([did.begun, did.held], [["a"], time("c").length])
    work()
    work()
    assert.deepStrictEqual([did.begun, did.held], [["a", "b", "c"], 0])
  })

  it("run in order, however many wait, and let other work run between them", async () => {
    const { calls, did, work } = opened(true)
    const count = 10_000
    calls.take(time("a"), true)
    for (let i = 0; i < count; i++) calls.take('{"_tag":"Ping"}\n', true)
    calls.take(time("b"), true)
    work()
    assert.isBelow(did.begun.length, count)
    while (calls.isBusy() && did.begun.length < count + 2) await new Promise((resume) => setImmediate(resume))
    assert.deepStrictEqual([did.begun.length, did.begun[0], did.begun.at(-1), did.held], [count + 2, "a", "b", 0])
  })

  it("are refused where too many wait, and run again once these have run", () => {
    const { calls, did, work } = opened()
    const filler = `{"_tag":"Ping","x":"${"y".repeat(unfinished / 2)}"}\n`
    calls.take(time("a"), true)
    calls.take(filler, true)
    calls.take(filler + time("b"), true)
    const [refused] = answersOf(did.now)
    assert.deepStrictEqual([refused.requestId, refusalOf(refused)?.code], ["b", "RateLimitExceeded"])
    work()
    work()
    assert.strictEqual(did.held, 0)
    calls.take(time("c"), true)
    calls.take(filler, true)
    work()
    work()
    assert.deepStrictEqual(did.begun, ["a", "Ping", "c", "Ping"])
  })

  it("above the message rate run no calls, but other lines", () => {
    const { calls, did, work } = opened()
    calls.take(time("a") + '{"_tag":"Interrupt","requestId":"x"}\n', false)
    const { code, details } = refusalOf(answersOf(did.now)[0])!
    assert.deepStrictEqual([code, details.max], ["RateLimitExceeded", transportLimits.messages_per_s.figure])
    work()
    assert.deepStrictEqual(did.begun, ["Interrupt"])
  })
})

describe("the end of a socket of calls", () => {
  it("at a shutdown refuses new calls, and follows the last response", () => {
    const { calls, did, reply, work } = opened()
    calls.take(time("a"), true)
    calls.refuse()
    calls.take(time("b"), true)
    assert.strictEqual(refusalOf(answersOf(did.now)[0])?.code, "SERVICE_UNAVAILABLE")
    assert.isTrue(calls.isBusy())
    work()
    assert.deepStrictEqual([calls.isBusy(), did.idle], [true, 0])
    reply("a")
    assert.deepStrictEqual([calls.isBusy(), did.idle], [false, 1])
  })

  it("holds and runs nothing more", () => {
    const { calls, did, work, works } = opened()
    calls.take(time("a"), true)
    calls.take(time("b") + "x", true)
    assert.isAbove(did.held, 0)
    calls.closed()
    work()
    assert.lengthOf(works, 0)
    assert.deepStrictEqual([did.begun, did.held, did.closed, did.idle], [[], 0, 1, 0])
  })
})

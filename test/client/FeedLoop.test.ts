/** Pauses, credentials and the end of the feed loop, over scripted sockets and pauses that the test ends. */
import { assert, describe, it } from "vitest"
import { BACKOFF_FIRST_MS } from "../../src/client/Backoff.ts"
import { PING_AFTER_MS, SILENCE_MS, WATCH_MS } from "../../src/client/Connection.ts"
import type { FeedEvent } from "../../src/client/FeedEvent.ts"
import { FeedLoop, type FeedLoopOptions, type Renewal } from "../../src/client/FeedLoop.ts"
import { closeCodes } from "../../src/ws/api/CloseCodes.ts"
import { FakeSocket, type Message, polite } from "./FakeSockets.ts"

/** Runs everything that needs no time to pass. */
const quiet = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A loop with its sockets, events and pauses; the jitter is always the whole pause. */
const begin = async (
  options: Partial<FeedLoopOptions> = {},
  onMessage: (message: Message, socket: FakeSocket, connection: number) => void = polite,
  isReachable = true
) => {
  const sockets: Array<FakeSocket> = []
  const events: Array<FeedEvent> = []
  /** Pauses before reconnects that have not ended. */
  const pauses: Array<{ readonly ms: number; readonly end: () => void }> = []
  const time = { now: 0, isReachable, sleeping: 0, checks: [] as Array<() => void> }
  const sleep = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      time.sleeping++
      const settle = (run: () => void) => () => {
        time.sleeping--
        run()
      }
      signal.addEventListener(
        "abort",
        settle(() => reject(new Error("aborted")))
      )
      const end = settle(resolve)
      if (ms === WATCH_MS) time.checks.push(end)
      else pauses.push({ ms, end })
    })
  const openSocket = () => {
    const connection = sockets.length + 1
    const socket = new FakeSocket((message, self) => onMessage(message, self, connection))
    sockets.push(socket)
    queueMicrotask(() => (time.isReachable ? socket.open() : socket.drop()))
    return socket
  }
  const loop = new FeedLoop(
    {
      url: "ws://gateway",
      topics: ["trade.BTC-USDC"],
      authFrame: undefined,
      renew: async () => "refused",
      onEvent: (event) => events.push(event),
      ...options
    },
    { openSocket, now: () => time.now, random: () => 1, sleep }
  )
  const running = loop.run()
  await quiet()
  return {
    loop,
    running,
    time,
    events,
    sockets,
    last: () => sockets.at(-1)!,
    states: () => events.flatMap((event) => (event.kind === "state" ? [event.state.type] : [])),
    /** Ends the pause before the reconnect, and returns its length. */
    reconnect: async () => {
      assert.lengthOf(pauses, 1)
      const { ms, end } = pauses.pop()!
      end()
      await quiet()
      return ms
    },
    /** Passes the time of one check of the silence. */
    check: async () => {
      time.now += WATCH_MS
      time.checks.shift()!()
      await quiet()
    }
  }
}

describe("the pause before a reconnect", () => {
  it("begins again after a connection that was live", async () => {
    const feed = await begin()
    feed.time.isReachable = false
    feed.last().drop()
    await quiet()
    const pauses: Array<number> = []
    for (let i = 0; i < 3; i++) pauses.push(await feed.reconnect())
    feed.time.isReachable = true
    pauses.push(await feed.reconnect())
    assert.strictEqual(feed.states().at(-1), "live")
    feed.last().drop()
    await quiet()
    pauses.push(await feed.reconnect())
    assert.deepStrictEqual(
      pauses,
      [1, 2, 4, 8, 1].map((times) => times * BACKOFF_FIRST_MS)
    )
    feed.loop.close()
  })

  it("counts a first connection that fails as one failure", async () => {
    const feed = await begin({}, polite, false)
    assert.strictEqual(await feed.reconnect(), 2 * BACKOFF_FIRST_MS)
    feed.loop.close()
  })

  it("is longer after a close code that advises to back off", async () => {
    const feed = await begin()
    const pauses: Array<number> = []
    for (const { code } of [closeCodes.GoingAway, closeCodes.BackendLost, closeCodes.TooMany, closeCodes.Silent]) {
      feed.last().drop(code)
      await quiet()
      pauses.push(await feed.reconnect())
    }
    assert.deepStrictEqual(
      pauses,
      [1, 8, 8, 1].map((times) => times * BACKOFF_FIRST_MS)
    )
    feed.loop.close()
  })

  it("grows while each connection is live and then brings faulty data", async () => {
    const feed = await begin({ topics: ["orderbook.50.BTC-USDC"] }, (message, socket) => {
      polite(message, socket)
      const levels = { symbol: "BTC-USDC", depth: 50, bids: [["1", "1"]], asks: [], ts: 1, mts: 1, stream_id: "b" }
      if (message.op === "subscribe")
        socket.tell("orderbook.50.BTC-USDC", { type: "snapshot", ...levels, seq: 1, checksum: 7 })
    })
    const pauses = [await feed.reconnect(), await feed.reconnect(), await feed.reconnect()]
    assert.include(feed.states(), "live")
    assert.deepStrictEqual(
      pauses,
      [16, 32, 64].map((times) => times * BACKOFF_FIRST_MS)
    )
    feed.loop.close()
  })
})

/** Refuses the credential of some connections, and is {@link polite} otherwise. */
const refusing =
  (isRefused: (connection: number) => boolean, code: string, text: string) =>
  (message: Message, socket: FakeSocket, connection: number): void => {
    const { op, req_id } = message
    if (op !== "auth" || !isRefused(connection)) return polite(message, socket)
    socket.say({ op, success: false, user_id: null, req_id, code, message: text })
  }

describe("the credential of a feed", () => {
  const login = (renew: () => Promise<Renewal>) => ({ authFrame: async () => ({ bearer: "TK" }), renew })

  it("is renewed any number of times, while each renewed one is accepted", async () => {
    let renewals = 0
    const feed = await begin(
      login(async () => {
        renewals++
        return "renewed"
      })
    )
    for (let times = 1; times <= 5; times++) {
      feed.last().drop(closeCodes.CredentialEnded.code)
      await quiet()
      await feed.reconnect()
      assert.deepStrictEqual([renewals, feed.states().at(-1)], [times, "live"])
    }
    feed.loop.close()
  })

  it("is renewed as often after a connection that was live as at first", async () => {
    let renewals = 0
    const feed = await begin(
      login(async () => {
        renewals++
        return "renewed"
      }),
      refusing((connection) => connection > 1, "UNAUTHORIZED", "no")
    )
    feed.last().drop(closeCodes.CredentialEnded.code)
    await quiet()
    // two renewals in a row, and the refusal after them ends the feed
    for (let times = 1; times <= 2; times++) await feed.reconnect()
    assert.deepStrictEqual([renewals, feed.states().at(-1)], [2, "ended"])
    await feed.running
  })

  it("is kept where the gateway cannot check it for the moment", async () => {
    let renewals = 0
    const feed = await begin(
      login(async () => {
        renewals++
        return "refused"
      }),
      refusing((connection) => connection === 1, "SERVICE_UNAVAILABLE", "not now")
    )
    assert.deepStrictEqual(feed.events.at(-1), {
      kind: "state",
      state: { type: "lost", code: closeCodes.BackendLost.code, reason: "not now" }
    })
    await feed.reconnect()
    assert.deepStrictEqual([renewals, feed.states().at(-1)], [0, "live"])
    feed.loop.close()
  })

  it("that cannot be read ends the feed where no other is available, and nothing goes on", async () => {
    const feed = await begin({ authFrame: () => Promise.reject(new Error("no key")) })
    await feed.running
    assert.deepStrictEqual(feed.events.at(-1), {
      kind: "state",
      state: { type: "ended", code: closeCodes.AuthRefused.code, reason: "log in first" }
    })
    assert.deepStrictEqual([feed.last().readyState, feed.time.sleeping], [3, 0])
  })
})

describe("a feed that is closed", () => {
  it("closes its socket, ends its pauses, and reports nothing more", async () => {
    const feed = await begin()
    feed.loop.close()
    await feed.running
    assert.deepStrictEqual([feed.last().readyState, feed.time.sleeping], [3, 0])
    assert.deepStrictEqual(feed.states(), ["connecting", "live"])
  })

  it("reports nothing more where it is closed while it renews its credential", async () => {
    for (const renewal of ["renewed", "later", "refused"] as const) {
      const { promise, resolve: renewed } = Promise.withResolvers<Renewal>()
      const renew = () => promise
      const feed = await begin({ authFrame: async () => ({ bearer: "TK" }), renew })
      feed.last().drop(closeCodes.CredentialEnded.code)
      await quiet()
      feed.loop.close()
      renewed(renewal)
      await feed.running
      assert.deepStrictEqual(feed.states(), ["connecting", "live"], renewal)
    }
  })

  it("opens no socket where it is closed before it runs", async () => {
    const feed = await begin()
    feed.loop.close()
    await feed.running
    const count = feed.sockets.length
    await feed.loop.run()
    await quiet()
    assert.lengthOf(feed.sockets, count)
  })
})

describe("a connection of a feed", () => {
  it("also subscribes to what is added before the gateway answers its first subscription", async () => {
    const held: Array<() => void> = []
    const feed = await begin({}, (message, socket) => {
      if (held.length > 0) return polite(message, socket)
      held.push(() => polite(message, socket))
    })
    assert.deepStrictEqual(await feed.loop.subscribe(["trade.ETH-USDC"]), ["trade.ETH-USDC"])
    held[0]!()
    await quiet()
    assert.strictEqual(feed.states().at(-1), "live")
    assert.deepStrictEqual(
      feed.last().sent.map(({ args }) => args),
      [["trade.BTC-USDC"], ["trade.ETH-USDC"]]
    )
    feed.loop.close()
  })

  it("stays without a topic, until one is added", async () => {
    const feed = await begin({ topics: [] })
    assert.deepStrictEqual(feed.states(), ["connecting", "live"])
    assert.deepStrictEqual(await feed.loop.subscribe(["trade.ETH-USDC"]), ["trade.ETH-USDC"])
    assert.lengthOf(feed.sockets, 1)
    feed.loop.close()
  })

  it("sends one ping for each time of silence, and is lost when none is answered", async () => {
    const feed = await begin({}, (message, socket) => void (message.op === "ping" || polite(message, socket)))
    const pings = () => feed.sockets[0]!.sent.filter(({ op }) => op === "ping").length
    const counts: Array<number> = []
    for (let ms = WATCH_MS; ms < SILENCE_MS; ms += WATCH_MS) {
      await feed.check()
      counts.push(pings())
    }
    const quietChecks = PING_AFTER_MS / WATCH_MS - 1
    assert.deepStrictEqual(
      counts,
      counts.map((_, i) => (i < quietChecks ? 0 : 1))
    )
    assert.notInclude(feed.states(), "lost")
    await feed.check()
    assert.deepStrictEqual(feed.events.at(-1), {
      kind: "state",
      state: { type: "lost", code: 1006, reason: "silent" }
    })
    feed.loop.close()
  })

  it("measures a ping, and answers none on a socket that has closed without an event", async () => {
    const held: Array<() => void> = []
    const feed = await begin({}, (message, socket) => {
      if (message.op === "ping") held.push(() => polite(message, socket))
      else polite(message, socket)
    })
    const ping = feed.loop.ping()
    await quiet()
    feed.time.now += 40
    held[0]!()
    assert.strictEqual(await ping, 40)
    feed.last().readyState = 3
    assert.isUndefined(await feed.loop.ping())
    feed.loop.close()
  })
})

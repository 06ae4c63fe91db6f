/** Deliberately slow clients over real sockets: each is closed, and no other client waits. */
import { Layer, ManagedRuntime } from "effect"
import type { Server, ServerResponse } from "node:http"
import { connect, type AddressInfo, type Socket } from "node:net"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { defaults, drain, Limits, NodeServer, putBefore } from "../../../src/layers/node/NodeServer.ts"
import { pipelineLimit } from "../../../src/layers/node/SlowClientGuard.ts"

/** Attackers of each kind. */
const COUNT = Number(process.env["ATTACKERS"] ?? 40)
/** Longest wait, in ms. */
const WAIT_MS = 25_000
/** More than the socket buffers of both sides hold. */
const LARGE = Buffer.alloc(16 * 1024 * 1024, "x")

let server: Server
let port: number
let runtime: ManagedRuntime.ManagedRuntime<NodeServer, never>
/** Bodies that reached the handler completely. */
let taken: Array<string>

const open = async (limits: Partial<typeof defaults>) => {
  runtime = ManagedRuntime.make(
    NodeServer.layer.pipe(Layer.provide(Layer.succeed(Limits, { ...defaults, check_ms: 20, ...limits })))
  )
  server = await runtime.runPromise(NodeServer)
  server.on("request", (request, response) => {
    if (request.url === "/large") return void response.end(LARGE)
    if (request.url === "/never") return void taken.push(request.url)
    let body = ""
    request.setEncoding("utf8").on("data", (some: string) => (body += some))
    request.on("end", () => {
      taken.push(`${request.url} ${body}`)
      // not in the turn that read it
      setImmediate(() => response.end("good"))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  port = (server.address() as AddressInfo).port
}
beforeEach(() => {
  taken = []
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await runtime.dispose()
})

interface Attacker {
  readonly socket: Socket
  text: string
  readonly over: Promise<void>
}
const attack = (bytes: string, options: { readonly reads?: boolean; readonly from?: string } = {}): Attacker => {
  const socket = connect({ port, host: "127.0.0.1", localAddress: options.from ?? "127.0.0.1" })
  const attacker: Attacker = {
    socket,
    text: "",
    over: new Promise((resolve) => socket.once("close", () => resolve()))
  }
  if (options.reads === false) socket.pause()
  else socket.on("data", (some) => (attacker.text += some.toString("latin1")))
  socket.on("error", () => {})
  if (bytes !== "") socket.write(bytes)
  return attacker
}
const many = (bytes: string, options?: { readonly reads?: boolean }) =>
  Array.from({ length: COUNT }, () => attack(bytes, options))

const eventually = async (what: string, holds: () => Promise<boolean> | boolean): Promise<void> => {
  for (const deadline = Date.now() + WAIT_MS; !(await holds());) {
    if (Date.now() > deadline) throw new Error(`not in ${WAIT_MS} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
const connections = () =>
  new Promise<number>((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  )
/** A well-behaved client is served; if this process stalled for longer than its limits, at the next attempt. */
const serves = () =>
  eventually("a good client is served", async () => {
    const headers = { connection: "close" }
    const response = await fetch(`http://127.0.0.1:${port}/good`, { method: "POST", body: "1", headers })
    return (await response.text()) === "good"
  })
const forgotten = () => eventually("no connection is left", async () => (await connections()) === 0)

describe("a client that sends slowly", () => {
  for (const [what, bytes, drip] of [
    ["nothing at all", "", ""],
    ["its headers, a line at a time", "GET / HTTP/1.1\r\nHost: g\r\n", "X: y\r\n"],
    ["its body, a byte at a time", "POST /slow HTTP/1.1\r\nHost: g\r\nContent-Length: 1000000\r\n\r\n", "x"],
    [
      "its body, a chunk at a time",
      "POST /slow HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n",
      "1\r\nx\r\n"
    ]
  ] as const) {
    it(`${what}: receives 408 and is closed, while others are served`, async () => {
      await open({ headers_ms: 250, request_ms: 400 })
      const attackers = many(bytes)
      const dripping = setInterval(() => {
        for (const { socket } of attackers) if (drip !== "" && socket.writable) socket.write(drip)
      }, 50)
      await eventually("all are connected", () => attackers.every(({ socket }) => socket.readyState !== "opening"))
      await serves()
      await Promise.all(attackers.map(({ over }) => over))
      clearInterval(dripping)
      // a client that keeps writing may lose the response to a reset
      for (const { text } of attackers) {
        if (text === "" && drip !== "") continue
        const [head, body] = text.split("\r\n\r\n")
        assert.match(head!, /^HTTP\/1\.1 408 .*\r\nConnection: close\r\n/u)
        assert.strictEqual(/Content-Length: (\d+)/u.exec(head!)?.[1], String(body!.length))
        assert.strictEqual(JSON.parse(body!).details.reason, "RequestTimeout")
      }
      await forgotten()
      await serves()
      assert.deepStrictEqual([...new Set(taken)], ["/good 1"])
    })
  }
})

describe("a client that does not read", () => {
  const ask = "GET /large HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n"
  it("loses its connection, while others are served", async () => {
    await open({ reading_ms: 300 })
    const attackers = Array.from({ length: 5 }, () => attack(ask, { reads: false }))
    // by what each client saw: the server may have closed the first before it accepts the last
    await eventually("all were connected", () => attackers.every(({ socket }) => socket.readyState !== "opening"))
    await serves()
    await forgotten()
    for (const { socket } of attackers) socket.destroy()
  })
  it("loses its connection at once if its address leaves too much unread", async () => {
    await open({ unread_bytes: 1024 * 1024 })
    const attackers = Array.from({ length: 3 }, () => attack(ask, { reads: false }))
    await forgotten()
    await serves()
    for (const { socket } of attackers) socket.destroy()
  })
  it("and keeps sending requests is closed, and the requests beyond the limit are not executed", async () => {
    await open({})
    putBefore(server, pipelineLimit())
    const peer = attack("GET /never HTTP/1.1\r\nHost: g\r\n\r\n".repeat(500))
    await peer.over
    assert.lengthOf(taken, 64)
    await forgotten()
    await serves()
  })
  it("is distinguished from one that reads in time", async () => {
    await open({})
    const reader = attack(ask)
    await reader.over
    assert.isAbove(reader.text.length, LARGE.length)
  })
})

describe("connections", () => {
  it("that are reset or half closed during a request are forgotten", async () => {
    await open({})
    const half = "POST /half HTTP/1.1\r\nHost: g\r\nContent-Length: 10\r\n\r\n12345"
    const attackers = [...many(""), ...many("GET / HTT"), ...many(half)]
    await Promise.all(attackers.map(({ socket }) => new Promise((resolve) => socket.write("", resolve))))
    attackers.forEach(({ socket }, i) => (i % 2 === 0 ? socket.resetAndDestroy() : socket.end()))
    await forgotten()
    await serves()
    assert.deepStrictEqual(taken, ["/good 1"])
  })

  it("beyond the limit are closed, and accepted again after others end", async () => {
    await open({ connections: 3 })
    const first = Array.from({ length: 3 }, () => attack("GET / HTTP/1.1\r\n"))
    await eventually("the room is full", async () => (await connections()) === 3)
    const beyond = attack("GET / HTTP/1.1\r\nHost: g\r\n\r\n")
    await beyond.over
    assert.strictEqual(beyond.text, "")
    for (const { socket } of first) socket.destroy()
    await forgotten()
    await serves()
  })
})

/** Other loopback addresses are available without configuration on Linux only. */
describe.skipIf(process.platform !== "linux")("connections of one address", () => {
  const ask = "GET /good HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n"
  // after the first connection of an address the next one is accepted a thousand seconds later
  const slow = { arrivals_per_s: 0.001, arrivals_at_once: 1 }
  const elsewhere = "127.0.0.2"

  it("are queued if they arrive too fast, while another address is served", async () => {
    await open(slow)
    const [first, second] = [attack(ask), attack(ask)]
    await Promise.race([first.over, second.over])
    const other = attack(ask, { from: elsewhere })
    await other.over
    assert.match(other.text, /good$/u)
    assert.deepStrictEqual([first.text === "", second.text === ""].filter(Boolean), [true])
    await eventually("the other waits", async () => (await connections()) === 1)
  })
  it("are accepted in their turn", async () => {
    await open({ arrivals_per_s: 50, arrivals_at_once: 10 })
    const all = Array.from({ length: 50 }, () => attack(ask))
    await Promise.all(all.map(({ over }) => over))
    for (const { text } of all) assert.match(text, /good$/u)
  })
  it("are closed beyond the address's limit, while another address is served", async () => {
    await open({ connections_per_address: 3, arrivals_per_s: 0 })
    const first = Array.from({ length: 3 }, () => attack(""))
    await eventually("the room of the address is full", async () => (await connections()) === 3)
    const beyond = attack(ask)
    await beyond.over
    assert.strictEqual(beyond.text, "")
    const other = attack(ask, { from: elsewhere })
    await other.over
    assert.match(other.text, /good$/u)
    first[0]!.socket.destroy()
    await eventually("there is room again", async () => (await connections()) === 2)
    const again = attack(ask)
    await again.over
    assert.match(again.text, /good$/u)
    for (const { socket } of first) socket.destroy()
    await forgotten()
  })
  it("that end while queued are forgotten, and those beyond the queue's limit are closed", async () => {
    await open({ ...slow, arrivals_waiting: 2 })
    const first = attack(ask)
    await first.over
    const waiting = [attack(ask), attack(ask)]
    await eventually("two wait", async () => (await connections()) === 2)
    const beyond = attack(ask)
    await beyond.over
    assert.strictEqual(beyond.text, "")
    for (const { socket } of waiting) socket.resetAndDestroy()
    await forgotten()
    const silent = [attack(""), attack("")]
    await eventually("two wait", async () => (await connections()) === 2)
    for (const { socket } of silent) socket.end()
    await forgotten()
  })
})

describe("malformed data after a complete request", () => {
  it("is refused after the response to that request", async () => {
    await open({})
    const whole = (path: string) => `POST ${path} HTTP/1.1\r\nHost: g\r\nContent-Length: 1\r\n\r\n1`
    const peer = attack(`${whole("/a")}${whole("/b")}\0\0\0\r\n\r\n`)
    await peer.over
    assert.deepStrictEqual(taken, ["/a 1", "/b 1"])
    assert.deepStrictEqual(
      [...peer.text.matchAll(/HTTP\/1\.1 (\d{3}) /gu)].map(([, status]) => status),
      ["200", "200", "400"]
    )
  })
})

describe("an expectation other than 100-continue", () => {
  it("is refused with 417, after which the connection is closed: its body is not read", async () => {
    await open({})
    const peer = attack("POST /a HTTP/1.1\r\nHost: g\r\nExpect: a miracle\r\nContent-Length: 1\r\n\r\n")
    await peer.over
    assert.match(peer.text, /^HTTP\/1\.1 417 [^]*connection: close\r\n/iu)
    assert.include(peer.text, '"reason":"ExpectationFailed"')
    assert.deepStrictEqual(taken, [])
  })
})

describe("a server that drains", () => {
  it("closes a connection that becomes idle after a response that promised to keep it", async () => {
    await open({})
    const begun = new Promise<ServerResponse>((resolve) => server.once("request", (_, response) => resolve(response)))
    const peer = attack("GET /never HTTP/1.1\r\nHost: g\r\n\r\n")
    const response = await begun
    response.write("begun")
    await eventually("it begins", () => peer.text.includes("begun"))
    assert.match(peer.text, /^Connection: keep-alive$/mu)
    drain(server)
    const closed = new Promise((resolve) => server.close(resolve))
    response.end()
    await closed
    await peer.over
  })
})

describe("an interceptor", () => {
  it("leaves the listeners as they were when it is removed", async () => {
    await open({})
    const remove = putBefore(server, (request, response) => {
      if (request.url !== "/mine") return false
      response.end("intercepted")
      return true
    })
    const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text()
    assert.deepStrictEqual([await ask("/mine"), await ask("/other")], ["intercepted", "good"])
    remove()
    assert.strictEqual(await ask("/mine"), "good")
  })
})

/** Connections made before the gateway is built, over real sockets. */
import { Schema } from "effect"
import { once } from "node:events"
import { type AddressInfo, connect } from "node:net"
import { text } from "node:stream/consumers"
import { afterEach, assert, describe, it } from "vitest"
import { VERSION } from "../../../src/domain/Version.ts"
import { Health, NotReady } from "../../../src/http/api/ServiceApi.ts"
import { defaults, GatewayHttpServer } from "../../../src/layers/node/HttpServer.ts"
import * as EarlyListen from "../../../src/layers/node/EarlyListen.ts"

let door: GatewayHttpServer
/** Paths of the accepted requests. */
let paths: Array<string>
afterEach(() => {
  door.close()
})

const open = async (limits: Partial<typeof defaults> = {}): Promise<number> => {
  door = new GatewayHttpServer({ ...defaults, ...limits })
  paths = []
  door.hold()
  await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve))
  return (door.address() as AddressInfo).port
}

const connections = (): Promise<number> =>
  new Promise((resolve, reject) => door.getConnections((error, count) => (error ? reject(error) : resolve(count))))

/** Resolves as soon as this many are connected. */
const until = async (count: number): Promise<void> => {
  for (let i = 0; (await connections()) !== count; i++) {
    if (i > 1_000) throw new Error(`${await connections()} are connected, not ${count}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Everything that was received until the connection ended. */
const ask = (port: number, path: string): Promise<string> =>
  new Promise((resolve) => {
    let text = ""
    const socket = connect(port, "127.0.0.1")
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    socket.setEncoding("utf8").on("data", (some: string) => (text += some))
    socket.on("error", () => {})
    socket.once("close", () => resolve(text))
  })

it("closes a kept connection after its own idle time, which is above that of load balancers", async () => {
  await open({ keep_alive_ms: 75_001 })
  assert.strictEqual(door.keepAliveTimeout, 75_001)
  assert.isAbove(defaults.keep_alive_ms, 60_000)
})

describe("a server that holds connections", () => {
  it("serves held connections in order, and later ones at once", async () => {
    const port = await open()
    const first = ask(port, "/first")
    await until(1)
    const second = ask(port, "/second")
    await until(2)
    door.on("request", (request, response) => {
      paths.push(request.url!)
      response.end(`served ${request.url}`)
    })
    door.admit()
    assert.include(await first, "served /first")
    assert.include(await second, "served /second")
    assert.include(await ask(port, "/later"), "served /later")
    assert.deepStrictEqual(paths, ["/first", "/second", "/later"])
  })

  it("does not close an admitted connection after the longest time of a hold", async () => {
    const port = await open({ early_ms: 60_000 })
    const held = ask(port, "/held")
    await until(1)
    let idle_ms: number | undefined
    door.on("request", (request, response) => {
      idle_ms = request.socket.timeout
      response.end("served")
    })
    door.admit()
    assert.include(await held, "served")
    assert.strictEqual(idle_ms, 0)
  })

  it("answers probes at once, in the form that the API has", async () => {
    const port = await open()
    const bodyOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")))
    const strictly = { onExcessProperty: "error" } as const
    const health = await ask(port, "/health")
    assert.match(health, /^HTTP\/1\.1 200 OK\r\n/u)
    assert.deepStrictEqual(Schema.decodeUnknownSync(Health, strictly)(bodyOf(health)).version, VERSION)
    const ready = await ask(port, "/ready")
    assert.match(ready, /^HTTP\/1\.1 503 Service Unavailable\r\n/u)
    assert.deepStrictEqual(Schema.decodeUnknownSync(NotReady, strictly)(bodyOf(ready)).reasons, ["Starting"])
    await until(0)
  })

  it("holds what is no whole probe, and serves each byte of it", async () => {
    const port = await open()
    const send = async (...parts: ReadonlyArray<string>): Promise<string> => {
      const socket = connect(port, "127.0.0.1").setNoDelay(true)
      let received = ""
      socket.setEncoding("utf8").on("data", (some: string) => (received += some))
      const closed = once(socket, "close")
      for (const part of parts) {
        await new Promise((resolve) => socket.write(part, resolve))
        // the server reads the parts apart
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await closed
      return received
    }
    const end = "HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    const held = [
      send(`GET /healthy ${end}\r\n`),
      send("GET /hea", `lth ${end}\r\n`),
      send(`GET /ready ${end}`, "\r\n"),
      send(`POST /health ${end}Content-Length: 4\r\n\r\nab`, "cd")
    ]
    await until(held.length)
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.strictEqual(await connections(), held.length)
    door.on("request", async (request, response) => {
      response.end(`${request.url} ${await text(request)}.`)
    })
    door.admit()
    const served = (await Promise.all(held)).map((answer) => answer.slice(answer.indexOf("\r\n\r\n") + 4))
    assert.deepStrictEqual(served, ["/healthy .", "/health .", "/ready .", "/health abcd."])
  })

  it("drops held connections that the client ends", async () => {
    const port = await open()
    const socket = connect(port, "127.0.0.1")
    await until(1)
    socket.destroy()
    await until(0)
  })

  it("keeps its port when listen is called again", async () => {
    const port = await open()
    await new Promise<void>((resolve) => door.listen(0, "127.0.0.1", resolve))
    assert.strictEqual((door.address() as AddressInfo).port, port)
  })

  it("holds a limited number of connections for a limited time", async () => {
    const port = await open({ early: 2, early_ms: 300 })
    const waiting = [ask(port, "/1")]
    await until(1)
    waiting.push(ask(port, "/2"))
    await until(2)
    const third = ask(port, "/3")
    const order: Array<string> = []
    void third.then(() => order.push("third"))
    for (const each of waiting) void each.then(() => order.push("waiting"))
    assert.deepStrictEqual(await Promise.all([...waiting, third]), ["", "", ""])
    assert.deepStrictEqual(order, ["third", "waiting", "waiting"])
    assert.strictEqual(await connections(), 0)
  })
})

describe("EarlyListen", () => {
  it("Amendment 23: listens on 127.0.0.1 where HOST is unset or empty, and serves after admit()", async () => {
    const early = await EarlyListen.listen({ HOST: "", PORT: "0" })
    assert.isDefined(early)
    door = early
    door.on("request", (_, response) => response.end("served"))
    const { address, port } = door.address() as AddressInfo
    assert.strictEqual(address, "127.0.0.1")
    const asked = ask(port, "/")
    await until(1)
    // an accepted request would have a response by now
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.strictEqual(await Promise.race([asked, Promise.resolve("waiting")]), "waiting")
    door.admit()
    assert.include(await asked, "served")
  })

  it("ignores invalid settings, which the gateway reports", async () => {
    const port = await open()
    for (const text of ["many", "-1", "65536", " ", "1e3", String(port)])
      assert.isUndefined(await EarlyListen.listen({ HOST: "127.0.0.1", PORT: text }), text)
  })
})

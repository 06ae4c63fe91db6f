/**
 * SIGTERM, as an operator or a supervisor sends it. Source: docs/contract/configuration.md#shutdown,
 * docs/contract/websocket.md#close-codes.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { type GatewayProcess, startGateway } from "../../verification/harness/GatewayProcess.ts"
import { call, create, funded, listAll, type Session } from "../../verification/harness/RestClient.ts"
import { Socket } from "../../verification/harness/Socket.ts"

const DRAIN_MS = 500
/** A stop takes 30 s at most, then the program exits with 1; the machine may be slow. */
const STOPPED_MS = 40_000
/** Longest wait for a frame, in ms. */
const FRAME_MS = 20_000

const inDirectory = async (
  test: (start: (env?: Record<string, string>) => Promise<GatewayProcess>) => Promise<void>
) => {
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-e2e-"))
  const started: Array<GatewayProcess> = []
  try {
    await test(async (env = {}) => {
      const gateway = await startGateway({
        dataDir,
        env: {
          RATE_LIMIT_MODE: "off",
          SIM_MAKER: "off",
          INDEX_SOURCE: "manual",
          LOG_LEVEL: "error",
          DRAIN_MS: String(DRAIN_MS),
          ...env
        }
      })
      started.push(gateway)
      return gateway
    })
  } finally {
    for (const gateway of started) await gateway.kill()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
const stopped = async (gateway: GatewayProcess): Promise<number | null> => {
  const late = Symbol("late")
  let timer: NodeJS.Timeout | undefined
  const code = await Promise.race([
    gateway.ended,
    new Promise<typeof late>((resolve) => {
      timer = setTimeout(() => resolve(late), STOPPED_MS)
    })
  ])
  clearTimeout(timer)
  if (code === late) return assert.fail(`not stopped in ${STOPPED_MS} ms:\n${gateway.output()}`)
  return code
}

/** A private socket, and its starting position in the user's stream. */
const listen = async (gateway: GatewayProcess, { token }: Session) => {
  const socket = await Socket.open(gateway, "/ws/private")
  socket.send({ op: "auth", bearer: token })
  const { head_seq, stream_id } = await socket.next("auth", ({ op }) => op === "auth", FRAME_MS)
  return { socket, since: { stream_id, seq: head_seq } }
}

/** Creates orders one after the other until one is refused; returns the acknowledged ones. */
const trade = async (
  gateway: GatewayProcess,
  { token, vault }: Session,
  caller: number
): Promise<Map<string, string>> => {
  const acknowledged = new Map<string, string>()
  for (let i = 0; ; i++) {
    const order_link_id = `${caller}-${i}`
    try {
      const { body, status } = await call(gateway, "POST", "/api/v1/order/create", {
        token,
        body: {
          sub_account_address: vault,
          symbol: "BTC-USDC",
          side: "Buy",
          order_type: "Limit",
          qty: "0.001",
          price: "59000",
          time_in_force: "IOC",
          order_link_id
        }
      })
      if (status === 200) acknowledged.set(order_link_id, body.order_id)
      else assert.strictEqual(status, 503, JSON.stringify(body))
    } catch (error) {
      // refused: the port is closed. A connection that is cut within a response has another code:
      const code = ((error as Error).cause as { code?: string } | undefined)?.code
      assert.include(["ECONNREFUSED", "UND_ERR_SOCKET", "ECONNRESET"], code, String(error))
      return acknowledged
    }
  }
}

describe.concurrent("a stop signal", { timeout: 150_000 }, () => {
  it("under load: requests in flight complete, sockets get a close code, no acknowledged order is lost", () =>
    inDirectory(async (start) => {
      const gateway = await start()
      const user = await funded(gateway)
      const quiet = await funded(gateway)
      const before = await listen(gateway, quiet)
      assert.strictEqual((await create(gateway, quiet, "kept")).status, 200)
      const open = await Promise.all(["/ws", "/ws/public"].map((path) => Socket.open(gateway, path)))
      const sockets = [...open, before.socket]
      const load = Array.from({ length: 4 }, (_, i) => trade(gateway, user, i))
      await new Promise((resolve) => setTimeout(resolve, 300))
      process.kill(gateway.pid, "SIGTERM")
      for (const socket of sockets) {
        const going = await socket.next("going away", ({ op }) => op === "error", FRAME_MS)
        assert.deepInclude(going, { code: "SERVICE_UNAVAILABLE", message: "going away" })
        assert.strictEqual((await socket.closing(FRAME_MS)).code, 1001)
      }
      assert.strictEqual(await stopped(gateway), 0, gateway.output())
      const acknowledged = new Map((await Promise.all(load)).flatMap((some) => [...some]))
      assert.isAbove(acknowledged.size, 0)

      const again = await start()
      const history = await listAll(again, `/api/v1/order/history?sub_account_address=${user.vault}`, user.token)
      const idOf = new Map(history.map((order) => [order.order_link_id, order.order_id]))
      assert.strictEqual(idOf.size, history.length)
      for (const [link, order_id] of acknowledged) assert.strictEqual(idOf.get(link), order_id, link)
      // the position of a closed socket is valid after the restart
      const after = await listen(again, quiet)
      after.socket.send({ op: "subscribe", args: ["order"], since: before.since })
      const { resume } = await after.socket.next("subscribed", ({ op }) => op === "subscribed", FRAME_MS)
      assert.deepInclude(resume, { recovered: true, stream_id: before.since.stream_id })
      await after.socket.event("order", ({ list }) => list[0]?.order_link_id === "kept", FRAME_MS)
      after.socket.close()
      process.kill(again.pid, "SIGINT")
      assert.strictEqual(await stopped(again), 0, again.output())
    }))

  it("is not delayed by a request that never ends", () =>
    inDirectory(async (start) => {
      const gateway = await start()
      const socket = connect(gateway.port, "127.0.0.1")
      socket.on("error", () => {})
      socket.write(
        "POST /api/v1/authorize HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
      )
      const idle = connect(gateway.port, "127.0.0.1")
      idle.on("error", () => {})
      await new Promise((resolve) => setTimeout(resolve, 100))
      process.kill(gateway.pid, "SIGTERM")
      assert.strictEqual(await stopped(gateway), 0, gateway.output())
      socket.destroy()
      idle.destroy()
    }))

  it("twice: ends at once", () =>
    inDirectory(async (start) => {
      // the second socket would be closed minutes after the first
      const gateway = await start({ DRAIN_MS: "600000" })
      const sockets = await Promise.all(Array.from({ length: 3 }, () => Socket.open(gateway, "/ws/public")))
      process.kill(gateway.pid, "SIGTERM")
      for (const socket of sockets) await socket.next("going away", ({ op }) => op === "error", FRAME_MS)
      assert.strictEqual((await sockets[0]!.closing(FRAME_MS)).code, 1001)
      for (const socket of sockets.slice(1)) assert.isUndefined(socket.closed, "the closing is not spread")
      const notReady = await call(gateway, "GET", "/ready")
      assert.deepStrictEqual([notReady.status, notReady.headers.get("connection")], [503, "close"])
      // later than an echo of the first signal
      await new Promise((resolve) => setTimeout(resolve, 400))
      process.kill(gateway.pid, "SIGTERM")
      // an orderly stop would exit with 0, one over its time limit with 1
      assert.strictEqual(await stopped(gateway), 143)
    }))
})

/** The proxy that injects faults must not keep what it cut. */
import { once } from "node:events"
import { type AddressInfo, connect, createServer } from "node:net"
import { assert, describe, it } from "vitest"
import { FaultProxy } from "../../verification/harness/FaultProxy.ts"
import { until } from "../../verification/harness/Wait.ts"

const openSockets = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length

describe("FaultProxy", () => {
  it("keeps no socket open that it cuts while its end is under way", async () => {
    const before = openSockets()
    const server = createServer((socket) => socket.on("error", () => {}).resume()).listen(0, "127.0.0.1")
    await once(server, "listening")
    const proxy = await FaultProxy.start((server.address() as AddressInfo).port)
    const client = connect(proxy.port, "127.0.0.1").on("error", () => {})
    const sockets = proxy["sockets"]
    await until("both sides are connected", () => sockets.size === 2 && [...sockets].every((each) => !each.connecting))
    for (const socket of sockets) socket.end()
    // the shutdown begins in the next tick and ends in a later turn of the loop
    await new Promise<void>((resolve) => process.nextTick(resolve))
    proxy.cut()
    await proxy.close()
    client.destroy()
    server.close()
    await until("every socket is closed", () => openSockets() <= before, 5000)
    assert.strictEqual(sockets.size, 0)
  })
})

import { once } from "node:events"
import { connect } from "node:net"
import { assert, describe, it, onTestFinished, vi } from "vitest"
import * as GrpcServer from "../../../src/backend/server/GrpcServer.ts"

describe("a gRPC server", () => {
  it("stops at its time limit while a connection sends nothing, not even a preface of HTTP/2", async () => {
    const server = GrpcServer.makeServer()
    const socket = connect(await GrpcServer.bind(server, "127.0.0.1", 0, undefined), "127.0.0.1")
    onTestFinished(() => {
      vi.useRealTimers()
      socket.destroy()
    })
    // the server has accepted the connection when its settings arrive
    await once(socket, "data")
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    let hasStopped = false
    void GrpcServer.stop(server).then(() => {
      hasStopped = true
    })
    await vi.advanceTimersByTimeAsync(GrpcServer.DRAIN_MS - 1)
    assert.isFalse(hasStopped)
    await vi.advanceTimersByTimeAsync(1)
    assert.isTrue(hasStopped)
  })
})

/** A whole gateway that reads its events from NATS, and the relay as a program of its own, by their settings alone. */
import { jetstreamManager } from "@nats-io/jetstream"
import { connect } from "@nats-io/transport-node"
import { Redacted } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { start, submitAll, temporary } from "../doubles/FakeBackend.ts"
import { deposit } from "../doubles/FakeMachine.ts"
import { isNatsInstalled, NatsServer } from "../../verification/harness/NatsServer.ts"
import { startRelay } from "../../verification/harness/BackendProcess.ts"
import { startExchange } from "../../verification/harness/Exchange.ts"

describe.skipIf(!isNatsInstalled)("NATS_URL", () => {
  let nats: NatsServer
  beforeAll(async () => {
    nats = await NatsServer.start()
  })
  afterAll(() => nats.kill())

  /** Waits until the copy ends with an event of this epoch, or of any other epoch. */
  const copied = async (isWanted: (epoch: string, last: number) => boolean) => {
    const connection = await connect({ servers: Redacted.value(nats.url) })
    const manager = await jetstreamManager(connection)
    let epoch = ""
    for (let last = 0; !isWanted(epoch, last);) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      const seq = await manager.streams.info("gateway_events").then(
        ({ state }) => state.last_seq,
        () => 0
      )
      const stored = seq === 0 ? null : await manager.streams.getMessage("gateway_events", { seq })
      if (stored === null) continue
      epoch = stored.header.get("epoch")
      last = Number(stored.header.get("last"))
    }
    await connection.close()
    return epoch
  }

  it("is filled by a gateway with the embedded backend, then by the relay of another backend", async () => {
    const exchange = await startExchange({ env: { NATS_URL: Redacted.value(nats.url) } })
    const first = await copied((epoch, last) => epoch !== "" && last > 0)
    const ready = await fetch(`${exchange.url}/ready`)
    assert.strictEqual(ready.status, 200)
    await exchange.close()

    const { directory, remove } = temporary()
    const backend = await start(directory)
    const relay = await startRelay({
      NATS_URL: Redacted.value(nats.url),
      BACKEND: "grpc",
      SEQUENCER_URL: `127.0.0.1:${backend.port}`
    })
    await copied((epoch) => epoch !== first)
    await submitAll(backend.client, [Array.from({ length: 50 }, () => deposit(1))])
    await copied((epoch, last) => epoch !== first && last >= 50)
    assert.strictEqual(await relay.stop(), 0)
    await backend.stop()
    remove()
  })
})

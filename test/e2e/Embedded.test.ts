/** The backend in a thread of the gateway's process is supervised. */
import type { Worker } from "node:worker_threads"
import { assert, describe, it } from "vitest"
import { startExchange } from "../../verification/harness/Exchange.ts"
import { create, funded, listAll } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { isUnavailable } from "./Unavailable.ts"

describe("the embedded backend", () => {
  it("is restarted when its thread dies, and nothing else is", async () => {
    const backends: Array<Worker> = []
    const onWorker = (worker: Worker) => {
      if (worker.threadName === "backend") backends.push(worker)
    }
    process.on("worker", onWorker)
    const exchange = await startExchange()
    try {
      const user = await funded(exchange)
      const kept = await create(exchange, user, "kept")
      assert.strictEqual(kept.status, 200)
      assert.strictEqual(backends.length, 1)
      await backends[0]!.terminate()
      // an order during the restart waits for the next thread, up to the deadline of an order
      const between = await create(exchange, user, "between")
      if (between.status !== 200) isUnavailable(between)
      await eventually(
        "an order",
        () => create(exchange, user, "after"),
        ({ status }) => status === 200
      )
      assert.strictEqual(backends.length, 2)
      const wanted = ["after", ...(between.status === 200 ? ["between"] : []), "kept"]
      const open = await eventually(
        "all orders",
        () => listAll(exchange, "/api/v1/order/realtime", user.token),
        (list) => list.length >= wanted.length
      )
      assert.deepStrictEqual(open.map((order) => order.order_link_id).sort(), wanted)
    } finally {
      process.off("worker", onWorker)
      await exchange.close()
    }
  })
})

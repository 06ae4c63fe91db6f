/** Calls to a backend in a thread of this process. */
import { MessageChannel, type MessagePort } from "node:worker_threads"
import { status } from "@grpc/grpc-js"
import { assert, describe, it } from "vitest"
import * as PortConnection from "../../../src/layers/grpc/PortConnection.ts"
import { reply } from "../../../src/node/PortCall.ts"
import { HealthCheckResponse, HealthService } from "../../../src/proto/grpc/health/v1/health.ts"
import { GetHeadResponse, SequencerService } from "../../../src/proto/gateway/v1/sequencer.ts"

/** A connection whose calls reach `answer`; `undefined`: the thread does not run. */
const connect = (answer: ((port: MessagePort, path: string, request_id: string) => void) | undefined) =>
  PortConnection.make((path, _request, request_id) => {
    if (answer === undefined) return undefined
    const { port1, port2 } = new MessageChannel()
    answer(port2, path, request_id)
    return port1
  })
const head = (connection: ReturnType<typeof connect>, options = {}) =>
  new Promise<unknown>((resolve) =>
    connection.unary(SequencerService.getHead, {}, options, (error, response) =>
      resolve(error?.code ?? response?.head_seq)
    )
  )
const ready = (connection: ReturnType<typeof connect>) =>
  new Promise<unknown>((resolve) => connection.whenReady(20, (error) => resolve(error === undefined || error.message)))

describe("a connection over ports", () => {
  it("calls a method by its path, with the id of the request or a new one", async () => {
    const seen: Array<ReadonlyArray<string>> = []
    const connection = connect((port, ...call) => {
      seen.push(call)
      reply(port, GetHeadResponse.encode({ ...GetHeadResponse.decode(new Uint8Array()), head_seq: 7 }).finish())
    })
    assert.strictEqual(await head(connection, { request_id: "mine" }), 7)
    assert.strictEqual(await head(connection), 7)
    assert.deepStrictEqual(seen[0], [SequencerService.getHead.path, "mine"])
    assert.match(seen[1]![1]!, /^[0-9a-f-]{36}$/u)
  })

  it("fails a call at its deadline, once, and closes its port", async () => {
    let closed: Promise<unknown> | undefined
    const silent = connect((port) => {
      closed = new Promise((resolve) => port.once("close", () => resolve("closed")))
    })
    assert.strictEqual(await head(silent, { deadline_ms: 5 }), status.DEADLINE_EXCEEDED)
    assert.strictEqual(await closed, "closed")
  })

  it("ends a canceled call as CANCELLED, once, as over gRPC", async () => {
    const outcomes: Array<unknown> = []
    const ends = (connection: ReturnType<typeof connect>, options = {}) =>
      connection.unary(SequencerService.getHead, {}, options, (error, response) =>
        outcomes.push(error?.code ?? response?.head_seq)
      )
    const cancel = ends(
      connect(() => {}),
      { deadline_ms: 5 }
    )
    cancel()
    cancel()
    const answered = connect((port) =>
      reply(port, GetHeadResponse.encode(GetHeadResponse.decode(new Uint8Array())).finish())
    )
    const late = ends(answered)
    assert.strictEqual(await head(answered), 0)
    late()
    assert.strictEqual(
      await head(
        connect(() => {}),
        { deadline_ms: 20 }
      ),
      status.DEADLINE_EXCEEDED
    )
    assert.deepStrictEqual(outcomes, [status.CANCELLED, 0])
  })

  it("is ready once the thread answers health checks", async () => {
    const paths: Array<string> = []
    const serving = connect((port, path) => {
      paths.push(path)
      reply(port, HealthCheckResponse.encode({ status: 1 }).finish())
    })
    assert.strictEqual(await ready(serving), true)
    assert.deepStrictEqual(paths, [HealthService.check.path])
    assert.strictEqual(await ready(connect(undefined)), "the thread of the backend does not run")
    assert.strictEqual(await ready(connect((port) => port.close())), "the thread of the backend does not run")
    assert.strictEqual(await ready(connect(() => {})), "the deadline has passed")
  })
})

/** The services over MessagePorts. */
import { once } from "node:events"
import { MessageChannel } from "node:worker_threads"
import { type Metadata, type ServiceError, status } from "@grpc/grpc-js"
import { assert, describe, it } from "vitest"
import * as PortServer from "../../../src/backend/server/PortServer.ts"
import { ClientCall, unary } from "../../../src/node/PortCall.ts"
import {
  RefereeService,
  type StreamPricesRequest,
  StreamPricesResponse
} from "../../../src/proto/gateway/v1/referee.ts"
import { Prices } from "../../../src/proto/gateway/v1/types.ts"
import { SequencerService } from "../../../src/proto/gateway/v1/sequencer.ts"

const codec = { encode: () => new Uint8Array(), decode: (bytes: Buffer) => StreamPricesResponse.decode(bytes) }
const { path, requestSerialize } = RefereeService.streamPrices

describe("PortServer", () => {
  const open = PortServer.make([
    {
      definition: RefereeService,
      handlers: {
        streamPrices: (call: { readonly request: StreamPricesRequest; readonly write: (frame: object) => boolean }) => {
          call.write({ prices: [], heartbeat: { applied_seq: call.request.symbols.length, server_ts_ms: 7 } })
        },
        getPrices: (
          { metadata, request }: { readonly metadata: Metadata; readonly request: { readonly symbols: Array<string> } },
          callback: (error: object | null, value?: object) => void
        ) => {
          if (request.symbols.length === 0) return callback({ code: status.NOT_FOUND, details: "nothing" })
          if (request.symbols[0] === "broken") return callback(null, { prices: "not a list", as_of_seq: 0 })
          const symbol = metadata.get("x-request-id")[0] as string
          callback(null, { prices: [{ ...Prices.decode(new Uint8Array()), symbol }], as_of_seq: 0 })
        }
      },
      isPublic: false
    },
    { definition: SequencerService, handlers: {}, isPublic: false }
  ])
  const called = (path: string) => {
    const { port1, port2 } = new MessageChannel()
    open(path, requestSerialize({ symbols: ["BTC-USDC", "ETH-USDC"] }), "an-id", port2)
    return ClientCall.over(port1, codec)
  }

  it("gives a call its decoded request, and encodes the responses", async () => {
    const call = called(path)
    const [frame] = (await once(call, "data")) as [StreamPricesResponse]
    assert.deepStrictEqual(frame.heartbeat, { applied_seq: 2, server_ts_ms: 7 })
    call.destroy()
  })

  it("answers a call with one response, or fails it, and gives the handler the id of the request", async () => {
    const { path, requestSerialize, responseDeserialize } = RefereeService.getPrices
    const ask = (symbols: Array<string>) =>
      new Promise<unknown>((resolve) => {
        const { port1, port2 } = new MessageChannel()
        unary(port1, responseDeserialize, (error, response) => resolve(error?.code ?? response?.prices[0]?.symbol))
        open(path, requestSerialize({ symbols }), "an-id", port2)
      })
    assert.deepStrictEqual(
      [await ask(["BTC-USDC"]), await ask([]), await ask(["broken"])],
      ["an-id", status.NOT_FOUND, status.INTERNAL]
    )
  })

  it.each([
    ["of a method without a handler", SequencerService.streamEvents.path],
    ["of an unknown method", "/gateway.v1.Referee/Nothing"]
  ])("refuses a call %s", async (_, path) => {
    const [error] = (await once(called(path), "error").catch((error: unknown) => [error])) as [ServiceError]
    assert.strictEqual(error.code, status.UNIMPLEMENTED)
  })
})

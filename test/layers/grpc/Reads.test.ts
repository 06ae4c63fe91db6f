/** What the reads of backends ask for, when they are repeated, and what they return. */
import { status } from "@grpc/grpc-js"
import { Effect, Exit, Scope, Stream } from "effect"
import { assert, describe, it } from "vitest"
import * as Channel from "../../../src/layers/grpc/Channel.ts"
import * as GrpcPriceFeed from "../../../src/layers/grpc/GrpcPriceFeed.ts"
import * as GrpcReferee from "../../../src/layers/grpc/GrpcReferee.ts"
import * as GrpcSequencer from "../../../src/layers/grpc/GrpcSequencer.ts"
import { SequencerService } from "../../../src/proto/gateway/v1/sequencer.ts"
import { hostile, type Unary } from "../../doubles/HostileBackend.ts"

/** Longer than a busy machine takes. */
const DEADLINE_MS = 20_000
const HEAD = { epoch: "e", fork: "", head_seq: 7, first_seq: 0, checksum: undefined, server_ts_ms: 0 }

describe("a read of the referee", () => {
  /** A referee over a channel that records the requests. */
  const recording = (responses: ReadonlyArray<object>) => {
    const requests: Array<unknown> = []
    const read = (_: object, request: unknown) => Effect.sync(() => responses[requests.push(request) - 1]!)
    return { referee: GrpcReferee.make({ read } as unknown as Channel.Channel), requests }
  }

  it("of positions asks for the same ones on each page", async () => {
    const page = (next_page_token: string) => ({ positions: [], as_of_seq: 1, next_page_token })
    const { referee, requests } = recording([page("2"), page("")])
    const query = { user_id: "u", symbol: "BTC-USDC", sub_account_address: undefined }
    assert.deepStrictEqual(await Effect.runPromise(referee.positions(query)), { positions: [], as_of_seq: 1 })
    assert.deepStrictEqual(requests, [
      { ...query, page_token: "" },
      { ...query, page_token: "2" }
    ])
  })

  it("that the referee does not answer is unavailable; another failure, or an answer that violates the contract, is its fault", async () => {
    const query = { sub_account_address: "0xa", symbol: "BTC-USDC", leverage: "1" }
    const tagOf = async (answer: Effect.Effect<object, { readonly code: status }>) => {
      const referee = GrpcReferee.make({ read: () => answer } as unknown as Channel.Channel)
      return (await Effect.runPromise(Effect.flip(referee.previewMargin(query))))._tag
    }
    for (const code of [status.UNAVAILABLE, status.RESOURCE_EXHAUSTED, status.DEADLINE_EXCEEDED, status.CANCELLED])
      assert.strictEqual(await tagOf(Effect.fail({ code })), "RefereeUnavailable", status[code])
    for (const code of [
      status.INTERNAL,
      status.UNKNOWN,
      status.DATA_LOSS,
      status.UNIMPLEMENTED,
      status.PERMISSION_DENIED
    ])
      assert.strictEqual(await tagOf(Effect.fail({ code })), "RefereeFault", status[code])
    assert.strictEqual(await tagOf(Effect.succeed({ required: "NaN", available: "1", ok: true })), "RefereeFault")
  })

  it("of prices and of candles asks for their markets and times", async () => {
    const { referee, requests } = recording([{ prices: [] }, { candles: [] }])
    await Effect.runPromise(referee.prices(["BTC-USDC", "ETH-USDC"]))
    const candles = { symbol: "BTC-USDC", interval: "5", start: 1, end: 2, limit: 3 } as const
    await Effect.runPromise(referee.indexCandles(candles))
    assert.deepStrictEqual(requests, [
      { symbols: ["BTC-USDC", "ETH-USDC"] },
      { symbol: "BTC-USDC", interval: "5", start_ms: 1, end_ms: 2, limit: 3 }
    ])
  })
})

describe("a frame of the price stream", () => {
  it("may have prices and a heartbeat, of which neither hides the other", async () => {
    const prices = {
      symbol: "BTC-USDC",
      mark_price: "1",
      index_price: "2",
      last_price: "3",
      open_interest: "4",
      ts_ms: 5
    }
    const funding = { funding_rate: "0.1", next_funding_time_ms: 6 }
    const heartbeat = { applied_seq: 7, server_ts_ms: 8 }
    const listening = (event: string, listener: (frame: object) => void) => {
      if (event === "data") listener({ prices: [{ ...prices, ...funding }], heartbeat })
    }
    const responses = () => ({ on: listening, cancel: () => {}, pause: () => {}, resume: () => {} })
    const channel = { responses, onMove: () => () => {} } as unknown as Channel.Channel
    const frames = await Effect.runPromise(Stream.runCollect(Stream.take(GrpcPriceFeed.make(channel).frames, 2)))
    assert.deepStrictEqual<unknown>(frames, [
      { type: "prices", prices: [{ ...prices, ...funding }] },
      { type: "heartbeat", ...heartbeat }
    ])
  })
})

describe("a read of the sequencer", () => {
  /** Runs with channels to a backend whose first reads are refused as unavailable. */
  const against = async (
    failures: number,
    addressOf: (address: string) => string,
    test: (channel: Channel.Channel) => Promise<void>
  ) => {
    let left = failures
    const getHead: Unary = (_, answer) =>
      left-- > 0 ? answer({ code: status.UNAVAILABLE, details: "no" }) : answer(null, HEAD)
    const backend = await hostile({ sequencer: { getHead } })
    const scope = Effect.runSync(Scope.make())
    const endpoint = { ...backend.endpoint, address: addressOf(backend.endpoint.address) }
    try {
      await test(await Effect.runPromise(Channel.make(endpoint).pipe(Scope.provide(scope))))
    } finally {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await backend.close()
    }
  }
  const succeeds = async (channel: Channel.Channel) =>
    Exit.isSuccess(await Effect.runPromiseExit(channel.read(SequencerService.getHead, {}, DEADLINE_MS)))

  it("is repeated once, and of several backends until its deadline: another one may take over", async () => {
    for (const [failures, addressOf, expected] of [
      [1, (address: string) => address, true],
      [2, (address: string) => address, false],
      [4, (address: string) => `${address}, ${address}`, true]
    ] as const)
      await against(failures, addressOf, async (channel) =>
        assert.strictEqual(await succeeds(channel), expected, String(failures))
      )
  })

  it("reaches an address with spaces around it, as in a list", () =>
    against(
      0,
      (address) => ` ${address} `,
      async (channel) => assert.isTrue(await succeeds(channel))
    ))

  it("of the head leaves out what the backend does not name", () =>
    against(
      0,
      (address) => address,
      async (channel) => {
        const head = Effect.scoped(Effect.flatMap(GrpcSequencer.make(channel), (sequencer) => sequencer.head))
        const expected = {
          epoch: "e",
          head_seq: 7,
          server_ts_ms: 0,
          fork: undefined,
          checksum: undefined,
          first_seq: undefined
        }
        assert.deepStrictEqual(await Effect.runPromise(head), expected)
      }
    ))
})

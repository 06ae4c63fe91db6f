/** The trades that `gateway trades` prints. */
import { Effect, Stream } from "effect"
import { assert, describe, it } from "vitest"
import type { FeedEvent } from "../../src/client/FeedEvent.ts"
import { tradesOf } from "../../src/cli/commands/WatchCommands.ts"

const message = (type: "snapshot" | "update", ...ids: ReadonlyArray<number>) =>
  ({
    kind: "trade",
    topic: "trade.BTC-USDC",
    data: { type, list: ids.map((id) => ({ trade_id: `t${id}` })) }
  }) as unknown as FeedEvent
const lost: FeedEvent = { kind: "state", state: { type: "lost", code: 1006, reason: "" } }
const printed = (...events: ReadonlyArray<FeedEvent>): Promise<ReadonlyArray<string>> =>
  tradesOf(Stream.fromIterable(events)).pipe(
    Stream.map(({ trade_id }) => trade_id),
    Stream.runCollect,
    Effect.runPromise
  )

describe("the trades of a market", () => {
  it("are each printed once, over reconnects", async () => {
    const events = [message("snapshot", 1, 2), message("update", 3, 4), lost, message("snapshot", 2, 3, 4, 5), lost]
    assert.deepStrictEqual(await printed(...events, message("snapshot", 4, 5), message("update", 6)), [
      "t1",
      "t2",
      "t3",
      "t4",
      "t5",
      "t6"
    ])
  })

  it("are those of a snapshot, however many were printed before", async () => {
    const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
    const events = [message("snapshot", ...ids(0, 50)), ...ids(50, 200).map((id) => message("update", id)), lost]
    const all = await printed(...events, message("snapshot", ...ids(155, 205)))
    assert.deepStrictEqual(
      all,
      ids(0, 205).map((id) => `t${id}`)
    )
  })

  it("end with the error of a refused topic, unless it is temporary", async () => {
    const refusal = (code: string, text: string) =>
      ({ kind: "refused", error: { code, message: text } }) as unknown as FeedEvent
    assert.deepStrictEqual(await printed(refusal("SERVICE_UNAVAILABLE", "not yet"), message("snapshot", 1)), ["t1"])
    const error = await printed(refusal("NOT_FOUND", "no such market")).then(
      () => undefined,
      (reason: unknown) => reason
    )
    assert.include(String(error), "no such market")
  })
})

/** The hub over a market and user streams that the test moves: what it counts, and what it leaves at its end. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Scope } from "effect"
import { MarketView } from "../../src/services/markets/MarketView.ts"
import { BackendHealth } from "../../src/services/operations/BackendHealth.ts"
import { CurrentMetricsRegistry, layer as metrics } from "../../src/services/operations/MetricsRegistry.ts"
import { UserStreams } from "../../src/services/read-model/UserStreams.ts"
import { queuedFrame } from "../../src/ws/Batch.ts"
import { Frame, textsOf } from "../../src/ws/Frame.ts"
import { Hub } from "../../src/ws/Hub.ts"
import { Outbox } from "../../src/ws/Outbox.ts"
import { PrivateFeed } from "../../src/ws/PrivateFeed.ts"
import { SYMBOL, USER, World } from "../../verification/harness/WebSocketWorld.ts"

const limits = { outbound_bytes: 1e6, outbound_age_ms: 1e6 }

it.effect(
  "counts the subscriptions of each kind of topic, sends nothing of one that was left, and follows nobody after its end",
  () =>
    Effect.gen(function* () {
      const { health, market, users } = new World()
      const logged: Array<string> = []
      const scope = yield* Scope.make()
      const built = yield* Layer.buildWithScope(
        Layer.provideMerge(
          Hub.layer,
          Layer.mergeAll(
            metrics,
            Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))]),
            Layer.succeed(MarketView, market.service),
            Layer.succeed(UserStreams, users.streams),
            Layer.succeed(BackendHealth, health)
          )
        ),
        scope
      )
      const hub = Context.get(built, Hub)
      const written = new Map<Outbox, Array<string>>()
      const sink = (texts: Array<string>) => ({
        deflated: false,
        pending: () => 0,
        write: (bytes: Buffer) => void texts.push(...textsOf(bytes)),
        whenTaken: () => {}
      })
      const outbox = () => {
        const texts: Array<string> = []
        const made = new Outbox(sink(texts), hub.flusher, limits, { end: assert.fail })
        written.set(made, texts)
        return made
      }
      const counted = Effect.map(Context.get(built, CurrentMetricsRegistry).text, (text) =>
        ["trade", "orderbook", "private"].map((kind) =>
          Number(text.split(`\ngateway_ws_subscriptions{topic="${kind}"} `)[1]?.split("\n")[0])
        )
      )
      assert.deepStrictEqual(yield* counted, [0, 0, 0])
      const [first, second] = [outbox(), outbox()]
      for (const each of [first, second])
        hub.join(`orderbook.50.${SYMBOL}`, { kind: "orderbook", symbol: SYMBOL, depth: 50 }, each)
      hub.join(`orderbook.1.${SYMBOL}`, { kind: "orderbook", symbol: SYMBOL, depth: 1 }, first)
      hub.join(`trade.${SYMBOL}`, { kind: "trade", symbol: SYMBOL }, first)
      hub.attach(new PrivateFeed(USER, outbox(), assert.fail), assert.fail)
      assert.deepStrictEqual(yield* counted, [1, 3, 1])
      hub.leave(`orderbook.50.${SYMBOL}`, second)
      assert.deepStrictEqual(yield* counted, [1, 2, 1])
      first.flush()
      second.flush()
      const [ofFirst, ofSecond] = [first, second].map((each) =>
        written.get(each)!.map((text) => JSON.parse(text).topic)
      )
      assert.deepStrictEqual(ofFirst, [`orderbook.50.${SYMBOL}`, `orderbook.1.${SYMBOL}`, `trade.${SYMBOL}`])
      assert.deepStrictEqual(ofSecond, [], "nothing of a topic that was left")
      // of a topic that may skip states, the second frame of a full outbox is dropped, and counted
      const source = { conflatable: true, snapshot: () => undefined }
      const full = new Outbox(
        sink([]),
        hub.flusher,
        { ...limits, outbound_bytes: 1 },
        {
          end: assert.fail
        }
      )
      for (const text of ["first", "second"]) full.offer(queuedFrame(new Frame(text), source, 0))
      const conflations = Effect.map(Context.get(built, CurrentMetricsRegistry).text, (text) =>
        /^gateway_ws_conflations_total (\d+)$/mu.exec(text)?.at(1)
      )
      assert.strictEqual(yield* conflations, "1")
      // a change that cannot be sent is reported, and the next one is sent
      market.tell({ prints: undefined as never })
      market.tell({ prints: [market.trade(1, "60000")] })
      first.flush()
      assert.deepStrictEqual(
        logged.map((line) => line.split(",")[0]),
        ["a feed failed"]
      )
      assert.strictEqual(JSON.parse(written.get(first)!.at(-1)!).data.type, "update")
      assert.deepStrictEqual([market.followers, users.followers], [1, 1])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual([market.followers, users.followers], [0, 0])
      // a restart reaches no connection
      users.restart("s2")
    })
)

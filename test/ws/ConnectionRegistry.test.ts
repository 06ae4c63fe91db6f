import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CurrentMetricsRegistry, layer } from "../../src/services/operations/MetricsRegistry.ts"
import { Presence } from "../../src/services/operations/Presence.ts"
import type { Connection, Endpoint } from "../../src/ws/Connection.ts"
import { ConnectionRegistry } from "../../src/ws/ConnectionRegistry.ts"
import { defaults, Limits } from "../../src/ws/Limits.ts"

const connection = (endpoint: Endpoint, ip: string, weight: number): Connection =>
  ({ endpoint, ip, outbox: { weight } }) as unknown as Connection
const dependencies = Layer.mergeAll(
  layer,
  Presence.layer,
  Layer.succeed(Limits, { ...defaults, connections_per_ip: 2 })
)

it.effect("counts connections by endpoint and address, and the bytes that are queued for them", () =>
  Effect.gen(function* () {
    const registry = yield* ConnectionRegistry.make
    const { text } = yield* CurrentMetricsRegistry
    const figures = Effect.map(text, (all) =>
      ["queued_bytes", ...["general", "public", "private", "rpc"].map((name) => `sessions{endpoint="${name}"}`)].map(
        (name) => Number(all.split(`\ngateway_ws_${name} `)[1]?.split("\n")[0])
      )
    )
    assert.deepStrictEqual(yield* figures, [0, 0, 0, 0, 0])
    const first = registry.add(connection("public", "192.0.2.1", 30))
    assert.isFalse(registry.isFull("192.0.2.1"))
    registry.add(connection("rpc", "192.0.2.1", 12))
    registry.add(connection("private", "192.0.2.2", 0))
    assert.deepStrictEqual(yield* figures, [42, 0, 1, 1, 1])
    assert.deepStrictEqual([registry.isFull("192.0.2.1"), registry.isFull("192.0.2.2")], [true, false])
    registry.remove(first)
    assert.deepStrictEqual(yield* figures, [12, 0, 0, 1, 1])
    assert.isFalse(registry.isFull("192.0.2.1"))
  }).pipe(Effect.provide(dependencies))
)

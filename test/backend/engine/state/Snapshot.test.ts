import { assert, describe, it } from "@effect/vitest"
import * as Engine from "../../../../src/backend/engine/Engine.ts"
import type { Heap } from "../../../../src/backend/engine/state/Heap.ts"
import * as StateCodec from "../../../../src/backend/engine/state/StateCodec.ts"
import * as Snapshot from "../../../../src/backend/engine/state/Snapshot.ts"
import { memoryClientIdIndex } from "../../../../src/backend/engine/state/ClientIdIndex.ts"
import { restingOrders } from "../../../../src/backend/engine/state/RestingOrders.ts"
import { config } from "../../Bench.ts"
import { Users } from "../../../../verification/harness/SimulatedUsers.ts"
import { random } from "../../Invariants.ts"

/** Compares two graphs: equal keys and values, and one-to-one objects. Reports the path of a difference. */
const isomorphic = (left: unknown, right: unknown): void => {
  const pairs = new Map<object, object>()
  const open: Array<readonly [path: string, left: unknown, right: unknown]> = [["state", left, right]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, a, b] = next
    if (typeof a !== "object" || a === null) {
      if (typeof a === "function") assert.strictEqual(typeof b, "function", path)
      else assert.isTrue(Object.is(a, b), `${path}: ${String(a)} became ${String(b)}`)
      continue
    }
    assert.isTrue(typeof b === "object" && b !== null, `${path} is gone`)
    const known = pairs.get(a)
    if (known !== undefined) {
      assert.strictEqual(known, b, `${path} is another object`)
      continue
    }
    pairs.set(a, b as object)
    if (a instanceof Map || a instanceof Set) {
      const [one, two] = [[...a], [...(b as Map<unknown, unknown>)]]
      open.push([path, one, two])
      continue
    }
    // the shape of a heap depends on the order of its changes
    if ("sorted" in a) {
      open.push([path, (a as Heap<unknown>).sorted(), (b as Heap<unknown>).sorted()])
      continue
    }
    const keys = Object.keys(a)
    assert.deepStrictEqual(Object.keys(b as object), keys, path)
    for (const key of keys)
      open.push([`${path}.${key}`, (a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]])
  }
}

const played = (seed: number, commands: number, simMaker: boolean) => {
  const links = memoryClientIdIndex()
  const state = Engine.initial(config({ simMaker }), links)
  const users = new Users(random(seed))
  const step = () => {
    Engine.apply(state, { at_ms: users.now, command: undefined })
    const command = users.one()
    users.received(Engine.apply(state, { at_ms: users.now, command }).result!)
  }
  for (let i = 0; i < commands; i++) step()
  return { state, links, users }
}

describe("a snapshot of the engine", () => {
  it.each([1, 2, 3, 4])("contains the whole state: every field, shared object and book priority (seed %i)", (seed) => {
    const { state, links } = played(seed, 800, seed % 2 === 0)
    assert.isAbove(state.orders.size(), 0)
    assert.isAbove(state.fillNumber, 5)
    const bytes = Snapshot.dump(state)
    const loaded = Snapshot.load(state.config, bytes, links)
    assert.strictEqual(Engine.hash(loaded), Engine.hash(state))
    isomorphic(state, loaded)
    isomorphic(
      state.markets.map((market) => restingOrders(state, market)),
      loaded.markets.map((market) => restingOrders(loaded, market))
    )
    assert.deepStrictEqual(Snapshot.dump(loaded), bytes)
  })

  it("behaves exactly like its source state", () => {
    const { state, links, users } = played(7, 300, true)
    const loaded = Snapshot.load(state.config, Snapshot.dump(state), links)
    for (let i = 0; i < 300; i++) {
      const command = users.one()
      const at_ms = users.now
      const first = Engine.apply(state, { at_ms, command: undefined })
      assert.deepStrictEqual(Engine.apply(loaded, { at_ms, command: undefined }), first)
      const second = Engine.apply(loaded, { at_ms, command })
      // the second engine shares the client id index, which contains newer links; a link counts only once its order
      // exists
      assert.deepStrictEqual(Engine.apply(state, { at_ms, command }), second)
      users.received(second.result!)
    }
    assert.strictEqual(Engine.hash(loaded), Engine.hash(state))
  })

  it("of an earlier program has earlier names of fields", () => {
    const { state, links } = played(5, 800, false)
    const bytes = Snapshot.dump(state)
    const standIns = Array.from({ length: 100 }, (_, i) => ({ i }))
    const earlier = StateCodec.write(
      StateCodec.read(bytes, standIns, new Map([...Snapshot.RENAMED].map(([earlier, name]) => [name, earlier]))),
      standIns
    )
    for (const [name] of Snapshot.RENAMED) assert.include(earlier.toString(), name)
    isomorphic(state, Snapshot.load(state.config, earlier, links))
    assert.deepStrictEqual(Snapshot.dump(Snapshot.load(state.config, earlier, links)), bytes)
  })

  it("supports an unused exchange", () => {
    const state = Engine.initial(config())
    isomorphic(state, Snapshot.load(state.config, Snapshot.dump(state), state.links))
  })
})

describe("StateCodec", () => {
  const again = (value: unknown) => StateCodec.read(StateCodec.write(value, []), [])

  it("keeps every kind of value", () => {
    const values: ReadonlyArray<unknown> = [
      [undefined, null, true, false, 0, -0, 1, -1, 127, 128, 2 ** 31, 2 ** 53 - 1, -(2 ** 53), 1.5, NaN, -Infinity],
      ["", "a", "a", "ä€😀", "x".repeat(100), 0n, -1n, 10n ** 40n, -(10n ** 40n)],
      [[], {}, new Map(), new Set([1, "a"]), new Uint8Array([1, 255])],
      new Map<unknown, unknown>([
        [1, { a: 1, b: [2n] }],
        ["k", { a: 2, b: undefined }]
      ])
    ]
    assert.deepStrictEqual(again(values), values)
    // nothing follows
    for (const value of ["text", 3n, new Uint8Array([1, 255])]) assert.deepStrictEqual(again(value), value)
  })

  it("keeps values wherever its buffer grows", () => {
    // the first buffer has 64 KiB: for each end of its room, a text and bytes that do not fit
    for (let spare = 0; spare < 24; spare++) {
      const filling = "x".repeat((1 << 16) - 16 - spare)
      for (const value of ["ä".repeat(20), new Uint8Array(40).fill(7), 10n ** 30n, 2 ** 52 + 0.5, 2 ** 40])
        assert.deepStrictEqual(again([filling, value, "end"]), [filling, value, "end"])
    }
  })

  it("keeps shared and circular references", () => {
    const shared = { name: "s" }
    const ring: Record<string, unknown> = { left: shared, right: shared }
    ring["self"] = ring
    const read = again(ring) as typeof ring
    assert.strictEqual(read["left"], read["right"])
    assert.strictEqual(read["self"], read)
  })

  it("rejects values that are not plain data, with their path", () => {
    assert.throws(() => StateCodec.write({ a: [{ when: new Date() }] }, []), /a\.0\.when is a Date/)
    assert.throws(() => StateCodec.write({ a: { f: () => 1 } }, []), /a\.f is a function/)
  })

  it("rejects truncated and overlong bytes", () => {
    const bytes = StateCodec.write({ a: ["text", 1.5, 3n] }, [])
    for (let i = 0; i < bytes.length; i++) assert.throws(() => StateCodec.read(bytes.subarray(0, i), []))
    assert.throws(() => StateCodec.read(Buffer.concat([bytes, Buffer.of(0)]), []), /1 bytes remain after the value/)
  })
})

import { BinaryWriter } from "@bufbuild/protobuf/wire"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import * as Engine from "../../src/backend/engine/Engine.ts"
import { WireWriter } from "../../src/node/WireWriter.ts"
import { Command, CommandResult, Event } from "../../src/proto/gateway/v1/sequencer.ts"
import { START, Users } from "../../verification/harness/SimulatedUsers.ts"
import { random } from "../../verification/harness/Random.ts"
import { config } from "../backend/Bench.ts"

const { bigInt, boolean, constant, integer, maxSafeInteger, oneof, string, tuple, uint8Array } = fc

const field = oneof(
  tuple(constant("uint32" as const), integer({ min: 0, max: 0xffff_ffff })),
  tuple(constant("fixed32" as const), integer({ min: 0, max: 0xffff_ffff })),
  tuple(constant("int32" as const), integer()),
  tuple(constant("int64" as const), oneof(maxSafeInteger(), bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))),
  tuple(constant("uint64" as const), oneof(fc.maxSafeNat(), bigInt({ min: 0n, max: 2n ** 64n - 1n }))),
  tuple(constant("bool" as const), boolean()),
  tuple(constant("bytes" as const), uint8Array({ maxLength: 300 })),
  tuple(constant("string" as const), oneof(string({ maxLength: 300 }), string({ unit: "binary", maxLength: 200 })))
)

const write = (writer: BinaryWriter, fields: ReadonlyArray<readonly [string, unknown]>): BinaryWriter => {
  for (const [type, value] of fields) (writer[type as "string"] as (value: unknown) => BinaryWriter)(value)
  return writer
}

describe("WireWriter", () => {
  it("writes the same bytes as the library, for each type of the boundary and any nesting", () => {
    const kept = new WireWriter()
    fc.assert(
      fc.property(fc.array(field, { maxLength: 20 }), fc.array(field, { maxLength: 5 }), (outer, inner) => {
        const nested = (writer: BinaryWriter) =>
          write(write(write(writer, outer).fork(), inner).fork(), outer)
            .join()
            .join()
            .tag(3, 2)
            .finish()
        assert.deepStrictEqual(nested(kept), nested(new BinaryWriter()))
      }),
      { numRuns: 500 }
    )
  })

  it("writes the commands, results and events of an engine like the library", () => {
    const kept = new WireWriter()
    const state = Engine.initial(config())
    const users = new Users(random(7), 20)
    for (let i = 0; i < 1000; i++) {
      const command = users.one()
      const { events, result } = Engine.apply(state, { at_ms: users.now, command })
      users.received(result!)
      assert.deepStrictEqual(Command.encode(command, kept).finish(), Command.encode(command).finish())
      assert.deepStrictEqual(CommandResult.encode(result!, kept).finish(), CommandResult.encode(result!).finish())
      for (const event of events)
        assert.deepStrictEqual(Event.encode(event, kept).finish(), Event.encode(event).finish())
    }
    assert.isAbove(state.time, START)
  })

  it("does not change bytes that were taken when it writes more, also in another buffer", () => {
    const writer = new WireWriter()
    const first = writer.string("first").from(0)
    const start = writer.length
    writer.raw(new Uint8Array(1 << 17).fill(7))
    assert.strictEqual(writer.from(start).length, 1 << 17)
    writer.renew()
    const second = writer.string("second").from(0)
    writer.renew()
    writer.raw(new Uint8Array(1 << 20))
    assert.deepStrictEqual(first, new BinaryWriter().string("first").finish())
    assert.deepStrictEqual(second, new BinaryWriter().string("second").finish())
    assert.strictEqual(writer.length, 1 << 20)
  })

  it("refuses a join without a fork", () => {
    assert.throws(() => new WireWriter().join(), /no fork/)
  })
})

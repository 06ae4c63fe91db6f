import { BinaryReader, BinaryWriter } from "@bufbuild/protobuf/wire"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import * as Engine from "../../src/backend/engine/Engine.ts"
import { WireReader } from "../../src/node/WireReader.ts"
import { CommandResult, Event } from "../../src/proto/gateway/v1/sequencer.ts"
import { random } from "../../verification/harness/Random.ts"
import { Users } from "../../verification/harness/SimulatedUsers.ts"
import { config } from "../backend/Bench.ts"

describe("WireReader", () => {
  const text = fc.oneof(fc.string({ maxLength: 80 }), fc.string({ unit: "binary", maxLength: 80 }))

  it("reads the same texts as the library, whether they repeat or not", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 30 }), (texts) => {
        const writer = new BinaryWriter()
        for (const each of [...texts, ...texts]) writer.string(each)
        const bytes = writer.finish()
        const kept = new WireReader(bytes)
        const reader = new BinaryReader(bytes)
        for (let i = 0; i < 2 * texts.length; i++) assert.strictEqual(kept.string(), reader.string())
        assert.strictEqual(kept.pos, bytes.length)
      })
    )
  })

  it("reads integers of 64 bits as numbers", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeNat(), (signed, unsigned) => {
        const bytes = new BinaryWriter().int64(signed).uint64(unsigned).int64(signed).finish()
        const reader = new WireReader(bytes)
        assert.deepStrictEqual([reader.int64(), reader.uint64(), reader.int64()] as ReadonlyArray<unknown>, [
          signed,
          unsigned,
          signed
        ])
      })
    )
  })

  it("lets the decoders refuse integers that are not exact", () => {
    const head = (value: bigint) => new BinaryWriter().uint32(8).uint64(value).finish()
    for (const value of [2n ** 53n, 2n ** 63n, 2n ** 64n - 1n])
      assert.throws(() => Event.decode(new WireReader(head(value))), /MAX_SAFE_INTEGER/)
    assert.strictEqual(Event.decode(new WireReader(head(2n ** 53n - 1n))).seq, Number.MAX_SAFE_INTEGER)
  })

  it("refuses texts and integers that end early", () => {
    assert.throws(() => new WireReader(Uint8Array.of(5, 65, 66)).string(), RangeError)
    assert.throws(() => new WireReader(Uint8Array.of(0x80, 0x80)).int64())
  })

  it("decodes the results and events of an engine like the library", () => {
    const state = Engine.initial(config())
    const users = new Users(random(7), 20)
    for (let i = 0; i < 200; i++) {
      const command = users.one()
      const { events, result } = Engine.apply(state, { at_ms: users.now, command })
      users.received(result!)
      const bytes = CommandResult.encode(result!).finish()
      assert.deepStrictEqual(CommandResult.decode(new WireReader(bytes)), CommandResult.decode(bytes))
      for (const event of events) {
        const encoded = Event.encode(event).finish()
        assert.deepStrictEqual(Event.decode(new WireReader(encoded)), Event.decode(encoded))
      }
    }
  })
})

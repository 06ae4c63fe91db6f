import { constants, inflateRawSync } from "node:zlib"
import { assert, describe, it } from "vitest"
import { Frame, PING, control, textsOf } from "../../src/ws/Frame.ts"

/** Bytes that a sender leaves out at the end of a compressed payload, RFC 7692 7.2.1. */
const TAIL = Buffer.from([0, 0, 0xff, 0xff])

const unpacked = (payload: Buffer): string =>
  inflateRawSync(Buffer.concat([payload, TAIL]), { finishFlush: constants.Z_SYNC_FLUSH }).toString()

/** First byte and payload of an unmasked frame. */
const parsed = (bytes: Buffer) => {
  const short = bytes[1]!
  const at = short < 126 ? 2 : short === 126 ? 4 : 10
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  assert.lengthOf(bytes, at + length)
  return { first: bytes[0]!, payload: bytes.subarray(at) }
}

describe("a frame", () => {
  it("has its text, whatever its length", () => {
    for (const length of [0, 1, 125, 126, 127, 65_535, 65_536, 70_000]) {
      const { first, payload } = parsed(new Frame("x".repeat(length)).bytes(false))
      assert.deepStrictEqual([first, payload.length], [0x81, length])
    }
    const { payload } = parsed(new Frame("é€𝄞").bytes(false))
    assert.strictEqual(payload.toString(), "é€𝄞")
  })

  it("is compressed where that is smaller, and decompresses to its text", () => {
    for (const length of [1_100, 65_535, 65_536, 200_000]) {
      const text = JSON.stringify(Array.from({ length: length / 10 }, (_, i) => `${i}`.padStart(7, "0"))).slice(
        0,
        length
      )
      const frame = new Frame(text)
      const { first, payload } = parsed(frame.bytes(true))
      assert.strictEqual(first, 0xc1)
      assert.isBelow(frame.bytes(true).length, frame.length)
      assert.strictEqual(unpacked(payload), text)
      assert.strictEqual(frame.bytes(true), frame.bytes(true), "once")
    }
  })

  it("is plain where it is short", () => {
    const frame = new Frame("x".repeat(900))
    assert.strictEqual(frame.bytes(true), frame.bytes(false))
  })

  it("is read back from the bytes of several", () => {
    const texts = ["", "a", "b".repeat(126), "c".repeat(65_536)]
    assert.deepStrictEqual(textsOf(Buffer.concat(texts.map((text) => new Frame(text).bytes(false)))), texts)
  })
})

describe("a control frame", () => {
  it("has its opcode, and up to 125 bytes", () => {
    for (const length of [0, 125]) {
      const { first, payload } = parsed(control(PING, Buffer.alloc(length, 7)))
      assert.deepStrictEqual([first, payload], [0x89, Buffer.alloc(length, 7)])
    }
  })
})

import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { FrameScanner } from "../../src/ws/FrameScanner.ts"

interface Made {
  readonly opcode: number
  readonly fin: boolean
  readonly length: number
  readonly masked: boolean
}

const frame = ({ fin, length, masked, opcode }: Made): Buffer => {
  const size = length < 126 ? [length] : length < 65_536 ? [126] : [127]
  const head = Buffer.from([(fin ? 0x80 : 0) | opcode, (masked ? 0x80 : 0) | size[0]!])
  const wide = Buffer.alloc(length < 126 ? 0 : length < 65_536 ? 2 : 8)
  if (wide.length === 2) wide.writeUInt16BE(length)
  if (wide.length === 8) wide.writeBigUInt64BE(BigInt(length))
  // payloads look like headers: only counting distinguishes them
  return Buffer.concat([head, wide, Buffer.alloc(masked ? 4 : 0, 0x81), Buffer.alloc(length, 0x81)])
}

const lengths = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constantFrom(125, 126, 127, 65_535, 65_536, 70_000))
/** A message in fragments, with control frames in between. */
const message = fc
  .record({
    parts: fc.array(lengths, { minLength: 1, maxLength: 4 }),
    pings: fc.boolean(),
    masked: fc.boolean()
  })
  .map(({ masked, parts, pings }) =>
    parts.flatMap((length, i): Array<Made> => {
      const part = { opcode: i === 0 ? 1 : 0, fin: i === parts.length - 1, length, masked }
      return pings && !part.fin ? [part, { opcode: 9, fin: true, length: 3, masked }] : [part]
    })
  )

describe("the boundary of messages", () => {
  it("is found however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 30 }),
        (messages, steps) => {
          const ends = new Set<number>()
          const frames: Array<Buffer> = []
          let length = 0
          for (const parts of messages) {
            for (const part of parts) {
              const bytes = frame(part)
              frames.push(bytes)
              length += bytes.length
              // within a message its fragments end nowhere
              if (part.fin && (part.opcode !== 9 || parts.length === 1)) ends.add(length)
            }
          }
          const bytes = Buffer.concat(frames)
          const boundary = new FrameScanner()
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const to = Math.min(bytes.length, at + steps[i % steps.length]!)
            assert.strictEqual(boundary.take(bytes.subarray(at, to)), ends.has(to), `at ${to} of ${bytes.length}`)
            at = to
          }
        }
      )
    )
  })

  it("is not at the end of a fragment, nor of a control frame between two", () => {
    const boundary = new FrameScanner()
    const part = { length: 3, masked: true }
    assert.isFalse(boundary.take(frame({ ...part, opcode: 1, fin: false })))
    assert.isFalse(boundary.take(frame({ ...part, opcode: 9, fin: true })))
    assert.isFalse(boundary.take(frame({ ...part, opcode: 0, fin: false })))
    assert.isTrue(boundary.take(frame({ ...part, opcode: 0, fin: true })))
    assert.isTrue(boundary.take(frame({ ...part, opcode: 9, fin: true })))
  })

  it("begins the count of bytes and chunks of an incomplete message", () => {
    const boundary = new FrameScanner()
    const whole = frame({ opcode: 1, fin: true, length: 3, masked: true })
    const counted = (chunk: Buffer) => {
      boundary.take(chunk)
      return [boundary.bytes, boundary.chunks]
    }
    assert.deepStrictEqual(counted(whole), [0, 0])
    assert.deepStrictEqual(counted(Buffer.concat([whole, whole.subarray(0, 4)])), [4, 1])
    assert.deepStrictEqual(counted(whole.subarray(4, 6)), [6, 2])
    assert.deepStrictEqual(counted(whole.subarray(6)), [0, 0])
  })

  it("is where nothing came yet", () => {
    const boundary = new FrameScanner()
    assert.isTrue(boundary.take(Buffer.alloc(0)))
    assert.isFalse(boundary.take(Buffer.from([0x81])))
    assert.isTrue(boundary.take(Buffer.from([0x00])))
  })
})

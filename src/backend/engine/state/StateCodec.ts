/**
 * Serializes a graph of plain data to bytes and back. Shared and circular references are kept, bigints are exact.
 *
 * Plain data are primitives, arrays, Maps, Sets, byte arrays and objects without a class. Any other value is an error
 * with its path, so that no data is lost silently. The caller lists objects that are not data (a book with its methods)
 * as `outside`; the bytes hold only a reference to them.
 */

/** A value that cannot be serialized, or bytes that {@link write} did not produce. */
export class StateCodecError extends Error {
  override readonly name = "StateCodecError"
}

const Tag = {
  UNDEFINED: 0,
  NULL: 1,
  FALSE: 2,
  TRUE: 3,
  NATURAL: 4,
  DOUBLE: 5,
  STRING: 6,
  STRING_AGAIN: 7,
  BIGINT: 8,
  BIGINT_NEGATIVE: 9,
  ARRAY: 10,
  MAP: 11,
  SET: 12,
  BYTES: 13,
  SHAPE: 14,
  OBJECT: 15,
  AGAIN: 16,
  OUTSIDE: 17
} as const

/** Strings up to this length are written once and referenced afterwards. */
const SHARED_STRING_MAX = 64

class ByteWriter {
  private bytes = Buffer.allocUnsafe(1 << 16)
  private length = 0

  private room(size: number): void {
    if (this.length + size <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + size))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  tag(tag: number): void {
    this.room(1)
    this.bytes[this.length++] = tag
  }

  natural(value: number): void {
    this.room(8)
    while (value > 0x7f) {
      this.bytes[this.length++] = (value % 128) | 0x80
      value = Math.floor(value / 128)
    }
    this.bytes[this.length++] = value
  }

  double(value: number): void {
    this.room(8)
    this.length = this.bytes.writeDoubleLE(value, this.length)
  }

  text(value: string): void {
    const size = Buffer.byteLength(value)
    this.natural(size)
    this.room(size)
    this.length += this.bytes.write(value, this.length, size, "utf8")
  }

  raw(value: Uint8Array): void {
    this.natural(value.length)
    this.room(value.length)
    this.bytes.set(value, this.length)
    this.length += value.length
  }

  done(): Buffer {
    return this.bytes.subarray(0, this.length)
  }
}

/**
 * Serializes a graph. `outside`: objects that are not written; the reader gets their counterparts in the same order.
 * Throws {@link StateCodecError} with the path of a value that is not plain data.
 */
export const write = (root: unknown, outside: ReadonlyArray<object>): Buffer => {
  const out = new ByteWriter()
  const seen = new Map<object, number>()
  const strings = new Map<string, number>()
  const shapes = new Map<string, { readonly number: number; readonly keys: ReadonlyArray<string> }>()
  const outsideNumbers = new Map<object, number>(outside.map((object, i) => [object, i]))
  const path: Array<string | number> = []

  const text = (value: string): void => {
    const known = strings.get(value)
    if (known !== undefined) {
      out.tag(Tag.STRING_AGAIN)
      return out.natural(known)
    }
    if (value.length <= SHARED_STRING_MAX) strings.set(value, strings.size)
    out.tag(Tag.STRING)
    out.text(value)
  }

  const at = (key: string | number, value: unknown): void => {
    if (typeof value === "number" || typeof value === "string") return put(value)
    path.push(key)
    put(value)
    path.pop()
  }

  const object = (value: object): void => {
    const other = outsideNumbers.get(value)
    if (other !== undefined) {
      out.tag(Tag.OUTSIDE)
      return out.natural(other)
    }
    const again = seen.get(value)
    if (again !== undefined) {
      out.tag(Tag.AGAIN)
      return out.natural(again)
    }
    seen.set(value, seen.size)
    if (Array.isArray(value)) {
      out.tag(Tag.ARRAY)
      out.natural(value.length)
      for (let i = 0; i < value.length; i++) at(i, value[i])
    } else if (value instanceof Map) {
      out.tag(Tag.MAP)
      out.natural(value.size)
      for (const [key, held] of value) {
        at("key", key)
        at(typeof key === "string" || typeof key === "number" ? key : "value", held)
      }
    } else if (value instanceof Set) {
      out.tag(Tag.SET)
      out.natural(value.size)
      for (const held of value) at("value", held)
    } else if (value instanceof Uint8Array) {
      out.tag(Tag.BYTES)
      out.raw(value)
    } else {
      const prototype = Object.getPrototypeOf(value) as object | null
      if (prototype !== Object.prototype && prototype !== null)
        throw new StateCodecError(`${path.join(".")} is a ${prototype.constructor.name}, which is not plain data`)
      const keys = Object.keys(value)
      const name = keys.join("\n")
      const shape = shapes.get(name)
      if (shape === undefined) {
        out.tag(Tag.SHAPE)
        out.natural(keys.length)
        for (const key of keys) out.text(key)
        shapes.set(name, { number: shapes.size, keys })
      } else {
        out.tag(Tag.OBJECT)
        out.natural(shape.number)
      }
      for (const key of keys) at(key, (value as Record<string, unknown>)[key])
    }
  }

  const put = (value: unknown): void => {
    switch (typeof value) {
      case "undefined":
        return out.tag(Tag.UNDEFINED)
      case "boolean":
        return out.tag(value ? Tag.TRUE : Tag.FALSE)
      case "number":
        if (Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0)) {
          out.tag(Tag.NATURAL)
          return out.natural(value)
        }
        out.tag(Tag.DOUBLE)
        return out.double(value)
      case "string":
        return text(value)
      case "bigint":
        out.tag(value < 0n ? Tag.BIGINT_NEGATIVE : Tag.BIGINT)
        return out.text((value < 0n ? -value : value).toString(16))
      case "object":
        return value === null ? out.tag(Tag.NULL) : object(value)
      default:
        throw new StateCodecError(`${path.join(".")} is a ${typeof value}, which is not plain data`)
    }
  }
  put(root)
  return out.done()
}

/**
 * Deserializes a graph. `renamed`: the names of keys that were written under earlier names. Throws
 * {@link StateCodecError} where {@link write} did not produce the bytes.
 */
export const read = (
  bytes: Uint8Array,
  outside: ReadonlyArray<object>,
  renamed: ReadonlyMap<string, string> = new Map()
): unknown => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const seen: Array<object> = []
  const strings: Array<string> = []
  const shapes: Array<ReadonlyArray<string>> = []
  let at = 0

  const natural = (): number => {
    let value = 0
    let scale = 1
    while (true) {
      const byte = buffer[at++]
      if (byte === undefined) throw new StateCodecError("the bytes are truncated")
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 128
    }
  }
  const span = (): number => {
    const size = natural()
    if (at + size > buffer.length) throw new StateCodecError("the bytes are truncated")
    at += size
    return at - size
  }
  const text = (): string => {
    const start = span()
    return buffer.toString("utf8", start, at)
  }
  const known = <A>(list: ReadonlyArray<A>): A => {
    const value = list[natural()]
    if (value === undefined) throw new StateCodecError("a reference has no target")
    return value
  }
  const object = (shape: ReadonlyArray<string>): object => {
    const record: Record<string, unknown> = {}
    seen.push(record)
    for (let i = 0; i < shape.length; i++) record[shape[i]!] = get()
    return record
  }

  const get = (): unknown => {
    switch (buffer[at++]) {
      case Tag.UNDEFINED:
        return undefined
      case Tag.NULL:
        return null
      case Tag.FALSE:
        return false
      case Tag.TRUE:
        return true
      case Tag.NATURAL:
        return natural()
      case Tag.DOUBLE:
        if (at + 8 > buffer.length) throw new StateCodecError("the bytes are truncated")
        at += 8
        return buffer.readDoubleLE(at - 8)
      case Tag.STRING: {
        const value = text()
        if (value.length <= SHARED_STRING_MAX) strings.push(value)
        return value
      }
      case Tag.STRING_AGAIN:
        return known(strings)
      case Tag.BIGINT:
        return BigInt(`0x${text()}`)
      case Tag.BIGINT_NEGATIVE:
        return -BigInt(`0x${text()}`)
      case Tag.ARRAY: {
        const size = natural()
        const list: Array<unknown> = []
        seen.push(list)
        for (let i = 0; i < size; i++) list.push(get())
        return list
      }
      case Tag.MAP: {
        const size = natural()
        const map = new Map<unknown, unknown>()
        seen.push(map)
        for (let i = 0; i < size; i++) {
          const key = get()
          map.set(key, get())
        }
        return map
      }
      case Tag.SET: {
        const size = natural()
        const set = new Set<unknown>()
        seen.push(set)
        for (let i = 0; i < size; i++) set.add(get())
        return set
      }
      case Tag.BYTES: {
        const start = span()
        const held = Uint8Array.prototype.slice.call(buffer, start, at)
        seen.push(held)
        return held
      }
      case Tag.SHAPE: {
        const keys: Array<string> = []
        for (let left = natural(); left > 0; left--) {
          const key = text()
          keys.push(renamed.get(key) ?? key)
        }
        shapes.push(keys)
        return object(keys)
      }
      case Tag.OBJECT:
        return object(known(shapes))
      case Tag.AGAIN:
        return known(seen)
      case Tag.OUTSIDE:
        return known(outside)
      default:
        throw new StateCodecError(`unknown tag at byte ${at - 1}`)
    }
  }
  const root = get()
  if (at !== buffer.length) throw new StateCodecError(`${buffer.length - at} bytes remain after the value`)
  return root
}

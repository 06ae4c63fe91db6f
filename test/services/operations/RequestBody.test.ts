/** Bodies are put together in linear time and bounded memory, however they arrive. */
import { assert, describe, it } from "vitest"
import { type IncomingHttpHeaders, IncomingMessage } from "node:http"
import { Socket } from "node:net"
import { Budget } from "../../../src/services/operations/InboundBudget.ts"
import { Assembly, BODY_BYTES_MAX, read } from "../../../src/services/operations/RequestBody.ts"
import { cpuOfThisThread } from "../../../verification/harness/Cpu.ts"

const requestOf = (headers: IncomingHttpHeaders): IncomingMessage =>
  Object.assign(new IncomingMessage(new Socket()), { method: "POST", url: "/", headers })
const bodyOf = (source: IncomingMessage, budget = new Budget(Infinity)) =>
  new Promise<Buffer | string | undefined>((resolve) => read(source, budget, () => "", resolve))
const bytes = Buffer.from(Array.from({ length: BODY_BYTES_MAX }, (_, i) => i % 251))

describe("a body", () => {
  it("is put together in time that grows with its length, a byte at a time", () => {
    const timeOf = (length: number): number => {
      const began = cpuOfThisThread()
      const assembly = new Assembly()
      for (let i = 0; i < length; i++) if (!assembly.add(bytes.subarray(i, i + 1))) throw new Error("too large")
      assert.isTrue(assembly.bytes!.equals(bytes.subarray(0, length)))
      assert.isAtMost(assembly.size, BODY_BYTES_MAX)
      return cpuOfThisThread() - began
    }
    timeOf(BODY_BYTES_MAX)
    // a copy of all that lies there for each byte takes a minute
    assert.isBelow(timeOf(BODY_BYTES_MAX), 1_000)
  })

  it("is read whole or in pieces, or fails", async () => {
    for (const pieces of [[], [bytes], [bytes.subarray(0, 1), bytes.subarray(1, 70_000), bytes.subarray(70_000)]]) {
      const source = requestOf({})
      const body = bodyOf(source)
      for (const piece of pieces) source.push(piece)
      source.push(null)
      assert.deepStrictEqual(await body, pieces.length === 0 ? undefined : bytes)
    }
    const cut = requestOf({})
    const body = bodyOf(cut)
    cut.push(bytes.subarray(0, 5))
    cut.destroy()
    assert.strictEqual(await body, "cut")
  })

  it("that is too large ends reading, and the rest is dropped", async () => {
    const source = requestOf({})
    const body = bodyOf(source)
    source.push(bytes)
    source.push(bytes.subarray(0, 1))
    assert.strictEqual(await body, "too-large")
    assert.isTrue(source.readableFlowing)
  })

  it("is reported once, though its request closes after it", async () => {
    const cases = [
      { pieces: [bytes], outcome: bytes },
      { pieces: [bytes, bytes.subarray(0, 1)], outcome: "too-large" }
    ]
    for (const { outcome, pieces } of cases) {
      const source = requestOf({})
      const outcomes: Array<unknown> = []
      read(
        source,
        new Budget(Infinity),
        () => "",
        (body) => outcomes.push(body)
      )
      const closed = new Promise((resolve) => source.once("close", resolve))
      for (const piece of pieces) source.push(piece)
      source.push(null)
      await closed
      assert.deepStrictEqual(outcomes, [outcome])
    }
  })

  it("of a client that has left is cut at once", async () => {
    const source = requestOf({})
    source.destroy()
    await new Promise((resolve) => source.once("close", resolve))
    const outcomes: Array<unknown> = []
    read(
      source,
      new Budget(Infinity),
      () => "",
      (body) => outcomes.push(body)
    )
    assert.deepStrictEqual(outcomes, ["cut"])
  })
})

describe("the budget of unfinished input", () => {
  it("is the largest part of the address that holds most which is dropped", () => {
    const budget = new Budget(1_000)
    const dropped: Array<string> = []
    const held = Object.fromEntries(
      ["10.0.0.1/a", "10.0.0.1/b", "10.0.0.1/c", "10.0.0.2/d"].map((name) => {
        const part = budget.open(name.split("/")[0]!, () => dropped.push(name))
        return [name, part]
      })
    )
    held["10.0.0.1/a"]!.set(200)
    held["10.0.0.1/b"]!.set(300)
    held["10.0.0.2/d"]!.set(400)
    assert.deepStrictEqual(dropped, [])
    held["10.0.0.1/c"]!.set(150)
    assert.deepStrictEqual(dropped, ["10.0.0.1/b"])
    assert.strictEqual(budget.held, 750)
    for (const part of Object.values(held)) part.set(0)
    assert.strictEqual(budget.held, 0)
  })

  it("still counts one connection of an address where another one has no input left", () => {
    const budget = new Budget(1_000)
    const dropped: Array<string> = []
    const [first, second] = ["first", "second"].map((name) => budget.open("10.0.0.1", () => dropped.push(name)))
    const other = budget.open("10.0.0.2", () => dropped.push("other"))
    first!.set(100)
    second!.set(600)
    first!.set(0)
    other.set(500)
    assert.deepStrictEqual(dropped, ["second"])
    assert.strictEqual(budget.held, 500)
  })

  it("closes the connection of an unfinished body that exceeds it, and no other", async () => {
    const [small, large] = [requestOf({}), requestOf({})]
    const budget = new Budget(5_000)
    const bodies = [bodyOf(small, budget), bodyOf(large, budget)]
    small.push(bytes.subarray(0, 100))
    large.push(bytes.subarray(0, 10_000))
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepStrictEqual([small.socket.destroyed, large.socket.destroyed], [false, true])
    for (const source of [small, large]) source.destroy()
    assert.deepStrictEqual(await Promise.all(bodies), ["cut", "cut"])
    assert.strictEqual(budget.held, 0)
  })

  it("counts chunks in addition to bytes, and no longer counts a complete body", async () => {
    const budget = new Budget(1_000_000)
    const source = requestOf({ "content-length": "10" })
    const body = bodyOf(source, budget)
    source.push(Buffer.from("01234"))
    await new Promise((resolve) => setImmediate(resolve))
    assert.isAbove(budget.held, 0)
    source.push(Buffer.from("56789"))
    source.push(null)
    assert.strictEqual(String(await body), "0123456789")
    assert.strictEqual(budget.held, 0)
    const part = budget.open("10.0.0.1", () => {})
    part.set(10, 10)
    assert.isAbove(budget.held, 10 * 100)
  })
})

import { assert, describe, it } from "vitest"
import { Budget } from "../../../src/services/operations/InboundBudget.ts"

/** Connections of some addresses, with those that were dropped. */
const world = (max: number) => {
  const budget = new Budget(max)
  const dropped: Array<string> = []
  const open = (name: string, address: string) => {
    const held = budget.open(address, () => dropped.push(name))
    return (bytes: number, chunks?: number) => held.set(bytes, chunks)
  }
  return { budget, dropped, open }
}

describe("the unfinished input of all connections", () => {
  it("has a limit, up to which nothing is dropped", () => {
    const { budget, dropped, open } = world(1_000)
    const [a, b] = [open("a", "192.0.2.1"), open("b", "192.0.2.2")]
    a(600)
    b(400)
    assert.deepStrictEqual([budget.held, dropped], [1_000, []])
    a(0)
    assert.strictEqual(budget.held, 400)
    a(600)
    a(599)
    b(401)
    assert.deepStrictEqual([budget.held, dropped], [1_000, []])
  })

  it("above it loses the largest part of the address that has the most, not the largest part of all", () => {
    const { budget, dropped, open } = world(1_000)
    const few = open("one large", "192.0.2.1")
    const many = ["many 1", "many 2", "many 3"].map((name) => open(name, "192.0.2.2"))
    few(450)
    many[0]!(150)
    many[1]!(250)
    many[2]!(150)
    assert.deepStrictEqual(dropped, [])
    many[2]!(151)
    assert.deepStrictEqual([budget.held, dropped], [751, ["many 2"]])
    // what was dropped counts for nobody
    few(700)
    assert.deepStrictEqual([budget.held, dropped], [301, ["many 2", "one large"]])
  })

  it("drops as many parts as it takes", () => {
    const { budget, dropped, open } = world(1_000)
    for (let i = 0; i < 10; i++) open(`small ${i}`, `192.0.2.${i}`)(100)
    open("large", "198.51.100.1")(1_001)
    assert.deepStrictEqual([budget.held, dropped], [1_000, ["large"]])
    const two = ["first", "second"].map((name) => open(name, "203.0.113.1"))
    two[0]!(90)
    assert.strictEqual(budget.held, 990)
    two[1]!(910)
    assert.deepStrictEqual([budget.held, dropped.slice(-1)], [990, ["second"]])
  })

  it("counts 256 bytes for each chunk, since a peer may send a byte at a time", () => {
    const { budget, dropped, open } = world(1_000)
    const slow = open("slow", "192.0.2.1")
    slow(3, 3)
    assert.strictEqual(budget.held, 3 + 3 * 256)
    slow(4, 4)
    assert.deepStrictEqual([budget.held, dropped], [0, ["slow"]])
  })

  it("counts the addresses of one IPv6 network as one", () => {
    const { dropped, open } = world(1_000)
    open("alone", "2001:db8:0:2::1")(400)
    open("together 1", "2001:db8:0:1::1")(300)
    open("together 2", "2001:db8:0:1::2")(301)
    assert.deepStrictEqual(dropped, ["together 2"])
  })
})

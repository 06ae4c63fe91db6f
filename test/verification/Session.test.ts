import { existsSync } from "node:fs"
import { assert, beforeAll, describe, it } from "vitest"
import * as Decimal from "../../src/domain/Decimal.ts"
import { read, type Session } from "../../verification/replay/Session.ts"

const file = "../shared/data/es-mbo-2023-12-25.csv.gz"
const OPENS_AT = 1_703_545_200_000_000_000n

describe.skipIf(!existsSync(file))("the recorded session", () => {
  let session: Session
  beforeAll(() => {
    session = read(file, OPENS_AT)
  })

  it("opens with the book that stands after the auction", () => {
    assert.strictEqual(session.opening.length, 8_834)
    const prices = (side: string) =>
      session.opening.filter((order) => order.side === side).map((order) => Decimal.parse(order.price))
    assert.strictEqual(Decimal.format(prices("Buy").reduce(Decimal.max)), "4800")
    assert.strictEqual(Decimal.format(prices("Sell").reduce(Decimal.min)), "4800.25")
  })

  it("accounts for every row after the auction", () => {
    const count = (type: string) => session.steps.filter((step) => step.type === type).length
    assert.strictEqual(count("add"), 20_069)
    assert.strictEqual(count("aggress"), 2_972)
    assert.strictEqual(count("modify") + count("cancel") + count("settle"), 17_686 + 12_015)
    const hits = session.steps.flatMap((step) => (step.type === "aggress" ? step.hits : []))
    assert.strictEqual(hits.length, 6_336 - 107)
  })
})

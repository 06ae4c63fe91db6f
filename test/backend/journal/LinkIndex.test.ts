import { DatabaseSync } from "node:sqlite"
import { assert, describe, it } from "vitest"
import { begin, LinkIndex } from "../../../src/backend/journal/LinkIndex.ts"
import { TABLES } from "../../../src/backend/journal/JournalSchema.ts"
import { JournalError } from "../../../src/backend/journal/JournalError.ts"

const opened = () => {
  const db = new DatabaseSync(":memory:")
  db.exec(TABLES)
  begin(db)
  return { db, index: new LinkIndex(db, "journal.sqlite") }
}

describe("the index of order_link_ids", () => {
  it("keeps its chain in whatever order links are looked up and added", () => {
    const links = ["a", "b", "c", "d"]
    const orders = links.flatMap((first) => links.filter((link) => link !== first).map((second) => [first, second]))
    for (const looked of orders) {
      for (const added of orders) {
        const { db, index } = opened()
        index.add(7, "0", "an order before")
        for (const link of looked) assert.isUndefined(index.find(7, link!))
        for (const link of added) index.add(7, link!, `order ${link}`)
        // one without anything in memory reads and verifies each place of the chain
        const other = new LinkIndex(db, "journal.sqlite")
        for (const link of links)
          assert.strictEqual(other.find(7, link), added.includes(link) ? `order ${link}` : undefined)
        for (const account of [6, 8]) assert.isUndefined(other.find(account, added[0]!))
      }
    }
  })

  it("fails where a row is gone, rather than to hide its link", () => {
    const { db, index } = opened()
    for (const link of ["a", "b", "c"]) index.add(7, link, `order ${link}`)
    db.exec("DELETE FROM links WHERE link = 'b'")
    const other = new LinkIndex(db, "journal.sqlite")
    assert.throws(() => other.find(7, "b"), JournalError, /is damaged: the index of order_link_ids/u)
    assert.strictEqual(other.find(7, "c"), "order c")
  })

  it("forgets every link of a transaction that is rolled back, however many are in memory", () => {
    const { db, index } = opened()
    // one less than a generation in memory holds: of two more links each is in another one
    const committed = 49_999
    db.exec("BEGIN")
    for (let i = 0; i < committed; i++) index.add(7, `l-${i}`, `order ${i}`)
    db.exec("COMMIT; BEGIN")
    const lost = ["a", "b"]
    for (const link of lost) index.add(7, link, `order ${link}`)
    for (const link of lost) assert.strictEqual(index.find(7, link), `order ${link}`)
    index.clear()
    db.exec("ROLLBACK")
    for (const link of lost) assert.isUndefined(index.find(7, link))
    for (const i of [0, committed - 1]) assert.strictEqual(index.find(7, `l-${i}`), `order ${i}`)
  })
})

/** Lists of the API that are read page by page, while their newest page is read again and again. */
import { assert, describe, it } from "vitest"
import { PagedList } from "../../page/Table.ts"

interface Page {
  readonly list: ReadonlyArray<string>
  readonly next_page_cursor: string
}

/** A list whose requests are answered by hand, in any order. */
const paged = () => {
  const answers: Array<(page: Page) => void> = []
  const list = new PagedList<string>(
    () => new Promise((resolve) => answers.push(resolve)),
    (record) => record
  )
  const answer = (request: number, records: string, next_page_cursor = ""): void =>
    answers[request]!({ list: [...records], next_page_cursor })
  return { list, answer, records: () => list.records.value.join("") }
}

describe("a list that is read page by page", () => {
  it("ignores the response of a refresh that a newer one has overtaken", async () => {
    const { answer, list, records } = paged()
    const first = list.refresh()
    answer(0, "ba")
    await first
    const refreshes = [list.refresh(), list.refresh()]
    answer(2, "dcb")
    await refreshes[1]
    answer(1, "cba")
    await refreshes[0]
    assert.strictEqual(records(), "dcba")
  })

  it("takes responses that arrive in order, though the next refresh has begun", async () => {
    const { answer, list, records } = paged()
    const refreshes = [list.refresh(), list.refresh()]
    answer(0, "a")
    await refreshes[0]
    assert.strictEqual(records(), "a")
    answer(1, "ba")
    await refreshes[1]
    assert.strictEqual(records(), "ba")
  })

  it("ignores a late page of a list that was reset", async () => {
    const { answer, list, records } = paged()
    const first = list.refresh()
    answer(0, "dc", "before c")
    await first
    const [more, refresh] = [list.more(), list.refresh()]
    // records between the two pages are missing
    answer(2, "zy", "before y")
    await refresh
    answer(1, "ba", "")
    await more
    assert.deepStrictEqual([records(), list.cursor.value], ["zy", "before y"])
  })
})

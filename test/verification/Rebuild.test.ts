/** verification/rebuild, with few events. */
import { describe, expect, it } from "@effect/vitest"
import { differencesOf, run } from "../../verification/rebuild/Rebuild.ts"

const tables = (name: string, ...rows: ReadonlyArray<Record<string, unknown>>) => new Map([[name, rows]])

describe("rebuild", () => {
  it("names the rows that only one of two read models has", () => {
    const differences = differencesOf(tables("orders", { id: 1 }, { id: 2 }), tables("orders", { id: 2 }, { id: 3 }))
    expect(differences).toEqual(['orders lacks {"id":1}', 'orders has {"id":3}'])
  })

  it("compares bounded tables where both have rows, whatever the batches", () => {
    const before = tables("user_events", { user_id: "u", seq: 3, events: "a\nb\nc" })
    expect(differencesOf(before, tables("user_events", { user_id: "u", seq: 3, events: "b\nc" }))).toEqual([])
    expect(differencesOf(before, tables("user_events", { user_id: "u", seq: 3, events: "b\nd" }))).toEqual([
      'user_events lacks {"user_id":"u","seq":3,"line":"c"}',
      'user_events has {"user_id":"u","seq":3,"line":"d"}'
    ])
  })

  it("a read model that is lost is built again from events that the backend no longer has in memory", async () => {
    const { differences, events, rows } = await run({ events: 20_000, callers: 16, seconds: 2 })
    expect(events).toBeGreaterThan(20_000)
    expect(rows["orders"]).toBeGreaterThan(1_000)
    expect(differences).toEqual([])
  }, 240_000)
})

import { assert, describe, it } from "@effect/vitest"
import { WINDOW_S_DEFAULT } from "../../../src/domain/DeadMansSwitchWindow.ts"
import { Absence } from "../../../src/services/trading/Absence.ts"
import { v0, v1 } from "../../http/Fixture.ts"

/** The monotonic clock is 1,000,000 ms behind the wall clock, until the test sets that. */
const clocks = () => {
  const clock = { ahead_ms: 1_000_000 }
  const wallOf = (ms: number) => ms + clock.ahead_ms
  const monotonicOf = (ms: number) => ms - clock.ahead_ms
  return { clock, wallOf, monotonicOf }
}
const switchOf = (sub_account_address: string, time_window = WINDOW_S_DEFAULT, enabled = true) => ({
  sub_account_address,
  time_window,
  enabled
})
const settings = [switchOf(v0, 10), switchOf(v1, 5)]

describe("an absence", () => {
  it("ends the windows of enabled switches, the one that ends first at first, each once", () => {
    const absence = new Absence(100, "none")
    assert.deepStrictEqual(absence.next(settings), { address: v1, at_ms: 5_100 })
    assert.deepStrictEqual(absence.next([switchOf(v1, 5, false), switchOf(v0)]), { address: v0, at_ms: 10_100 })
    absence.cancel(v1)
    assert.deepStrictEqual(absence.next(settings), { address: v0, at_ms: 10_100 })
    absence.cancel(v0)
    assert.isUndefined(absence.next(settings))
    absence.restart(v1, 7_000)
    assert.deepStrictEqual(absence.next(settings), { address: v1, at_ms: 12_000 })
  })

  it("that is continued has its stored beginning and windows, and ends none before a time", () => {
    const { monotonicOf, wallOf } = clocks()
    const absence = new Absence(50_000, "unread")
    absence.restart(v0, 51_000)
    const windows = [
      { sub_account_address: v0, began_ms: wallOf(1_000), canceled: true },
      { sub_account_address: v1, began_ms: wallOf(2_000), canceled: false }
    ]
    absence.continue({ began_ms: wallOf(500), windows }, monotonicOf, 53_000)
    // the setting that has changed meanwhile counts
    assert.deepStrictEqual(absence.next([switchOf(v0)]), { address: v0, at_ms: 61_000 })
    assert.deepStrictEqual(absence.next([switchOf(v1, 5)]), { address: v1, at_ms: 53_000 })
    assert.deepStrictEqual([absence.start_ms, absence.inStore, absence.unsaved()], [500, "this", [v0]])
  })

  it("takes over windows and cancels of other gateways, except where its own is not saved", () => {
    const { monotonicOf, wallOf } = clocks()
    const absence = new Absence(100, "none")
    const merge = (began_ms: number, canceled: boolean) =>
      absence.merge(
        { began_ms: wallOf(100), windows: [{ sub_account_address: v0, began_ms: wallOf(began_ms), canceled }] },
        monotonicOf
      )
    const next = () => absence.next([switchOf(v0)])?.at_ms
    merge(3_000, false)
    assert.strictEqual(next(), 13_000)
    merge(3_000, true)
    assert.isUndefined(next())
    // a later window of the same sub-account
    merge(4_000, false)
    assert.strictEqual(next(), 14_000)
    absence.restart(v0, 5_000)
    merge(4_000, true)
    assert.strictEqual(next(), 15_000)
    // never before the absence
    const late = new Absence(100, "none")
    late.merge({ began_ms: 0, windows: [{ sub_account_address: v0, began_ms: 0, canceled: false }] }, monotonicOf)
    assert.strictEqual(late.next([switchOf(v0)])?.at_ms, 10_100)
  })

  it("saves a window with the time that the store has, whatever the wall clock was set to meanwhile", () => {
    const { clock, monotonicOf, wallOf } = clocks()
    const absence = new Absence(100, "none")
    assert.isFalse(absence.isSaved)
    absence.inStore = "this"
    assert.isTrue(absence.isSaved)
    absence.restart(v0, 2_000)
    assert.isFalse(absence.isSaved)
    assert.deepStrictEqual(absence.save(v0, wallOf), { sub_account_address: v0, began_ms: 1_002_000, canceled: false })
    assert.isTrue(absence.isSaved)
    clock.ahead_ms += 60_000
    absence.unsave(v0)
    assert.deepStrictEqual(absence.unsaved(), [v0])
    absence.cancel(v0)
    const saved = absence.save(v0, wallOf)
    assert.deepStrictEqual(saved, { sub_account_address: v0, began_ms: 1_002_000, canceled: true })
    absence.merge({ began_ms: wallOf(100), windows: [saved] }, monotonicOf)
    assert.isUndefined(absence.next([switchOf(v0)]))
    absence.restart(v0, 3_000)
    assert.strictEqual(absence.save(v0, wallOf).began_ms, 1_063_000)
  })
})

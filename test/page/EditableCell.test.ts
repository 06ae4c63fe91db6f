import { assert, it } from "vitest"
import { changeOf } from "../../page/EditableCell.ts"

it("an edit in place is saved over the value that it began with, and over no other", () => {
  assert.strictEqual(changeOf(" 59000.5 ", "59000", "59000"), "59000.5")
  for (const typed of ["", "  ", "59000", " 59000"]) assert.isUndefined(changeOf(typed, "59000", "59000"))
  // it was changed elsewhere: what is typed does not overwrite it, also where it is the old value
  assert.throws(() => changeOf("59000.5", "59000", "58000"), "It has changed from 59000 to 58000 meanwhile")
  assert.isUndefined(changeOf("59000", "59000", "58000"))
})

import { assert, it } from "@effect/vitest"
import { mayAgree, type StreamPosition } from "../../src/domain/Event.ts"

const at = (change: Partial<StreamPosition> = {}): StreamPosition => ({
  epoch: "e1",
  seq: 7,
  fork: "f1",
  checksum: 5,
  ...change
})

it("mayAgree is false where two positions differ in what both name", () => {
  const agree = (change: Partial<StreamPosition>) => [mayAgree(at(), at(change)), mayAgree(at(change), at())]
  assert.deepStrictEqual(agree({}), [true, true])
  assert.deepStrictEqual(agree({ epoch: "e2" }), [false, false])
  assert.deepStrictEqual(agree({ epoch: "e2", fork: undefined }), [false, false])
  assert.deepStrictEqual(agree({ fork: "f2" }), [false, false])
  assert.deepStrictEqual(agree({ fork: undefined }), [true, true])
  assert.deepStrictEqual(agree({ checksum: 6 }), [false, false])
  assert.deepStrictEqual(agree({ checksum: undefined }), [true, true])
  // the checksum of another event says nothing
  assert.deepStrictEqual(agree({ seq: 8, checksum: 6 }), [true, true])
})

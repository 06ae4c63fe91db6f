import { assert, describe, it } from "@effect/vitest"
import { type Order, OrderStatus, RejectReason } from "../../../src/proto/gateway/v1/types.ts"
import { Bench, BUY, orderId, orders, type Trader, trader } from "../Bench.ts"
import { replays } from "../Invariants.ts"

const MAX = 500
/** The share of one user while more than 80 % are open. */
const SHARE = 5

const setup = (openOrdersMax = MAX) => {
  const bench = new Bench({ openOrdersMax })
  const crowd = Array.from({ length: 12 }, (_, i) => trader(`user-${i}`))
  bench.tick()
  bench.tick(1)
  for (const who of crowd) bench.open(who, "1000000")
  const place = (who: Trader, more: object = {}): Order =>
    orders(bench.place(who, { side: BUY, qty: "0.001", price: "50000", ...more }), who)[0]!
  const isOpen = ({ order_status }: Order) =>
    order_status === OrderStatus.ORDER_STATUS_NEW || order_status === OrderStatus.ORDER_STATUS_UNTRIGGERED
  const isFull = ({ order_status, reject_reason }: Order) =>
    order_status === OrderStatus.ORDER_STATUS_REJECTED &&
    reject_reason === RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM
  const fill = (who: Trader, count: number, more: object = {}) => {
    for (let i = 0; i < count; i++) assert.isTrue(isOpen(place(who, more)), `order ${i} of ${count}`)
  }
  return { bench, crowd, place, isOpen, isFull, fill }
}

describe("Amendment 7: open orders of the whole exchange", () => {
  it("while more than 80 % are open, one user can have 1 % of them", () => {
    const { bench, crowd, place, isOpen, isFull, fill } = setup()
    const [greedy, other, third] = crowd as [Trader, Trader, Trader]
    fill(greedy, 400)
    fill(other, 1)
    // 401 of 500 are open: the largest user exceeds its share, others can use theirs
    const refused = place(greedy)
    assert.isTrue(isFull(refused))
    assert.match(refused.reject_message!, /at most 5 of 500/u)
    fill(other, SHARE - 1)
    assert.isTrue(isFull(place(other)))
    fill(third, 1, { trigger: "90000" })
    fill(third, SHARE - 1)
    assert.isTrue(isFull(place(third)))
    // untriggered orders count too, and are subject to the limit
    assert.isTrue(isFull(place(third, { trigger: "90000" })))
    // orders that cannot rest do not count
    assert.notStrictEqual(place(third, { tif: 3 }).reject_reason, RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM)
    bench.cancelAll(greedy)
    assert.isTrue(isOpen(place(third)))
    replays(bench)
  })

  it("every user can have one, however few are allowed", () => {
    const { crowd, place, isFull, fill } = setup(50)
    const [greedy, other] = crowd as [Trader, Trader]
    fill(greedy, 41)
    fill(other, 1)
    assert.isTrue(isFull(place(other)))
  })

  it("the share counts all sub-accounts and markets of the user", () => {
    const { bench, crowd, place, isOpen, isFull, fill } = setup()
    const [greedy, other] = crowd as [Trader, Trader]
    const second = trader("user-1", 1)
    bench.open(second, "1000000", 1)
    fill(greedy, 401)
    fill(other, 2)
    fill(second, 2, { symbol: "ETH-USDC", price: "3000", qty: "0.01" })
    assert.isTrue(isOpen(place(second)))
    assert.isTrue(isFull(place(other)))
    assert.isTrue(isFull(place(second)))
  })

  it("at the limit, every further order is rejected", () => {
    const { bench, crowd, place, isFull, fill } = setup()
    const [greedy, ...others] = crowd as [Trader, ...Array<Trader>]
    fill(greedy, 400)
    // a share each would need twenty users: fewer users fill the rest before orders are scarce
    const late = others.slice(0, 2)
    const first = orderId(bench.place(late[0]!, { side: BUY, qty: "0.001", price: "50000" }))
    assert.isString(first)
    const more = Array.from({ length: 20 }, (_, i) => trader(`late-${i}`))
    for (const who of more) bench.open(who, "1000000")
    let open = 401
    for (const who of more) for (let i = 0; i < SHARE && open < MAX; i++, open++) fill(who, 1)
    assert.strictEqual(bench.state.orders.size(), MAX)
    assert.isTrue(isFull(place(late[1]!)))
    assert.isTrue(isFull(place(late[1]!, { trigger: "90000" })))
  })
})

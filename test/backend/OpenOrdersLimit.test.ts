import { assert, describe, it } from "@effect/vitest"
import { type Order, OrderStatus, RejectReason } from "../../src/proto/gateway/v1/types.ts"
import { Bench, BUY, orderId, orders, type Trader, trader } from "./Bench.ts"
import { replays } from "./Invariants.ts"

const MAX = 500
/** One user's share where more than 80 % are taken. */
const SHARE = 5

const setup = () => {
  const bench = new Bench({ openOrdersMax: MAX })
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
  it("Amendment 7: while more than 80 % are taken, one user may hold 1 % of them", () => {
    const { bench, crowd, place, isOpen, isFull, fill } = setup()
    const [greedy, other, third] = crowd as [Trader, Trader, Trader]
    fill(greedy, 400)
    fill(other, 1)
    // 401 of 500 are taken: the greedy one holds too many, others may have their share
    const refused = place(greedy)
    assert.isTrue(isFull(refused))
    assert.match(refused.reject_message!, /at most 5 of 500/u)
    fill(other, SHARE - 1)
    assert.isTrue(isFull(place(other)))
    fill(third, SHARE)
    assert.isTrue(isFull(place(third)))
    // orders that wait count alike, and are held to it
    assert.isTrue(isFull(place(third, { trigger: "90000" })))
    // what cannot rest takes no place
    assert.notStrictEqual(place(third, { tif: 3 }).reject_reason, RejectReason.REJECT_REASON_EC_REACH_MAX_ORDER_NUM)
    bench.cancelAll(greedy)
    assert.isTrue(isOpen(place(third)))
    replays(bench)
  })

  it("Amendment 7: a share is counted over all sub-accounts and markets of the user", () => {
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

  it("Amendment 7: when all are taken, nobody gets one", () => {
    const { bench, crowd, place, isFull, fill } = setup()
    const [greedy, ...others] = crowd as [Trader, ...Array<Trader>]
    fill(greedy, 400)
    // a share each would need twenty users: a smaller crowd fills the rest while it is not yet scarce
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

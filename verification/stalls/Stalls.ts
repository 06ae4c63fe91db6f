/**
 * Turns of the engine's thread in an exchange of a given size: how long the longest one is, for inputs whose work grows with the
 * exchange and for commands that must not become slower.
 *
 * Figure: CPU time of the thread. The events of an input are encoded as for subscribers, in the slice that emits them.
 */
import * as Engine from "../../src/backend/engine/Engine.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { rootOfService, subAccountAddress, userIdOf } from "../../src/domain/Address.ts"
import { EventBlocks } from "../../src/backend/journal/EventBlocks.ts"
import { drain, SLICE_MS, type Slices } from "../../src/backend/engine/state/Slices.ts"
import type { Command, Event, PlaceOrder } from "../../src/proto/gateway/v1/sequencer.ts"
import { OrderType, Side, SmpType, TimeInForce, TriggerBy, TriggerDirection } from "../../src/proto/gateway/v1/types.ts"
import { cpuOfThisThread } from "../harness/Cpu.ts"
import { median } from "../harness/Statistics.ts"

const BTC = "BTC-USDC"
const START = 1767225600000
const SECOND = 1_000
/** Triggers that one price meets. */
const TRIGGERS_MAX = 16_000
/** One account of so many has a position that the fall of the index liquidates. */
const CARELESS_EVERY = 20
const FUNDING_MS = 8 * 3_600_000
/** Repetitions of a command. */
const REPEATED = 200
/** What one input took, or a command that was repeated. */
export interface Line {
  readonly name: string
  /** CPU time until the input was executed; of commands the median. */
  readonly whole_ms: number
  /** The longest time without a return to the event loop. */
  readonly turn_ms: number
  readonly events: number
}

interface Trader {
  readonly user_id: string
  readonly root: string
  readonly address: string
}
type Body = NonNullable<Command["command"]>
type Order = Pick<PlaceOrder, "side"> & Partial<PlaceOrder>

const traderOf = (number: number): Trader => {
  const root = rootOfService(`trader-${number}`)
  return { root, user_id: userIdOf(root), address: subAccountAddress(root, 0) }
}

const limit = (order: Order): Body => ({
  $case: "place_order",
  value: {
    symbol: BTC,
    order_type: OrderType.ORDER_TYPE_LIMIT,
    qty: "0.001",
    price: "60000",
    time_in_force: TimeInForce.TIME_IN_FORCE_GTC,
    smp_type: SmpType.SMP_TYPE_CANCEL_TAKER,
    expire_time_ms: undefined,
    post_only: false,
    reduce_only: false,
    close_on_trigger: false,
    order_link_id: undefined,
    trigger: undefined,
    tpsl: undefined,
    ...order
  }
})
const resting = limit({ side: Side.SIDE_BUY, price: "50000" })
const gtt = limit({
  side: Side.SIDE_BUY,
  price: "50000",
  time_in_force: TimeInForce.TIME_IN_FORCE_GTT,
  expire_time_ms: START + 100 * FUNDING_MS
})
const conditionalAt = (price: string): Body =>
  limit({
    side: Side.SIDE_BUY,
    price: "50000",
    trigger: {
      trigger_by: TriggerBy.TRIGGER_BY_INDEX_PRICE,
      trigger_direction: TriggerDirection.TRIGGER_DIRECTION_UP,
      trigger_price: price
    }
  })

/** Encodes the events of an input for subscribers. */
const encode = function* (events: ReadonlyArray<Event>): Slices {
  const blocks = new EventBlocks("stalls", "stalls")
  yield* blocks.addAll(events, 0)
  blocks.take()
}

class World {
  private readonly state = Engine.initial({
    markets: shippedMarkets,
    simMaker: false,
    indexSource: "manual",
    faucetDailyLimit: "100000",
    openOrdersMax: 1_000_000,
    poolBaseEquity: "1000000",
    epoch: "stalls"
  })
  readonly traders: ReadonlyArray<Trader>
  private now = START
  private sent = 0

  constructor(size: number) {
    this.traders = Array.from({ length: size }, (_, i) => traderOf(i))
  }

  /** Executes a command; it must be accepted. Returns the id of its order, if any. */
  send({ address, user_id }: Trader, body: Body, isMeasured = false): string {
    const command = {
      command_id: `c-${++this.sent}`,
      user_id,
      sub_account_address: address,
      issued_at_ms: 0,
      command: body
    }
    const { events, result } = Engine.apply(this.state, { at_ms: this.now, command, silent: !isMeasured })
    if (result?.outcome?.$case !== "ack") throw new Error(`refused: ${JSON.stringify(result?.outcome)}`)
    if (isMeasured) drain(encode(events))
    return result.outcome.value.orders[0]?.order_id ?? ""
  }
  open(trader: Trader, amount: string): void {
    this.send(trader, { $case: "create_sub_account", value: { root_address: trader.root, index: 0 } })
    const deposit_id = `d-${this.sent}`
    this.send(trader, { $case: "deposit_funds", value: { deposit_id, asset: "USDC", amount, source: "rail" } })
  }
  /** Lets time pass without events. */
  pass(ms: number): void {
    this.now += ms
    Engine.apply(this.state, { at_ms: this.now, command: undefined, silent: true })
  }

  /** The CPU time of slices, and of the longest turn that they need. */
  private measure(name: string, slices: Slices<number>): Line {
    const began = cpuOfThisThread()
    let since = began
    let turn_ms = 0
    let next = slices.next()
    for (; next.done !== true; next = slices.next()) {
      const now = cpuOfThisThread()
      if (now - since < SLICE_MS) continue
      turn_ms = Math.max(turn_ms, now - since)
      since = now
    }
    const ended = cpuOfThisThread()
    return { name, whole_ms: ended - began, turn_ms: Math.max(turn_ms, ended - since), events: next.value }
  }
  /** A Tick, or the administrator's change of the index price, and the events of it. */
  input(name: string, ms: number, price?: string): Line {
    this.now += ms
    const command: Command | undefined =
      price === undefined
        ? undefined
        : {
            command_id: `c-${++this.sent}`,
            user_id: "administrator",
            sub_account_address: "",
            issued_at_ms: 0,
            command: { $case: "set_index_price", value: { symbol: BTC, price } }
          }
    const { now, state } = this
    return this.measure(
      name,
      (function* () {
        const { events } = yield* Engine.start(state, { at_ms: now, command })
        yield* encode(events)
        return events.length
      })()
    )
  }
  hash(name: string): Line {
    const { state } = this
    return this.measure(
      name,
      (function* () {
        yield* Engine.hashSlices(state)
        return 0
      })()
    )
  }
  /** A command that is sent again and again. */
  command(name: string, send: (world: World, trader: Trader, i: number) => void): Line {
    const costs = Array.from({ length: REPEATED }, (_, i) => {
      const began = cpuOfThisThread()
      send(this, this.traders[(i * CARELESS_EVERY + 1) % this.traders.length]!, i)
      return cpuOfThisThread() - began
    })
    return { name, whole_ms: median(costs), turn_ms: Math.max(...costs), events: 0 }
  }
}

const cancel = (order_id: string): Body => ({
  $case: "cancel_order",
  value: { symbol: BTC, order: { order_id, order_link_id: undefined } }
})

/** The lines of an exchange with so many accounts, each with one resting order, and half of them with a position. */
export const run = (size: number): ReadonlyArray<Line> => {
  const world = new World(size)
  const { traders } = world
  traders.forEach((trader, i) => world.open(trader, i % CARELESS_EVERY === 0 ? "7" : "1000"))
  for (let i = 0; i + 1 < traders.length; i += 4) {
    world.send(traders[i]!, limit({ side: Side.SIDE_BUY }))
    world.send(traders[i + 1]!, limit({ side: Side.SIDE_SELL }))
  }
  for (const trader of traders) world.send(trader, resting)
  world.pass(SECOND)
  const lines = [
    world.input("a second, marks still", SECOND),
    world.input("index + 0.1 %", 1, "60060"),
    world.input("the second after it", SECOND),
    world.input("index + 1 %", 1, "60600"),
    world.input("the second after it", SECOND),
    world.hash("hash of the state"),
    world.command("rest and cancel", (world, trader) =>
      world.send(trader, cancel(world.send(trader, resting, true)), true)
    ),
    world.command("GTT and cancel", (world, trader) => world.send(trader, cancel(world.send(trader, gtt, true)), true)),
    world.command("conditional and cancel", (world, trader) =>
      world.send(trader, cancel(world.send(trader, conditionalAt("70000"), true)), true)
    ),
    world.command("two orders that fill", (world, trader, i) => {
      const buyers = i % 2 === 0
      world.send(trader, limit({ side: buyers ? Side.SIDE_BUY : Side.SIDE_SELL }), true)
      world.send(traders[3]!, limit({ side: buyers ? Side.SIDE_SELL : Side.SIDE_BUY }), true)
    })
  ]
  const triggers = Math.min(TRIGGERS_MAX, size)
  for (const trader of traders.slice(0, triggers)) world.send(trader, conditionalAt("61000"))
  lines.push(world.input(`${triggers} triggers met`, 1, "61100"))
  world.pass(SECOND)
  world.pass(FUNDING_MS - 10 * SECOND)
  lines.push(world.input("funding", 10 * SECOND))
  world.pass(SECOND)
  lines.push(world.input("index - 14 %, liquidations", 1, "52200"), world.input("the second after it", SECOND))
  return lines
}

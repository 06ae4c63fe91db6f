/** Resources of a case: the two services, the record of the event stream, a market without other traders, and funded traders. */
import { Clock, Context, Effect, Random, type Scope } from "effect"
import { RefereeService } from "../src/proto/gateway/v1/referee.ts"
import {
  type Command,
  type CommandAck,
  type CommandResult,
  type CommandStatus,
  type GetOrderBookResponse,
  SequencerService
} from "../src/proto/gateway/v1/sequencer.ts"
import type { Instrument } from "../src/proto/gateway/v1/types.ts"
import { broken, Broken, expect, expectEqual, present } from "./Expect.ts"
import * as CommandStream from "./CommandStream.ts"
import * as Exact from "./Exact.ts"
import { connect, type Endpoint, type Link, type Rpc, statusName, unasked } from "./Link.ts"
import * as Record from "./Record.ts"

export interface Options {
  readonly sequencer: Endpoint
  readonly referee: Endpoint
  /** The market to use; default: the first one. */
  readonly symbol: string | undefined
  /** Longest wait for one result or event, in ms. */
  readonly patience_ms: number
  /** Commands in flight at once in the case that counts results. */
  readonly commands: number
}

/** A user with one sub-account. */
export interface Trader {
  readonly user_id: string
  readonly root_address: string
  readonly sub_account_address: string
}

type Asked = NonNullable<Command["command"]>
type Owner = Pick<Trader, "user_id" | "sub_account_address">

/** Expected refusal: its gRPC status, its reason, and one detail. */
export interface Refused {
  readonly code: number
  readonly reason: string
  readonly fact?: readonly [name: string, value: string]
}

const LOTS_OF_FUNDS = 2000n

const make = Effect.fnUntraced(function* (options: Options) {
  const { patience_ms } = options
  const sequencer = yield* connect(options.sequencer, patience_ms)
  const referee = yield* connect(options.referee, patience_ms)
  const asking =
    (link: Link) =>
    <Req, Res>(rpc: Rpc<Req, Res>, request: Req): Effect.Effect<Res, Broken> =>
      Effect.mapError(link.ask(rpc, request), unasked)
  const ask = { sequencer: asking(sequencer), referee: asking(referee) }

  const { instruments } = yield* ask.sequencer(SequencerService.listInstruments, {})
  const instrument = yield* present(
    `the market ${options.symbol ?? ""}`,
    instruments.find(({ symbol }) => options.symbol === undefined || symbol === options.symbol)
  )
  const { symbol } = instrument
  const { prices } = yield* ask.referee(RefereeService.getPrices, { symbols: [symbol] })
  const opening = yield* ask.sequencer(SequencerService.getOrderBook, { symbol, depth: 0 })
  const { orders } = yield* ask.sequencer(SequencerService.getOpenOrders, { symbol, page_token: "" })
  yield* expect(
    opening.bids.length + opening.asks.length + orders.length === 0,
    `${symbol} has open orders: the suite needs a market to itself (of the embedded backend: SIM_MAKER=off)`
  )
  const rules = yield* rulesOf(instrument, prices[0]?.mark_price ?? "")
  const { epoch, head_seq } = yield* ask.sequencer(SequencerService.getHead, {})
  const record = yield* Record.follow(sequencer, { epoch, from_seq: head_seq + 1 }, patience_ms)
  const commands = yield* CommandStream.make(sequencer, patience_ms)

  const hex = (digits: number) =>
    Effect.map(Effect.replicateEffect(Random.nextIntBetween(0, 16, { halfOpen: true }), digits), (numbers) =>
      numbers.map((number) => number.toString(16)).join("")
    )
  const uuid = Effect.map(hex(30), (text) =>
    [text.slice(0, 8), text.slice(8, 12), `4${text.slice(12, 15)}`, `a${text.slice(15, 18)}`, text.slice(18)].join("-")
  )

  /** A command of an owner with a new id. */
  const command = Effect.fnUntraced(function* ({ user_id, sub_account_address }: Owner, asked: Asked) {
    const issued_at_ms = yield* Clock.currentTimeMillis
    const made: Command = { command_id: yield* uuid, user_id, sub_account_address, issued_at_ms, command: asked }
    return made
  })
  const submit = (command: Command): Effect.Effect<CommandResult, Broken> =>
    Effect.flatMap(commands.submitAll([command]), ([result]) => present("the result", result))

  /** Submits a command that must be accepted. */
  const taken = Effect.fnUntraced(function* (owner: Owner, asked: Asked) {
    return yield* ackOf(asked.$case, yield* submit(yield* command(owner, asked)))
  })
  /** Submits a command that must be refused with this reason. */
  const refused = Effect.fnUntraced(function* (owner: Owner, asked: Asked, expected: Refused) {
    const made = yield* command(owner, asked)
    const status = yield* expectRefusal(asked.$case, yield* submit(made), expected)
    yield* expectEqual("command_id of the refusal", status.command_id, made.command_id)
    return status
  })
  /** Submits a command that must be accepted, and waits for its events. */
  const done = Effect.fnUntraced(function* (owner: Owner, asked: Asked) {
    const ack = yield* taken(owner, asked)
    return { ack, events: yield* record.caused(ack) }
  })

  /** A new user without a sub-account. */
  const stranger = Effect.gen(function* () {
    const user_id = yield* uuid
    return { user_id, root_address: `0x${yield* hex(64)}`, sub_account_address: "" }
  })
  const open = Effect.fnUntraced(function* (user: Trader, index: number | undefined) {
    const { root_address } = user
    const ack = yield* taken(user, { $case: "create_sub_account", value: { root_address, index } })
    if (ack.result?.$case !== "sub_account") return yield* broken("the ack of create_sub_account has no sub_account")
    return { ...user, sub_account_address: ack.result.value.sub_account_address }
  })
  const deposit = Effect.fnUntraced(function* (trader: Trader, amount: string) {
    const value = { deposit_id: yield* uuid, asset: instrument.settle_asset, amount, source: "rail" }
    return yield* done(trader, { $case: "deposit_funds", value })
  })
  /** A new user with a sub-account and funds for {@link LOTS_OF_FUNDS} lots. */
  const trader = Effect.gen(function* () {
    const opened = yield* open(yield* stranger, 0)
    yield* deposit(opened, rules.funds)
    return opened
  })

  return {
    options,
    link: { sequencer, referee },
    ask,
    instrument,
    symbol,
    rules,
    epoch,
    /** The book before the record began. */
    opening: opening satisfies GetOrderBookResponse,
    record,
    commands,
    uuid,
    command,
    submit,
    taken,
    refused,
    done,
    stranger,
    open,
    deposit,
    trader
  }
})

const statusOf = (what: string, { outcome }: CommandResult): Effect.Effect<CommandStatus, Broken> =>
  outcome?.$case === "status" ? Effect.succeed(outcome.value) : broken(`${what} was accepted; it must be refused`)

/** The acknowledgement of a command that must be accepted. */
export const ackOf = (what: string, { outcome }: CommandResult): Effect.Effect<CommandAck, Broken> => {
  if (outcome?.$case === "ack") return Effect.succeed(outcome.value)
  if (outcome === undefined) return broken(`the result of ${what} is neither ack nor status`)
  const { code, reason, message } = outcome.value
  return broken(`${what} was refused: ${statusName(code)} ${reason}: ${message}`)
}

/** The refusal of a command that must be refused with this reason. */
export const expectRefusal = Effect.fnUntraced(function* (what: string, result: CommandResult, expected: Refused) {
  const status = yield* statusOf(what, result)
  yield* expectEqual(
    `the refusal of ${what}`,
    [statusName(status.code), status.reason],
    [statusName(expected.code), expected.reason]
  )
  if (expected.fact !== undefined) {
    const [name, value] = expected.fact
    yield* expectEqual(`the refusal's detail ${name}`, status.metadata[name], value)
  }
  return status
})

/** Prices in ticks around the mark, and quantities in lots that the market accepts. */
const rulesOf = Effect.fnUntraced(function* (instrument: Instrument, mark: string) {
  const number = (field: string, text: string) => present(`a decimal ${field} (it is "${text}")`, Exact.parse(text))
  const tick = yield* number("tick_size", instrument.tick_size)
  const step = yield* number("qty_step", instrument.qty_step)
  const least = yield* number("min_order_qty", instrument.min_order_qty)
  const notional = yield* number("min_notional_value", instrument.min_notional_value)
  const base = Exact.floorTo(yield* number("mark_price", mark), tick)
  yield* expect(base > 0n && tick > 0n && step > 0n, "mark price, tick_size and qty_step must be above 0")
  // a lot has twice the minimum value, so that orders below the mark also reach it
  const lot = Exact.ceilTo(maxOf(least, Exact.divideUp(2n * notional, base)), step)
  return {
    lot,
    tick,
    /** The mark at the start, rounded down to the tick, plus a number of ticks. */
    price: (ticks: number): string => Exact.format(base + BigInt(ticks) * tick),
    /** A number of lots as a quantity. */
    qty: (lots: number): string => Exact.format(BigInt(lots) * lot),
    value: (ticks: number, lots: number): Exact.Exact =>
      Exact.multiplyUp(base + BigInt(ticks) * tick, BigInt(lots) * lot),
    funds: Exact.format(Exact.ceilTo(Exact.multiplyUp(base, LOTS_OF_FUNDS * lot), Exact.parse("1")!))
  }
})

const maxOf = (a: bigint, b: bigint): bigint => (a > b ? a : b)

export class World extends Context.Service<World, Effect.Success<ReturnType<typeof make>>>()("conformance/World") {
  /** Connects, finds a market without other traders, and starts to follow the stream. */
  static readonly make = (options: Options): Effect.Effect<World["Service"], Broken, Scope.Scope> => make(options)
}

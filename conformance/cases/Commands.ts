/** Commands and results: one place and one result each, also for repetitions. */
import { status } from "@grpc/grpc-js"
import { Effect } from "effect"
import type { Command } from "../../src/proto/gateway/v1/sequencer.ts"
import { type Case } from "../Case.ts"
import { ackOf, expectRefusal, World } from "../World.ts"
import { expect, expectEqual, present } from "../Expect.ts"

/** Time that a command has in the case of the time limit, in ms. */
const TIME_LIMIT_MS = 60_000
/** Commands per message in the case that counts results. */
const MESSAGE_COMMANDS = 64

const ack: Case = {
  name: "ack",
  level: "core",
  clause: "docs/contract/boundary.md#sequencer (Submit, CommandAck.seq)",
  claim: "an acknowledgement has the seq of the last event of its command",
  run: Effect.gen(function* () {
    const { deposit, record, trader } = yield* World
    const { ack, events } = yield* deposit(yield* trader, "7")
    yield* expect(events.length > 0, `no event carries the command_id of deposit_funds ${ack.command_id}`)
    yield* expectEqual("the seq of the ack", ack.seq, events.at(-1)?.seq)
    yield* expect(!ack.duplicate, "the first answer says duplicate")
    yield* expect(ack.accepted_at_ms > 0, "accepted_at_ms is missing")
    yield* expectEqual("events after the ack's, of the same command", (yield* record.caused(ack)).length, events.length)
  })
}

const repetition: Case = {
  name: "repetition",
  level: "core",
  clause: "docs/contract/boundary.md#ground-rules, #command-ids",
  claim: "a repeated command changes nothing and returns the first acknowledgement with duplicate = true",
  run: Effect.gen(function* () {
    const { command, instrument, record, submit, trader, uuid } = yield* World
    const owner = yield* trader
    const value = { deposit_id: yield* uuid, asset: instrument.settle_asset, amount: "5", source: "rail" }
    const made = yield* command(owner, { $case: "deposit_funds", value })
    const first = yield* ackOf("deposit_funds", yield* submit(made))
    const later: Command = { ...made, issued_at_ms: made.issued_at_ms + 1 }
    const again = yield* ackOf("the repeated deposit_funds", yield* submit(later))
    yield* expectEqual("the answer to the repetition", again, { ...first, duplicate: true })
    const before = (yield* record.caused(first)).length
    // a later event has arrived, so an event of the repetition would have arrived too
    const behind = yield* ackOf(
      "deposit_funds",
      yield* submit(yield* command(owner, { $case: "deposit_funds", value: { ...value, deposit_id: yield* uuid } }))
    )
    yield* record.reach(behind.seq)
    yield* expectEqual("events of the command", (yield* record.caused(first)).length, before)
  })
}

const otherContent: Case = {
  name: "other-content",
  level: "core",
  clause: "docs/contract/boundary.md#ground-rules, #command-ids",
  claim: "other content under a used command_id is ALREADY_EXISTS, DuplicateRequestId",
  run: Effect.gen(function* () {
    const { command, instrument, submit, trader, uuid } = yield* World
    const value = { deposit_id: yield* uuid, asset: instrument.settle_asset, amount: "5", source: "rail" }
    const made = yield* command(yield* trader, { $case: "deposit_funds", value })
    yield* ackOf("deposit_funds", yield* submit(made))
    const other: Command = { ...made, command: { $case: "deposit_funds", value: { ...value, amount: "6" } } }
    yield* expectRefusal("other content", yield* submit(other), {
      code: status.ALREADY_EXISTS,
      reason: "DuplicateRequestId"
    })
  })
}

const timeLimit: Case = {
  name: "time-limit",
  level: "full",
  clause: "docs/contract/boundary.md#the-clock-of-a-stream",
  claim: "a command whose turn begins after not_after_ms, on the stream's clock, is refused and not sequenced",
  run: Effect.gen(function* () {
    const { command, commands, instrument, submit, trader, uuid } = yield* World
    const value = { deposit_id: yield* uuid, asset: instrument.settle_asset, amount: "5", source: "rail" }
    const made = yield* command(yield* trader, { $case: "deposit_funds", value })
    const clock_ms = yield* present("clock_ms of a response with results", commands.clock_ms())
    yield* expectRefusal("a late command", yield* submit({ ...made, not_after_ms: 0 }), {
      code: status.UNAVAILABLE,
      reason: "Overloaded"
    })
    const inTime = yield* submit({ ...made, not_after_ms: clock_ms + TIME_LIMIT_MS })
    const { duplicate } = yield* ackOf("the command within its time limit", inTime)
    yield* expectEqual("duplicate of a command that was refused before", duplicate, false)
    yield* expect(commands.clock_ms()! >= clock_ms, "the stream's clock was set back")
  })
}

const refusals: Case = {
  name: "refusals",
  level: "core",
  clause: "docs/contract/boundary.md#errors, docs/contract/orders.md#order-semantics",
  claim: "an unknown resource is NOT_FOUND with its reason, and a refusal changes nothing",
  run: Effect.gen(function* () {
    const { deposit, instrument, record, refused, symbol, trader, uuid } = yield* World
    const owner = yield* trader
    const cancel = { symbol, order: { order_id: yield* uuid } }
    const funds = { deposit_id: yield* uuid, asset: instrument.settle_asset, amount: "5", source: "rail" }
    const stranger = { ...owner, user_id: yield* uuid }
    const refusals = [
      yield* refused(
        owner,
        { $case: "cancel_order", value: { ...cancel, symbol: "NONE-NONE" } },
        { code: status.NOT_FOUND, reason: "SymbolNotFound" }
      ),
      yield* refused(
        owner,
        { $case: "cancel_order", value: cancel },
        { code: status.NOT_FOUND, reason: "OrderNotFound" }
      ),
      yield* refused(
        stranger,
        { $case: "deposit_funds", value: funds },
        { code: status.NOT_FOUND, reason: "SubAccountNotFound" }
      )
    ]
    yield* record.reach((yield* deposit(owner, "1")).ack.seq)
    const ids = new Set(refusals.map(({ command_id }) => command_id))
    const caused = record.events.find(({ command_id }) => command_id !== undefined && ids.has(command_id))
    yield* expect(caused === undefined, `event ${caused?.seq} belongs to a refused command`)
  })
}

const inFlight: Case = {
  name: "in-flight",
  level: "core",
  clause: "docs/contract/boundary.md#sequencer (SubmitStream), docs/contract/orders.md#order-semantics",
  claim: "of many commands in flight each gets one result, and their places follow the order of submission",
  run: Effect.gen(function* () {
    const { command, commands, instrument, options, record, trader, uuid } = yield* World
    const owner = yield* trader
    const many: Array<Command> = []
    while (many.length < options.commands) {
      const value = { deposit_id: yield* uuid, asset: instrument.settle_asset, amount: "1", source: "rail" }
      many.push(yield* command(owner, { $case: "deposit_funds", value }))
    }
    const messages = Array.from({ length: Math.ceil(many.length / MESSAGE_COMMANDS) }, (_, i) =>
      many.slice(i * MESSAGE_COMMANDS, (i + 1) * MESSAGE_COMMANDS)
    )
    const results = yield* Effect.forEach(messages, commands.submitAll, { concurrency: "unbounded" })
    let last = 0
    for (const result of results.flat()) {
      const { command_id, seq } = yield* ackOf("deposit_funds", result)
      yield* expect(seq > last, `command ${command_id} has place ${seq}; the one sent before it has ${last}`)
      last = seq
    }
    yield* record.reach(last)
  })
}

export const cases: ReadonlyArray<Case> = [ack, repetition, otherContent, timeLimit, refusals, inFlight]

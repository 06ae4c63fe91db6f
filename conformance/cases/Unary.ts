/** Calls for simple clients: one command, or a batch, without a stream. */
import { status } from "@grpc/grpc-js"
import { Effect, Result } from "effect"
import { CommandStatus, SequencerService } from "../../src/proto/gateway/v1/sequencer.ts"
import { type Case } from "../Case.ts"
import { cancelOf } from "../Orders.ts"
import { statusName } from "../Link.ts"
import { ackOf, expectRefusal, World } from "../World.ts"
import { broken, expect, expectEqual, present } from "../Expect.ts"

const fund = Effect.gen(function* () {
  const { command, instrument, trader, uuid } = yield* World
  const owner = yield* trader
  const value = { deposit_id: yield* uuid, asset: instrument.settle_asset, amount: "1", source: "rail" }
  return { owner, made: yield* command(owner, { $case: "deposit_funds", value }) }
})

const unary: Case = {
  name: "unary-submit",
  level: "full",
  clause: "docs/contract/boundary.md#sequencer (Submit), docs/contract/boundary.md#errors",
  claim:
    "Submit returns the result of the stream; a refusal is a status with reason and details in the trailing metadata",
  run: Effect.gen(function* () {
    const { ask, command, link, submit, symbol, uuid } = yield* World
    const { made, owner } = yield* fund
    const first = yield* present("the ack", (yield* ask.sequencer(SequencerService.submit, { command: made })).ack)
    const again = yield* ackOf("the repeated deposit_funds", yield* submit(made))
    yield* expectEqual("the answer on the stream", again, { ...first, duplicate: true })
    const wrong = yield* command(owner, cancelOf(symbol, yield* uuid))
    const refusal = yield* Effect.result(link.sequencer.ask(SequencerService.submit, { command: wrong }))
    if (Result.isSuccess(refusal)) return yield* broken("cancel_order of an unknown order was taken")
    const { code, trailing } = refusal.failure
    yield* expectEqual("the status", statusName(code), statusName(status.NOT_FOUND))
    yield* expectEqual("the trailing metadata error-reason", trailing["error-reason"], "OrderNotFound")
    const bytes = trailing["error-details-bin"]
    if (!Buffer.isBuffer(bytes)) return yield* broken("the trailing metadata error-details-bin is missing")
    yield* expectEqual("the reason in error-details-bin", CommandStatus.decode(bytes).reason, "OrderNotFound")
  })
}

const batch: Case = {
  name: "batch",
  level: "full",
  clause: "docs/contract/boundary.md#sequencer (SubmitBatch)",
  claim: "the results of a batch are in the order of its commands, each independent; more than 20 commands are refused",
  run: Effect.gen(function* () {
    const { ask, command, link, symbol, uuid } = yield* World
    const { made, owner } = yield* fund
    const wrong = yield* command(owner, cancelOf(symbol, yield* uuid))
    const { results } = yield* ask.sequencer(SequencerService.submitBatch, { commands: [wrong, made] })
    yield* expectEqual("results", results.length, 2)
    yield* expectRefusal("the first command", results[0]!, { code: status.NOT_FOUND, reason: "OrderNotFound" })
    const ack = yield* ackOf("the second command", results[1]!)
    yield* expectEqual("the command_id of the second answer", ack.command_id, made.command_id)
    const many = Array.from({ length: 21 }, () => made)
    const refusal = yield* Effect.result(link.sequencer.ask(SequencerService.submitBatch, { commands: many }))
    yield* expect(
      Result.isFailure(refusal) && refusal.failure.code === status.INVALID_ARGUMENT,
      "a batch of 21 commands was not refused with INVALID_ARGUMENT"
    )
  })
}

export const cases: ReadonlyArray<Case> = [unary, batch]

/** What every Sequencer adapter promises; a deposit in the asset NONE is refused by the backend behind it. */
import { assert, layer as withLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { type Command, CommandRefused, Sequencer } from "../../src/services/Sequencer.ts"

let ids = 0
export const depositOf = (amount: string, command_id = `contract-${++ids}`, asset = "USDC"): Command => ({
  command_id,
  user_id: "f4d12921-24f9-5d21-bac3-b037fe010f93",
  sub_account_address: "0xfb2b0f8ce26806a4d5837f871e6f26904434c4e43f0dc6200a0c74a542e82dcd",
  body: { type: "deposit", deposit_id: command_id, asset, amount, source: "rail" }
})

export const suite = <E>(name: string, layer: Layer.Layer<Sequencer, E>): void =>
  withLayer(layer, { excludeTestServices: true })(`Sequencer on ${name}`, (it) => {
    it.effect("acknowledges a command with the seq of its last event", () =>
      Effect.gen(function* () {
        const sequencer = yield* Sequencer
        const before = yield* sequencer.head
        const ack = yield* sequencer.submit(depositOf("5"))
        assert.isAbove(ack.seq, before.head_seq)
        assert.isFalse(ack.duplicate)
        const after = yield* sequencer.head
        assert.strictEqual(after.epoch, before.epoch)
        assert.isAtLeast(after.head_seq, ack.seq)
      })
    )

    it.effect("returns the first acknowledgement for a repeated command", () =>
      Effect.gen(function* () {
        const sequencer = yield* Sequencer
        const command = depositOf("5")
        const first = yield* sequencer.submit(command)
        assert.deepStrictEqual(yield* sequencer.submit(command), { ...first, duplicate: true })
      })
    )

    it.effect("refuses other content under a command_id", () =>
      Effect.gen(function* () {
        const sequencer = yield* Sequencer
        yield* sequencer.submit(depositOf("5", "contract-same"))
        const error = yield* Effect.flip(sequencer.submit(depositOf("6", "contract-same")))
        assert.instanceOf(error, CommandRefused)
        assert.strictEqual(error.reason, "DuplicateRequestId")
      })
    )

    it.effect("returns why a command was refused, and changes nothing", () =>
      Effect.gen(function* () {
        const sequencer = yield* Sequencer
        const command = depositOf("5", "contract-none", "NONE")
        const error = yield* Effect.flip(sequencer.submit(command))
        assert.instanceOf(error, CommandRefused)
        assert.strictEqual(error.reason, "InvalidField")
        assert.deepStrictEqual(error.details, { field: "asset" })
        const again = yield* Effect.flip(sequencer.submit(command))
        assert.strictEqual(again._tag, "CommandRefused")
      })
    )

    it.effect("gives a thousand commands in flight one acknowledgement each, in distinct places", () =>
      Effect.gen(function* () {
        const sequencer = yield* Sequencer
        const commands = Array.from({ length: 1000 }, () => depositOf("1"))
        const acks = yield* Effect.forEach(commands, sequencer.submit, { concurrency: "unbounded" })
        assert.strictEqual(new Set(acks.map((ack) => ack.seq)).size, 1000)
      })
    )
  })

/** `withdrawal-addresses`: the destinations of a user's withdrawals. Source: docs/contract/rest-account.md. */
import { Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { optionally } from "../Flags.ts"
import * as Gateway from "../Gateway.ts"
import { facts, show, table, time } from "../Show.ts"

const destination = Argument.String("destination").pipe(
  Argument.withDescription("Address of 64 hex digits, or party id, in full")
)

const list = Command.make("list", {}, () =>
  Effect.gen(function* () {
    const { client } = yield* Gateway.trader
    yield* show(yield* client.withdrawal_address.addresses(), ({ list, only_listed }, paint) =>
      [
        table(
          list,
          [
            { title: "DESTINATION", of: ({ destination }) => destination },
            { title: "LABEL", of: ({ label }) => label },
            { title: "EFFECTIVE", of: ({ effective_time }) => time(effective_time) }
          ],
          paint,
          "no destinations"
        ),
        only_listed ? "withdrawals go to these destinations only" : "withdrawals go to any destination"
      ].join("\n")
    )
  })
).pipe(Command.withDescription("List destinations, and whether withdrawals go to those only"))

const add = Command.make(
  "add",
  {
    destination,
    label: Flag.String("label").pipe(Flag.withDescription("A name, at most 64 characters"), Flag.optional)
  },
  Effect.fnUntraced(function* (input) {
    const { client } = yield* Gateway.trader
    const added = yield* client.withdrawal_address.add({
      payload: { destination: input.destination, ...optionally("label", input.label) }
    })
    yield* show(added, ({ destination, effective_time, label }, paint) =>
      facts(
        [
          ["destination", destination],
          ["label", label],
          ["effective", time(effective_time)]
        ],
        paint
      )
    )
  })
).pipe(Command.withDescription("List a destination; withdrawals may go there after a delay, 24 hours by default"))

const remove = Command.make(
  "remove",
  { destination },
  Effect.fnUntraced(function* (params) {
    const { client } = yield* Gateway.trader
    yield* show(yield* client.withdrawal_address.remove({ params }), ({ destination }) => `removed ${destination}`)
  })
).pipe(Command.withDescription("Remove a destination at once"))

export const withdrawalAddresses = Command.make("withdrawal-addresses").pipe(
  Command.withDescription("Destinations that withdrawals may go to"),
  Command.withSubcommands([list, add, remove])
)

/** Sequencer and Feed in memory: deposits are accepted (except in NONE), everything else is refused. */
import { Effect, Layer, Stream } from "effect"
import type { Event } from "../../src/domain/Event.ts"
import { Feed, FeedGone, type FeedFrame } from "../../src/services/Feed.ts"
import {
  type Command,
  type CommandAck,
  CommandRefused,
  Sequencer,
  SequencerFault
} from "../../src/services/Sequencer.ts"

export const layer: Layer.Layer<Sequencer | Feed> = Layer.unwrap(
  Effect.sync(() => {
    const epoch = "memory"
    const events: Array<Event> = []
    const acks = new Map<string, { readonly command: Command; readonly ack: CommandAck }>()
    const readers = new Set<() => void>()

    const submit = (command: Command): Effect.Effect<CommandAck, CommandRefused> => {
      const known = acks.get(command.command_id)
      if (known !== undefined) {
        if (JSON.stringify(known.command) === JSON.stringify(command)) {
          return Effect.succeed({ ...known.ack, duplicate: true })
        }
        return Effect.fail(new CommandRefused({ reason: "DuplicateRequestId", message: "other content", details: {} }))
      }
      const { body } = command
      if (body.type !== "deposit" || body.asset === "NONE") {
        const details = { field: "asset" }
        return Effect.fail(new CommandRefused({ reason: "InvalidField", message: "no such asset", details }))
      }
      const seq = events.length + 1
      const { command_id, user_id, sub_account_address } = command
      events.push({
        seq,
        ts_ms: seq,
        step: seq,
        command_id,
        user_id,
        sub_account_address,
        body: { type: "other", name: "deposit" }
      })
      const ack = { seq, accepted_at_ms: seq, orders: [], duplicate: false, version: undefined, result: undefined }
      acks.set(command_id, { command, ack })
      for (const wake of readers) wake()
      return Effect.succeed(ack)
    }
    const missing = Effect.fail(new SequencerFault({ cause: new Error("not kept by this double") }))

    return Layer.mergeAll(
      Layer.succeed(Sequencer, {
        commands_down_ms: () => 0,
        submit,
        orderBook: () => missing,
        instruments: missing,
        openOrders: missing,
        subAccounts: () => missing,
        head: Effect.sync(() => ({ epoch, head_seq: events.length, server_ts_ms: 0 }))
      }),
      Layer.succeed(Feed, {
        follow: (position) => {
          if (position !== undefined && (position.epoch !== epoch || position.seq > events.length)) {
            return Stream.fail(new FeedGone({ reason: "Expired" }))
          }
          let seq = position?.seq ?? 0
          let greeted = false
          const next: Effect.Effect<FeedFrame> = Effect.callback((resume) => {
            const look = () => {
              if (!greeted) {
                greeted = true
                readers.delete(look)
                return resume(
                  Effect.succeed({ type: "heartbeat", epoch, head_seq: events.length, server_ts_ms: 0, refusing: [] })
                )
              }
              if (seq === events.length) return
              readers.delete(look)
              const fresh = events.slice(seq)
              seq = events.length
              resume(Effect.succeed({ type: "events", epoch, events: fresh }))
            }
            readers.add(look)
            look()
            return Effect.sync(() => readers.delete(look))
          })
          return Stream.fromEffectRepeat(next)
        }
      })
    )
  })
)

/** Callers, and events that a test commits to the history, for rewards and competitions. */
import { Effect } from "effect"
import type { Event } from "../../../src/domain/Event.ts"
import type { Execution } from "../../../src/domain/Execution.ts"
import { Grant } from "../../../src/domain/Grant.ts"
import { Projecting } from "../../../src/domain/Projection.ts"
import { allScopes, type Caller } from "../../../src/domain/User.ts"
import { History } from "../../../src/services/History.ts"
import { body, event, userOf, uuid } from "../../../verification/harness/Records.ts"

export const alice = userOf(1)
export const bob = userOf(2)

export const callerOf = (user: typeof alice, bound_to?: ReadonlyArray<string>): Caller => ({
  user_id: user.user_id,
  root_address: user.root,
  rail: "address",
  via: "token",
  credential: "jti",
  scopes: new Set(allScopes),
  bound_to: bound_to === undefined ? undefined : new Set(bound_to),
  expires_at_ms: undefined,
  grant: new Grant("credential", "user")
})

/** A stream of events; what a test adds at once is committed as one batch. */
export const stream = () => {
  let seq = 0
  const fill = (user: typeof alice, at: number, fields: Partial<Execution> = {}): Event => {
    seq++
    const execution = {
      exec_id: uuid(seq),
      exec_time: String(at),
      sub_account_address: user.account(0),
      ...fields
    }
    return event(seq, body.execution(execution), {
      user_id: user.user_id,
      sub_account_address: execution.sub_account_address,
      ts_ms: at
    })
  }
  /** A fill of 0.2 that closes a position, by default with a profit of 200, less fees of 13.31. */
  const close = (user: typeof alice, at: number, realised_pnl = "200"): Event => {
    const fields = { exec_id: uuid(++seq), exec_time: String(at), sub_account_address: user.account(0) }
    const of = { user_id: user.user_id, sub_account_address: fields.sub_account_address, ts_ms: at }
    return event(seq, body.closing(fields, { realised_pnl }), of)
  }
  /** A wallet's new balance. */
  const money = (user: typeof alice, at: number, wallet: string): Event =>
    event(++seq, body.money("deposit", wallet, { amount: wallet, balance: { sub_account_address: user.account(0) } }), {
      user_id: user.user_id,
      sub_account_address: user.account(0),
      ts_ms: at
    })
  const tick = (ts_ms: number): Event => event(++seq, body.prices({ ts_ms }), { ts_ms })
  const commit = (...events: ReadonlyArray<Event>) =>
    Effect.gen(function* () {
      const history = yield* History
      const projecting = new Projecting({
        position: yield* history.position,
        heads: yield* history.streamHeads,
        candles: yield* history.lastCandles,
        ledger: yield* history.ledger
      })
      yield* history.commit(projecting.next("e1", events))
    })
  return { fill, close, money, tick, commit }
}

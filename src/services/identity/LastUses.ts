/** When API keys were last used: recorded in memory, and written at intervals and at the end. */
import { type Duration, Effect } from "effect"
import * as Daemon from "../operations/Daemon.ts"
import { type ApiKeyRecord, Accounts } from "./Accounts.ts"

/** Most keys whose time of last use waits to be written; further keys of the interval are not recorded. */
const TOUCHED_MAX = 10_000

/** @param every - how often times are written. */
export const make = Effect.fnUntraced(function* (every: Duration.Input) {
  const accounts = yield* Accounts
  const touched = new Map<string, number>()
  const write = Effect.suspend(() =>
    Effect.forEach(
      [...touched],
      ([id, at]) =>
        // what is not written waits for the next interval
        Effect.map(accounts.touchApiKey(id, at), () => touched.get(id) === at && touched.delete(id)),
      { discard: true }
    )
  ).pipe(Effect.catch((error) => Effect.logWarning("time of last use not written", error)))
  yield* Effect.addFinalizer(() => write)
  yield* write.pipe(Effect.delay(every), Daemon.repeat("times of last use"))

  return {
    /** Records that a key was used. */
    touch: (api_key_id: string, at_ms: number): void => {
      if (touched.size < TOUCHED_MAX || touched.has(api_key_id)) touched.set(api_key_id, at_ms)
    },
    /** The record with the time that is not written yet. */
    over: (record: ApiKeyRecord): ApiKeyRecord => {
      const at = touched.get(record.api_key_id)
      return at === undefined ? record : { ...record, last_used_time: at }
    }
  }
})

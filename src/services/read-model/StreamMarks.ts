/**
 * Policy: which position of the user stream a list names. The list includes every event up to it, and perhaps later ones.
 * Source: docs/contract/websocket.md#lists-and-the-stream.
 */
import { Effect } from "effect"
import type { StreamMark } from "../operations/Paging.ts"
import { UserStreams } from "./UserStreams.ts"
import { WrittenHistory } from "./WrittenHistory.ts"

/** Waits until the history holds what was shown to a user, or answers what it holds of it after the longest wait. */
export type MarkOf = (user_id: string) => Effect.Effect<StreamMark>

/** The list is read after the mark, without another wait. */
export const make: Effect.Effect<MarkOf, never, UserStreams | WrittenHistory> = Effect.gen(function* () {
  const streams = yield* UserStreams
  const written = yield* WrittenHistory
  return Effect.fnUntraced(function* (user_id: string) {
    // what is shown during the wait need not be held after it
    const stream_id = streams.streamId()
    const shown = streams.head(user_id)
    const isHeld = yield* written.user(user_id)
    return { stream_id, seq: isHeld ? shown : (written.head(user_id) ?? shown) }
  })
})

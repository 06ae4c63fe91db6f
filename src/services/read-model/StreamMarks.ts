/**
 * Policy: which position of the user stream a list names. The list includes every event up to it, and perhaps later ones.
 * Source: docs/contract/websocket.md#lists-and-the-stream.
 */
import { Effect } from "effect"
import type { StreamMark } from "../operations/Paging.ts"
import { UserStreams } from "./UserStreams.ts"
import { WrittenHistory } from "./WrittenHistory.ts"

/** The position of a list whose read begins now. */
export type MarkOf = (user_id: string) => (list: { readonly isComplete: boolean }) => StreamMark

export const make: Effect.Effect<MarkOf, never, UserStreams | WrittenHistory> = Effect.gen(function* () {
  const streams = yield* UserStreams
  const written = yield* WrittenHistory
  return (user_id) => {
    // what is shown during the read need not be in the list
    const stream_id = streams.streamId()
    const shown = streams.head(user_id)
    // an incomplete list has what the history holds, at least up to the position where it stood before the read
    const held = written.head(user_id) ?? shown
    return ({ isComplete }) => ({ stream_id, seq: isComplete ? shown : held })
  }
})

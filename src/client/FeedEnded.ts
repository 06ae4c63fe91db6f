import { Schema } from "effect"

/** A feed could not start or cannot reconnect: the credential is invalid, or the gateway refuses the feed. */
export class FeedEnded extends Schema.TaggedError<FeedEnded>()("FeedEnded", {
  /** Close code; docs/contract/websocket.md#close-codes. */
  code: Schema.Int,
  message: Schema.String
}) {}

/**
 * Port: the price stream of the referee. Its heartbeats also report the progress of the referee.
 *
 * Guarantee: frames of one connection are in order. After a lost connection the feed reconnects, without a limit of
 * attempts.
 * Source: docs/contract/boundary.md#referee, #lagging.
 */
import { Context, type Stream } from "effect"
import type { Prices } from "../domain/Market.ts"

export type PriceFrame =
  | { readonly type: "prices"; readonly prices: ReadonlyArray<Prices> }
  | { readonly type: "heartbeat"; readonly applied_seq: number; readonly server_ts_ms: number }
  | { readonly type: "interrupted" }

export class PriceFeed extends Context.Service<PriceFeed, { readonly frames: Stream.Stream<PriceFrame> }>()(
  "gateway/services/PriceFeed"
) {}

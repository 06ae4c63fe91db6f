/** The PriceFeed port over StreamPrices. Source: docs/contract/boundary.md#referee. */
import { Effect, Layer } from "effect"
import { RefereeService, type StreamPricesResponse } from "../../proto/gateway/v1/referee.ts"
import { PriceFeed, type PriceFrame } from "../../services/PriceFeed.ts"
import { type Channel, type Endpoint, follow, make as makeChannel } from "./Channel.ts"
import { toPrices } from "./WireRecords.ts"

const read = ({ prices, heartbeat }: StreamPricesResponse): ReadonlyArray<PriceFrame> => {
  const frames: Array<PriceFrame> = []
  if (prices.length > 0) frames.push({ type: "prices", prices: prices.map(toPrices) })
  if (heartbeat !== undefined) frames.push({ type: "heartbeat", ...heartbeat })
  return frames
}

/** The port over a channel. */
export const make = (channel: Channel) =>
  PriceFeed.of({
    frames: follow<StreamPricesResponse, PriceFrame, never>({
      name: "prices",
      channel,
      open: () => channel.responses(RefereeService.streamPrices, { symbols: [] }),
      read,
      lost: { type: "interrupted" },
      final: () => undefined
    })
  })

export const layer = (endpoint: Endpoint): Layer.Layer<PriceFeed> =>
  Layer.effect(PriceFeed, Effect.map(makeChannel(endpoint), make))

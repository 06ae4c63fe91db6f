/**
 * Policy: the administrator can fix the index price of a market, with the embedded backend only.
 * Source: docs/contract/rest-user.md#index-price, docs/contract/exchange.md#prices.
 */
import { Context, Effect, Layer } from "effect"
import * as Decimal from "../../domain/Decimal.ts"
import { type CommandFailure, submit } from "../CommandReasons.ts"
import { Ids } from "../operations/Ids.ts"
import { MarketView } from "./MarketView.ts"
import { unknownOnceLoaded } from "./UnknownMarket.ts"
import { DomainError } from "../DomainError.ts"
import { Sequencer } from "../Sequencer.ts"

const disabled = new DomainError("ModuleDisabled")
const notPositive = new DomainError("OutOfRange", { field: "price", min: "0" }, "expected a price above 0")

export class IndexPrices extends Context.Service<
  IndexPrices,
  {
    /** Fixes an index price and returns it in canonical form; `undefined` returns the market to its source. */
    readonly set: (
      symbol: string,
      price: string | undefined
    ) => Effect.Effect<
      string | undefined,
      DomainError<"ModuleDisabled" | "OutOfRange" | "SymbolNotFound"> | CommandFailure<"set_index_price">
    >
  }
>()("gateway/services/IndexPrices") {
  static readonly layer = (options: {
    /** Whether the embedded backend is in use. */
    readonly embedded: boolean
  }): Layer.Layer<IndexPrices, never, Ids | MarketView | Sequencer> =>
    Layer.effect(
      IndexPrices,
      Effect.gen(function* () {
        const ids = yield* Ids
        const markets = yield* MarketView
        const sequencer = yield* Sequencer
        return IndexPrices.of({
          set: Effect.fnUntraced(function* (symbol, text) {
            if (!options.embedded) return yield* Effect.fail(disabled)
            const price = text === undefined ? undefined : Decimal.canonical(text)
            if (price === "0") return yield* Effect.fail(notPositive)
            const unknown = unknownOnceLoaded(markets, symbol)
            if (unknown !== undefined) return yield* Effect.fail(unknown)
            yield* submit(sequencer, {
              command_id: yield* ids.uuid,
              user_id: "",
              sub_account_address: "",
              body: { type: "set_index_price", symbol, price }
            })
            return price
          })
        })
      })
    )
}

/** The refusal of a symbol that names no market. Source: docs/contract/conventions.md#reasons. */
import { DomainError } from "../DomainError.ts"
import type { MarketView } from "./MarketView.ts"

const symbolNotFound = new DomainError("SymbolNotFound", { field: "symbol" })
const notLoaded = new DomainError("BackendUnavailable")

/** The error of a symbol that no known market has. Until the markets are loaded, none is known. */
export const noSuchMarket = (view: MarketView["Service"]): DomainError<"BackendUnavailable" | "SymbolNotFound"> =>
  view.instruments().length === 0 ? notLoaded : symbolNotFound

/** Why a symbol is refused; `undefined`: it is a market, or none is given. */
export const unknownMarket = (
  view: MarketView["Service"],
  symbol: string | undefined
): DomainError<"BackendUnavailable" | "SymbolNotFound"> | undefined =>
  symbol === undefined || view.instrument(symbol) !== undefined ? undefined : noSuchMarket(view)

/** The same where a symbol passes until the markets are loaded. */
export const unknownOnceLoaded = (view: MarketView["Service"], symbol: string | undefined) =>
  symbol === undefined || view.instrument(symbol) !== undefined || view.instruments().length === 0
    ? undefined
    : symbolNotFound

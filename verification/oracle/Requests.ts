/** What users send, in the contract's words. Ids of orders are the numbers in which the event stream names them. */

export type Side = "Buy" | "Sell"
export type TimeInForce = "GTC" | "GTT" | "IOC" | "FOK"
export type SmpType = "CancelTaker" | "CancelMaker" | "CancelBoth"
export type TriggerBy = "LastPrice" | "IndexPrice" | "MarkPrice"
export type Direction = "Up" | "Down"
export type TpslMode = "Full" | "Partial"

export interface Leg {
  /** Absent in an amend: that of the order's leg. */
  readonly by?: TriggerBy
  readonly price: string
}

export interface TpslRequest {
  readonly mode: TpslMode
  readonly takeProfit?: Leg | undefined
  readonly stopLoss?: Leg | undefined
}

export interface PlaceRequest {
  readonly kind: "place"
  readonly symbol: string
  readonly side: Side
  readonly type: "Limit" | "Market"
  readonly qty: string
  readonly price?: string | undefined
  readonly timeInForce?: TimeInForce | undefined
  readonly expireMs?: number | undefined
  readonly postOnly?: boolean
  readonly reduceOnly?: boolean
  readonly closeOnTrigger?: boolean
  readonly link?: string | undefined
  readonly smp?: SmpType
  readonly trigger?:
    { readonly by: TriggerBy; readonly direction?: Direction | undefined; readonly price: string } | undefined
  readonly tpsl?: TpslRequest | undefined
}

/** Names an order: by its number in the stream, or by the client's id. */
export interface Named {
  readonly symbol: string
  readonly order?: number | undefined
  readonly link?: string | undefined
}

export type Body =
  | { readonly kind: "tick" }
  | {
      readonly kind: "createSubAccount"
      readonly root: string
      readonly index?: number | undefined
      readonly address: string
    }
  | { readonly kind: "freeze"; readonly frozen: boolean }
  | { readonly kind: "deleteSubAccount" }
  | { readonly kind: "deposit"; readonly id: string; readonly amount: string; readonly source: "rail" | "faucet" }
  | { readonly kind: "withdraw"; readonly id: string; readonly amount: string; readonly destination: string }
  | { readonly kind: "transfer"; readonly id: string; readonly to: string; readonly amount: string }
  | { readonly kind: "credit"; readonly id: string; readonly amount: string }
  | { readonly kind: "index"; readonly symbol: string; readonly price?: string | undefined }
  | { readonly kind: "leverage"; readonly symbol: string; readonly leverage: string }
  | {
      readonly kind: "marginMode"
      readonly symbol: string
      readonly isolated: boolean
      readonly leverage?: string | undefined
    }
  | { readonly kind: "addMargin"; readonly symbol: string; readonly margin: string }
  | PlaceRequest
  | (Named & {
      readonly kind: "amend"
      readonly price?: string | undefined
      readonly qty?: string | undefined
      readonly triggerPrice?: string | undefined
      readonly tpsl?: TpslRequest | undefined
      readonly version: number
    })
  | (Named & { readonly kind: "cancel" })
  | {
      readonly kind: "cancelAll"
      readonly symbol?: string | undefined
      readonly side?: Side | undefined
      readonly filter: "Active" | "Conditional" | "All"
      readonly reduceOnly?: boolean | undefined
      readonly dcp: boolean
    }
  | {
      readonly kind: "tradingStop"
      readonly symbol: string
      readonly tpsl: TpslRequest
      readonly takeProfitSize?: string | undefined
      readonly stopLossSize?: string | undefined
    }

export interface Request {
  /** Unix ms; never falls */
  readonly at: number
  readonly user: string
  /** "": all of the user's, for cancelAll */
  readonly account: string
  readonly body: Body
}

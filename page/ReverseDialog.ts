/** Turns a long into a short of the same size, or the other way, by one market order. */
import { HashMap, Option } from "effect"
import { keyOf } from "../src/client/Account.ts"
import * as Decimal from "../src/domain/Decimal.ts"
import type { Position } from "../src/domain/Position.ts"
import type { AccountView } from "./AccountView.ts"
import { dialog } from "./Dialog.ts"
import { h, setText } from "./Dom.ts"
import { placeOnce } from "./RequestId.ts"

/**
 * The order that reverses the position that was shown. It cannot be reduce-only: if that position is closed meanwhile, by its stop
 * loss for example, the order would open one of twice the size.
 */
export const reversal = (shown: Position, now: Position | undefined) => {
  const { side, size, sub_account_address, symbol } = shown
  if (now?.side !== side || now.size !== size)
    throw new Error("The position is not the one that is shown any more. Go back and look at it again.")
  return {
    sub_account_address,
    symbol,
    side: side === "Buy" ? "Sell" : "Buy",
    order_type: "Market",
    qty: Decimal.format(2n * Decimal.parse(size))
  } as const
}

export const reverseDialog = ({ qty, session }: AccountView): ((position: Position) => void) => {
  let held: Position | undefined
  const words = h("p")
  const send = async (): Promise<void> => {
    if (held === undefined) return
    const now = Option.getOrUndefined(HashMap.get(session.account.value.positions, keyOf(held)))
    await placeOnce(session, held, reversal(held, now))
  }
  const box = dialog("reverse", "Reverse", send, words)
  return (position) => {
    held = position
    const { side, size, symbol } = position
    const [from, to, verb] = side === "Buy" ? ["long", "short", "sells"] : ["short", "long", "buys"]
    const double = Decimal.format(2n * Decimal.parse(size))
    setText(box.title, `Reverse the ${from} in ${symbol}`)
    setText(
      words,
      `One market order ${verb} ${qty(symbol, double)}: it closes the ${from} of ${qty(symbol, size)} and opens a ${to} of the same size.`
    )
    box.open()
    box.confirm.focus()
  }
}

/** The take-profit and stop-loss of the order form: each as a price, a return on the margin, or a profit and loss. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { TriggerBy } from "../src/domain/Enumerations.ts"
import { check, numberInput, select, setValue } from "./Controls.ts"
import { h, setAttribute, setText } from "./Dom.ts"
import { type ExitBasis, type ExitUnit, exitUnits, type Leg, pnlAt, roeAt } from "./ExitPrice.ts"
import * as Format from "./Format.ts"
import type { Draft, ReadyOrder } from "./OrderDraft.ts"

export const references: ReadonlyArray<readonly [TriggerBy, string]> = [
  ["MarkPrice", "Mark"],
  ["LastPrice", "Last"],
  ["IndexPrice", "Index"]
]

/** Price, profit and return of an exit: `61,200.0: +60.00 USDC, +20.00 %`. */
export const exitText = (price: bigint, basis: ExitBasis, quote: string): string => {
  const at = Format.grouped(Decimal.format(price), Format.placesOf(Decimal.format(basis.tick)))
  const roe = Decimal.format(roeAt(price, basis))
  return `${at}: ${Format.gain(Decimal.format(pnlAt(price, basis)))} ${quote}, ${Format.isNegative(roe) ? "" : "+"}${Format.percent(roe, 2)}`
}

/** The controls of one exit: its amount, the unit of it, and what it brings. */
export const legField = (
  leg: Leg,
  id: string,
  describedBy: string,
  onText: (text: string) => void,
  onUnit: (unit: ExitUnit) => void
) => {
  const name = leg === "take_profit" ? "Take profit" : "Stop loss"
  const hint = h("p", { class: `hint ${leg === "take_profit" ? "up" : "down"}` })
  const input = numberInput(id, describedBy, onText)
  const unit = select<ExitUnit>(
    { id: `${id}-unit`, "aria-label": `${name}: unit` },
    exitUnits.map((each) => [each, each] as const),
    onUnit
  )
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: id }, name),
    h("div", { class: "input" }, input, h("span", { class: "choice-unit" }, unit)),
    hint
  )
  return { leg, name, input, unit, hint, element }
}

export const exitFields = (change: (part: Partial<Draft>) => void, draft: () => Draft) => {
  const has = check("exits", "Take profit, stop loss", (hasExits) => change({ hasExits }))
  const fields = (["take_profit", "stop_loss"] as const).map((leg) =>
    legField(
      leg,
      leg.replace("_", "-"),
      "verdict",
      (text) => change({ [leg]: { ...draft()[leg], text } }),
      (unit) => change({ [leg]: { text: "", unit } })
    )
  )
  const by = select<TriggerBy>({ id: "exits-by" }, references, (exitsBy) => change({ exitsBy }))
  const box = h(
    "div",
    { class: "exits" },
    ...fields.map(({ element }) => element),
    h("p", { class: "inline" }, h("label", { for: "exits-by" }, "They trigger by"), by)
  )
  return {
    elements: [has.element, box],
    inputs: { take_profit: fields[0]!.input, stop_loss: fields[1]!.input },
    show: ({ exitsBy, hasExits, reduceOnly, ...legs }: Draft, order: ReadyOrder | undefined, quote: string): void => {
      has.box.checked = hasExits
      has.box.disabled = reduceOnly
      box.hidden = !hasExits || reduceOnly
      setValue(by, exitsBy)
      for (const { hint, input, leg, unit } of fields) {
        setValue(input, legs[leg].text)
        setValue(unit, legs[leg].unit)
        const price = order?.exits[leg]
        setText(hint, price === undefined ? "" : exitText(price, order!.basis, quote))
        setAttribute(input, "placeholder", legs[leg].unit === "Price" ? "none" : "0")
      }
    }
  }
}

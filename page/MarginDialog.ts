/** Leverage and margin mode of the market: a button that shows them, and a dialog that shows what a change does before it is sent. */
import * as Decimal from "../src/domain/Decimal.ts"
import type { MarginMode } from "../src/domain/Enumerations.ts"
import { field, numberInput, segments, setValue } from "./Controls.ts"
import { dialog } from "./Dialog.ts"
import { fact, h, setAttribute, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn, Live } from "./Frame.ts"
import { leveragePreview, type LeveragePreview } from "./LeveragePreview.ts"
import type { Market } from "./Market.ts"
import { accountState } from "./OrderContext.ts"
import { tiersOf } from "./OrderPreview.ts"
import { isPassing } from "./Rest.ts"
import type { Session } from "./Session.ts"
import { toast } from "./Toasts.ts"

interface Choice {
  readonly leverage: string
  readonly mode: MarginMode
}

/** Pause before a retry of a failed read, in ms. */
const RETRY_MS = 5_000

const DECIMAL = /^[1-9][0-9]{0,5}(?:\.[0-9]{1,2})?$/u

const hints: Record<MarginMode, string> = {
  Cross: "Cross: the whole balance backs the position.",
  Isolated: "Isolated: only the margin of the position can be lost."
}

export const mount = (market: Market, session: Session): HTMLElement => {
  const choice = new Live<Choice>({ leverage: "", mode: "Cross" })
  const change = (part: Partial<Choice>): void => choice.set({ ...choice.value, ...part })
  const setting = () => session.settings.value.get(market.symbol)
  /** Back to what is set. */
  const reset = (): void => {
    const now = setting()
    if (now !== undefined) choice.set({ leverage: now.leverage, mode: now.margin_mode })
  }
  const range = () => market.instrument.value.leverage_filter

  const modes = segments("margin-mode", "Margin mode", ["Cross", "Isolated"] as const, (mode) => change({ mode }))
  const hint = h("p", { class: "dim" })
  const number = numberInput("leverage", "margin-verdict", (leverage) => change({ leverage }))
  const slider = h("input", { type: "range", id: "leverage-slider", step: "1", "aria-label": "Leverage" })
  slider.addEventListener("input", () => change({ leverage: slider.value }))
  const facts = {
    position: fact("Margin of the position"),
    orders: fact("Margin of open orders"),
    available: fact("Available after"),
    most: fact("Position and orders, at most", "The risk limit at this leverage")
  }
  const verdict = h("p", { class: "verdict", id: "margin-verdict", "aria-live": "polite" })
  const list = h("dl", { class: "preview" }, ...Object.values(facts).map(({ element }) => element))

  const apply = async (): Promise<void> => {
    const { value: user } = session.user
    if (user === undefined) throw new Error("Sign in first.")
    const { leverage, mode } = choice.value
    const { symbol } = market
    const body = { sub_account_address: user.address, symbol, leverage }
    const now = setting()
    if (now?.margin_mode === mode && now.leverage === leverage) return
    try {
      const isSwitch = now !== undefined && now.margin_mode !== mode
      const set = isSwitch
        ? await session.api().switchMarginMode({ ...body, margin_mode: mode })
        : { ...(await session.api().setLeverage(body)), margin_mode: mode }
      // the user may have chosen another market meanwhile
      session.setSetting(symbol, set)
      toast("good", `${symbol}: ${set.margin_mode} margin, leverage ${set.leverage}×`)
    } catch (error) {
      reset()
      throw error
    }
  }
  const box = dialog(
    "margin",
    "Confirm",
    apply,
    modes.element,
    hint,
    field("Leverage", "leverage", number, h("span", { class: "unit" }, "×")),
    slider,
    list,
    verdict
  )

  const button = h("button", { type: "button", id: "margin-settings", "aria-haspopup": "dialog" })
  button.addEventListener("click", () => {
    reset()
    setText(box.title, `Margin of ${market.symbol}`)
    box.open()
    number.select()
  })

  /** The consequence of the choice; a text: why it is not possible. */
  const consequence = (): LeveragePreview | string | undefined => {
    const { leverage, mode } = choice.value
    const { max_leverage, min_leverage } = range()
    const state = accountState(market, session)
    if (state === undefined) return undefined
    const limits = `The leverage must lie between ${min_leverage} and ${max_leverage}, with at most two decimal places.`
    if (!DECIMAL.test(leverage)) return limits
    const scaled = Decimal.parse(leverage)
    if (scaled < Decimal.parse(min_leverage) || scaled > Decimal.parse(max_leverage)) return limits
    const tiers = tiersOf(market.tiers.filter(({ symbol }) => symbol === market.symbol))
    return leveragePreview(market.instrument.value, tiers, state, scaled, mode)
  }

  drawn([session.settings, market.instrument, session.user], () => {
    const now = setting()
    setText(button, now === undefined ? "Margin" : `${now.margin_mode} · ${now.leverage}×`)
    button.disabled = now === undefined
    setAttribute(
      button,
      "aria-label",
      now === undefined ? "Margin" : `Margin mode and leverage: ${now.margin_mode}, ${now.leverage}×`
    )
  })
  const readSetting = (): void => {
    session.readSetting(market.symbol).catch((error: unknown) => {
      if (isPassing(error)) setTimeout(readSetting, RETRY_MS)
    })
  }
  drawn([market.instrument, session.user], readSetting)
  drawn([choice, session.account, market.tickers, session.settings, market.instrument], () => {
    if (!box.element.open) return
    const { leverage, mode } = choice.value
    const { max_leverage, min_leverage } = range()
    modes.show(mode)
    setText(hint, hints[mode])
    setValue(number, leverage)
    setAttribute(slider, "min", min_leverage)
    setAttribute(slider, "max", max_leverage)
    setValue(slider, leverage.split(".")[0] ?? "")
    const result = consequence()
    const shown = typeof result === "object" ? result : undefined
    const money = (of: (result: LeveragePreview) => bigint): string =>
      shown === undefined ? "–" : Format.money(Decimal.format(of(shown)))
    setText(
      facts.position.value,
      money(({ positionMargin }) => positionMargin)
    )
    setText(
      facts.orders.value,
      money(({ orderMargin }) => orderMargin)
    )
    setText(
      facts.available.value,
      money(({ availableAfter }) => availableAfter)
    )
    setText(
      facts.most.value,
      money(({ valueMax }) => valueMax)
    )
    const wrong = typeof result === "string" ? result : shown?.refusal
    setAttribute(number, "aria-invalid", String(typeof result === "string"))
    box.confirm.disabled = wrong !== undefined
    setText(verdict, wrong ?? "")
  })
  return button
}

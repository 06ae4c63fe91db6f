/** A cell whose value can be changed in place: Enter saves, Escape and leaving it keep the old value. */
import { h, setAttribute, setText } from "./Dom.ts"
import type { Cell } from "./Table.ts"
import { toastError } from "./Toasts.ts"

export interface Editable<A> {
  /** What the value is, for screen readers: `Price of the order`. */
  readonly label: string
  readonly text: (record: A) => string
  /** The value to edit, as decimal text. */
  readonly value: (record: A) => string
  readonly can: (record: A) => boolean
  readonly save: (record: A, value: string) => Promise<void>
}

/**
 * The value to save: what was typed over the value `begun`; `undefined` if nothing is to be saved. Throws where the value has become
 * another one meanwhile, as in another tab: the user has not seen it.
 */
export const changeOf = (typed: string, begun: string, now: string): string | undefined => {
  const next = typed.trim()
  if (next === "" || next === begun) return undefined
  if (now !== begun) throw new Error(`It has changed from ${begun} to ${now} meanwhile: nothing was changed`)
  return next
}

export const editableCell =
  <A>({ can, label, save, text, value }: Editable<A>) =>
  (record: () => A): Cell<A> => {
    const input = h("input", {
      type: "text",
      inputmode: "decimal",
      class: "edit",
      "aria-label": label,
      autocomplete: "off"
    })
    const button = h("button", { type: "button", class: "edit", title: "Change" })
    const element = h("span", {}, button)
    let isEditing = false
    let begun = ""
    const end = (): void => {
      // removing the input takes its focus, which ends the edit once more
      if (!isEditing) return
      isEditing = false
      const isIn = document.activeElement === input
      input.replaceWith(button)
      if (isIn) button.focus()
    }
    const commit = async (): Promise<void> => {
      end()
      const next = changeOf(input.value, begun, value(record()))
      if (next === undefined) return
      button.ariaBusy = "true"
      await save(record(), next)
    }
    button.addEventListener("click", () => {
      if (button.disabled || button.ariaBusy === "true") return
      isEditing = true
      begun = value(record())
      input.value = begun
      button.replaceWith(input)
      input.select()
    })
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") end()
      else if (event.key === "Enter")
        commit()
          .catch(toastError)
          .finally(() => (button.ariaBusy = "false"))
      else return
      event.preventDefault()
      event.stopPropagation()
    })
    input.addEventListener("blur", end)
    return {
      element,
      show: (next) => {
        setText(button, text(next))
        setAttribute(button, "aria-label", `${label}: ${text(next)}. Change`)
        button.disabled = !can(next)
      }
    }
  }

/** Modal dialogs: a title, a form, a line for errors, and two buttons. Escape and a click outside close them. */
import { h, setText } from "./Dom.ts"
import { flush } from "./Frame.ts"
import { toastError } from "./Toasts.ts"

export interface Dialog {
  readonly element: HTMLDialogElement
  readonly open: () => void
  readonly confirm: HTMLButtonElement
  readonly title: HTMLElement
}

/**
 * Makes a dialog. `act` runs on confirmation; the dialog closes after it, or shows its error and stays open. The error of a dialog
 * that was closed meanwhile is a notice.
 */
export const dialog = (
  id: string,
  confirmText: string,
  act: () => Promise<void>,
  ...content: ReadonlyArray<HTMLElement>
): Dialog => {
  const title = h("h2", { id: `${id}-title` })
  const error = h("p", { class: "verdict", id: `${id}-error`, role: "alert" })
  const confirm = h("button", { type: "submit", class: "primary" }, confirmText)
  const cancel = h("button", { type: "button", onclick: () => element.close() }, "Back")
  const form = h(
    "form",
    { novalidate: true },
    title,
    ...content,
    error,
    h("div", { class: "buttons" }, cancel, confirm)
  )
  const element = h("dialog", { id, class: "sheet", "aria-labelledby": `${id}-title` }, form)
  const fault = (text: string): void => setText(error, text)
  /** Counts openings: one that came after the confirmation is about something else. */
  let openings = 0
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    if (confirm.ariaBusy === "true") return
    confirm.ariaBusy = "true"
    fault("")
    const opening = openings
    const isSame = (): boolean => element.open && opening === openings
    act()
      .then(() => {
        if (isSame()) element.close()
      })
      .catch((reason: unknown) => {
        if (isSame()) fault(reason instanceof Error ? reason.message : String(reason))
        else toastError(reason)
      })
      .finally(() => (confirm.ariaBusy = "false"))
  })
  form.addEventListener("input", () => fault(""))
  // the backdrop is part of the element, the content is not
  element.addEventListener("click", ({ target }) => {
    if (target === element) element.close()
  })
  document.body.append(element)
  return {
    element,
    confirm,
    title,
    open: () => {
      fault("")
      openings++
      if (!element.open) element.showModal()
      // its values, which the next frame would draw: an entry before that would be overwritten
      flush()
    }
  }
}

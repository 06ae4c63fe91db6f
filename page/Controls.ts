/** Form controls: fields with labels, groups of choices, and inputs that can be set from code without losing the cursor. */
import { h, type Props } from "./Dom.ts"

type Child = HTMLElement

/** Sets the value of a control if it differs: setting the same value would move the cursor. */
export const setValue = (control: HTMLInputElement | HTMLSelectElement, value: string): void => {
  if (control.value !== value) control.value = value
}

/** A text input for a decimal number. `describedBy` is the element with its errors. */
export const numberInput = (id: string, describedBy: string, act: (text: string) => void): HTMLInputElement => {
  const input = h("input", {
    id,
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": describedBy
  })
  input.addEventListener("input", () => act(input.value.trim()))
  return input
}

/** A drop-down list of values and their texts. */
export const select = <A extends string>(
  props: Props,
  choices: ReadonlyArray<readonly [value: A, text: string]>,
  act: (value: A) => void
): HTMLSelectElement => {
  const list = h("select", props, ...choices.map(([value, text]) => h("option", { value }, text)))
  list.addEventListener("change", () => act(list.value as A))
  return list
}

/** A label above its controls. */
export const field = (label: string, id: string, ...controls: ReadonlyArray<Child>): HTMLElement =>
  h("div", { class: "field" }, h("label", { for: id }, label), h("div", { class: "input" }, ...controls))

/** A check box with its text. */
export const check = (id: string, text: string, act: (is: boolean) => void) => {
  const box = h("input", { type: "checkbox", id })
  box.addEventListener("change", () => act(box.checked))
  return { box, element: h("label", { class: "check" }, box, text) }
}

/** Exclusive choices in a row; their inputs have the ids `<name>-<value>`. */
export const segments = <A extends string>(
  name: string,
  legend: string,
  values: ReadonlyArray<A>,
  act: (value: A) => void,
  textOf: (value: A) => string = (value) => value
) => {
  const inputs = values.map((value) =>
    h("input", { type: "radio", name, value, id: `${name}-${value}`, onchange: () => act(value) })
  )
  const labels = values.map((value, i) =>
    h("label", { class: "radio", "data-value": value }, inputs[i]!, h("span", {}, textOf(value)))
  )
  const element = h("fieldset", { class: `segments ${name}` }, h("legend", { class: "hidden" }, legend), ...labels)
  return {
    element,
    inputs,
    show: (chosen: A): void => {
      for (const input of inputs) if (input.checked !== (input.value === chosen)) input.checked = !input.checked
    }
  }
}

/** A button that is busy while its action runs is made by `whileBusy`; this is one without a request. */
export const plainButton = (text: string, props: Props, act: () => void): HTMLButtonElement =>
  h("button", { type: "button", ...props, onclick: act }, text)

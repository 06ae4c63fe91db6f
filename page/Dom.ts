/** DOM helpers without a framework: elements are created once, later updates change only what differs. */

type Handler = (event: Event) => void
export type Props = Readonly<Record<string, string | number | boolean | Handler | undefined>>

/** Creates an element. `on…` adds a listener; a boolean sets or removes an attribute. */
export const h = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: ReadonlyArray<Node | string>
): HTMLElementTagNameMap[K] => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value)
    else if (typeof value === "boolean") element.toggleAttribute(name, value)
    else if (value !== undefined) element.setAttribute(name, String(value))
  }
  element.append(...children)
  return element
}

/** The element of index.html that a part of the page is mounted in. */
export const place = (id: string): HTMLElement => {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`index.html has no #${id}`)
  return found
}

export const setText = (node: Node, text: string): void => {
  if (node.textContent !== text) node.textContent = text
}

export const setClass = (element: Element, name: string, is: boolean): void => {
  if (element.classList.contains(name) !== is) element.classList.toggle(name, is)
}

export const setAttribute = (element: Element, name: string, value: string): void => {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value)
}

/** A row of a list: its element, and the update for a new state of its record. */
export interface Row<A> {
  readonly element: HTMLElement
  readonly show: (record: A) => void
}

/** Syncs the children of a parent with a list, by key. A row keeps its element, and so its focus. */
export const rows = <A>(parent: HTMLElement, keyOf: (record: A) => string, make: (record: A) => Row<A>) => {
  const known = new Map<string, Row<A>>()
  return (list: ReadonlyArray<A>): void => {
    const keys = new Set(list.map(keyOf))
    // first: otherwise the rows below would be moved, and an element that is moved loses its focus
    for (const [key, { element }] of known)
      if (!keys.has(key)) {
        element.remove()
        known.delete(key)
      }
    let before: Element | null = null
    for (const record of list) {
      const key = keyOf(record)
      let row = known.get(key)
      if (row === undefined) known.set(key, (row = make(record)))
      row.show(record)
      const at: Element | null = before === null ? parent.firstElementChild : before.nextElementSibling
      if (at !== row.element) parent.insertBefore(row.element, at)
      before = row.element
    }
  }
}

/** A label and a value that changes: `dt` and `dd` of a description list. */
export const fact = (label: string, hint?: string): { readonly element: HTMLElement; readonly value: HTMLElement } => {
  const value = h("dd", {}, "–")
  return { element: h("div", { class: "fact", title: hint }, h("dt", {}, label), value), value }
}

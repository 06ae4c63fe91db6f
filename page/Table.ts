/** Tables of records: columns as values, rows that keep their elements, and lists that are read page by page. */
import { h, type Row, rows, setClass, setText } from "./Dom.ts"
import { Live } from "./Frame.ts"

export type Tone = "up" | "down" | "watch" | "danger" | "dim"
const tones: ReadonlyArray<Tone> = ["up", "down", "watch", "danger", "dim"]

/** A cell that is more than text. */
export interface Cell<A> {
  readonly element: HTMLElement
  readonly show: (record: A) => void
}

/** A column: its heading, and the text of a record with its colour, or a cell of its own. */
export interface Column<A> {
  readonly head: string
  readonly hint?: string
  readonly of?: (record: A) => string
  readonly tone?: (record: A) => Tone | undefined
  readonly cell?: (record: () => A) => Cell<A>
}

export interface Table<A> {
  readonly element: HTMLElement
  readonly show: (list: ReadonlyArray<A>) => void
}

/** A table; `actions` are the buttons at the end of a row. */
export const table = <A>(
  columns: ReadonlyArray<Column<A>>,
  key: (record: A) => string,
  none: string,
  actions: ReadonlyArray<(record: () => A) => HTMLElement> = [],
  foot?: HTMLElement
): Table<A> => {
  const body = h("tbody")
  const empty = h("p", { class: "empty" }, none)
  const heads = columns.map(({ head, hint }) => h("th", { scope: "col", title: hint }, head))
  if (actions.length > 0) heads.push(h("th", { scope: "col" }, h("span", { class: "hidden" }, "Actions")))
  const element = h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...heads)), body), empty)
  if (foot !== undefined) element.append(foot)
  const make = (first: A): Row<A> => {
    let record = first
    const cells = columns.map(({ cell, head, of, tone }) => {
      const element = h("td", { "data-head": head })
      const inner = cell?.(() => record)
      if (inner !== undefined) element.append(inner.element)
      const show = (next: A): void => {
        inner?.show(next)
        if (of !== undefined) setText(element, of(next))
        const is = tone?.(next)
        for (const name of tones) setClass(element, name, name === is)
      }
      return { element, show }
    })
    const row = h("tr", {}, ...cells.map(({ element: cell }) => cell))
    if (actions.length > 0) row.append(h("td", { class: "act" }, ...actions.map((action) => action(() => record))))
    return {
      element: row,
      show: (next) => {
        record = next
        for (const { show } of cells) show(next)
      }
    }
  }
  const show = rows(body, key, make)
  return {
    element,
    show: (list) => {
      show(list)
      empty.hidden = list.length > 0
    }
  }
}

interface Page<A> {
  readonly list: ReadonlyArray<A>
  readonly next_page_cursor: string
}

/** A list of the API, newest first, that is read page by page; newer records can be added in front. */
export class PagedList<A> {
  readonly records = new Live<ReadonlyArray<A>>([])
  /** Cursor of the next page; empty: all pages are read; `undefined`: none is. */
  readonly cursor = new Live<string | undefined>(undefined)
  private readonly read: (cursor: string) => Promise<Page<A>>
  private readonly key: (record: A) => string
  /** Counts resets, so that the response of a request before one is ignored. */
  private resets = 0
  /** Refreshes that were requested, and the newest one whose response was taken. */
  private requested = 0
  private taken = 0

  constructor(read: (cursor: string) => Promise<Page<A>>, key: (record: A) => string) {
    this.read = read
    this.key = key
  }
  reset(): void {
    this.resets++
    this.records.set([])
    this.cursor.set(undefined)
  }
  /** Reads the first page again and puts it in front of what is known. */
  async refresh(): Promise<void> {
    const [at, request] = [this.resets, ++this.requested]
    const page = await this.read("")
    // a response that a newer one has overtaken is older than what is shown
    if (at !== this.resets || request < this.taken) return
    this.taken = request
    const isJoined = page.list.some((record) =>
      this.records.value.some((known) => this.key(known) === this.key(record))
    )
    // records between the first page and the known ones may be missing: begin anew
    if (!isJoined || this.cursor.value === undefined) {
      this.records.set(page.list)
      this.cursor.set(page.next_page_cursor)
    } else this.add(page.list)
  }
  /** Reads the next page. */
  async more(): Promise<void> {
    const at = this.resets
    const cursor = this.cursor.value
    const { list, next_page_cursor } = await this.read(cursor ?? "")
    // a list that was begun anew meanwhile has another next page
    if (at !== this.resets || cursor !== this.cursor.value) return
    const known = new Set(this.records.value.map(this.key))
    this.records.set([...this.records.value, ...list.filter((record) => !known.has(this.key(record)))])
    this.cursor.set(next_page_cursor)
  }
  /** Newer records, newest first; they replace known ones. */
  add(newer: ReadonlyArray<A>): void {
    const keys = new Set(newer.map(this.key))
    this.records.set([...newer, ...this.records.value.filter((record) => !keys.has(this.key(record)))])
  }
}

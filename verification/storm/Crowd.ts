/** A process of sockets that come back: started by `node verification/storm/main.ts`, told over IPC what to do. */
import { fileURLToPath } from "node:url"
import { Findings, Returner, type Wish } from "./ReconnectingClient.ts"

export type Order =
  | { readonly do: "open"; readonly gateways: ReadonlyArray<string>; readonly wishes: ReadonlyArray<Wish> }
  | { readonly do: "tell" }
export interface Told {
  readonly live: number
  readonly lost: number
  readonly returned: ReadonlyArray<number>
  readonly refused: number
  readonly recovered: number
  readonly unrecovered: number
  readonly gaps: number
  readonly words: Readonly<Record<string, number>>
}

/** Sockets that connect at the same time, before anything happens. */
const OPENING_MAX = 100

const findings = new Findings()
const open = (gateways: ReadonlyArray<string>, wishes: ReadonlyArray<Wish>): void => {
  let begun = 0
  const next = (): void => {
    if (begun === wishes.length) return
    let isFirst = true
    new Returner(wishes[begun++]!, gateways, 0, findings, () => {
      if (isFirst) next()
      isFirst = false
    }).open()
  }
  for (let i = 0; i < OPENING_MAX; i++) next()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once("disconnect", () => process.exit())
  process.on("message", (order: Order) => {
    if (order.do === "open") return open(order.gateways, order.wishes)
    const { words, ...counts } = findings
    process.send?.({ ...counts, words: Object.fromEntries(words) } satisfies Told)
  })
}

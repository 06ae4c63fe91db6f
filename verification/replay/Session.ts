/**
 * A recorded exchange session, order by order, as the requests that repeat it.
 *
 * The record is market-by-order CSV: adds, modifies, cancels, and for each aggressive order a `T` row followed by an `F` row for
 * each resting order that it hit. Later `C` or `M` rows only subtract the filled size. Rows up to the end of the opening auction
 * form the opening book; later rows are steps.
 */
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"

/** Opening auction of the recorded session, Unix ns. */
export const OPENS_AT = 1_703_545_200_000_000_000n

export type Side = "Buy" | "Sell"

/** A resting order of the record. */
export interface Resting {
  readonly id: string
  readonly side: Side
  /** Decimal text. */
  readonly price: string
  readonly size: number
}

/** Exchange time of a step, Unix ns. All rows of one event have one time. */
interface Timed {
  readonly at: bigint
}

export type Step = Timed & Change
export type Change =
  | ({ readonly type: "add" } & Resting)
  /** New price and remaining size of a resting order. */
  | { readonly type: "modify"; readonly id: string; readonly price: string; readonly size: number }
  | { readonly type: "cancel"; readonly id: string }
  /** An aggressive order and the resting orders that it hit in the record, in order. */
  | {
      readonly type: "aggress"
      readonly id: string
      readonly side: Side
      readonly price: string
      readonly size: number
      readonly hits: ReadonlyArray<{ readonly id: string; readonly size: number }>
      /** The aggressor was a resting order, modified until it crossed. */
      readonly rested: boolean
    }
  /** After fills: what remained of an order in the record; 0: nothing. */
  | ({ readonly type: "settle" } & Resting)

export interface Session {
  readonly opening: ReadonlyArray<Resting>
  readonly steps: ReadonlyArray<Step>
}

interface Row {
  readonly seq: string
  readonly at: bigint
  readonly action: string
  readonly side: Side
  readonly price: string
  readonly size: number
  readonly id: string
}

const decimal = (e9: string): string => {
  const whole = e9.slice(0, -9)
  const fraction = e9.slice(-9).replace(/0+$/u, "")
  return fraction === "" ? whole : `${whole}.${fraction}`
}

const rowsOf = (file: string): ReadonlyArray<Row> => {
  const bytes = readFileSync(file)
  const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("latin1")
  return text
    .split("\n")
    .slice(1)
    .filter((line) => line !== "")
    .map((line) => {
      const [seq, at, action, side, price, size, id] = line.split(",") as [
        string,
        string,
        string,
        string,
        string,
        string,
        string
      ]
      return {
        seq,
        at: BigInt(at),
        action,
        side: side === "B" ? "Buy" : "Sell",
        price: decimal(price),
        size: Number(size),
        id
      }
    })
}

/** Reads a session. `opensAt`: Unix ns of the opening auction, which is part of the opening book. */
export const read = (file: string, opensAt: bigint): Session => {
  const rows = rowsOf(file)
  const book = new Map<string, { side: Side; price: string; size: number }>()
  const steps: Array<Step> = []
  /** Filled size that a later C or M row subtracts. */
  const filled = new Map<string, number>()
  let opening: ReadonlyArray<Resting> | undefined

  const change = (row: Row): void => {
    const known = book.get(row.id)
    switch (row.action) {
      case "A":
        book.set(row.id, { side: row.side, price: row.price, size: row.size })
        break
      case "M":
        if (known === undefined) break
        // a new price or more lots loses the place in the queue
        if (row.price !== known.price || row.size > known.size) book.delete(row.id)
        book.set(row.id, { ...known, price: row.price, size: row.size })
        break
      case "C":
        if (known !== undefined && (known.size -= row.size) <= 0) book.delete(row.id)
        break
    }
  }

  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    if (row.at <= opensAt) {
      change(row)
      continue
    }
    opening ??= [...book].map(([id, order]) => ({ id, ...order }))
    const known = book.get(row.id)
    switch (row.action) {
      case "A":
        steps.push({ at: row.at, type: "add", id: row.id, side: row.side, price: row.price, size: row.size })
        break
      case "T": {
        const hits: Array<{ id: string; size: number }> = []
        while (rows[i + 1]?.action === "F" && rows[i + 1]!.seq === row.seq) {
          const fill = rows[++i]!
          filled.set(fill.id, (filled.get(fill.id) ?? 0) + fill.size)
          if (fill.id !== row.id) hits.push({ id: fill.id, size: fill.size })
        }
        steps.push({
          at: row.at,
          type: "aggress",
          id: row.id,
          side: row.side,
          price: row.price,
          size: row.size,
          hits,
          rested: known !== undefined
        })
        break
      }
      case "C":
      case "M": {
        const pending = filled.get(row.id) ?? 0
        if (pending > 0) {
          filled.delete(row.id)
          change(row)
          const left = book.get(row.id)
          steps.push({
            at: row.at,
            type: "settle",
            id: row.id,
            side: row.side,
            price: left?.price ?? row.price,
            size: left?.size ?? 0
          })
          continue
        }
        steps.push(
          row.action === "M"
            ? { at: row.at, type: "modify", id: row.id, price: row.price, size: row.size }
            : { at: row.at, type: "cancel", id: row.id }
        )
        break
      }
    }
    change(row)
  }
  return { opening: opening ?? [], steps }
}

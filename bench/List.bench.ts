/**
 * A list of 20 orders as a response, within this process.
 *
 * Floor: JSON.stringify of the objects. Peer: their compiled schema, then JSON.stringify. Subject: the joined texts that the
 * rows were encoded to with their events. Left out: reading the rows, and HTTP.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { Schema } from "effect"
import { createHash } from "node:crypto"
import { orderExample } from "../src/http/api/OrderApi.ts"
import { Order } from "../src/domain/Order.ts"
import { page } from "../src/domain/Page.ts"
import * as RecordJson from "../src/domain/RecordJson.ts"
import { textOf } from "../src/http/handlers/PreEncodedList.ts"
import { header, print, type Row, summary } from "./Harness.ts"

export interface Options {
  readonly rounds: number
  /** Lists per variant and round. */
  readonly lists: number
}

const ROWS = 20
const BRACE = 125

export const run = (options: Options): ReadonlyArray<Row> => {
  const orders = Array.from({ length: ROWS }, (_, i) => ({
    ...(orderExample as Order),
    order_link_id: `a-${i}`,
    created_time: String(1767225600000 + i)
  }))
  const texts = orders.map(RecordJson.order)
  const list = texts.map((text) => JSON.parse(text) as Order)
  const encode = Schema.encodeUnknownSync(page(Order))
  const variants: Record<string, () => string> = {
    stringify: () => JSON.stringify({ list, next_page_cursor: "" }),
    schema: () => JSON.stringify(encode({ list, next_page_cursor: "" })),
    joined: () => textOf(texts, { next_page_cursor: "" })
  }
  const names = Object.keys(variants)
  const expected = variants["stringify"]!()
  const cpu = new Map(names.map((name) => [name, [] as Array<number>]))
  const errors = new Map(names.map((name) => [name, 0]))
  for (let round = 0; round <= options.rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const variant = variants[name]!
      if (variant() !== expected) errors.set(name, errors.get(name)! + 1)
      let chars = 0
      const before = process.cpuUsage()
      for (let i = 0; i < options.lists; i++) {
        const text = variant()
        // reading a character flattens the concatenated text
        chars += text.charCodeAt(text.length - 1) === BRACE ? text.length : 0
      }
      const { system, user } = process.cpuUsage(before)
      if (chars !== expected.length * options.lists) throw new Error(`${name} lost characters`)
      if (round > 0) cpu.get(name)!.push((user + system) / options.lists)
    }
  }
  const floor = cpu.get(names[0]!)!
  return names.map((name) => ({
    name,
    cpu_us: summary(cpu.get(name)!),
    ratio: summary(cpu.get(name)!.map((value, round) => value / floor[round]!)),
    rate: summary(cpu.get(name)!.map((value) => 1e6 / value)),
    p50_us: 0,
    p99_us: 0,
    rss_mb: process.memoryUsage.rss() / 1_048_576,
    gc_ms: 0,
    errors: errors.get(name)!,
    hash: createHash("sha256").update(expected).digest("hex").slice(0, 16)
  }))
}

export const main = (): Promise<void> => {
  const options: Options = { rounds: 6, lists: 20_000 }
  print(header("npm run bench -- list", options.rounds, "reading the rows, and all of HTTP"), run(options))
  return Promise.resolve()
}

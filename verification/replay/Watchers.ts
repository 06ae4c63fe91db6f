/** Subscribers of the book at its four depths: each keeps one of its own, and all are compared with REST. */
import { Effect, Schedule } from "effect"
import type { Client } from "../../src/client/index.ts"
import type { LocalBook } from "../../src/client/LocalBook.ts"
import { checksum } from "../../src/domain/Book.ts"
import { depths } from "../../src/domain/Enumerations.ts"
import type { Level } from "../../src/domain/Market.ts"

/** Longest wait for the books to be level, in ms. */
const LEVEL_MS = 30_000
/** Pause between two looks, in ms. */
const LOOK_MS = 20
/** Times that REST is asked while the gateway is away, and the pause between two, in ms. */
const REPEATS_MAX = 400
const REPEAT_MS = 50
/** Subscribers that connect at the same time. */
const CONNECTING_MAX = 20

export interface Counts {
  /** Books found equal to REST. */
  bookChecks: number
  /** Messages missing, checksums that differ. */
  bookFaults: number
  /** Messages after which a book was crossed. */
  crossed: number
}

const same = (a: ReadonlyArray<Level>, b: ReadonlyArray<Level>): boolean =>
  a.length === b.length && a.every(([price, qty], i) => price === b[i]![0] && qty === b[i]![1])

/** Starts `count` subscribers, as many at each depth; answers the comparison of all their books with REST. */
export const follow = Effect.fnUntraced(function* (
  client: Client.Client,
  symbol: string,
  count: number,
  counts: Counts
) {
  const watchers = yield* Effect.forEach(
    Array.from({ length: count }, (_, i) => depths[i % depths.length]!),
    (depth) =>
      Effect.map(
        client.feed({
          topics: [`orderbook.${depth}.${symbol}`],
          path: "/ws/public",
          onEvent: (event) => {
            if (event.kind !== "fault") return
            if (event.fault === "crossed") counts.crossed++
            else counts.bookFaults++
          }
        }),
        (feed) => ({ depth, book: (): LocalBook | undefined => feed.book(symbol, depth) })
      ),
    { concurrency: CONNECTING_MAX }
  )
  const rest = Effect.retry(client.market.orderbook({ query: { symbol, depth: Math.max(...depths) } }), {
    times: REPEATS_MAX,
    schedule: Schedule.spaced(REPEAT_MS)
  }).pipe(Effect.orDie)

  /** Waits until all books are level with REST, level by level. Nobody trades meanwhile. */
  return Effect.gen(function* () {
    const deadline = performance.now() + LEVEL_MS
    for (;;) {
      const { asks, bids, seq } = yield* rest
      let behind: string | undefined
      for (const { book: of, depth } of watchers) {
        const book = of()
        // a change beyond the depth moves the market's seq and not the topic's: then the same levels stand at a lower one
        if (book?.sound === true && book.seq <= seq) {
          const [received, wanted] = [
            [book.bids(depth), book.asks(depth)],
            [bids.slice(0, depth), asks.slice(0, depth)]
          ] as const
          const level = same(received[0], wanted[0]) && same(received[1], wanted[1])
          if (level && checksum(...received) === checksum(...wanted)) continue
          if (book.seq === seq) return yield* Effect.die(new Error(`a book of depth ${depth} differs at seq ${seq}`))
        }
        behind = `a book of depth ${depth} stands at ${book?.seq}, REST at ${seq}`
        break
      }
      if (behind === undefined) return void (counts.bookChecks += watchers.length)
      if (performance.now() > deadline) return yield* Effect.die(new Error(behind))
      yield* Effect.sleep(LOOK_MS)
    }
  })
})

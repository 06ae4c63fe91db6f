/**
 * Resuming user streams after cuts. Users trade while every connection is cut at random moments, some are kept away for a
 * while, and the gateway is killed. When everything is calm, no client may have missed an event or received one twice, and
 * each holds what REST lists.
 */
import { Effect, Latch } from "effect"
import { Client } from "../../src/client/index.ts"
import { enlistAll, SYMBOL, trade, type Trader } from "../harness/Trader.ts"
import { RETRY, until } from "../harness/Wait.ts"
import { compareBook, compareUser } from "../streams/Comparison.ts"
import { DEPTH, follow, type TypedFollower } from "../streams/Follower.ts"
import { Findings, UserEvents } from "../streams/StreamChecker.ts"
import { CutGateway, type CutOptions } from "./CutGateway.ts"
import type { CuttingProxy } from "./CuttingProxy.ts"

export interface Report {
  readonly total: number
  readonly cuts: Readonly<Record<string, number>>
  readonly kills: number
  readonly messages: number
  readonly resumed: number
  readonly unrecovered: number
  /** Clients compared with REST, those of them after a gap, and books. */
  readonly compared: number
  readonly comparedAfterGap: number
  readonly booksCompared: number
  readonly gaps: number
  readonly repetitions: number
  readonly differences: number
  readonly bookFaults: number
  readonly faults: ReadonlyArray<string>
  readonly seconds: number
}

export const reconnect = Effect.fnUntraced(function* (options: CutOptions) {
  // a proxy for each connection of a user in turn, and one for books: so some of a user's clients are cut off and others not
  const gateway = yield* Effect.acquireRelease(
    Effect.promise(() => CutGateway.start(options, options.connections + 1)),
    (gateway) => Effect.promise(() => gateway.close())
  )
  const { next, proxies } = gateway
  const traders = yield* enlistAll(gateway.url, options.users)
  const findings = new Findings()
  const through = (proxy: CuttingProxy, credential?: Client.Credential) =>
    Client.make({ baseUrl: `http://127.0.0.1:${proxy.port}`, ...(credential === undefined ? {} : { credential }) })
  const followers: Array<Array<TypedFollower>> = []
  for (const [i, { key, token }] of traders.entries()) {
    const own: Array<TypedFollower> = []
    const events = new UserEvents()
    for (let c = 0; c < options.connections; c++) {
      // one in four signs, the others have a token
      const credential = c % 4 === 3 ? ({ type: "api-key", key } as const) : ({ type: "token", token } as const)
      const client = yield* through(proxies[c]!, credential)
      own.push(yield* follow(`user ${i}, connection ${c}`, client, events, findings))
    }
    followers.push(own)
  }
  const publicClient = yield* through(proxies.at(-1)!)
  const books = yield* Effect.all(Array.from({ length: options.books }, () => publicClient.book(SYMBOL, DEPTH)))
  const direct = yield* Client.make({ baseUrl: gateway.url })

  const latch = Latch.makeUnsafe(false)
  const busy = new Set<Trader>()
  for (const trader of traders) yield* Effect.forkScoped(trade(trader, next, latch, busy))

  let [compared, comparedAfterGap, booksCompared] = [0, 0, 0]
  const compare = async (): Promise<void> => {
    latch.closeUnsafe()
    await until(
      () => `${busy.size} commands are answered`,
      () => busy.size === 0
    )
    for (const [i, trader] of traders.entries()) {
      const seen = await compareUser(gateway.url, trader, followers[i]!, findings)
      compared += seen.compared
      comparedAfterGap += seen.afterGap
    }
    const rest = await Effect.runPromise(
      Effect.retry(direct.market.orderbook({ query: { symbol: SYMBOL, depth: DEPTH } }), RETRY)
    )
    for (const [i, { get }] of books.entries()) {
      await compareBook(`book ${i}`, get, rest)
      booksCompared++
    }
  }
  yield* Effect.promise(() =>
    gateway.run(
      () => latch.openUnsafe(),
      compare,
      () => findings.faults.length > 0
    )
  )
  const counts = followers.flat().map(({ feed }) => feed.counts())
  return {
    total: gateway.total,
    cuts: gateway.cuts,
    kills: gateway.kills,
    messages: findings.messages,
    resumed: findings.resumed,
    unrecovered: findings.unrecovered,
    compared,
    comparedAfterGap,
    booksCompared,
    gaps: findings.gaps + counts.reduce((sum, { faults }) => sum + faults.gap, 0),
    repetitions: findings.repetitions + counts.reduce((sum, { faults }) => sum + faults.repetition, 0),
    differences: findings.differences,
    bookFaults: books.reduce((sum, { get }) => sum + get().faults, 0),
    faults: findings.faults,
    seconds: gateway.seconds
  } satisfies Report
}, Effect.scoped)

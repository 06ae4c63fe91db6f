/**
 * The plain client under cuts. Users trade over connections that break, others follow the events, and the gateway is killed
 * now and then. When everything is calm, no client may have missed an event or received one twice, each order exists as often
 * as its answer says, and every account and book is equal to REST.
 */
import { Effect } from "effect"
import { Account } from "../../src/client/index.ts"
import { privateTopics } from "../../src/domain/Topic.ts"
import { connect, type LiveBook } from "../../src/sdk/index.ts"
import { enlistAll, SYMBOL } from "../harness/Trader.ts"
import { until } from "../harness/Wait.ts"
import { CutGateway, type CutOptions } from "../reconnect/CutGateway.ts"
import type { CuttingProxy } from "../reconnect/CuttingProxy.ts"
import { compareBook, compareUser } from "../streams/Comparison.ts"
import { DEPTH, type Follower } from "../streams/Follower.ts"
import { Findings, StreamChecker, UserEvents } from "../streams/StreamChecker.ts"
import { SdkTrader } from "./SdkTrader.ts"

/** Cuts until so many connections are cut, and reports. */
export const sdkCuts = async (options: CutOptions) => {
  // one proxy for each connection of a user in turn, one for books, one for orders
  const gateway = await CutGateway.start(options, options.connections + 2)
  const { next, proxies } = gateway
  const stop = new AbortController()
  const findings = new Findings()
  const urlOf = (proxy: CuttingProxy) => `http://127.0.0.1:${proxy.port}`
  let [compared, comparedAfterGap, booksCompared] = [0, 0, 0]
  const running: Array<Promise<void>> = []

  try {
    const traders: Array<SdkTrader> = []
    const followers: Array<Array<Follower>> = []
    const users = await Effect.runPromise(enlistAll(gateway.url, options.users, ["read", "trade"]))
    for (const [i, user] of users.entries()) {
      const trader = new SdkTrader(`user${i}`, user, next)
      await trader.connect(urlOf(proxies.at(-1)!), stop.signal)
      traders.push(trader)
      const events = new UserEvents()
      const own: Array<Follower> = []
      for (let c = 0; c < options.connections; c++) {
        const name = `user ${i}, connection ${c}`
        // one in two signs, the others have a token
        const { key, token } = user
        const sign = async (text: string) => key.sign(text)
        const credential = c % 2 === 1 ? { key: { public_key: key.public_key, sign } } : { token }
        const exchange = await connect({ url: urlOf(proxies[c]!), signal: stop.signal, ...credential })
        let account = Account.empty
        const checker = new StreamChecker(name, events, findings)
        const follower = { name, account: () => account, checker, unchecked: false }
        const read = async (): Promise<void> => {
          for await (const event of exchange.events(privateTopics)) {
            checker.take(event)
            account = Account.apply(account, event)
            if (event.kind === "resume" && !event.recovered) follower.unchecked = true
          }
        }
        running.push(read().catch((error: unknown) => findings.wrong(`${name}: ${String(error)}`)))
        own.push(follower)
      }
      followers.push(own)
    }
    const publicExchange = await connect({ url: urlOf(proxies.at(-2)!), signal: stop.signal })
    const books: Array<LiveBook> = []
    for (let i = 0; i < options.books; i++) books.push(await publicExchange.book(SYMBOL, DEPTH))

    let isOpen = false
    for (const trader of traders) running.push(trader.trade(() => isOpen, stop.signal))

    const compare = async (): Promise<void> => {
      isOpen = false
      await until("all commands are answered", () => traders.every(({ isBusy }) => !isBusy))
      for (const [i, trader] of traders.entries()) {
        const seen = await compareUser(gateway.url, trader.trader, followers[i]!, findings)
        compared += seen.compared
        comparedAfterGap += seen.afterGap
        const own = await connect({ url: gateway.url, token: trader.trader.token })
        await trader.audit(own, findings)
        own.close()
      }
      const direct = await connect({ url: gateway.url })
      const rest = await direct.market.orderbook({ symbol: SYMBOL, depth: DEPTH })
      direct.close()
      for (const [i, book] of books.entries()) {
        await compareBook(`book ${i}`, () => book, rest)
        booksCompared++
      }
    }
    await gateway.run(
      () => (isOpen = true),
      compare,
      () => findings.faults.length > 0
    )
    const beliefs = traders.flatMap(({ orders }) => [...orders.values()])
    return {
      cuts: gateway.total,
      kills: gateway.kills,
      events: findings.messages,
      resumed: findings.resumed,
      unrecovered: findings.unrecovered,
      /** Clients compared with REST, those of them after a gap, and books. */
      compared,
      comparedAfterGap,
      booksCompared,
      /** Orders, requests without an answer, and orders whose fate stays unknown. */
      orders: beliefs.length,
      unanswered: traders.reduce((sum, { unanswered }) => sum + unanswered, 0),
      unknown: beliefs.filter((belief) => belief === null).length,
      gaps: findings.gaps,
      repetitions: findings.repetitions,
      differences: findings.differences,
      bookFaults: books.reduce((sum, { faults }) => sum + faults, 0),
      faults: findings.faults,
      seconds: gateway.seconds
    }
  } finally {
    stop.abort()
    await gateway.close()
    await Promise.allSettled(running)
  }
}

/**
 * The Python client under cuts, as verification/sdk does it for the SDK: users trade over connections that break, others follow the
 * events, and the gateway is killed now and then. No follower may miss an event or receive one twice, each order exists as often as
 * its answer says, and every account and book is equal to REST. The checks are the ones of the other clients.
 */
import { Effect } from "effect"
import { Account } from "../../src/client/index.ts"
import { connect } from "../../src/sdk/index.ts"
import { enlistAll, PRICES, SYMBOL } from "../harness/Trader.ts"
import { until } from "../harness/Wait.ts"
import { CutGateway, type CutOptions } from "../reconnect/CutGateway.ts"
import { auditOrders } from "../sdk/SdkTrader.ts"
import { compareUser } from "../streams/Comparison.ts"
import { DEPTH, type Follower } from "../streams/Follower.ts"
import { Findings, StreamChecker, UserEvents } from "../streams/StreamChecker.ts"
import { PythonClients } from "./PythonClients.ts"

/** Cuts until so many connections are cut, and reports. */
export const pythonCuts = async (options: CutOptions) => {
  // one proxy for each connection of a user in turn, one for books, one for orders
  const gateway = await CutGateway.start(options, options.connections + 2)
  const { proxies } = gateway
  const findings = new Findings()
  const urlOf = (place: number) => `http://127.0.0.1:${proxies.at(place)!.port}`
  let [compared, comparedAfterGap, booksCompared] = [0, 0, 0]
  let clients: PythonClients | undefined
  try {
    const users = await Effect.runPromise(enlistAll(gateway.url, options.users, ["read", "trade"]))
    const followers: Array<Follower & { readonly take: StreamChecker["take"] }> = []
    const setting = {
      seed: options.seed,
      symbol: SYMBOL,
      prices: PRICES,
      traders: urlOf(-1),
      books: urlOf(-2),
      book_count: options.books,
      users: users.map(({ seed, token, vault }, i) => {
        const events = new UserEvents()
        const own = Array.from({ length: options.connections }, (_, c) => {
          const name = `user ${i}, connection ${c}`
          let account = Account.empty
          const checker = new StreamChecker(name, events, findings)
          const follower = { name, account: () => account, checker, unchecked: false }
          followers.push(
            Object.assign(follower, {
              take: (event: Parameters<StreamChecker["take"]>[0]) => {
                checker.take(event)
                account = Account.apply(account, event)
                if (event.kind === "resume" && !event.recovered) follower.unchecked = true
              }
            })
          )
          // one in two signs, the others have a token
          return { number: followers.length - 1, url: urlOf(c), signs: c % 2 === 1 }
        })
        return { seed, token, vault, followers: own }
      })
    }
    clients = new PythonClients(
      setting,
      (follower, event) => followers[follower]!.take(event),
      (fault) => findings.wrong(fault)
    )
    const { ready } = clients
    await ready
    const { report, send } = { report: () => clients!.report(), send: (command: string) => clients!.send(command) }

    const compare = async (): Promise<void> => {
      send("pause")
      await until("all commands are answered", async () => !(await report()).busy)
      const { orders } = await report()
      for (const [i, user] of users.entries()) {
        const own = followers.slice(i * options.connections, (i + 1) * options.connections)
        const seen = await compareUser(gateway.url, user, own, findings)
        compared += seen.compared
        comparedAfterGap += seen.afterGap
        const direct = await connect({ url: gateway.url, token: user.token })
        const beliefs = Object.entries(orders[i]!).map(([link, id]) => [link, id === "" ? undefined : id] as const)
        await auditOrders(`user${i}`, new Map(beliefs), direct, findings)
        direct.close()
      }
      const direct = await connect({ url: gateway.url })
      const rest = await direct.market.orderbook({ symbol: SYMBOL, depth: DEPTH })
      direct.close()
      const levels = JSON.stringify([rest.bids, rest.asks])
      await until("all books are that of REST", async () =>
        (await report()).books.every(({ asks, bids, sound }) => sound && JSON.stringify([bids, asks]) === levels)
      )
      booksCompared += options.books
    }
    await gateway.run(
      () => send("trade"),
      compare,
      () => findings.faults.length > 0
    )
    const last = await report()
    const beliefs = last.orders.flatMap((orders) => Object.values(orders))
    return {
      cuts: gateway.total,
      kills: gateway.kills,
      events: findings.messages,
      resumed: findings.resumed,
      unrecovered: findings.unrecovered,
      /** Followers compared with REST, those of them after a gap, and books. */
      compared,
      comparedAfterGap,
      booksCompared,
      /** Orders, and orders whose fate stays unknown. */
      orders: beliefs.length,
      unknown: beliefs.filter((belief) => belief === null).length,
      gaps: findings.gaps,
      repetitions: findings.repetitions,
      differences: findings.differences,
      bookFaults: last.books.reduce((sum, { faults }) => sum + faults, 0),
      faults: findings.faults,
      seconds: gateway.seconds
    }
  } finally {
    await clients?.close()
    await gateway.close()
  }
}

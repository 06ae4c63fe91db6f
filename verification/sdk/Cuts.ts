/**
 * The plain client under cuts: users trade over connections that break all the time, others follow what becomes of it, and now and
 * then the gateway is killed. When all is quiet nobody may have missed an event or been told one twice, each order is there as
 * often as its caller was told, and every account and book is what REST says.
 */
import { Effect } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Account } from "../../src/client/index.ts"
import { privateTopics } from "../../src/domain/Topic.ts"
import { connect, type LiveBook } from "../../src/sdk/index.ts"
import { random } from "../harness/SimulatedUsers.ts"
import { Cutter } from "../reconnect/CuttingProxy.ts"
import { DEPTH, differences, type Follower, sameBook, SYMBOL } from "../streams/Follower.ts"
import { ClientLedger, Findings, UserLedger } from "../streams/StreamChecker.ts"
import { PlainTrader } from "./Trader.ts"
import { type Load, LEVEL_MS, LOOK_MS, PATIENT, standingOf, startToCut } from "../streams/RestState.ts"
import { enlist } from "../harness/Trader.ts"

export interface Options extends Load {
  /** Connections to be cut. */
  readonly cuts: number
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const waitFor = async (what: () => string | undefined): Promise<void> => {
  for (const deadline = performance.now() + LEVEL_MS; ; await sleep(LOOK_MS)) {
    const missing = what()
    if (missing === undefined) return
    if (performance.now() > deadline) throw new Error(`not within ${LEVEL_MS} ms: ${missing}`)
  }
}

/** Cuts until so many connections were cut, and answers what was found. */
export const plainCuts = async (options: Options) => {
  const began = performance.now()
  const next = random(options.seed)
  const dataDir = mkdtempSync(join(tmpdir(), "plain-cuts-"))
  const start = (port?: number) => startToCut({ dataDir, kept: options.kept, port })
  let gateway = await start()
  // one for each connection of a user in turn, one for books, one for orders
  const cutters = Array.from({ length: options.connections + 2 }, () => new Cutter(next, () => gateway.port))
  const stop = new AbortController()
  const findings = new Findings()
  const urlOf = (cutter: Cutter) => `http://127.0.0.1:${cutter.port}`
  const cuts = () => cutters.reduce((sum, cutter) => sum + cutter.total, 0)
  let [compared, comparedAfterHole, booksCompared, kills] = [0, 0, 0, 0]
  const reading: Array<Promise<void>> = []

  try {
    for (const cutter of cutters) {
      cutter.calm(true)
      await cutter.listen()
    }
    const traders: Array<PlainTrader> = []
    const followers: Array<Array<Follower>> = []
    for (let i = 0; i < options.users; i++) {
      const trader = await Effect.runPromise(Effect.retry(enlist(gateway.url, ["read", "trade"]), PATIENT))
      const plain = new PlainTrader(`user${i}`, trader, next)
      await plain.connect(urlOf(cutters.at(-1)!), stop.signal)
      traders.push(plain)
      const told = new UserLedger()
      const own: Array<Follower> = []
      for (let c = 0; c < options.connections; c++) {
        const name = `user ${i}, connection ${c}`
        // one in two signs, the others have a token
        const { key, token } = trader
        const sign = async (text: string) => key.sign(text)
        const credential = c % 2 === 1 ? { key: { public_key: key.public_key, sign } } : { token }
        const exchange = await connect({ url: urlOf(cutters[c]!), signal: stop.signal, ...credential })
        let account = Account.empty
        const follower = {
          name,
          account: () => account,
          ledger: new ClientLedger(name, told, findings),
          unchecked: false
        }
        const read = async (): Promise<void> => {
          for await (const event of exchange.events(privateTopics)) {
            follower.ledger.take(event)
            account = Account.apply(account, event)
            if (event.kind === "resume" && !event.recovered) follower.unchecked = true
          }
        }
        reading.push(read().catch((error: unknown) => findings.wrong(`${name}: ${String(error)}`)))
        own.push(follower)
      }
      followers.push(own)
    }
    const anybody = await connect({ url: urlOf(cutters.at(-2)!), signal: stop.signal })
    const books: Array<LiveBook> = []
    for (let i = 0; i < options.books; i++) books.push(await anybody.book(SYMBOL, DEPTH))

    let isOpen = false
    for (const trader of traders) reading.push(trader.trade(() => isOpen, stop.signal))

    /** Pauses everything, and compares. */
    const compare = async (): Promise<void> => {
      isOpen = false
      for (const cutter of cutters) cutter.calm(true)
      await waitFor(() => traders.find(({ isBusy }) => isBusy) && "a command that is answered")
      const direct = await connect({ url: gateway.url })
      for (const [i, plain] of traders.entries()) {
        const standing = await standingOf(gateway.url, plain.trader)
        for (const follower of followers[i]!) {
          await waitFor(() => {
            const { live, seq } = follower.account()
            const is = `${follower.name} is at ${seq}, live: ${live}; REST at ${standing.seq}`
            return live && seq >= standing.seq ? undefined : is
          })
          findings.faults.push(...differences(follower, standing))
          follower.ledger.audit(standing.seq)
          compared++
          if (follower.unchecked) comparedAfterHole++
          follower.unchecked = false
        }
        const own = await connect({ url: gateway.url, token: plain.trader.token })
        await plain.audit(own, findings)
        own.close()
      }
      const rest = await direct.market.orderbook({ symbol: SYMBOL, depth: DEPTH })
      direct.close()
      for (const [i, book] of books.entries()) {
        await waitFor(() => (book.sound && sameBook(book, rest) ? undefined : `book ${i} is not that of REST`))
        booksCompared++
      }
    }

    for (let round = 1; cuts() < options.cuts && findings.faults.length === 0; round++) {
      for (const cutter of cutters) cutter.calm(false)
      isOpen = true
      const until = performance.now() + options.round_ms
      cutters[Math.floor(next() * cutters.length)]!.absent(options.round_ms * (0.3 + next() * 0.5))
      if (round % options.killEvery === 0) {
        await sleep(next() * options.round_ms * 0.5)
        await gateway.kill()
        gateway = await start(gateway.port)
        kills++
      }
      while (performance.now() < until && cuts() < options.cuts) await sleep(LOOK_MS)
      await compare()
      options.say(
        `${cuts()} cuts, ${kills} kills, ${findings.messages} events, ${Math.round((performance.now() - began) / 1_000)} s`
      )
    }
    const beliefs = traders.flatMap(({ orders }) => [...orders.values()])
    return {
      cuts: cuts(),
      kills,
      events: findings.messages,
      resumed: findings.resumed,
      unrecovered: findings.unrecovered,
      /** Clients compared with REST when all was quiet, those of them after a hole, and books. */
      compared,
      comparedAfterHole,
      booksCompared,
      /** Orders that were asked for; requests of theirs that were not answered; orders that nobody knows of in the end. */
      orders: beliefs.length,
      unanswered: traders.reduce((sum, { unanswered }) => sum + unanswered, 0),
      unknown: beliefs.filter((belief) => belief === null).length,
      gaps: findings.gaps,
      repetitions: findings.repetitions,
      differences: findings.differences,
      bookFaults: books.reduce((sum, { faults }) => sum + faults, 0),
      /** What was found wrong, in words. */
      faults: findings.faults,
      seconds: Math.round((performance.now() - began) / 1_000)
    }
  } finally {
    stop.abort()
    for (const cutter of cutters) cutter.close()
    await Promise.allSettled(reading)
    await gateway.kill()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/**
 * A client without Effect, for bots: every endpoint as a function, login and signing, orders that are placed once however often
 * the line breaks, books and order events that go on where they stood. In Node 22 and later, and in a browser.
 *
 * ```ts
 * const exchange = await connect({ url: "http://127.0.0.1:3010", key: seedOfMyApiKey })
 * const { list } = await exchange.user.subAccounts()
 * const order = await exchange.order.create({ sub_account_address, symbol: "BTC-USDC", side: "Buy", ... })
 * for await (const event of exchange.orderEvents()) if (event.kind === "order") console.log(event.data.list)
 * ```
 */
import type { FeedEvent } from "../client/FeedEvent.ts"
import { nonce } from "../client/Signed.ts"
import type { Depth } from "../domain/Enumerations.ts"
import { loginMessage } from "../domain/SigningMessages.ts"
import { type Environment, here, joined } from "./Environment.ts"
import type { Connection } from "./Feed.ts"
import { type EventOptions, events, LiveBook, type OrderEvent, orderEvents } from "./Follow.ts"
import { type Identity, ofApiKey, ofToken, ofWallet } from "./Identity.ts"
import { keyOf, type KeySource } from "./Key.ts"
import { type Response, type CallOptions, type Input, isOpen, type Methods, operations } from "./Operations.ts"
import { create, createBatch } from "./Orders.ts"
import { type Limits, PATIENCE_MS, Rest, TRIES_MAX, TRY_MS } from "./Rest.ts"
import { ServerClock } from "./ServerClock.ts"

/** At most one of `key`, `wallet` and `token`; without one only public operations and topics are open. */
export interface Options {
  /** Where the gateway is, such as `http://127.0.0.1:3010`. */
  readonly url: string
  /** An API key, which signs every request: for bots, which may go faster with one than with a token. */
  readonly key?: KeySource
  /** Whether an API key's signature binds the body too; by default it does, where WebCrypto is there to hash it. */
  readonly bodyHash?: boolean
  /** A wallet, which logs in and renews its token by itself. */
  readonly wallet?: KeySource
  /** Id of the party, `<hint>::<fingerprint>`, whose key `wallet` is; absent: the wallet is an address. */
  readonly party?: string
  /** A token that somebody else got. */
  readonly token?: string
  /** Ends everything: calls, feeds and books. */
  readonly signal?: AbortSignal
  /** How long and how often a call is tried; see the constants of the same names. */
  readonly limits?: Partial<Limits>
  /** Parts of the environment to be used instead of what is here. */
  readonly environment?: Partial<Environment>
}

/** What a client can do besides the operations. */
export interface Exchange extends Methods {
  /** The gateway's clock: `now()`, and how far it is ahead of this machine's. */
  readonly clock: Pick<ServerClock, "now" | "offset_ms" | "error_ms">
  /** Measures the gateway's clock again; answers how far it is ahead, in ms. */
  readonly syncClock: (options?: CallOptions) => Promise<number>
  /** Follows topics on a connection of their own, all public or all private; see `FeedEvent` for what is told. */
  readonly events: (topics: ReadonlyArray<string>, options?: EventOptions) => AsyncGenerator<FeedEvent, void, undefined>
  /**
   * Follows the caller's orders. After a lost line they go on without a hole and without anything twice, or a `resume` event with
   * `recovered: false` says that they could not, and a snapshot of what is open follows.
   */
  readonly orderEvents: (options?: EventOptions) => AsyncGenerator<OrderEvent, void, undefined>
  /** Keeps the book of a market, at most `depth` levels a side. */
  readonly book: (symbol: string, depth: Depth, options?: CallOptions) => Promise<LiveBook>
  /** Ends everything that is under way. */
  readonly close: () => void
}

const loginOf =
  (rest: Rest, clock: ServerClock, source: Promise<Awaited<ReturnType<typeof keyOf>>>, party: string | undefined) =>
  (): Promise<Response<"authorize", "login">> =>
    rest.ask({
      method: "POST",
      path: "/authorize",
      open: true,
      repeatable: true,
      // a login is spent by a try that was not answered: each signs anew
      input: async (): Promise<Input<"authorize", "login">> => {
        const key = await source
        const public_key = party ?? key.public_key
        const timestamp_ms = clock.now()
        const fresh = nonce()
        const signature = await key.sign(loginMessage(public_key, timestamp_ms, fresh))
        const named = { public_key, signature, timestamp_ms, nonce: fresh }
        return party === undefined ? named : { ...named, verifying_key: key.public_key }
      }
    })

const methodsOf = (rest: Rest): Methods =>
  // the table says of each function what it takes and answers
  Object.fromEntries(
    Object.entries(operations).map(([group, named]) => [
      group,
      Object.fromEntries(
        Object.entries<string>(named).map(([name, line]) => {
          const [method = "", path = ""] = line.split(" ")
          const fixed = { method, path, open: isOpen(group, name), repeatable: method === "GET" }
          return [
            name,
            (input: object = {}, options?: CallOptions) =>
              rest.ask({ ...fixed, input: () => input, signal: options?.signal })
          ]
        })
      )
    ])
  ) as unknown as Methods

/**
 * Connects: measures the gateway's clock, and logs a wallet in. Rejects with an `ExchangeError` where the gateway says no, or
 * does not answer.
 */
export const connect = async (options: Options): Promise<Exchange> => {
  const environment: Environment = { ...here(), ...options.environment }
  const { abort, free, signal } = joined(options.signal)
  const close = (): void => {
    abort()
    free()
  }
  const url = options.url.replace(/\/+$/u, "")
  const clock = new ServerClock(environment)
  const limits = { tries_max: TRIES_MAX, try_ms: TRY_MS, patience_ms: PATIENCE_MS, ...options.limits }
  const rest = new Rest(url, environment, clock, limits, signal)
  const methods = methodsOf(rest)

  const syncClock = async (call?: CallOptions): Promise<number> => {
    let sent = 0
    const { server_ts_ms } = await rest.ask<Response<"market", "time">>({
      method: "GET",
      path: "/market/time",
      open: true,
      repeatable: true,
      input: () => {
        sent = environment.now()
        return {}
      },
      signal: call?.signal
    })
    clock.set(server_ts_ms, sent)
    return clock.offset_ms
  }
  const identify = async (): Promise<Identity | undefined> => {
    const { bodyHash = globalThis.crypto.subtle !== undefined, key, party, token, wallet } = options
    if (key !== undefined) return ofApiKey(await keyOf(key), { clock, bodyHash, syncClock })
    if (wallet !== undefined) return ofWallet(clock, loginOf(rest, clock, keyOf(wallet), party))
    return token === undefined ? undefined : ofToken(token)
  }

  let identity: Identity | undefined
  try {
    await syncClock()
    rest.identity = identity = await identify()
    // a wallet that is not let in is told so here
    if (options.wallet !== undefined) await identity?.headers({ method: "", uri: "", body: "" })
  } catch (error) {
    close()
    throw error
  }
  const connection: Connection = {
    url: url.replace(/^http/u, "ws"),
    environment,
    identity,
    signal
  }
  return {
    ...methods,
    order: { ...methods.order, create: create(rest), createBatch: createBatch(rest) },
    clock,
    syncClock,
    events: (topics, how) => events(connection, topics, how),
    orderEvents: (how) => orderEvents(connection, how),
    book: (symbol, depth, call) => LiveBook.open(connection, symbol, depth, call),
    close
  }
}

/**
 * The SDK, a client without Effect for bots: every endpoint as a function, login and signing, orders that are placed exactly once
 * despite lost connections, order books, and order events that resume after a reconnect. For Node 20 and later, and browsers.
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
import type { CallOptions } from "./CallOptions.ts"
import { type Environment, here, joined } from "./Environment.ts"
import type { Connection } from "./Feed.ts"
import { type EventOptions, events, LiveBook, type OrderEvent, orderEvents } from "./Follow.ts"
import { type Identity, ofApiKey, ofToken, ofWallet } from "./Identity.ts"
import { type Key, keyOf } from "./Key.ts"
import { PATIENCE_MS, TRIES_MAX, TRY_MS } from "./Limits.ts"
import type { Input, Methods, Response } from "./Methods.ts"
import { isOpen, operations } from "./Operations.ts"
import { checkedUrl, type Options } from "./Options.ts"
import { create, createBatch } from "./Orders.ts"
import { Rest } from "./Rest.ts"
import { ServerClock } from "./ServerClock.ts"

/** The operations by group, clock, feeds and books. */
export interface Exchange extends Methods {
  /** The gateway's clock: `now()`, and its offset from this machine's. */
  readonly clock: Pick<ServerClock, "now" | "offset_ms" | "error_ms">
  /** Measures the gateway's clock again; resolves to its offset, in ms. */
  readonly syncClock: (options?: CallOptions) => Promise<number>
  /** Follows topics, all public or all private, on their own connection; see `FeedEvent`. Rejects where the gateway refuses all of them. */
  readonly events: (topics: ReadonlyArray<string>, options?: EventOptions) => AsyncGenerator<FeedEvent, void, undefined>
  /**
   * Follows the caller's orders. After a lost connection the events resume without a gap or a repetition. If that is not possible,
   * a `resume` event has `recovered: false`, and a snapshot of the open orders follows.
   */
  readonly orderEvents: (options?: EventOptions) => AsyncGenerator<OrderEvent, void, undefined>
  /** A live order book of a market, with at most `depth` levels per side. */
  readonly book: (symbol: string, depth: Depth, options?: CallOptions) => Promise<LiveBook>
  /**
   * Ends all calls, feeds and books. Their WebSockets begin a closing handshake, for which Node waits while the gateway does not
   * respond: a program that has to end then calls `process.exit()`.
   */
  readonly close: () => void
}

const loginOf =
  (rest: Rest, clock: ServerClock, key: Key, party: string | undefined) =>
  (): Promise<Response<"authorize", "login">> =>
    rest.call({
      method: "POST",
      path: "/authorize",
      open: true,
      repeatable: true,
      // an unanswered attempt may have used the nonce, so each attempt signs a new login
      input: async (): Promise<Input<"authorize", "login">> => {
        const public_key = party ?? key.public_key
        const timestamp_ms = clock.now()
        const fresh = nonce()
        const signature = await key.sign(loginMessage(public_key, timestamp_ms, fresh))
        const named = { public_key, signature, timestamp_ms, nonce: fresh }
        return party === undefined ? named : { ...named, verifying_key: key.public_key }
      }
    })

const methodsOf = (rest: Rest): Methods =>
  // the types follow from the table of operations
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
              rest.call({ ...fixed, input: () => input, signal: options?.signal })
          ]
        })
      )
    ])
  ) as unknown as Methods

/**
 * Connects: measures the gateway's clock, and logs a wallet in. Rejects with an `ExchangeError` if the gateway refuses or does
 * not respond, and with a TypeError or RangeError that names the option which is wrong.
 */
export const connect = async (options: Options): Promise<Exchange> => {
  const url = checkedUrl(options)
  const source = options.key === undefined ? options.wallet : options.key
  const key = source === undefined ? undefined : await keyOf(source)
  const environment: Environment = { ...here(), ...options.environment }
  const { abort, free, signal } = joined(options.signal)
  const close = (): void => {
    abort(new DOMException("the client is closed", "AbortError"))
    free()
  }
  const clock = new ServerClock(environment)
  const limits = { tries_max: TRIES_MAX, try_ms: TRY_MS, patience_ms: PATIENCE_MS, ...options.limits }
  const rest = new Rest(url, environment, clock, limits, signal)
  const methods = methodsOf(rest)

  const syncClock = async (call?: CallOptions): Promise<number> => {
    let sent = 0
    const { server_ts_ms } = await rest.call<Response<"market", "time">>({
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
  const identify = (): Identity | undefined => {
    const { bodyHash = globalThis.crypto.subtle !== undefined, party, token, wallet } = options
    if (key === undefined) return token === undefined ? undefined : ofToken(token)
    if (wallet === undefined) return ofApiKey(key, { clock, bodyHash, syncClock })
    return ofWallet(clock, loginOf(rest, clock, key, party))
  }

  let identity: Identity | undefined
  try {
    await syncClock()
    rest.identity = identity = identify()
    // a refused wallet fails here
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

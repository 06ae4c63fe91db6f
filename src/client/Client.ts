/**
 * The typed client: every endpoint of the REST API as a function, derived from the same schemas as the server, with
 * signing and login, and live feeds.
 *
 * ```ts
 * const client = yield* Client.make({ baseUrl: "http://127.0.0.1:3010" })
 * yield* client.login(Wallet.fromSeed(seed))
 * const [account] = (yield* client.user.subAccounts()).list
 * yield* client.order.create({ payload: { sub_account_address: account.sub_account_address, symbol: "BTC-USDC", ... } })
 *
 * const account = yield* client.ownAccount                    // open orders, positions, balances, live until the scope closes
 * const book = yield* client.book("BTC-USDC", 50)              // verified; reloaded after a fault
 * console.log(HashMap.size(account.get().orders), book.get().bids(1))
 * yield* Stream.runForEach(client.events(["trade.BTC-USDC"]), (event) => Console.log(event.kind))
 * ```
 */
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { Clock, Effect, Option, type Scope } from "effect"
import { layerWebSocketConstructorGlobal, WebSocketConstructor } from "effect/socket/Socket"
import { FetchHttpClient, type HttpBody, HttpClientRequest } from "effect/http"
import type { Depth } from "../domain/Enumerations.ts"
import { authMessage } from "../domain/SigningMessages.ts"
import { isPassing } from "./Backoff.ts"
import type { Admin, Endpoints, Sign } from "./Endpoints.ts"
import * as OverloadRetry from "./OverloadRetry.ts"
import * as Feed from "./Feed.ts"
import * as Follow from "./Follow.ts"
import { signed } from "./Signed.ts"
import * as Wallet from "./Wallet.ts"

/** The credential of requests and feeds. */
export type Credential =
  | { readonly type: "token"; readonly token: string }
  /** An API key signs each request; with `bodyHash` the signature covers the body too. */
  | { readonly type: "api-key"; readonly key: Wallet.Wallet; readonly bodyHash?: boolean }

export interface Options {
  /** URL of the gateway, such as `http://127.0.0.1:3010`. */
  readonly baseUrl: string
  readonly credential?: Credential
  /**
   * Gets a new credential after the current one has ended; fails if there is none. Default: the wallet logs in again, and for an
   * API key the clock is synchronized with the server's.
   */
  readonly renew?: Effect.Effect<Credential, unknown>
  /** Credentials of the administrator endpoints (HTTP Basic). */
  readonly admin?: Admin
}

const bytesOfBody = (body: HttpBody.HttpBody): Uint8Array => {
  switch (body._tag) {
    case "Uint8Array":
      return body.body
    case "Raw":
      return utf8ToBytes(String(body.body))
    default:
      return new Uint8Array()
  }
}

type CreateBatch = Parameters<Endpoints["order"]["createBatch"]>[0]["payload"]

/** Whether the gateway refused the request for good. */
const isRefusal = (error: unknown): boolean => {
  const { code } = error as { readonly code?: unknown }
  return typeof code === "string" && !isPassing(code)
}

/** A client over the `HttpClient` and the WebSocket constructor in context; {@link make} provides both. */
export const makeWith = Effect.fnUntraced(function* (options: Options) {
  const baseUrl = options.baseUrl.replace(/\/+$/u, "")
  const clock = yield* Clock.Clock
  const webSocket = yield* WebSocketConstructor
  let credential = options.credential
  let wallet: Wallet.Wallet | undefined
  let ahead_ms = 0
  const now = () => clock.currentTimeMillisUnsafe() + ahead_ms

  const sign: Sign = (request) => {
    if (credential === undefined) return request
    if (credential.type === "token") return HttpClientRequest.bearerToken(request, credential.token)
    const { bodyHash, key } = credential
    const url = Option.getOrThrow(HttpClientRequest.toUrl(HttpClientRequest.prependUrl(request, baseUrl)))
    const { headers, message } = signed({
      method: request.method,
      uri: url.pathname + url.search,
      timestamp_ms: now(),
      body_sha256: bodyHash === true ? Wallet.bodyHash(bytesOfBody(request.body)) : undefined
    })
    return HttpClientRequest.setHeaders(request, headers(key.public_key, key.sign(message)))
  }
  // the schemas of all endpoints are half of the modules: a program loads them with its first client
  const { makeEndpoints } = yield* Effect.promise(() => import("./Endpoints.ts"))
  const endpoints: Endpoints = yield* makeEndpoints(baseUrl, sign, options.admin)

  /** Logs a wallet in. Its token becomes the credential; feeds log in again when it ends. */
  const login = (as: Wallet.Wallet) =>
    Effect.suspend(() => {
      const timestamp_ms = now()
      const nonce = Wallet.nonce()
      return endpoints.authorize.login({
        payload: {
          public_key: as.login_name,
          signature: as.sign(Wallet.loginMessage(as.login_name, timestamp_ms, nonce)),
          timestamp_ms,
          nonce,
          ...(as.verifying_key === undefined ? {} : { verifying_key: as.verifying_key })
        }
      })
    }).pipe(
      Effect.tap(({ token }) =>
        Effect.sync(() => {
          wallet = as
          credential = { type: "token", token }
        })
      )
    )

  /** Replaces or removes the credential. */
  const use = (other: Credential | undefined): void => {
    credential = other
    wallet = undefined
  }

  /** Synchronizes the timestamps of signatures with the server's clock; returns how far the server is ahead, in ms. */
  const syncTime = Effect.suspend(() => {
    const sent = clock.currentTimeMillisUnsafe()
    return Effect.map(endpoints.market.time(), ({ server_ts_ms }) => {
      // the server read its clock about halfway between request and response
      ahead_ms = server_ts_ms - Math.round((sent + clock.currentTimeMillisUnsafe()) / 2)
      return ahead_ms
    })
  })

  const authFrame = (): Feed.AuthFrame | undefined => {
    if (credential === undefined) return undefined
    if (credential.type === "token") return { bearer: credential.token }
    const timestamp_ms = now()
    const nonce = Wallet.nonce()
    const signature = credential.key.sign(authMessage(timestamp_ms, nonce))
    return { api_key: credential.key.public_key, signature, timestamp_ms, nonce }
  }
  const renewal = (): Effect.Effect<unknown, unknown> | undefined => {
    if (options.renew !== undefined) return Effect.map(options.renew, (other) => (credential = other))
    if (wallet !== undefined) return login(wallet)
    return credential?.type === "api-key" ? syncTime : undefined
  }
  const renew = Effect.suspend(() => {
    const renewed = renewal()
    if (renewed === undefined) return Effect.succeed("refused" as const)
    return Effect.matchEager(renewed, {
      onFailure: (error) => (isRefusal(error) ? ("refused" as const) : ("later" as const)),
      onSuccess: () => "renewed" as const
    })
  })

  /** Follows topics until the scope closes, and passes all events to `onEvent`. */
  const feed = (feedOptions: Feed.Options): Effect.Effect<Feed.Feed, Feed.FeedEnded, Scope.Scope> =>
    Feed.follow(feedOptions, { url: baseUrl.replace(/^http/u, "ws"), authFrame, renew }).pipe(
      Effect.provideService(WebSocketConstructor, webSocket)
    )
  /** All events of topics as a stream; see {@link Feed.FeedEvent}. */
  const events = (topics: ReadonlyArray<string>) => Follow.events(feed, topics)
  /** Open orders, positions and balances of the user, live until the scope closes. */
  const ownAccount = Follow.account(feed)
  /** The order book of a market, live until the scope closes. */
  const book = (symbol: string, depth: Depth) => Follow.book(feed, symbol, depth)

  /** Orders of a batch that an overloaded gateway refused are repeated, and only those. */
  const createBatch = ({ payload }: { readonly payload: CreateBatch }) =>
    OverloadRetry.batchUntilAdmitted(
      (orders) => endpoints.order.createBatch({ payload: { ...payload, orders } }),
      payload.orders
    )

  return {
    ...endpoints,
    order: { ...endpoints.order, createBatch },
    login,
    use,
    syncTime,
    feed,
    events,
    ownAccount,
    book
  }
})

/** The endpoints by group, and the functions of {@link makeWith}. */
export type Client = Effect.Success<ReturnType<typeof makeWith>>

/** A client over `fetch` and `WebSocket`, in Node and in a browser. */
export const make = (options: Options): Effect.Effect<Client> =>
  makeWith(options).pipe(Effect.provide([FetchHttpClient.layer, layerWebSocketConstructorGlobal]))

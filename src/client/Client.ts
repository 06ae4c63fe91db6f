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
 * const account = yield* client.ownAccount                    // open orders, positions, balances, kept for the scope's life
 * const book = yield* client.book("BTC-USDC", 50)              // checked, and taken anew when it is not sound
 * console.log(HashMap.size(account.get().orders), book.get().bids(1))
 * yield* Stream.runForEach(client.events(["trade.BTC-USDC"]), (event) => Console.log(event.kind))
 * ```
 */
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { Clock, Effect, Layer, Option, type Scope } from "effect"
import { layerWebSocketConstructorGlobal, WebSocketConstructor } from "effect/socket/Socket"
import { FetchHttpClient, type HttpBody, HttpClientRequest, type HttpClientResponse } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { Api } from "../http/api/Api.ts"
import { AdminAccess, BearerOnly, BearerOrApiKey } from "../http/api/Security.ts"
import type { Depth } from "../domain/Enumerations.ts"
import { authMessage } from "../domain/SigningMessages.ts"
import { isPassing } from "./Backoff.ts"
import * as OverloadRetry from "./OverloadRetry.ts"
import * as Feed from "./Feed.ts"
import * as Follow from "./Follow.ts"
import { signed } from "./Signed.ts"
import * as Wallet from "./Wallet.ts"

/** Whom the client speaks for. */
export type Credential =
  | { readonly type: "token"; readonly token: string }
  /** An API key signs each request; `bodyHash` binds the body too. */
  | { readonly type: "api-key"; readonly key: Wallet.Wallet; readonly bodyHash?: boolean }

export interface Options {
  /** Where the gateway is, such as `http://127.0.0.1:3010`. */
  readonly baseUrl: string
  readonly credential?: Credential
  /**
   * Gets another credential when the one in use has ended, and fails when there is none now. Default: the wallet that logged in
   * does so again, and an API key signs anew by the server's clock.
   */
  readonly renew?: Effect.Effect<Credential, unknown>
  /** For the Basic endpoints. */
  readonly admin?: { readonly username: string; readonly password: string }
}

type Endpoints = HttpApiClient.ForApi<typeof Api>

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

const makeEndpoints = (baseUrl: string, sign: Sign, admin: Options["admin"]) => {
  // a nonce is good for one request: each try is signed anew
  const admitted: Admitted = (next, request) => OverloadRetry.untilAdmitted(Effect.suspend(() => next(sign(request))))
  return HttpApiClient.make(Api, { baseUrl }).pipe(
    Effect.provide(
      Layer.mergeAll(
        HttpApiMiddleware.layerClient(BearerOrApiKey, ({ next, request }) => admitted(next, request)),
        HttpApiMiddleware.layerClient(BearerOnly, ({ next, request }) => admitted(next, request)),
        HttpApiMiddleware.layerClient(AdminAccess, ({ next, request }) =>
          next(admin === undefined ? request : HttpClientRequest.basicAuth(request, admin.username, admin.password))
        )
      )
    )
  )
}
type Admitted = <E, R>(
  next: (request: HttpClientRequest.HttpClientRequest) => Effect.Effect<HttpClientResponse.HttpClientResponse, E, R>,
  request: HttpClientRequest.HttpClientRequest
) => Effect.Effect<HttpClientResponse.HttpClientResponse, E, R>
type Sign = (request: HttpClientRequest.HttpClientRequest) => HttpClientRequest.HttpClientRequest

/** Whether the gateway itself said no, and would say so again. */
const isRefusal = (error: unknown): boolean => {
  const { code } = error as { readonly code?: unknown }
  return typeof code === "string" && !isPassing(code)
}

/** A client over the `HttpClient` and the WebSockets in context; {@link make} brings them along. */
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
  const endpoints: Endpoints = yield* makeEndpoints(baseUrl, sign, options.admin)

  /** Logs a wallet in; from now on its token is the credential, and feeds log in anew when it ends. */
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

  /** Speaks for somebody else, or for nobody. */
  const use = (other: Credential | undefined): void => {
    credential = other
    wallet = undefined
  }

  /** Sets the client's clock by the server's, for signatures to carry; answers how far the server is ahead, in ms. */
  const syncTime = Effect.suspend(() => {
    const sent = clock.currentTimeMillisUnsafe()
    return Effect.map(endpoints.market.time(), ({ server_ts_ms }) => {
      // the answer was made about halfway between
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

  /** Follows topics until the scope closes, and calls back for everything that is told. */
  const feed = (feedOptions: Feed.Options): Effect.Effect<Feed.Feed, Feed.FeedEnded, Scope.Scope> =>
    Feed.follow(feedOptions, { url: baseUrl.replace(/^http/u, "ws"), authFrame, renew }).pipe(
      Effect.provideService(WebSocketConstructor, webSocket)
    )
  /** Everything that is told of topics, as a stream; see {@link Feed.FeedEvent}. */
  const events = (topics: ReadonlyArray<string>) => Follow.events(feed, topics)
  /** Open orders, positions and balances of who is logged in, kept until the scope closes. */
  const ownAccount = Follow.account(feed)
  /** The book of a market, kept until the scope closes. */
  const book = (symbol: string, depth: Depth) => Follow.book(feed, symbol, depth)

  return { ...endpoints, login, use, syncTime, feed, events, ownAccount, book }
})

/** See {@link makeWith} for what it can do besides the endpoints. */
export type Client = Effect.Success<ReturnType<typeof makeWith>>

/** A client over `fetch` and `WebSocket`, in Node and in a browser. */
export const make = (options: Options): Effect.Effect<Client> =>
  makeWith(options).pipe(Effect.provide([FetchHttpClient.layer, layerWebSocketConstructorGlobal]))

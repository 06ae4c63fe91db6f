/**
 * The typed client: every endpoint of the REST API as a function, derived from the same schemas as the server, with
 * signing and login, and live feeds.
 *
 * ```ts
 * const client = yield* Client.make({ baseUrl: "http://127.0.0.1:3010" })
 * yield* client.login(Wallet.fromSeed(seed))
 * const [account] = (yield* client.user.subAccounts()).list
 * yield* client.order.create({ payload: { sub_account_address: account.sub_account_address, symbol: "BTC-USDC", ... } })
 * const feed = yield* client.feed({ topics: ["order", "execution"], onEvent: ({ topic, data }) => console.log(topic, data) })
 * ```
 */
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { Clock, Effect, Layer, Option, type Scope } from "effect"
import { FetchHttpClient, type HttpBody, HttpClientRequest } from "effect/http"
import { HttpApiClient, HttpApiMiddleware } from "effect/http-api"
import { Api } from "../http/api/Api.ts"
import { AdminAccess, BearerOnly, BearerOrApiKey } from "../http/api/Security.ts"
import { authMessage } from "../ws/api/Frames.ts"
import * as Feed from "./Feed.ts"
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

const makeEndpoints = (baseUrl: string, sign: Sign, admin: Options["admin"]) =>
  HttpApiClient.make(Api, { baseUrl }).pipe(
    Effect.provide(
      Layer.mergeAll(
        HttpApiMiddleware.layerClient(BearerOrApiKey, ({ next, request }) => next(sign(request))),
        HttpApiMiddleware.layerClient(BearerOnly, ({ next, request }) => next(sign(request))),
        HttpApiMiddleware.layerClient(AdminAccess, ({ next, request }) =>
          next(admin === undefined ? request : HttpClientRequest.basicAuth(request, admin.username, admin.password))
        )
      )
    )
  )
type Sign = (request: HttpClientRequest.HttpClientRequest) => HttpClientRequest.HttpClientRequest

/** A client over the `HttpClient` in context; {@link make} brings one along. */
export const makeWith = Effect.fnUntraced(function* (options: Options) {
  const baseUrl = options.baseUrl.replace(/\/+$/u, "")
  const clock = yield* Clock.Clock
  let credential = options.credential
  let wallet: Wallet.Wallet | undefined
  let ahead_ms = 0
  const now = () => clock.currentTimeMillisUnsafe() + ahead_ms

  const sign: Sign = (request) => {
    if (credential === undefined) return request
    if (credential.type === "token") return HttpClientRequest.bearerToken(request, credential.token)
    const { bodyHash, key } = credential
    const url = Option.getOrThrow(HttpClientRequest.toUrl(HttpClientRequest.prependUrl(request, baseUrl)))
    const signed = {
      method: request.method,
      uri: url.pathname + url.search,
      timestamp_ms: now(),
      nonce: Wallet.nonce(),
      body_sha256: bodyHash === true ? Wallet.bodyHash(bytesOfBody(request.body)) : undefined
    }
    return HttpClientRequest.setHeaders(request, {
      "x-api-key": key.public_key,
      "x-signature": key.sign(Wallet.requestMessage(signed)),
      "x-timestamp-ms": String(signed.timestamp_ms),
      "x-nonce": signed.nonce,
      ...(signed.body_sha256 === undefined ? {} : { "x-body-sha256": signed.body_sha256 })
    })
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
  const renew = Effect.suspend(() => (wallet === undefined ? Effect.succeed(false) : Effect.as(login(wallet), true)))

  /** Follows topics until the scope closes. */
  const feed = (feedOptions: Feed.Options): Effect.Effect<Feed.Feed, Feed.FeedRefused, Scope.Scope> =>
    Feed.follow(feedOptions, {
      url: baseUrl.replace(/^http/u, "ws"),
      authFrame,
      renew: Effect.catch(renew, () => Effect.succeed(false))
    })

  return { ...endpoints, login, use, syncTime, feed }
})

/** See {@link makeWith} for what it can do besides the endpoints. */
export type Client = Effect.Success<ReturnType<typeof makeWith>>

/** A client over `fetch`, in Node and in a browser. */
export const make = (options: Options): Effect.Effect<Client> =>
  makeWith(options).pipe(Effect.provide(FetchHttpClient.layer))

/**
 * Credentials of the client: API key, token or wallet. Source: docs/contract/authentication.md#login, #api-keys,
 * #websocket-authentication.
 */
import type { AuthFrame } from "../client/Connect.ts"
import { nonce, signed } from "../client/Signed.ts"
import { authMessage } from "../domain/SigningMessages.ts"
import type { Login } from "../http/api/AuthorizeApi.ts"
import { ExchangeError } from "./ExchangeError.ts"
import { hashOf, type Key } from "./Key.ts"
import type { ServerClock } from "./ServerClock.ts"

export interface Identity {
  /** Authentication headers of one request, which is sent immediately. */
  readonly headers: (request: {
    readonly method: string
    readonly uri: string
    readonly body: string
  }) => Promise<Record<string, string>>
  /** The first frame of a private WebSocket. */
  readonly authFrame: () => Promise<AuthFrame>
  /**
   * Gets a new credential. `later`: the gateway does not respond at present; `refused`: there is none. `refusedToken` is the token
   * that the gateway refused; if it was replaced meanwhile, it is not replaced again.
   */
  readonly renew: (refusedToken?: string) => Promise<"renewed" | "later" | "refused">
}

/** An API key, which signs every request. `bodyHash`: the signature covers the body. */
export const ofApiKey = (
  key: Key,
  options: { readonly clock: ServerClock; readonly bodyHash: boolean; readonly syncClock: () => Promise<unknown> }
): Identity => {
  const { bodyHash, clock, syncClock } = options
  return {
    headers: async ({ body, method, uri }) => {
      const body_sha256 = bodyHash ? await hashOf(body) : undefined
      const request = signed({ method, uri, timestamp_ms: clock.now(), body_sha256 })
      return request.headers(key.public_key, await key.sign(request.message))
    },
    authFrame: async () => {
      const timestamp_ms = clock.now()
      const fresh = nonce()
      const signature = await key.sign(authMessage(timestamp_ms, fresh))
      return { api_key: key.public_key, signature, timestamp_ms, nonce: fresh }
    },
    // a refused key can only be repaired by a correct clock
    renew: () =>
      syncClock().then(
        () => "renewed",
        () => "later"
      )
  }
}

/** A token from another login; it cannot be renewed. */
export const ofToken = (token: string): Identity => ({
  headers: () => Promise.resolve({ authorization: `Bearer ${token}` }),
  authFrame: () => Promise.resolve({ bearer: token }),
  renew: () => Promise.resolve("refused")
})

/** A token is renewed this long before it expires, in ms. */
const RENEW_BEFORE_MS = 60_000

/** A wallet, which logs in when a token is needed, and again when it has ended. */
export const ofWallet = (clock: ServerClock, login: () => Promise<typeof Login.Type>): Identity => {
  let session: typeof Login.Type | undefined
  let pending: Promise<typeof Login.Type> | undefined
  const logIn = () =>
    (pending ??= login()
      .then((login) => (session = login))
      .finally(() => (pending = undefined)))
  const current = async (): Promise<string> => {
    const isGood = session !== undefined && clock.now() < session.expires_at_ms - RENEW_BEFORE_MS
    return (isGood ? session! : await logIn()).token
  }
  return {
    headers: async () => ({ authorization: `Bearer ${await current()}` }),
    authFrame: async () => ({ bearer: await current() }),
    renew: async (refusedToken) => {
      if (refusedToken !== undefined && refusedToken !== session?.token) return "renewed"
      return logIn().then(
        () => "renewed" as const,
        (error: unknown) =>
          error instanceof ExchangeError && error.outcome === "refused" && error.status < 429 ? "refused" : "later"
      )
    }
  }
}

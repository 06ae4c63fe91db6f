/** One request and what became of it, with no client library in between; and who asks: a wallet with money and an API key. */
import * as Wallet from "../../src/client/Wallet.ts"

/** Longest wait for an answer, in ms: far above every deadline of the gateway. */
export const HANG_MS = 15_000

/** The parts of an answer that are read here. */
export interface Body {
  readonly order_id?: string
  readonly token?: string
  readonly list?: ReadonlyArray<Readonly<Record<string, string>>>
  readonly next_page_cursor?: string
  readonly details?: { readonly reason?: string; readonly outcome?: string; readonly order_id?: string }
}

export interface Answered {
  /** 0: the connection broke or nothing came within {@link HANG_MS}, so nothing is known of the request. */
  readonly status: number
  readonly body: Body
  readonly ms: number
}

export interface Asked {
  readonly token?: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Asks once. Never fails. */
export const ask = async (url: string, method: string, path: string, asked: Asked = {}): Promise<Answered> => {
  const began = performance.now()
  const done = (status: number, body: Body): Answered => ({ status, body, ms: performance.now() - began })
  try {
    const answer = await fetch(`${url}${path}`, {
      method,
      signal: AbortSignal.timeout(HANG_MS),
      headers: {
        ...(asked.token === undefined ? {} : { authorization: `Bearer ${asked.token}` }),
        ...(asked.body === undefined ? {} : { "content-type": "application/json" }),
        ...asked.headers
      },
      ...(asked.body === undefined ? {} : { body: JSON.stringify(asked.body) })
    })
    return done(answer.status, (await answer.json()) as Body)
  } catch {
    return done(0, {})
  }
}

/** The credentials of an API key for one request. */
export const signature = (
  key: Wallet.Wallet,
  method: string,
  uri: string,
  { timestamp_ms = Date.now(), nonce = Wallet.nonce() } = {}
): Record<string, string> => ({
  "x-api-key": key.public_key,
  "x-signature": key.sign(Wallet.requestMessage({ method, uri, timestamp_ms, nonce, body_sha256: undefined })),
  "x-timestamp-ms": String(timestamp_ms),
  "x-nonce": nonce
})

/** The body of a login. */
export const loginOf = (wallet: Wallet.Wallet): object => {
  const [timestamp_ms, nonce] = [Date.now(), Wallet.nonce()]
  const signature = wallet.sign(Wallet.loginMessage(wallet.login_name, timestamp_ms, nonce))
  return { public_key: wallet.login_name, signature, timestamp_ms, nonce }
}

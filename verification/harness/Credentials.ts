/** Signed credentials for requests that bypass the client's code. */
import * as Wallet from "../../src/client/Wallet.ts"

/** The headers of an API key for one request; with `body` its hash is signed, too. */
export const signedHeaders = (
  key: Wallet.Wallet,
  method: string,
  uri: string,
  body?: string
): Record<string, string> => {
  const body_sha256 = body === undefined ? undefined : Wallet.bodyHash(new TextEncoder().encode(body))
  const signed = { method, uri, timestamp_ms: Date.now(), nonce: Wallet.nonce(), body_sha256 }
  return {
    "x-api-key": key.public_key,
    "x-signature": key.sign(Wallet.requestMessage(signed)),
    "x-timestamp-ms": String(signed.timestamp_ms),
    "x-nonce": signed.nonce,
    ...(body_sha256 === undefined ? {} : { "x-body-sha256": body_sha256 })
  }
}

/** The body of a sign-in. */
export const loginOf = (wallet: Wallet.Wallet): object => {
  const [timestamp_ms, nonce] = [Date.now(), Wallet.nonce()]
  const signature = wallet.sign(Wallet.loginMessage(wallet.login_name, timestamp_ms, nonce))
  return { public_key: wallet.login_name, signature, timestamp_ms, nonce }
}

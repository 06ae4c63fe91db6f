/** Uses of one credential, by transport. Each is prepared before the race, so that the race only sends it. */
import type { Agent } from "node:http"
import { Wallet } from "../../src/client/index.ts"
import { authMessage } from "../../src/domain/SigningMessages.ts"
import { CREATE } from "../fleet/Orders.ts"
import { signedHeaders } from "../harness/Credentials.ts"
import { inWords, type Outcome, type Request, send } from "../harness/HttpRequest.ts"
import { until } from "../harness/Wait.ts"

/** A credential that will be revoked. */
export type Credential = { readonly token: string } | { readonly key: Wallet.Wallet }

/** Sends a prepared use; returns the outcome in a few words. */
export type Send = () => Promise<string>

/** A connection whose client authenticates in the race. */
export interface Connection {
  readonly transport: string
  readonly authenticate: () => void
  /** Resolves at the first answer, or at the close. */
  readonly answered: Promise<void>
  /** Whether it was authenticated at some time. */
  readonly wasIn: () => boolean
  /** Whether it is authenticated and open. */
  readonly isIn: () => boolean
  readonly close: () => void
}

/** The headers of a credential for one request. */
const headersOf = (credential: Credential, method: string, uri: string): Record<string, string> => {
  if ("token" in credential) return { authorization: `Bearer ${credential.token}` }
  return signedHeaders(credential.key, method, uri)
}

const call = (tag: string, payload: unknown, headers: Record<string, string>): string =>
  `${JSON.stringify({ _tag: "Request", id: "1", tag, payload, headers: Object.entries(headers) })}\n`

/** The outcome of an answer of /rpc. */
const ofCall = (text: string): Outcome => {
  const exit = text
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => JSON.parse(line) as object | ReadonlyArray<object>)
    .find((message) => "exit" in message) as { readonly exit: { readonly _tag: string } } | undefined
  if (exit === undefined) return { status: 0, text: "no exit", ms: 0 }
  return exit.exit._tag === "Success"
    ? { status: 200, text: "", ms: 0 }
    : { status: 400, text: JSON.stringify(failureOf(exit.exit)), ms: 0 }
}
const failureOf = (exit: object): unknown =>
  (exit as { readonly cause?: ReadonlyArray<{ readonly error?: unknown }> }).cause?.[0]?.error ?? {}

/** Orders over REST: by the fast path, or, with a chunked body, by the framework. */
const overRest = (agent: Agent, url: string, credential: Credential, body: string, isFast: boolean): Send => {
  const headers = headersOf(credential, "POST", CREATE)
  const request: Request = { method: "POST", path: CREATE, body, headers, isChunked: !isFast }
  return async () => inWords(await send(url, request, { agent }))
}
const overRpc = (agent: Agent, url: string, credential: Credential, body: string): Send => {
  const text = call("order.create", { payload: JSON.parse(body) }, headersOf(credential, "POST", CREATE))
  return async () => {
    const outcome = await send(url, { method: "POST", path: "/rpc", body: text }, { agent })
    return inWords(outcome.status === 200 ? ofCall(outcome.text) : outcome)
  }
}

const tried = (url: string, path: string): Promise<WebSocket | undefined> =>
  new Promise((resolve) => {
    const socket = new WebSocket(`${url.replace("http", "ws")}${path}`)
    socket.addEventListener("open", () => resolve(socket))
    socket.addEventListener("error", () => resolve(undefined))
  })
/** Opens a connection, repeating what a busy gateway refuses. */
const opened = (url: string, path: string): Promise<WebSocket> => until(`${path} opens`, () => tried(url, path))

const overRpcSocket = async (url: string, credential: Credential, body: string): Promise<Send> => {
  const text = call("order.create", { payload: JSON.parse(body) }, headersOf(credential, "POST", CREATE))
  const socket = await opened(url, "/rpc")
  return () =>
    new Promise((resolve) => {
      const done = (outcome: Outcome) => {
        socket.close()
        resolve(inWords(outcome))
      }
      socket.addEventListener("message", ({ data }) => done(ofCall(String(data))))
      socket.addEventListener("close", () => done({ status: 0, text: "closed", ms: 0 }))
      socket.send(text)
    })
}

export const orderTransports = ["fast path", "framework", "/rpc over HTTP", "/rpc over WebSocket"] as const
/** An order over one of the transports. */
export const order = async (
  transport: (typeof orderTransports)[number],
  agent: Agent,
  url: string,
  credential: Credential,
  body: string
): Promise<Send> => {
  switch (transport) {
    case "fast path":
      return overRest(agent, url, credential, body, true)
    case "framework":
      return overRest(agent, url, credential, body, false)
    case "/rpc over HTTP":
      return overRpc(agent, url, credential, body)
    case "/rpc over WebSocket":
      return overRpcSocket(url, credential, body)
  }
}

/** The fields of a credential on /ws/private. */
const authFields = (credential: Credential): Record<string, unknown> => {
  if ("token" in credential) return { bearer: credential.token }
  const { key } = credential
  const [timestamp_ms, nonce] = [Date.now(), Wallet.nonce()]
  return { api_key: key.public_key, signature: key.sign(authMessage(timestamp_ms, nonce)), timestamp_ms, nonce }
}

const firstEvent = (socket: WebSocket): Promise<void> =>
  new Promise((resolve) => {
    for (const event of ["message", "close"]) socket.addEventListener(event, () => resolve(), { once: true })
  })

const onPrivate = async (url: string, credential: Credential): Promise<Connection> => {
  const text = JSON.stringify({ op: "auth", ...authFields(credential) })
  const socket = await opened(url, "/ws/private")
  const answered = firstEvent(socket)
  let isIn = false
  let wasIn = false
  socket.addEventListener("message", ({ data }) => {
    const frame = JSON.parse(String(data)) as { readonly op: string; readonly success?: boolean }
    if (frame.op === "auth" && frame.success === true) isIn = wasIn = true
  })
  socket.addEventListener("close", () => (isIn = false))
  return {
    transport: "/ws/private",
    authenticate: () => socket.send(text),
    answered,
    wasIn: () => wasIn,
    isIn: () => isIn,
    close: () => socket.close()
  }
}

const onFeed = async (url: string, credential: Credential): Promise<Connection> => {
  const { api_key, bearer, nonce, signature, timestamp_ms } = authFields(credential)
  const headers: Record<string, string> =
    bearer === undefined
      ? {
          "x-api-key": String(api_key),
          "x-signature": String(signature),
          "x-timestamp-ms": String(timestamp_ms),
          "x-nonce": String(nonce)
        }
      : { authorization: `Bearer ${String(bearer)}` }
  const text = call("feed.account", { topics: ["order"] }, headers)
  const socket = await opened(url, "/rpc")
  const answered = firstEvent(socket)
  let isIn = false
  let wasIn = false
  socket.addEventListener("message", ({ data }) => {
    for (const line of String(data).split("\n")) {
      if (line.includes('"_tag":"Chunk"')) {
        isIn = wasIn = true
        // the server sends the next chunk, and the end, after this
        socket.send(`${JSON.stringify({ _tag: "Ack", requestId: "1" })}\n`)
      }
      if (line.includes('"_tag":"Exit"')) isIn = false
    }
  })
  socket.addEventListener("close", () => (isIn = false))
  return {
    transport: "feed.account over /rpc",
    authenticate: () => socket.send(text),
    answered,
    wasIn: () => wasIn,
    isIn: () => isIn,
    close: () => socket.close()
  }
}

export const connectionTransports = ["/ws/private", "feed.account over /rpc"] as const
/** A connection over one of the transports. */
export const connection = (
  transport: (typeof connectionTransports)[number],
  url: string,
  credential: Credential
): Promise<Connection> => (transport === "/ws/private" ? onPrivate(url, credential) : onFeed(url, credential))

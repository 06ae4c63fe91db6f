/** Uses of one credential, by transport: each is made ready before the race, so that in the race it is only sent. */
import type { Agent } from "node:http"
import { Wallet } from "../../src/client/index.ts"
import { authMessage } from "../../src/domain/SigningMessages.ts"
import { ask, type Asked, inWords, type Outcome } from "../fleet/Ask.ts"
import { pause } from "../fleet/Orders.ts"

/** A credential that is to end. */
export type Credential = { readonly token: string } | { readonly key: Wallet.Wallet }

/** Something that is sent in the race; answers in a few words what came back. */
export type Send = () => Promise<string>

/** A connection whose client authenticates in the race. */
export interface Door {
  readonly transport: string
  readonly authenticate: () => void
  /** Resolves with the first answer to it, or with the close. */
  readonly answered: Promise<void>
  /** Whether it was let in at some time. */
  readonly wasIn: () => boolean
  /** Whether it is in, and open. */
  readonly isIn: () => boolean
  readonly close: () => void
}

const ORDER = "/api/v1/order/create"
/** Time that a connection may take to open, in ms. */
const OPEN_MS = 30_000

/** Headers that a credential shows with one request. */
const shown = (credential: Credential, method: string, uri: string): Record<string, string> => {
  if ("token" in credential) return { authorization: `Bearer ${credential.token}` }
  const { key } = credential
  const fresh = { method, uri, timestamp_ms: Date.now(), nonce: Wallet.nonce(), body_sha256: undefined }
  return {
    "x-api-key": key.public_key,
    "x-signature": key.sign(Wallet.requestMessage(fresh)),
    "x-timestamp-ms": String(fresh.timestamp_ms),
    "x-nonce": fresh.nonce
  }
}

const call = (tag: string, payload: unknown, headers: Record<string, string>): string =>
  `${JSON.stringify({ _tag: "Request", id: "1", tag, payload, headers: Object.entries(headers) })}\n`

/** What an answer of /rpc says, by the words of {@link inWords}. */
const ofCall = (text: string): Outcome => {
  const exit = text
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => JSON.parse(line) as object | ReadonlyArray<object>)
    .find((message) => "exit" in message) as { readonly exit: { readonly _tag: string } } | undefined
  if (exit === undefined) return { lost: "no exit" }
  return exit.exit._tag === "Success"
    ? { status: 200, text: "" }
    : { status: 400, text: JSON.stringify(failureOf(exit.exit)) }
}
const failureOf = (exit: object): unknown =>
  (exit as { readonly cause?: ReadonlyArray<{ readonly error?: unknown }> }).cause?.[0]?.error ?? {}

/** Orders over REST: by the fast path, and, with a body of no told length, by the framework. */
const overRest = (agent: Agent, url: string, credential: Credential, body: string, isFast: boolean): Send => {
  const asked: Asked = { method: "POST", path: ORDER, body, headers: shown(credential, "POST", ORDER) }
  return async () => inWords(await ask(agent, url, isFast ? asked : { ...asked, isChunked: true }))
}
const overRpc = (agent: Agent, url: string, credential: Credential, body: string): Send => {
  const text = call("order.create", { payload: JSON.parse(body) }, shown(credential, "POST", ORDER))
  return async () => {
    const outcome = await ask(agent, url, { method: "POST", path: "/rpc", body: text })
    return inWords("lost" in outcome || outcome.status !== 200 ? outcome : ofCall(outcome.text))
  }
}

const tried = (url: string, path: string): Promise<WebSocket | undefined> =>
  new Promise((resolve) => {
    const socket = new WebSocket(`${url.replace("http", "ws")}${path}`)
    socket.addEventListener("open", () => resolve(socket))
    socket.addEventListener("error", () => resolve(undefined))
  })
/** Opens a connection; a gateway that is too busy for one is asked again. */
const opened = async (url: string, path: string): Promise<WebSocket> => {
  for (const until = Date.now() + OPEN_MS; Date.now() < until; await pause()) {
    const socket = await tried(url, path)
    if (socket !== undefined) return socket
  }
  throw new Error(`${path} does not open`)
}

const overRpcSocket = async (url: string, credential: Credential, body: string): Promise<Send> => {
  const text = call("order.create", { payload: JSON.parse(body) }, shown(credential, "POST", ORDER))
  const socket = await opened(url, "/rpc")
  return () =>
    new Promise((resolve) => {
      const done = (outcome: Outcome) => {
        socket.close()
        resolve(inWords(outcome))
      }
      socket.addEventListener("message", ({ data }) => done(ofCall(String(data))))
      socket.addEventListener("close", () => done({ lost: "closed" }))
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

/** The fields that a credential shows on /ws/private. */
const authFields = (credential: Credential): Record<string, unknown> => {
  if ("token" in credential) return { bearer: credential.token }
  const { key } = credential
  const [timestamp_ms, nonce] = [Date.now(), Wallet.nonce()]
  return { api_key: key.public_key, signature: key.sign(authMessage(timestamp_ms, nonce)), timestamp_ms, nonce }
}

const firstWord = (socket: WebSocket): Promise<void> =>
  new Promise((resolve) => {
    for (const event of ["message", "close"]) socket.addEventListener(event, () => resolve(), { once: true })
  })

const onPrivate = async (url: string, credential: Credential): Promise<Door> => {
  const text = JSON.stringify({ op: "auth", ...authFields(credential) })
  const socket = await opened(url, "/ws/private")
  const answered = firstWord(socket)
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

const onFeed = async (url: string, credential: Credential): Promise<Door> => {
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
  const answered = firstWord(socket)
  let isIn = false
  let wasIn = false
  socket.addEventListener("message", ({ data }) => {
    for (const line of String(data).split("\n")) {
      if (line.includes('"_tag":"Chunk"')) {
        isIn = wasIn = true
        // the next one, and the end, are sent after this
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

export const doorTransports = ["/ws/private", "feed.account over /rpc"] as const
/** A connection over one of the transports. */
export const door = (transport: (typeof doorTransports)[number], url: string, credential: Credential): Promise<Door> =>
  transport === "/ws/private" ? onPrivate(url, credential) : onFeed(url, credential)

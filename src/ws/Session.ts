/**
 * A feed session: handles the messages of one client, its authentication and its subscriptions.
 *
 * A message is handled synchronously on arrival. Only authentication and private subscriptions run in a fiber; later
 * messages are queued in order behind them, except pings.
 * Source: docs/contract/websocket.md#limits, #messages, #keepalive, #private-topics.
 */
import { Cause, Effect, Result } from "effect"
import { fieldText, quoted } from "../domain/InputText.ts"
import { parseTopic, type PrivateTopic, type Topic } from "../domain/Topic.ts"
import type { Caller } from "../domain/User.ts"
import { type AuthError, refusalOfGrant } from "../services/identity/AuthErrors.ts"
import type { Authenticator } from "../services/identity/Authenticator.ts"
import type { MarketView } from "../services/markets/MarketView.ts"
import type { CloseReason } from "./api/CloseCodes.ts"
import type { Auth, ClientFrame, Ping, ReqId, Resume, Subscribe, Unsubscribe } from "./api/Frames.ts"
import {
  Connection,
  type Endpoint,
  type Transport,
  type CheckTime,
  type Lost,
  type ConnectionDeps
} from "./Connection.ts"
import { type Frame, frameOf } from "./Frame.ts"
import type { Hub } from "./Hub.ts"
import { marketOf, type MarketTopic } from "./MarketFanout.ts"
import { type InvalidMessage, read } from "./ClientMessages.ts"
import { PrivateSubscriptions, type SubscriptionDeps } from "./PrivateSubscriptions.ts"
import { errorFrame, ofAuthError, type WsError, refuse, withReqId } from "./WsError.ts"

/** Dependencies that all sessions share. */
export interface SessionDeps extends ConnectionDeps, SubscriptionDeps {
  readonly hub: typeof Hub.Service
  readonly authenticator: typeof Authenticator.Service
  readonly view: typeof MarketView.Service
  /** Counts a session for its user; false: the user has as many as allowed. */
  readonly admit: (session: Session, caller: Caller) => boolean
}

/** Time limit of authentication, and of reading snapshots, in ms. */
const WORK_MS = 10_000

export class Session extends Connection {
  caller: Caller | undefined
  private readonly deps: SessionDeps
  /** `undefined` before the first subscription. */
  private publicTopics: Set<string> | undefined = undefined
  /** Removes the end callback of the caller's grant. */
  private unwatchGrant: (() => void) | undefined = undefined
  /** `undefined` before the first authentication. */
  private subscriptions: PrivateSubscriptions | undefined
  private detach: (() => void) | undefined
  /** Messages queued behind the running operation. */
  private inbox: Array<ClientFrame | "interruption"> | undefined = undefined
  private busy = false
  private failedAuths = 0

  constructor(deps: SessionDeps, transport: Transport, endpoint: Endpoint, ip: string) {
    super(deps, transport, endpoint, ip)
    this.deps = deps
  }

  // ---- events of the connection

  protected take(message: string, now: number): void {
    const verdict = this.count(now)
    if (verdict !== "taken") return this.limited(verdict)
    const frame = read(message)
    switch (frame.op) {
      case "invalid":
        return this.invalid(frame)
      case "ping":
        return this.pong(frame)
      default:
        this.enqueue(frame)
    }
  }
  protected limited(verdict: "dropped" | "notice" | "flood"): void {
    if (verdict !== "notice") return
    this.reply(errorFrame({ code: "RateLimitExceeded", message: "rate limit exceeded" }, undefined))
  }

  protected release(): void {
    this.inbox = undefined
    for (const name of this.publicTopics ?? []) this.deps.hub.leave(name, this.outbox)
    this.publicTopics = undefined
    this.detach?.()
    this.detach = undefined
    this.unwatchGrant?.()
    this.unwatchGrant = undefined
  }

  protected overdue({ monotonic_ms, wall_ms }: CheckTime, lost: Lost): CloseReason | undefined {
    if (this.endpoint !== "private") return lost.public ? "BackendLost" : undefined
    if (lost.private) return "BackendLost"
    if (this.caller === undefined) {
      return monotonic_ms - this.openedAt > this.deps.limits.auth_deadline_ms ? "NotAuthenticated" : undefined
    }
    const expires = this.caller.expires_at_ms
    return expires !== undefined && expires <= wall_ms ? "CredentialEnded" : undefined
  }

  /** Announces the shutdown; {@link end} follows. */
  announce(): void {
    this.reply(errorFrame(refuse("ShuttingDown", "going away"), undefined))
  }

  // ---- replies

  private invalid({ details, message, reason, req_id }: InvalidMessage): void {
    this.reply(errorFrame(refuse(reason, message, details), req_id))
  }

  private pong({ req_id, ts }: Ping): void {
    const server_ts = this.deps.hub.now()
    this.reply(frameOf({ op: "pong", ...withReqId(req_id), ...(ts === undefined ? {} : { client_ts: ts }), server_ts }))
  }

  // ---- messages in order

  private enqueue(frame: ClientFrame | "interruption"): void {
    if (!this.busy) return this.handle(frame)
    const inbox = (this.inbox ??= [])
    if (frame !== "interruption" && inbox.length >= this.deps.limits.message_burst) {
      return this.reply(errorFrame({ code: "RateLimitExceeded", message: "too many messages are queued" }, undefined))
    }
    inbox.push(frame)
  }

  private handle(frame: ClientFrame | "interruption"): void {
    if (frame === "interruption") return this.recover()
    switch (frame.op) {
      case "auth":
        return this.authenticate(frame)
      case "subscribe":
        return this.endpoint === "private" ? this.subscribePrivate(frame) : this.subscribePublic(frame)
      case "unsubscribe":
        return this.unsubscribe(frame)
      case "ping":
        return
    }
  }

  /** Runs an asynchronous operation; later messages stay in the inbox until it ends. It must check `closing` when it resumes. */
  private work(effect: Effect.Effect<void>): void {
    this.busy = true
    this.deps.run(
      effect.pipe(
        Effect.timeoutOrElse({ duration: WORK_MS, orElse: () => Effect.sync(() => this.end("Internal")) }),
        Effect.andThen(
          Effect.sync(() => {
            this.busy = false
            while (!this.busy && !this.closing) {
              const next = this.inbox?.shift()
              if (next === undefined) break
              this.handle(next)
            }
          })
        ),
        Effect.catchCause((cause) => {
          if (!Cause.hasInterruptsOnly(cause)) this.deps.hub.report(cause)
          return Effect.sync(() => this.end("Internal"))
        })
      )
    )
  }

  // ---- auth

  private authenticate(frame: Auth): void {
    if (this.endpoint !== "private") {
      return this.reply(
        this.authRefusal(refuse("InvalidField", "authenticate on /ws/private", { field: "op" }), frame.req_id)
      )
    }
    const check = this.credentialCheck(frame)
    if ("code" in check) return this.authFailed(check, frame.req_id, true)
    this.work(
      Effect.map(Effect.result(check), (result) => {
        if (this.closing) return
        if (Result.isFailure(result)) {
          return this.authFailed(ofAuthError(result.failure), frame.req_id, result.failure._tag !== "AuthUnavailable")
        }
        this.accept(result.success, frame.req_id)
      })
    )
  }

  private credentialCheck(frame: Auth): WsError | Effect.Effect<Caller, AuthError> {
    const { api_key, bearer, nonce, signature, timestamp_ms } = frame
    if (bearer !== undefined) {
      if (api_key !== undefined) return refuse("AmbiguousAuth", "send either bearer or api_key, not both")
      return this.deps.authenticator.bearerSocket(bearer)
    }
    if (api_key === undefined) return refuse("MissingToken", "send bearer, or api_key with its signature")
    for (const [field, value] of Object.entries({ signature, timestamp_ms, nonce })) {
      if (value === undefined)
        return refuse("MissingField", fieldText(field, "a value with api_key", undefined), { field })
    }
    return this.deps.authenticator.signedSocket({
      api_key,
      signature: signature!,
      timestamp_ms: timestamp_ms!,
      nonce: nonce!,
      client_ip: this.ip
    })
  }

  private authRefusal({ code, details, message }: WsError, req_id: ReqId | undefined): Frame {
    return frameOf({
      op: "auth",
      success: false,
      user_id: null,
      ...withReqId(req_id),
      code,
      message,
      ...(details === undefined ? {} : { details })
    })
  }

  private authFailed(error: WsError, req_id: ReqId | undefined, counts: boolean): void {
    this.reply(this.authRefusal(error, req_id))
    if (counts && ++this.failedAuths >= this.deps.limits.auth_tries) this.end("AuthRefused")
  }

  private accept(caller: Caller, req_id: ReqId | undefined): void {
    // checked again synchronously: the grant can have ended during the asynchronous check
    const refused = refusalOfGrant(caller.grant)
    if (refused !== undefined) return this.authFailed(ofAuthError(refused), req_id, true)
    if (!caller.scopes.has("read")) {
      return this.authFailed(refuse("InsufficientScope", undefined, { required: "read" }), req_id, true)
    }
    if (this.caller !== undefined && this.caller.user_id !== caller.user_id) {
      const other = {
        code: "FORBIDDEN",
        message: "this connection is authenticated as another user; open a new connection"
      } as const
      return this.authFailed(other, req_id, true)
    }
    if (!this.deps.admit(this, caller)) {
      this.reply(this.authRefusal({ code: "RateLimitExceeded", message: "this user has too many connections" }, req_id))
      return this.end("TooMany")
    }
    this.caller = caller
    this.failedAuths = 0
    this.unwatchGrant?.()
    this.unwatchGrant = caller.grant.onEnd(() => this.end("CredentialEnded"))
    if (this.subscriptions === undefined) {
      const onOverflow = () => this.end("SlowConsumer")
      this.subscriptions = new PrivateSubscriptions(this.deps, caller, this.outbox, onOverflow)
      this.detach = this.subscriptions.attach(() => this.enqueue("interruption"))
    } else this.subscriptions.authorize(caller)
    this.reply(
      frameOf({
        op: "auth",
        success: true,
        user_id: caller.user_id,
        ...withReqId(req_id),
        stream_id: this.deps.streams.streamId(),
        head_seq: this.deps.streams.head(caller.user_id),
        ...(caller.expires_at_ms === undefined ? {} : { expires_at_ms: caller.expires_at_ms })
      })
    )
  }

  /** The user stream was interrupted: continues the private topics. */
  private recover(): void {
    this.work(Effect.catch(this.subscriptions!.recover(), () => Effect.sync(() => this.end("BackendLost"))))
  }

  // ---- topics

  /** Parses a topic; returns an error if this endpoint does not serve it. */
  private topicOf(text: string): Topic | WsError {
    const topic = parseTopic(text)
    if (typeof topic === "string") return refuse("InvalidField", topic, { field: "args" })
    if (topic.kind === "private") {
      if (this.endpoint !== "private") {
        return refuse("InvalidField", "a private topic: subscribe on /ws/private", { field: "args" })
      }
      return this.caller === undefined ? refuse("MissingToken", "authenticate first") : topic
    }
    if (this.endpoint === "private") {
      return refuse("InvalidField", "a public topic: subscribe on /ws/public", { field: "args" })
    }
    const { view } = this.deps
    if (marketOf(view, topic) !== undefined) return topic
    // before the backend has reported its markets, a symbol cannot be called unknown
    if (view.instruments().length === 0) return refuse("BackendUnavailable")
    const accepted = "a topic of a market, such as BTC-USDC"
    return refuse("SymbolNotFound", `no such market: expected ${accepted}, got ${quoted(text)}`)
  }

  /** Splits the topics of a message, without duplicates, into accepted topics and errors. */
  private sort<T extends Topic>(
    { args, req_id }: Subscribe,
    held: (name: string) => boolean,
    holding: number
  ): { readonly accepted: ReadonlyArray<readonly [string, T]>; readonly errors: Array<Frame> } {
    const accepted: Array<readonly [string, T]> = []
    const errors: Array<Frame> = []
    const max = this.deps.limits.topics_per_connection
    let more = 0
    for (const name of new Set(args)) {
      const topic = this.topicOf(name)
      if ("code" in topic) errors.push(errorFrame(topic, req_id, name))
      else if (!held(name) && holding + ++more > max) {
        errors.push(errorFrame(refuse("LimitReached", `at most ${max} topics per connection`, { max }), req_id, name))
      } else accepted.push([name, topic as T])
    }
    return { accepted, errors }
  }

  /** Sends which topics of a message start, then why the others do not. */
  private subscribed(
    names: ReadonlyArray<string>,
    errors: ReadonlyArray<Frame>,
    req_id: ReqId | undefined,
    resume?: Resume
  ): void {
    this.reply(
      frameOf({ op: "subscribed", args: names, ...withReqId(req_id), ...(resume === undefined ? {} : { resume }) })
    )
    for (const error of errors) this.reply(error)
  }

  private subscribePublic(frame: Subscribe): void {
    const held = (this.publicTopics ??= new Set())
    const { accepted, errors } = this.sort<MarketTopic>(frame, (name) => held.has(name), held.size)
    this.subscribed(
      accepted.map(([name]) => name),
      errors,
      frame.req_id
    )
    for (const [name, topic] of accepted) {
      held.add(name)
      this.deps.hub.join(name, topic, this.outbox)
    }
  }

  private unsubscribe({ args, req_id }: Unsubscribe): void {
    const left = [...new Set(args)].filter((name) => {
      if (this.publicTopics?.delete(name) === true) {
        this.deps.hub.leave(name, this.outbox)
        return true
      }
      const topic = parseTopic(name)
      return typeof topic === "object" && topic.kind === "private" && this.subscriptions?.leave(topic.name) === true
    })
    this.reply(frameOf({ op: "unsubscribed", args: left, ...withReqId(req_id) }))
  }

  private subscribePrivate(frame: Subscribe): void {
    const { accepted, errors } = this.sort<{ kind: "private"; name: PrivateTopic }>(frame, () => true, 0)
    const names = accepted.map(([, { name }]) => name)
    if (this.subscriptions === undefined || names.length === 0) return this.subscribed([], errors, frame.req_id)
    const { req_id, since, since_seq } = frame
    const from =
      since ?? (since_seq === undefined ? undefined : { stream_id: this.deps.streams.streamId(), seq: since_seq })
    this.work(
      this.subscriptions.subscribe(names, from, ({ refused, resume, topics }) => {
        const unavailable = refused.map(({ reason, topic }) => errorFrame(refuse(reason), req_id, topic))
        this.subscribed(topics, [...errors, ...unavailable], req_id, resume)
      })
    )
  }
}

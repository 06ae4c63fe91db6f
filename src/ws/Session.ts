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
import { type AuthError, type Authenticator, refusalOfGrant } from "../services/identity/Authenticator.ts"
import type { AccountsUnavailable } from "../services/identity/Accounts.ts"
import { current } from "../services/identity/CredentialLease.ts"
import type { MarketView } from "../services/markets/MarketView.ts"
import type { Snapshot, SnapshotUnavailable, UserSnapshots } from "../services/read-model/UserSnapshots.ts"
import type { UserStreams } from "../services/read-model/UserStreams.ts"
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
import { type FeedStart, PrivateFeed, UserMessage } from "./PrivateFeed.ts"
import { errorFrame, ofAuthError, type WsError, refuse, withReqId } from "./WsError.ts"

/** Dependencies that all sessions share. */
export interface SessionDeps extends ConnectionDeps {
  readonly hub: typeof Hub.Service
  readonly authenticator: typeof Authenticator.Service
  readonly snapshots: typeof UserSnapshots.Service
  readonly streams: typeof UserStreams.Service
  readonly view: typeof MarketView.Service
  /** Counts a session for its user; false: the user has as many as allowed. */
  readonly admit: (session: Session, caller: Caller) => boolean
}

/** Time limit of authentication, and of reading snapshots, in ms. */
const WORK_MS = 10_000

/** A topic that begins with a snapshot, and the stream of the snapshot. */
interface SnapshotStart extends FeedStart {
  readonly stream_id: string
}

export class Session extends Connection {
  caller: Caller | undefined
  private readonly deps: SessionDeps
  /** `undefined` before the first subscription. */
  private publicTopics: Set<string> | undefined = undefined
  /** Removes the end callback of the caller's grant. */
  private unwatchGrant: (() => void) | undefined = undefined
  private feed: PrivateFeed | undefined
  private detach: (() => void) | undefined
  /** Messages queued behind the running operation. */
  private inbox: Array<ClientFrame | "restart"> | undefined = undefined
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

  private enqueue(frame: ClientFrame | "restart"): void {
    if (!this.busy) return this.handle(frame)
    const inbox = (this.inbox ??= [])
    if (frame !== "restart" && inbox.length >= this.deps.limits.message_burst) {
      return this.reply(errorFrame({ code: "RateLimitExceeded", message: "too many messages are queued" }, undefined))
    }
    inbox.push(frame)
  }

  private handle(frame: ClientFrame | "restart"): void {
    if (frame === "restart") return this.work(this.restart())
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
    const feed = (this.feed ??= new PrivateFeed(caller.user_id, this.outbox, () => this.end("SlowConsumer")))
    feed.bound_to = caller.bound_to
    this.detach ??= this.deps.hub.attach(feed, () => {
      feed.hold()
      this.enqueue("restart")
    })
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

  private subscribed(names: ReadonlyArray<string>, req_id: ReqId | undefined, resume?: Resume): void {
    this.reply(
      frameOf({ op: "subscribed", args: names, ...withReqId(req_id), ...(resume === undefined ? {} : { resume }) })
    )
  }

  private subscribePublic(frame: Subscribe): void {
    const held = (this.publicTopics ??= new Set())
    const { accepted, errors } = this.sort<MarketTopic>(frame, (name) => held.has(name), held.size)
    this.subscribed(
      accepted.map(([name]) => name),
      frame.req_id
    )
    for (const error of errors) this.reply(error)
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
      return typeof topic === "object" && topic.kind === "private" && this.feed?.leave(topic.name) === true
    })
    this.reply(frameOf({ op: "unsubscribed", args: left, ...withReqId(req_id) }))
  }

  private subscribePrivate(frame: Subscribe): void {
    const { accepted, errors } = this.sort<{ kind: "private"; name: PrivateTopic }>(frame, () => true, 0)
    const names = accepted.map(([, { name }]) => name)
    if (this.feed === undefined || names.length === 0) {
      this.subscribed([], frame.req_id)
      for (const error of errors) this.reply(error)
      return
    }
    this.work(this.joinPrivate(this.feed, names, frame, errors))
  }

  /** Subscribes to private topics: buffers events, reads snapshots or a replay, then sends everything in order. */
  private joinPrivate(
    feed: PrivateFeed,
    names: ReadonlyArray<PrivateTopic>,
    { req_id, since, since_seq }: Subscribe,
    errors: Array<Frame>
  ): Effect.Effect<void> {
    const { hub, snapshots, streams } = this.deps
    const from = since ?? (since_seq === undefined ? undefined : { stream_id: streams.streamId(), seq: since_seq })
    const resume = (recovered: boolean): Resume | undefined =>
      from && {
        recovered,
        stream_id: streams.streamId(),
        head_seq: streams.head(feed.user_id)
      }
    feed.join()
    return Effect.gen({ self: this }, function* () {
      const read = from === undefined ? Effect.undefined : snapshots.replay(feed.user_id, from)
      const replay = yield* Effect.result(Effect.tap(read, this.fresh()))
      if (Result.isFailure(replay)) {
        for (const name of names) errors.push(this.unavailable(replay.failure, req_id, name))
        feed.abandon()
        this.subscribed([], req_id)
      } else if (
        from !== undefined &&
        replay.success !== undefined &&
        // checked again: the stream can have been replaced since the events were read
        from.stream_id === streams.streamId()
      ) {
        const now = hub.now()
        this.subscribed(names, req_id, resume(true))
        feed.begin(
          from.stream_id,
          names.map((topic) => ({ topic, snapshot: undefined, seq: from.seq })),
          replay.success.map((event) => new UserMessage(event, from.stream_id, now)),
          hub.monotonic()
        )
      } else {
        const beginnings = yield* this.snapshotsOf(feed, names, (topic, error) =>
          errors.push(this.unavailable(error, req_id, topic))
        )
        this.subscribed(
          beginnings.map(({ topic }) => topic),
          req_id,
          resume(false)
        )
        this.begin(feed, beginnings)
      }
      for (const error of errors) this.reply(error)
    })
  }

  /** Completes when the gateway knows that the credential of this connection has not ended elsewhere. */
  private fresh(): Effect.Effect<void, AccountsUnavailable> {
    return Effect.suspend(() => current(this.caller!.grant.lease))
  }

  private snapshotsOf(
    feed: PrivateFeed,
    names: ReadonlyArray<PrivateTopic>,
    refused: (topic: PrivateTopic, error: SnapshotUnavailable | AccountsUnavailable) => void
  ): Effect.Effect<ReadonlyArray<SnapshotStart>> {
    const { hub, snapshots } = this.deps
    return Effect.gen({ self: this }, function* () {
      const beginnings: Array<SnapshotStart> = []
      for (const topic of names) {
        const taken = yield* Effect.result(snapshots.take(feed.user_id, topic, feed.bound_to))
        if (Result.isFailure(taken)) refused(topic, taken.failure)
        else {
          const { seq, stream_id } = taken.success
          const snapshot = snapshotFrame(topic, taken.success, hub.now())
          beginnings.push({ topic, snapshot, seq, stream_id })
        }
      }
      const checked = yield* Effect.result(this.fresh())
      if (Result.isSuccess(checked)) return beginnings
      for (const { topic } of beginnings) refused(topic, checked.failure)
      return []
    })
  }

  /**
   * Starts topics with snapshots. If one of them is of an earlier stream, so is the position of the feed; the restart that is queued
   * then sends the snapshots of the new stream.
   */
  private begin(feed: PrivateFeed, beginnings: ReadonlyArray<SnapshotStart>): void {
    const { hub, streams } = this.deps
    const current = streams.streamId()
    const earlier = beginnings.find(({ stream_id }) => stream_id !== current)
    feed.begin(earlier?.stream_id ?? current, beginnings, [], hub.monotonic())
  }

  private unavailable(
    { reason }: SnapshotUnavailable | AccountsUnavailable,
    req_id: ReqId | undefined,
    topic: string
  ): Frame {
    return errorFrame(refuse(reason), req_id, topic)
  }

  /**
   * The user stream was interrupted: continues from the position of the connection, or with snapshots if the stream
   * was replaced.
   */
  private restart(): Effect.Effect<void> {
    const { hub, snapshots } = this.deps
    const feed = this.feed!
    return Effect.gen({ self: this }, function* () {
      const { position } = feed
      if (position === undefined) {
        feed.release()
        return feed.abandon() // no topic has started
      }
      const replay = yield* Effect.result(Effect.tap(snapshots.replay(feed.user_id, position), this.fresh()))
      if (Result.isSuccess(replay) && replay.success !== undefined) {
        const now = hub.now()
        feed.release()
        return feed.resume(
          replay.success.map((event) => new UserMessage(event, position.stream_id, now)),
          hub.monotonic()
        )
      }
      const beginnings = yield* this.snapshotsOf(feed, feed.topics(), () => this.end("BackendLost"))
      feed.release()
      this.begin(feed, beginnings)
    })
  }
}

const snapshotFrame = (topic: PrivateTopic, { list, seq, stream_id }: Snapshot, now: number): Frame =>
  frameOf({
    op: "event",
    topic,
    server_ts_ms: now,
    data: { type: "snapshot", stream_id, seq, ts: now, mts: now, list }
  })

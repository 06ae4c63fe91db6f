/**
 * Runs the calls of connections of any transport. It is between a transport and the server of the library: it admits or refuses
 * each call, and answers each. Source: docs/contract/limits.md#transports.
 */
import { Effect, Queue } from "effect"
import { type RpcMessage, RpcSerialization, RpcServer } from "effect/rpc"
import { transportLimits } from "../domain/TransportLimits.ts"
import type { Peer } from "../services/operations/InProcessFeeds.ts"
import type { CallError } from "./api/Errors.ts"
import { ConnectionPeer } from "./handlers/Peer.ts"
import { defectText, type Id, overLimit, read, refusalText, refusedCall } from "./CallMessages.ts"

/** Calls in flight, of one connection of the network. */
export interface Load {
  inFlight: number
}

/** How a transport carries one connection. */
export interface Carrier {
  readonly peer: Peer
  /** Headers of every call, in front of its own. */
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly load: Load
  /** Sends text; waits while the client does not read. */
  readonly send: (text: string) => Effect.Effect<void>
  /** Called when all calls are answered, after {@link Connection.eof}. */
  readonly ended: Effect.Effect<void>
  /** Called when the response of a call is sent. */
  readonly answered: () => void
}

type Write = (clientId: number, message: RpcMessage.FromClientEncoded) => Effect.Effect<void>

/** How a call is answered: as every other, without its value, or not at all. */
type Kind = "call" | "discard" | "notification"

/** Lines that are no calls, in one message, before the rest of it is not read. */
const ODD_LINES_MAX = 16
/** Work of one turn of the event loop: a call that runs, and a line that does not. */
const TURN = 64
const RUN = 16

const LINE = /[^\r\n]+/gu

/** Continues in the next turn of the event loop. */
const nextTurn = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** Numbers the calls without an answer, whose ids may repeat. */
let notifications = 0

/** The line of a response; that of a discarded call has no value. */
const responseText = (response: RpcMessage.ResponseExitEncoded, kind: Kind): string => {
  if (kind !== "discard" || response.exit._tag !== "Success") return `${JSON.stringify(response)}\n`
  const { value: _, ...exit } = response.exit
  return `${JSON.stringify({ ...response, exit })}\n`
}

export class Connection {
  readonly id: number
  private readonly write: Write
  private readonly carrier: Carrier
  private readonly calls = new Map<Id, Kind>()
  private open = true

  constructor(id: number, write: Write, carrier: Carrier) {
    this.id = id
    this.write = write
    this.carrier = carrier
  }

  get isBusy(): boolean {
    return this.calls.size > 0
  }

  /** Why the next call may not run; undefined: it may. */
  private stop(index: number) {
    if (index >= transportLimits.calls_per_message.figure) return overLimit.message
    return this.carrier.load.inFlight >= transportLimits.calls_in_flight.figure ? overLimit.inFlight : undefined
  }

  /** The answers to the calls of a text of whole lines, none of which runs, and the lines that are no calls. */
  refusals(text: string, error: CallError): { readonly answers: string; readonly others: string } {
    let answers = ""
    let others = ""
    for (const [line] of text.matchAll(LINE)) {
      const message = read(line)
      if (message._tag === "Request" || message._tag === "RefusedCall") {
        answers += refusalText(refusedCall(message.id, error))
      } else others += `${line}\n`
    }
    return { answers, others }
  }

  /** Runs the calls of a text of whole lines in order. Other work of the event loop runs between them. */
  run(text: string): Effect.Effect<void> {
    return Effect.provideService(
      Effect.gen({ self: this }, function* () {
        let calls = 0
        let odd = 0
        let work = 0
        for (const [line] of text.matchAll(LINE)) {
          if (work >= TURN) {
            work = 0
            yield* nextTurn
          }
          // a call that begins after the end of its connection would never end
          if (!this.open) return
          work++
          const message = read(line)
          if (message._tag === "Request" || message._tag === "RefusedCall") {
            const stop = this.stop(calls++)
            if (stop !== undefined) yield* this.carrier.send(refusalText(refusedCall(message.id, stop)))
            else if (message._tag === "RefusedCall") yield* this.carrier.send(refusalText(message))
            else if (this.calls.has(message.id)) {
              yield* this.carrier.send(refusalText(refusedCall(message.id, overLimit.idInUse)))
            } else {
              work += RUN
              yield* this.begin(message)
            }
          } else if (message._tag === "NoMessage") {
            yield* this.carrier.send(defectText(message.text))
            if (++odd > ODD_LINES_MAX) return
          } else if (message._tag !== "Eof") {
            if (++odd > transportLimits.calls_per_message.figure) {
              return yield* this.carrier.send(defectText("too many messages in one; the rest is not read"))
            }
            yield* this.write(this.id, message)
          }
        }
      }),
      ConnectionPeer,
      this.carrier.peer
    )
  }

  private begin(request: RpcMessage.RequestEncoded): Effect.Effect<void> {
    const { discard, isNotification, ...call } = request
    const kind: Kind = isNotification === true ? "notification" : discard === true ? "discard" : "call"
    // the library ends such a call before its work, so it would not be counted as in flight
    let { id } = call
    if (kind === "notification")
      do id = `notification ${notifications++}`
      while (this.calls.has(id))
    this.calls.set(id, kind)
    this.carrier.load.inFlight++
    return this.write(this.id, {
      ...call,
      id,
      headers: [...this.carrier.headers, ...call.headers] as Array<[string, string]>
    })
  }

  /** No call follows: ends the connection after the answers. */
  get eof(): Effect.Effect<void> {
    return Effect.suspend(() => this.write(this.id, { _tag: "Eof" }))
  }

  /** Sends a message of the server. A call is in flight until its response is sent, so a client that does not read begins no more. */
  respond(response: RpcMessage.FromServerEncoded): Effect.Effect<void> {
    const kind = response._tag === "Exit" ? this.calls.get(response.requestId) : undefined
    if (response._tag !== "Exit" || kind === undefined) return this.carrier.send(`${JSON.stringify(response)}\n`)
    const end = Effect.sync(() => this.end(response.requestId))
    return kind === "notification" ? end : Effect.ensuring(this.carrier.send(responseText(response, kind)), end)
  }
  private end(id: Id): void {
    // a connection that closed meanwhile has no calls
    if (!this.calls.delete(id)) return
    this.carrier.load.inFlight--
    this.carrier.answered()
  }
  get ended(): Effect.Effect<void> {
    return this.carrier.ended
  }

  /** The client has disconnected. */
  close(): void {
    this.open = false
    this.carrier.load.inFlight -= this.calls.size
    this.calls.clear()
  }
}

export interface CallServer {
  /** The protocol of a server of the library. */
  readonly protocol: RpcServer.Protocol["Service"]
  readonly open: (carrier: Carrier) => Connection
  /** Ends a connection and interrupts its calls. */
  readonly close: (connection: Connection) => void
}

/** One for each kind of transport; `acknowledged`: clients acknowledge the parts of a stream. */
export const make = (acknowledged: boolean): Effect.Effect<CallServer> =>
  Effect.gen(function* () {
    const disconnects = yield* Queue.unbounded<number>()
    const connections = new Map<number, Connection>()
    let write!: Write
    let nextId = 0
    const protocol = yield* RpcServer.Protocol.make((written) => {
      write = written
      return Effect.succeed({
        disconnects,
        send: (clientId, response) => connections.get(clientId)?.respond(response) ?? Effect.void,
        end: (clientId) => connections.get(clientId)?.ended ?? Effect.void,
        clientIds: Effect.sync(() => new Set(connections.keys())),
        initialMessage: Effect.succeedNone,
        supportsAck: acknowledged,
        supportsTransferables: false,
        supportsSpanPropagation: false,
        supportsNotifications: false,
        codecFor: RpcSerialization.ndjson.codecFor
      })
    })
    return {
      protocol,
      open: (carrier) => {
        const connection = new Connection(nextId++, (id, message) => write(id, message), carrier)
        connections.set(connection.id, connection)
        return connection
      },
      close: (connection) => {
        if (!connections.delete(connection.id)) return
        connection.close()
        Queue.offerUnsafe(disconnects, connection.id)
      }
    }
  })

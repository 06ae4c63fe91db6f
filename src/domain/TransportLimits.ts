/**
 * The table of all limits on clients, for every transport. Each limit has one figure. A transport to which it does
 * not apply has a reason. The parts of the gateway take their defaults from here, and docs/reference/limits.md is
 * generated from it.
 *
 * `services/operations/RateLimiter` limits request rates per credential and address; {@link rates} lists its
 * transports.
 * Source: docs/contract/websocket.md#limits, docs/contract/limits.md; docs/contract/limits.md#transports.
 */

/** The transports: REST, its fast path, `POST /rpc`, a WebSocket at `/rpc`, a WebSocket at `/ws*`. */
export const transports = ["rest", "fast", "rpc-http", "rpc-ws", "ws"] as const
export type Transport = (typeof transports)[number]

export type LimitKind = "size" | "in flight" | "rate" | "connections" | "deadline" | "idle"

export interface TransportLimit {
  readonly kind: LimitKind
  /** In `unit`. */
  readonly figure: number
  readonly unit:
    | "bytes"
    | "ms"
    | "connections"
    | "messages"
    | "calls"
    | "headers"
    | "topics"
    | "requests"
    | "tries"
    | "levels"
    | "members"
  /** Subject of the limit. */
  readonly what: string
  /** Response over the limit. */
  readonly over: string
  /** The setting that changes the figure. */
  readonly setting?: string
  /** Transports without this limit, each with the reason. */
  readonly except?: Partial<Readonly<Record<Transport, string>>>
}

const KIB = 1024
const MIB = 1024 * KIB

const socketsOnly = (reason: string): Partial<Record<Transport, string>> => ({
  rest: reason,
  fast: reason,
  "rpc-http": reason
})
const httpOnly = (reason: string): Partial<Record<Transport, string>> => ({ "rpc-ws": reason, ws: reason })

export const transportLimits = {
  // ---- size
  header_bytes: {
    kind: "size",
    figure: 16 * KIB,
    unit: "bytes",
    what: "request line and headers, those of an upgrade included",
    over: "431 `HeadersTooLarge`"
  },
  headers: {
    kind: "size",
    figure: 100,
    unit: "headers",
    what: "headers of a request that are read",
    over: "the rest is not read"
  },
  body_bytes: {
    kind: "size",
    figure: 256 * KIB,
    unit: "bytes",
    what: "body of a request",
    over: "413 `BodyTooLarge`",
    except: httpOnly("a socket has messages: `message_bytes`, `unfinished_bytes`")
  },
  message_bytes: {
    kind: "size",
    figure: 64 * KIB,
    unit: "bytes",
    what: "message of a socket, uncompressed",
    over: "close 1009",
    except: socketsOnly("the body is the message: `body_bytes`")
  },
  unfinished_bytes: {
    kind: "size",
    figure: 256 * KIB,
    unit: "bytes",
    what: "unprocessed input of a connection: a call in several messages, and messages queued behind the current one",
    over: "close 1009 for a call, a refusal of its calls for a message",
    except: {
      ...socketsOnly("an unfinished request is its body: `body_bytes`"),
      ws: "only whole messages are read: `message_bytes`"
    }
  },
  unfinished_total_bytes: {
    kind: "size",
    figure: 8 * MIB,
    unit: "bytes",
    what: "unfinished bodies and messages of all connections; each part of one counts 256 bytes more",
    over: "the address with most of it loses its largest: close 4029, or the connection"
  },
  outbound_bytes: {
    kind: "size",
    figure: 4 * MIB,
    unit: "bytes",
    what: "output of a socket that its client has not read",
    over: "feeds are conflated, else close 4008",
    except: socketsOnly("an address, not a connection, is limited: `unread_bytes`")
  },
  unread_bytes: {
    kind: "size",
    figure: 32 * MIB,
    unit: "bytes",
    what: "responses that the clients of an address have not read; not counted behind `TRUSTED_PROXIES`",
    over: "the oldest connection is closed",
    except: httpOnly("each socket is limited: `outbound_bytes`")
  },
  topics_per_connection: {
    kind: "size",
    figure: 200,
    unit: "topics",
    what: "topics of a session; a stream over `/rpc` is a session",
    over: "`LimitReached`",
    except: { rest: "REST has no topics", fast: "REST has no topics" }
  },
  json_depth: {
    kind: "size",
    figure: 32,
    unit: "levels",
    what: "nesting of objects and arrays, in a body or a call",
    over: "400 `MalformedJson`, for a call a defect",
    except: { ws: "a message is at most `message_bytes`, and its form is flat" }
  },
  json_members: {
    kind: "size",
    figure: 4_096,
    unit: "members",
    what: "fields and elements of a body or a call",
    over: "400 `MalformedJson`, for a call a defect",
    except: { ws: "a message is at most `message_bytes`, and its form is flat" }
  },
  // ---- in flight
  requests_in_flight: {
    kind: "in flight",
    figure: 64,
    unit: "requests",
    what: "requests of a connection without a response",
    over: "the connection is closed",
    except: httpOnly("a socket has calls or messages: `calls_in_flight`, `message_burst`")
  },
  calls_in_flight: {
    kind: "in flight",
    figure: 64,
    unit: "calls",
    what: "calls of a connection without a response, streams included",
    over: "`RateLimitExceeded` for the call",
    except: {
      rest: "a request is one operation: `requests_in_flight`",
      fast: "a request is one operation: `requests_in_flight`",
      ws: "there are no calls; queued messages are limited by `message_burst`"
    }
  },
  calls_per_message: {
    kind: "in flight",
    figure: 256,
    unit: "calls",
    what: "calls of one message",
    over: "`LimitReached` for the call",
    except: {
      rest: "a request is one operation",
      fast: "a request is one operation",
      ws: "a message is one operation"
    }
  },
  // ---- rate
  messages_per_s: {
    kind: "rate",
    figure: 20,
    unit: "messages",
    what: "messages of a socket a second; acknowledgements of a stream are not counted",
    over: "`RateLimitExceeded`",
    except: socketsOnly("the rate bucket of the credential counts each request")
  },
  message_burst: {
    kind: "rate",
    figure: 100,
    unit: "messages",
    what: "messages of a socket at once, those that wait included",
    over: "`RateLimitExceeded`",
    except: socketsOnly("the rate bucket of the credential counts each request")
  },
  flood_ms: {
    kind: "rate",
    figure: 5_000,
    unit: "ms",
    what: "time over the message rate",
    over: "close 4029",
    except: socketsOnly("a refused request costs its sender another request")
  },
  arrivals_per_s: {
    kind: "rate",
    figure: 250,
    unit: "connections",
    what: "connections that an address opens a second",
    over: "connections are queued, unread",
    setting: "ARRIVALS_PER_IP"
  },
  // ---- connections
  connections: {
    kind: "connections",
    figure: 100_000,
    unit: "connections",
    what: "connections of all addresses, sockets included",
    over: "the connection is closed"
  },
  connections_per_address: {
    kind: "connections",
    figure: 10_000,
    unit: "connections",
    what: "connections of an address, sockets included",
    over: "the connection is closed",
    setting: "CONNECTIONS_PER_IP"
  },
  sockets_per_address: {
    kind: "connections",
    figure: 50,
    unit: "connections",
    what: "sockets and streams of an address",
    over: "429, for a stream `RateLimitExceeded`",
    setting: "WS_CONNECTIONS_PER_IP",
    except: { rest: "no session is kept", fast: "no session is kept" }
  },
  sockets_per_user: {
    kind: "connections",
    figure: 20,
    unit: "connections",
    what: "private sockets and streams of a user",
    over: "close 4029, for a stream `RateLimitExceeded`",
    setting: "WS_CONNECTIONS_PER_USER",
    except: { rest: "no session is kept", fast: "no session is kept" }
  },
  // ---- deadline
  headers_ms: {
    kind: "deadline",
    figure: 10_000,
    unit: "ms",
    what: "time to send the headers, those of an upgrade included",
    over: "408 `RequestTimeout`"
  },
  request_ms: {
    kind: "deadline",
    figure: 30_000,
    unit: "ms",
    what: "time to send a request",
    over: "408 `RequestTimeout`",
    except: httpOnly("unfinished input is bounded by size, an inactive peer by `silence_ms`")
  },
  auth_deadline_ms: {
    kind: "deadline",
    figure: 10_000,
    unit: "ms",
    what: "time to authenticate on `/ws/private`, or as a private stream",
    over: "close 4001",
    except: {
      rest: "each request carries its credentials",
      fast: "each request carries its credentials"
    }
  },
  auth_tries: {
    kind: "deadline",
    figure: 3,
    unit: "tries",
    what: "failed tries to authenticate on a socket",
    over: "close 4003",
    except: {
      rest: "the address counts failures: bucket `auth-failures`",
      fast: "the address counts failures: bucket `auth-failures`",
      "rpc-http": "each call carries its credentials; the address counts failures: bucket `auth-failures`",
      "rpc-ws": "each call carries its credentials; the address counts failures: bucket `auth-failures`"
    }
  },
  reading_ms: {
    kind: "deadline",
    figure: 60_000,
    unit: "ms",
    what: "time to read a response",
    over: "the connection is closed",
    except: httpOnly("each socket is limited: `outbound_age_ms`")
  },
  outbound_age_ms: {
    kind: "deadline",
    figure: 10_000,
    unit: "ms",
    what: "time that output of a socket waits for its client",
    over: "close 4008",
    except: socketsOnly("responses are limited by `reading_ms`")
  },
  close_timeout_ms: {
    kind: "deadline",
    figure: 5_000,
    unit: "ms",
    what: "time to answer a close frame",
    over: "the connection is closed",
    except: socketsOnly("HTTP has no close frame")
  },
  // ---- idle
  keep_alive_ms: {
    kind: "idle",
    figure: 65_000,
    unit: "ms",
    what: "idle time of a kept connection",
    over: "the connection is closed",
    except: httpOnly("a socket is kept while its peer answers pings: `silence_ms`")
  },
  ping_interval_ms: {
    kind: "idle",
    figure: 15_000,
    unit: "ms",
    what: "time between two pings of the gateway",
    over: "–",
    setting: "WS_PING_INTERVAL_MS",
    except: socketsOnly("HTTP has no ping")
  },
  silence_ms: {
    kind: "idle",
    figure: 30_000,
    unit: "ms",
    what: "time without any frame, pongs included",
    over: "close 4000",
    setting: "WS_KEEPALIVE_TIMEOUT_MS",
    except: socketsOnly("an idle connection is limited by `keep_alive_ms`")
  }
} as const satisfies Record<string, TransportLimit>

export type LimitName = keyof typeof transportLimits

/** Transports that `services/operations/RateLimiter` limits: true, or the reason why not. */
export const rates: Readonly<Record<Transport, true | string>> = {
  rest: true,
  fast: true,
  "rpc-http": true,
  "rpc-ws": true,
  ws: "a socket has a message rate; failed credentials count in bucket `auth-failures`"
}

/** Why a limit does not apply to a transport; undefined: it does. */
export const exceptionOf = (name: LimitName, transport: Transport): string | undefined =>
  (transportLimits[name] as TransportLimit).except?.[transport]

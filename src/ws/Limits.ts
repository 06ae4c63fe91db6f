/** Every bound of the WebSocket endpoints, in one place. Source: contract 5.2, 5.4, 5.9, 8.4, 13. */
import { Context } from "effect"

export interface Limits {
  /** Sockets of one client address; 0: no limit. Over it the upgrade is answered 429. */
  readonly connections_per_ip: number
  /** Authenticated sockets of one user; 0: no limit. Over it: close 4029. */
  readonly connections_per_user: number
  readonly topics_per_connection: number
  /** Client messages: a bucket of `message_burst` that refills by `messages_per_s`. */
  readonly messages_per_s: number
  readonly message_burst: number
  /** How long a client may go on over the message rate before close 4029, in ms. */
  readonly flood_ms: number
  readonly inbound_frame_bytes: number
  readonly auth_deadline_ms: number
  readonly auth_tries: number
  /** What one socket may have waiting, in bytes and as the age of the oldest frame in ms. */
  readonly outbound_bytes: number
  readonly outbound_age_ms: number
  readonly ping_interval_ms: number
  /** Silence after which a socket is closed, in ms. */
  readonly silence_ms: number
  /** How long a backend may be ill before sockets are closed 1013, in ms. */
  readonly backend_lost_private_ms: number
  readonly backend_lost_public_ms: number
  /** Time over which sockets are closed at shutdown, and what a peer has to answer the close frame, in ms. */
  readonly drain_ms: number
  readonly close_timeout_ms: number
  /** How many entries of X-Forwarded-For, from the right, proxies in front have written. */
  readonly trusted_proxies: number
}

export const defaults: Limits = {
  connections_per_ip: 50,
  connections_per_user: 20,
  topics_per_connection: 200,
  messages_per_s: 20,
  message_burst: 100,
  flood_ms: 5_000,
  inbound_frame_bytes: 64 * 1024,
  auth_deadline_ms: 10_000,
  auth_tries: 3,
  outbound_bytes: 4 * 1024 * 1024,
  outbound_age_ms: 10_000,
  ping_interval_ms: 15_000,
  silence_ms: 30_000,
  backend_lost_private_ms: 10_000,
  backend_lost_public_ms: 60_000,
  drain_ms: 5_000,
  close_timeout_ms: 5_000,
  trusted_proxies: 0
}

/** The bounds in force; provide others to configure them. */
export const Limits = Context.Reference<Limits>("gateway/ws/Limits", { defaultValue: () => defaults })

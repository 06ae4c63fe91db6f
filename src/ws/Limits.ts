/**
 * All limits of the WebSocket endpoints. Limits that other transports share come from the common table.
 * Source: docs/contract/websocket.md#limits, #keepalive, #slow-consumers, docs/contract/boundary.md#lagging,
 * docs/contract/configuration.md#variables.
 */
import { Context } from "effect"
import { transportLimits } from "../domain/TransportLimits.ts"

export interface Limits {
  /** Sockets of one client address; 0: no limit. Over it the upgrade is answered 429. */
  readonly connections_per_ip: number
  /** Authenticated sockets of one user; 0: no limit. Over it: close 4029. */
  readonly connections_per_user: number
  readonly topics_per_connection: number
  /** Client messages: a bucket of `message_burst` that refills by `messages_per_s`. */
  readonly messages_per_s: number
  readonly message_burst: number
  /** How long a client may exceed the message rate before close 4029, in ms. */
  readonly flood_ms: number
  readonly inbound_frame_bytes: number
  readonly auth_deadline_ms: number
  readonly auth_tries: number
  /** Limits of one send queue: bytes, and age of the oldest frame in ms. */
  readonly outbound_bytes: number
  readonly outbound_age_ms: number
  readonly ping_interval_ms: number
  /** Silence after which a socket is closed, in ms. */
  readonly silence_ms: number
  /** How long a backend may be unavailable before close 1013, in ms. */
  readonly backend_lost_private_ms: number
  readonly backend_lost_public_ms: number
  /** Duration of the drain at shutdown, and time limit for the peer's close frame, in ms. */
  readonly drain_ms: number
  readonly close_timeout_ms: number
  /** Number of trusted proxies: entries of X-Forwarded-For, counted from the right. */
  readonly trusted_proxies: number
}

export const defaults: Limits = {
  connections_per_ip: transportLimits.sockets_per_address.figure,
  connections_per_user: transportLimits.sockets_per_user.figure,
  topics_per_connection: transportLimits.topics_per_connection.figure,
  messages_per_s: transportLimits.messages_per_s.figure,
  message_burst: transportLimits.message_burst.figure,
  flood_ms: transportLimits.flood_ms.figure,
  inbound_frame_bytes: transportLimits.message_bytes.figure,
  auth_deadline_ms: transportLimits.auth_deadline_ms.figure,
  auth_tries: transportLimits.auth_tries.figure,
  outbound_bytes: transportLimits.outbound_bytes.figure,
  outbound_age_ms: transportLimits.outbound_age_ms.figure,
  ping_interval_ms: transportLimits.ping_interval_ms.figure,
  silence_ms: transportLimits.silence_ms.figure,
  backend_lost_private_ms: 10_000,
  backend_lost_public_ms: 60_000,
  drain_ms: 5_000,
  close_timeout_ms: transportLimits.close_timeout_ms.figure,
  trusted_proxies: 0
}

/** The limits in force; provide others to configure them. */
export const Limits = Context.Reference<Limits>("gateway/ws/Limits", { defaultValue: () => defaults })

/**
 * Close codes of the gateway, and how a client should react. Source: docs/contract/websocket.md#close-codes.
 */

/** Reconnect at once, reconnect with back-off, log in first, fix the client, or do not reconnect. */
export type Advice = "reconnect" | "back-off" | "log-in" | "fix" | "stop"

export const closeCodes = {
  Normal: { code: 1000, text: "closed", advice: "stop" },
  /** Shutdown, announced by an error frame; the client resumes at another gateway. */
  GoingAway: { code: 1001, text: "going away", advice: "reconnect" },
  /** A frame violates RFC 6455: unmasked, reserved bits, a fragmented control frame, an invalid close code. */
  ProtocolError: { code: 1002, text: "protocol error", advice: "fix" },
  NotText: { code: 1003, text: "send text frames", advice: "fix" },
  InvalidText: { code: 1007, text: "invalid UTF-8", advice: "fix" },
  TooManyFragments: { code: 1008, text: "too many fragments", advice: "fix" },
  TooBig: { code: 1009, text: "frame too big", advice: "fix" },
  Internal: { code: 1011, text: "internal error", advice: "back-off" },
  BackendLost: { code: 1013, text: "backend lost", advice: "back-off" },
  Silent: { code: 4000, text: "keepalive timeout", advice: "reconnect" },
  NotAuthenticated: { code: 4001, text: "not authenticated in time", advice: "log-in" },
  AuthRefused: { code: 4003, text: "authentication refused", advice: "log-in" },
  /** The client resumes, or requests new snapshots. */
  SlowConsumer: { code: 4008, text: "slow consumer", advice: "reconnect" },
  CredentialEnded: { code: 4010, text: "credential expired or revoked", advice: "log-in" },
  TooMany: { code: 4029, text: "rate or connection limit", advice: "back-off" }
} as const satisfies Record<string, { readonly code: number; readonly text: string; readonly advice: Advice }>

export type CloseReason = keyof typeof closeCodes

/** The reason of a code; `undefined` for codes that the gateway does not use. */
export const closeReasonOf = (code: number): CloseReason | undefined =>
  (Object.keys(closeCodes) as Array<CloseReason>).find((reason) => closeCodes[reason].code === code)

/** Advice for a close code; for unknown ones (1006: connection lost) it is to reconnect. */
export const adviceOf = (code: number): Advice => {
  const reason = closeReasonOf(code)
  return reason === undefined ? "reconnect" : closeCodes[reason].advice
}

/** Why the gateway closes a connection, and what its peer should do then. Source: contract 5.4. */

export const closeCodes = {
  Normal: { code: 1000, text: "closed", then: "nothing" },
  GoingAway: { code: 1001, text: "going away", then: "reconnect elsewhere and resume" },
  NotText: { code: 1003, text: "send text frames", then: "fix the client" },
  InvalidText: { code: 1007, text: "invalid UTF-8", then: "fix the client" },
  TooBig: { code: 1009, text: "frame too big", then: "fix the client" },
  Internal: { code: 1011, text: "internal error", then: "reconnect with back-off" },
  BackendLost: { code: 1013, text: "backend lost", then: "reconnect with back-off" },
  Silent: { code: 4000, text: "keepalive timeout", then: "reconnect" },
  NotAuthenticated: { code: 4001, text: "not authenticated in time", then: "authenticate" },
  AuthRefused: { code: 4003, text: "authentication refused", then: "authenticate" },
  SlowConsumer: { code: 4008, text: "slow consumer", then: "reconnect and resume" },
  CredentialEnded: { code: 4010, text: "credential expired or revoked", then: "log in again" },
  TooMany: { code: 4029, text: "rate or connection limit", then: "back off" }
} as const

export type CloseReason = keyof typeof closeCodes

/** The reason of a code; `undefined` for codes that the gateway does not use. */
export const closeReasonOf = (code: number): CloseReason | undefined =>
  (Object.keys(closeCodes) as Array<CloseReason>).find((reason) => closeCodes[reason].code === code)

/** How a client should go on after each code. */
export type Advice = "stop" | "fix" | "reconnect" | "back-off" | "log-in"

const advice: Record<CloseReason, Advice> = {
  Normal: "stop",
  GoingAway: "reconnect",
  NotText: "fix",
  InvalidText: "fix",
  TooBig: "fix",
  Internal: "back-off",
  BackendLost: "back-off",
  Silent: "reconnect",
  NotAuthenticated: "log-in",
  AuthRefused: "log-in",
  SlowConsumer: "reconnect",
  CredentialEnded: "log-in",
  TooMany: "back-off"
}

/** What to do after a connection ended with `code`; unknown ones (1006: the line broke) ask to reconnect. */
export const adviceOf = (code: number): Advice => {
  const reason = closeReasonOf(code)
  return reason === undefined ? "reconnect" : advice[reason]
}

/** Settings that many suites share, by purpose. */

/** No limit of rates or connections: a load of many clients comes from one address. */
export const UNLIMITED = {
  RATE_LIMIT_MODE: "off",
  CONNECTIONS_PER_IP: "0",
  WS_CONNECTIONS_PER_IP: "0",
  WS_CONNECTIONS_PER_USER: "0",
  ARRIVALS_PER_IP: "0"
} as const

/** A market that only its callers move: no simulated maker, an index price set by hand, a faucet without a daily limit. */
export const QUIET_MARKET = {
  SIM_MAKER: "off",
  INDEX_SOURCE: "manual",
  FAUCET_DAILY_LIMIT: "1000000000",
  LOG_LEVEL: "error"
} as const

/** The administrator, as the client takes it and as the gateway reads it. */
export const ADMIN = { username: "admin", password: "correct-horse-battery" }
export const ADMIN_ENV = { ADMIN_USERNAME: ADMIN.username, ADMIN_PASSWORD: ADMIN.password }
/** Its Basic credentials. */
export const basic = {
  authorization: `Basic ${Buffer.from(`${ADMIN.username}:${ADMIN.password}`).toString("base64")}`
}

/** The commands of docs/cli.md in order, and the text between them. `UPDATE=1` regenerates the page. */

import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"

/** A command as it is typed; its output is captured from the screen. */
export interface Step {
  readonly type: string
  /** Exit code; 0 by default. */
  readonly exit?: number
  /** Extra environment variables for this command. */
  readonly env?: Readonly<Record<string, string>>
  /** Files to create before it runs. */
  readonly files?: Readonly<Record<string, unknown>>
  /** Repeats the command until its output matches: a result may become visible later. */
  readonly until?: RegExp
  /** Number of lines to show, for long output. */
  readonly lines?: number
  /** Stores a match from the screen; later commands use it as `$NAME`. */
  readonly keep?: Readonly<Record<string, RegExp>>
}

export type Part = string | Step

/** Destination of withdrawals. */
const coldWallet = `0x${"c0".repeat(32)}`

/** Competition of the story, far in the future. */
const winter = {
  slug: "winter",
  title: "Winter",
  start_time_ms: 4_102_444_800_000,
  end_time_ms: 4_103_049_600_000,
  prize_usdc: 10_000,
  symbol: "BTC-USDC",
  scoring: {
    metric: "volume",
    start_weight_bps: 10_000,
    end_weight_bps: 10_000,
    max_daily_contribution_bps: 10_000,
    min_active_days: 1,
    min_daily_activity_units: 1,
    consistency_max_bonus_bps: 0,
    consistency_target_days: 1,
    use_consistency_multiplier: false
  }
}

/** Commands while the exchange runs. */
export const story: ReadonlyArray<Part> = [
  "Every command has a help page, and an invalid call prints its errors:",
  { type: "gateway --help" },
  { type: "gateway order create --help" },
  { type: "gateway ordr list", exit: 1 },
  { type: "gateway order create BTC-USDC buy 0,02", exit: 1 },
  { type: "gateway balances --url http://127.0.0.1:1", exit: 1, env: { GATEWAY_SEED: "11".repeat(32) } },

  `## Account

Create a key once. Its seed stays in a file that only you can read, and no command takes a secret as an argument. \`--key NAME\`
selects another key, or the path of a file \`{"seed": "<64 hex digits>"}\`. \`GATEWAY_SEED\` in the environment overrides both.`,
  { type: "gateway keys new" },
  { type: "gateway keys show", keep: { VAULT: /sub-account +(0x[0-9a-f]{64})/u } },
  { type: "gateway keys new", exit: 1 },
  { type: "gateway login" },
  { type: "gateway faucet 10000" },
  { type: "gateway balances", until: /USDC/u },
  "Sub-accounts, and transfers between them:",
  { type: "gateway sub-accounts new --label bot", keep: { BOT: /(0x[0-9a-f]{64})/u } },
  { type: "gateway transfer 250 $BOT" },
  { type: "gateway transfer 250 $BOT --from 0x12", exit: 1 },
  { type: "gateway sub-accounts change $BOT --frozen yes" },
  { type: "gateway sub-accounts list" },
  { type: "gateway sub-accounts delete $BOT", exit: 1 },
  "An API key signs requests without a login. Its seed stays in its own file; only the public key is registered:",
  { type: "gateway keys new --key desk --json", keep: { DESK: /"public_key":"(0x[0-9a-f]{64})"/u } },
  { type: "gateway api-keys new $DESK --label desk --scope read --scope trade", keep: { KEYID: /^([0-9a-f-]{36})/mu } },
  { type: "gateway api-keys list" },
  { type: "gateway api-keys revoke $KEYID" },
  "Destinations of withdrawals; `PUT /account/withdrawal-addresses` restricts withdrawals to them:",
  { type: `gateway withdrawal-addresses add ${coldWallet} --label cold` },
  { type: "gateway withdrawal-addresses list" },
  { type: `gateway withdrawal-addresses remove ${coldWallet}` },
  { type: `gateway withdrawal-addresses remove ${coldWallet} --json`, exit: 1 },
  { type: "gateway withdrawal-addresses add 0x12 --json", exit: 1 },
  { type: "gateway withdrawal-addresses list --json" },

  `## Trading

A command that the gateway accepts prints what became of its order. \`--json\` prints the whole order.`,
  { type: "gateway order create BTC-USDC buy 0.02 --price 58000 --link-id mine-1" },
  { type: "gateway order list", until: /mine-1/u },
  { type: "gateway order amend BTC-USDC mine-1 --qty 0.015" },
  { type: "gateway order create BTC-USDC buy 0.00001 --price 58000", exit: 1 },
  "Another trader fills a part of it:",
  { type: "gateway keys new --key bob" },
  { type: "gateway faucet 10000 --key bob --json" },
  { type: "gateway order create BTC-USDC sell 0.01 --price 58000 --key bob --json" },
  { type: "gateway positions", until: /Buy/u },
  { type: "gateway fills" },
  { type: "gateway order list --history", until: /PartiallyFilled/u },
  { type: "gateway markets" },
  { type: "gateway ticker BTC-USDC" },
  { type: "gateway funding BTC-USDC" },
  "A conditional order waits for its trigger; exits close the position that the order opens:",
  {
    type: "gateway order create BTC-USDC sell 0.01 --trigger 56000 --trigger-by mark --reduce-only --link-id stop-1"
  },
  {
    type: "gateway order create BTC-USDC buy 0.01 --price 57000 --take-profit 61000 --stop-loss 55000 --link-id exits-1"
  },
  { type: "gateway order create BTC-USDC buy 0.01 --price 56000 --expires-in 3600 --link-id hour-1" },
  { type: "gateway order amend BTC-USDC stop-1 --trigger 56500" },
  { type: "gateway order cancel BTC-USDC stop-1 exits-1 hour-1" },
  "Up to 20 orders from a file; the command fails if one of them is refused:",
  {
    type: "gateway order batch --file orders.json",
    exit: 1,
    files: {
      "orders.json": {
        orders: ["0.01", "0.0001"].map((qty, i) => ({
          sub_account_address: "$VAULT",
          symbol: "BTC-USDC",
          side: "Buy",
          order_type: "Limit",
          qty,
          price: "55000",
          order_link_id: `batch-${i + 1}`
        }))
      }
    }
  },
  { type: "gateway position leverage BTC-USDC 5" },
  { type: "gateway position margin-mode BTC-USDC isolated --json", exit: 1 },
  { type: "gateway position add-margin BTC-USDC 10", exit: 1 },
  { type: "gateway position exits BTC-USDC --take-profit 61000 --stop-loss 57500" },
  { type: "gateway position close BTC-USDC --qty 0.005 --price 59000 --json" },
  { type: "gateway position close ETH-USDC", exit: 1 },
  { type: "gateway position closed" },
  { type: "gateway transactions --limit 5" },
  "`--watch` reads a list every 2 seconds until Ctrl-C, or `--count` times. If a read fails, the last list stays on the screen with the error:",
  { type: "gateway positions --watch --count 1" },
  "Two live views; they redraw until Ctrl-C, or `--count` times:",
  { type: "gateway book BTC-USDC --levels 3 --count 1", until: /0\.005/u },
  { type: "gateway trades BTC-USDC --count 1" },
  { type: "gateway trades BTC-USDC --count 1 --json" },
  { type: "gateway order cancel BTC-USDC mine-1" },
  { type: "gateway order cancel BTC-USDC mine-1 --json", exit: 1 },
  { type: "gateway order cancel-all" },

  `## Signatures

\`sign\` shows the exact text that a signature covers:`,
  {
    type: "gateway sign request GET '/api/v1/order/realtime?limit=1' --timestamp-ms 1767225600000 --nonce bG9naW4tbm9uY2U",
    keep: { SIGNATURE: /X-SIGNATURE +(\S+)/u, KEY: /X-API-KEY +(\S+)/u }
  },
  {
    type: "gateway sign login",
    keep: { AT: /timestamp_ms +(\S+)/u, NONCE: /nonce +(\S+)/u, LOGIN: /signature +(\S+)/u }
  },
  { type: "gateway sign socket --timestamp-ms 1767225600000 --nonce bG9naW4tbm9uY2U" },
  "`verify` checks a signature with the gateway's own verifier. It lists all problems and, if it can, the text that was signed instead:",
  { type: "gateway verify login --public-key $KEY --timestamp-ms $AT --nonce $NONCE --signature $LOGIN" },
  {
    type: "gateway verify request GET '/api/v1/order/realtime?limit=1&symbol=BTC-USDC' --public-key $KEY --timestamp-ms 1767225600 --nonce bG9naW4tbm9uY2U --signature $SIGNATURE --now 1767225600000",
    exit: 1
  },
  {
    type: "gateway verify request get '/api/v1/order/realtime?limit=1' --public-key $KEY --timestamp-ms 1767225600000 --nonce bG9naW4tbm9uY2U --signature $SIGNATURE --now 1767225600000",
    exit: 1
  },
  {
    type: "gateway verify socket --public-key $KEY --timestamp-ms 1767225600000 --nonce bG9naW4tbm9uY2U --signature $SIGNATURE --now 1767225699999",
    exit: 1
  },
  { type: "gateway verify text hello --public-key $KEY --signature 0x12 --json", exit: 1 },

  `## Administration

The credentials come from the environment: \`ADMIN_USERNAME\`, and \`ADMIN_PASSWORD\` or \`ADMIN_PASSWORD_FILE\`.`,
  { type: "gateway admin codes new --label launch", keep: { CODE: /^([0-9a-f-]{36})/mu } },
  { type: "gateway admin codes revoke $CODE" },
  { type: "gateway admin codes list" },
  {
    type: "gateway admin competitions new --file winter.json",
    files: { "winter.json": winter },
    keep: { WINTER: /id +([0-9a-f-]{36})/u }
  },
  {
    type: "gateway admin competitions change $WINTER --file change.json",
    files: { "change.json": { title: "Winter 2100" } }
  },
  { type: "gateway admin competitions publish $WINTER" },
  { type: "gateway admin competitions list", until: /scheduled/u },
  { type: "gateway admin competitions cancel $WINTER" },
  { type: "gateway admin codes list", exit: 1, env: { ADMIN_PASSWORD: "not-the-password" } },
  "Every action of an administrator is in the audit trail:",
  { type: "gateway admin audit --action revokeAccessCode" },
  "`hash` prints a line for `ADMIN_USERS_FILE`; it reads the password from `NEW_ADMIN_PASSWORD`:",
  {
    type: "gateway admin hash --username alice --role operator",
    env: { NEW_ADMIN_PASSWORD: "battery-horse-correct" }
  },
  { type: "gateway admin hash --username alice --role operator", exit: 1, env: { NEW_ADMIN_PASSWORD: "short" } },

  `## Settings

All settings are environment variables (docs/reference/settings.md); secrets are hidden.`,
  { type: "gateway config print", env: { DATABASE_URL: "postgres://gateway:secret@db/gateway" }, lines: 6 },
  { type: "gateway config check" },
  { type: "gateway config check", exit: 1, env: { PORT: "many", ADMIN_PASSWORD: "short", BACKEND: "grpc" } },

  "`check` names every error of a [markets file](reference/markets-file.md):",
  {
    type: "gateway config check",
    exit: 1,
    env: { MARKETS_FILE: "markets.json" },
    files: {
      "markets.json": {
        markets: [
          { ...shippedMarkets[0], tick_size: "0" },
          { ...shippedMarkets[1], max_leverage: "51" }
        ]
      }
    }
  },

  `## The backend's journal

While the exchange runs:`,
  { type: "gateway backend verify" },
  { type: "gateway backend backup copy" },
  "## Completions",
  { type: "gateway --completions bash", lines: 4 }
]

/** Commands after the exchange has stopped. */
export const afterwards: ReadonlyArray<Part> = [
  "With a stopped backend:",
  { type: "gateway backend replay" },
  { type: "gateway backend restore copy" }
]

const volatile: ReadonlyArray<readonly [RegExp, string]> = [
  [/0x[0-9a-f]{8,}/gu, "HEX"],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gu, "UUID"],
  [/[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}/gu, "CODE"],
  [/\b[0-9a-f]{16,}\b/gu, "HEX"],
  [/scrypt\$.*?(?=")/gsu, "HASH"],
  // depends on the number of checkpoints and entries so far
  [/^(snapshots|checkpoints|lost) .*$/gmu, "$1"],
  [/^ *backend\/snapshots\/.*\n/gmu, ""],
  [/-?\d+(?:\.\d+)?/gu, "NUMBER"],
  [/[ \t]+/gu, " "],
  [/ $/gmu, ""]
]

/** A page without the values that differ between runs. */
export const lasting = (page: string): string =>
  volatile.reduce((text, [pattern, word]) => text.replaceAll(pattern, word), page)

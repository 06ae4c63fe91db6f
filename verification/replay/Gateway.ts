/** The gateway of a replay: a process of its own with one market, whose index price stands still and where nobody else trades. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { Client } from "../../src/client/index.ts"
import { type Contract, marketsFile } from "./Market.ts"

const ADMIN = { username: "replay", password: "replay-of-a-session" }

export interface Place {
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
  readonly remove: () => void
}

/** An empty directory, and the environment of a gateway on it. */
export const prepare = (contract: Contract): Place => {
  const dataDir = mkdtempSync(join(tmpdir(), "gateway-replay-"))
  const markets = join(dataDir, "markets.json")
  writeFileSync(markets, marketsFile(contract))
  return {
    dataDir,
    env: {
      MARKETS_FILE: markets,
      INDEX_SOURCE: "manual",
      SIM_MAKER: "off",
      FAUCET_DAILY_LIMIT: "1000000000000000",
      RATE_LIMIT_MODE: "off",
      CONNECTIONS_PER_IP: "0",
      WS_CONNECTIONS_PER_IP: "0",
      WS_CONNECTIONS_PER_USER: "0",
      ADMIN_USERNAME: ADMIN.username,
      ADMIN_PASSWORD: ADMIN.password,
      LOG_LEVEL: "error"
    },
    remove: () => rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Sets the index price, which the mark follows. */
export const holdIndex = Effect.fnUntraced(function* (baseUrl: string, { index_price: price, symbol }: Contract) {
  const admin = yield* Client.make({ baseUrl, admin: ADMIN })
  yield* admin.admin.indexPrice({ payload: { symbol, price } })
})

/** CCXT with the exchange of integrations/ccxt, which has dependencies of its own. Nothing here has types of CCXT. */
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { connect, keyOf, newSeed } from "../../src/sdk/index.ts"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const ccxtFolder = join(root, "integrations/ccxt")
/** Whether `npm ci` ran in the folder. */
export const hasCcxt = existsSync(join(ccxtFolder, "node_modules/ccxt"))

// oxlint-disable-next-line typescript/no-explicit-any -- CCXT is loaded at run time
export type Any = any

/** CCXT itself, and the class of the gateway. */
export const load = async (): Promise<{ readonly ccxt: Any; readonly TradingGateway: Any }> => {
  const { resolve } = createRequire(join(ccxtFolder, "package.json"))
  // the ECMAScript build: the class of the gateway extends that one
  const ccxt = join(dirname(dirname(resolve("ccxt"))), "js/ccxt.js")
  const [{ default: all }, { TradingGateway }] = (await Promise.all(
    [ccxt, join(ccxtFolder, "src/TradingGateway.js")].map((path) => import(pathToFileURL(path).href))
  )) as [Any, Any]
  return { ccxt: all, TradingGateway }
}

export interface Account {
  readonly apiKey: string
  readonly secret: string
  readonly sub_account_address: string
  /** A second sub-account, which its own API key trades on. */
  readonly other: { readonly apiKey: string; readonly secret: string; readonly sub_account_address: string }
}

/** A user with money on two sub-accounts, and an API key for each. */
export const openAccount = async (url: string): Promise<Account> => {
  const make = async () => {
    const owner = await connect({ url, wallet: newSeed() })
    const { sub_account_address } = (await owner.user.subAccounts()).list[0]!
    await owner.account.faucet({ sub_account_address, asset: "USDC", amount: "100000" })
    const second = await owner.user.createSubAccount({ label: "second" })
    const secret = newSeed()
    const { public_key: apiKey } = await keyOf(secret)
    const scopes = ["read", "trade", "account", "transfer", "withdraw"] as const
    await owner.user.createApiKey({ public_key: apiKey, label: "ccxt", scopes })
    owner.close()
    return { apiKey, secret, sub_account_address, second: second.sub_account_address }
  }
  const [mine, other] = [await make(), await make()]
  return { ...mine, other: { ...other, sub_account_address: mine.second } }
}

/** An exchange object for the gateway of a URL, without CCXT's pauses. */
export const exchangeOf = (Exchange: Any, url: string, { apiKey, secret }: { apiKey: string; secret: string }): Any =>
  new Exchange({ apiKey, secret, urls: { api: { rest: url } }, enableRateLimit: false })

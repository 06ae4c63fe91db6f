/** What the tests of integrations/ccxt share: CCXT where it is installed, and a complete exchange with two funded callers. */
import { describe } from "vitest"
import { type Account, type Any, exchangeOf, hasCcxt, load, openAccount } from "../../verification/ccxt/Ccxt.ts"
import { SYMBOL } from "../../verification/ccxt/Session.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"

/** CCXT has a lockfile of its own. The set-up of the tests installs it; without a registry these tests are skipped, and CI fails. */
export const describeCcxt = describe.skipIf(!hasCcxt)

export interface Stage {
  readonly ccxt: Any
  readonly TradingGateway: Any
  readonly gateway: Exchange
  readonly account: Account
  /** Of the first caller, on its first sub-account. */
  readonly exchange: Any
  /** The second sub-account of the first caller. */
  readonly second: string
  /** Of the second caller. */
  readonly other: Any
  /** The mark price. */
  readonly price: number
  readonly close: () => Promise<void>
}

export const openStage = async (): Promise<Stage> => {
  const { ccxt, TradingGateway } = await load()
  const gateway = await startExchange()
  const account = await openAccount(gateway.url)
  const [exchange, other] = [account, account.other].map((each) => exchangeOf(TradingGateway, gateway.url, each))
  await exchange.loadMarkets()
  await other.loadMarkets()
  const addresses = (await exchange.privateGetUserSubAccounts()).list.map((one: Any) => one.sub_account_address)
  return {
    ccxt,
    TradingGateway,
    gateway,
    account,
    exchange,
    second: addresses.find((address: string) => address !== account.sub_account_address),
    other,
    price: Number(exchange.priceToPrecision(SYMBOL, (await exchange.fetchTicker(SYMBOL)).markPrice)),
    close: async () => {
      await exchange.close()
      await other.close()
      await gateway.close()
    }
  }
}

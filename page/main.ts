/** The market page, a client of the gateway that serves it. Each part of the screen has its own file. */
import * as AccountNotices from "./AccountNotices.ts"
import * as AccountBar from "./AccountBar.ts"
import * as Address from "./Address.ts"
import * as Banner from "./Banner.ts"
import * as Chart from "./Chart.ts"
import * as Depth from "./Depth.ts"
import { place, setText } from "./Dom.ts"
import { drawn, flush } from "./Frame.ts"
import * as AccountTables from "./AccountTables.ts"
import * as Ladder from "./Ladder.ts"
import * as MarketBar from "./MarketBar.ts"
import { Market } from "./Market.ts"
import { toastError } from "./Toasts.ts"
import * as OrderForm from "./OrderForm.ts"
import * as OrderSheet from "./OrderSheet.ts"
import * as Pool from "./Pool.ts"
import * as Rest from "./Rest.ts"
import { Session } from "./Session.ts"
import * as Format from "./Format.ts"
import * as Tape from "./Tape.ts"
import * as Shortcuts from "./Shortcuts.ts"
import * as TickerBar from "./TickerBar.ts"

/** Pause before a retry of the first requests, in ms. */
const RETRY_MS = 2_000

/** Loads the markets; retries until the gateway is ready. */
const markets = async (): Promise<Market> => {
  for (;;) {
    let pause_ms = RETRY_MS
    try {
      const [instruments, tiers] = await Promise.all([Rest.instruments(), Rest.riskTiers()])
      const { interval, symbol } = Address.firstView()
      const first = instruments.list.find((each) => each.symbol === symbol) ?? instruments.list[0]
      if (first !== undefined) return new Market(instruments.list, tiers.list, first, interval)
    } catch (error) {
      const until_ms = error instanceof Rest.ApiFailure ? error.throttled?.until_ms : undefined
      if (until_ms !== undefined) pause_ms = Math.max(RETRY_MS, until_ms - Date.now())
      // one line on a phone: the page below it does not move
      const text =
        until_ms !== undefined
          ? `Throttled until ${Format.clock(until_ms)}`
          : error instanceof Error
            ? error.message.replace(/\.$/u, "")
            : String(error)
      setText(place("status-text"), `${text}. Retrying…`)
    }
    await new Promise((resolve) => setTimeout(resolve, pause_ms))
  }
}

/** Sets a performance mark at the first order book, for measurements. */
const markFirstBook = (market: Market): void => {
  drawn([market.book], () => {
    if (market.book.value !== undefined && performance.getEntriesByName("first-book").length === 0)
      performance.mark("first-book")
  })
}

const market = await markets()
const session = new Session(() => market.now())
Banner.mount(market, session)
AccountBar.mount(session)
MarketBar.mount(market)
TickerBar.mount(market)
const { setPrice } = OrderForm.mount(market, session)
OrderSheet.mount()
Ladder.mount(market, session, setPrice)
Tape.mount(market)
Depth.mount(market)
Pool.mount(market)
AccountTables.mount(market, session)
Chart.mount(market, session)
AccountNotices.mount(market, session)
Address.mount(market)
Shortcuts.mount(market)
markFirstBook(market)
// before the browser paints: labels and hidden parts that come a frame later move the page
flush()
session.begin().catch(toastError)

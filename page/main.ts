/** The market page: the client of the gateway that serves it, and nothing else. Each part of the screen is a file of its own. */
import * as AccountBar from "./AccountBar.ts"
import * as Banner from "./Banner.ts"
import * as Chart from "./Chart.ts"
import * as Depth from "./Depth.ts"
import { place, setText } from "./Dom.ts"
import { drawn } from "./Frame.ts"
import * as Holdings from "./Holdings.ts"
import * as Ladder from "./Ladder.ts"
import { Market } from "./Market.ts"
import * as News from "./News.ts"
import { complain } from "./Notes.ts"
import * as OrderForm from "./OrderForm.ts"
import * as Pool from "./Pool.ts"
import * as Rest from "./Rest.ts"
import { Session } from "./Session.ts"
import * as Tape from "./Tape.ts"
import * as TickerBar from "./TickerBar.ts"

/** Pause before the markets are asked for again, where the gateway did not answer, in ms. */
const AGAIN_MS = 2_000

/** What the page cannot do without: it waits for a gateway that is not ready. */
const markets = async (): Promise<Market> => {
  for (;;) {
    try {
      const [instruments, tiers] = await Promise.all([Rest.instruments(), Rest.riskTiers()])
      const first = instruments.list[0]
      if (first !== undefined) return new Market(instruments.list, tiers.list, first)
    } catch (error) {
      setText(place("truth-text"), `${error instanceof Error ? error.message : String(error)}. Trying again…`)
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

/** Marks when the first book was seen, for whoever measures. */
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
TickerBar.mount(market)
const { setPrice } = OrderForm.mount(market, session)
Ladder.mount(market, session, setPrice)
Tape.mount(market)
Depth.mount(market)
Pool.mount(market)
Holdings.mount(market, session)
Chart.mount(market, session)
session.onEvent = News.tell
markFirstBook(market)
session.begin().catch(complain)

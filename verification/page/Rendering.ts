/** The market page in Chromium during a live market: frames a second, work per frame, and memory over time. */
import type { Browser, CDPSession, Page } from "playwright-core"
import { launch } from "../harness/Chromium.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { UNLIMITED } from "../harness/Settings.ts"
import { SYMBOL } from "../harness/Trader.ts"
import { sleep } from "../harness/Wait.ts"
import { type Sample, type Slope, slopeOf } from "../soak/Slope.ts"
import { type Frames, framesOf, type Work, workOf } from "./Frames.ts"
import { liveMarket } from "./LiveMarket.ts"

const SLOW = { timeout: 120_000 }
const MIB = 2 ** 20
const CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
/** Samples that a slope needs, beyond the first quarter: the page fills its lists until then. */
const SAMPLES_MIN = 4

/** Growth an hour that counts as a leak: of the heap in MiB, and of the nodes and listeners of the document. */
export const bounds = { heap_mib: 1, nodes: 100, listeners: 20 } as const
export type Figure = keyof typeof bounds
const figures = Object.keys(bounds) as ReadonlyArray<Figure>

export interface Options {
  readonly minutes: number
  readonly trades_per_s: number
  /** Length of each of the two traces, at the begin and at the end, in s. */
  readonly trace_s: number
  /** Pause between two samples of the memory, in ms. */
  readonly sample_ms: number
  readonly say: (line: string) => void
}

export interface Traced {
  readonly frames: Frames
  readonly work: Work
}
export interface Outcome {
  readonly minutes: number
  /** What the page received a second. */
  readonly books_per_s: number
  readonly trades_per_s: number
  readonly first: Traced
  readonly last: Traced
  readonly samples: number
  readonly slopes: Readonly<Record<Figure, Slope & { readonly first: number; readonly last: number }>>
  /** Errors of the page, and orders that failed. */
  readonly faults: ReadonlyArray<string>
  readonly failed: number
}

/** Counts the messages that the page receives. */
const counting = (page: Page) => {
  const counts = { books: 0, trades: 0 }
  page.on("websocket", (socket) =>
    socket.on("framereceived", ({ payload }) => {
      const text = String(payload)
      if (text.includes(`"topic":"orderbook.50.${SYMBOL}"`)) counts.books++
      if (text.includes(`"topic":"trade.${SYMBOL}"`)) counts.trades += text.split('"trade_id"').length - 1
    })
  )
  return counts
}

/** Traces the page. Its frames are counted by a callback of its own. */
const traced = async (browser: Browser, page: Page, seconds: number): Promise<Traced> => {
  await browser.startTracing(page, { categories: CATEGORIES })
  const times = await page.evaluate(
    (length_ms) =>
      new Promise<ReadonlyArray<number>>((resolve) => {
        const times: Array<number> = []
        const step = (now: number): void => {
          times.push(now)
          if (now - times[0]! < length_ms) requestAnimationFrame(step)
          else resolve(times)
        }
        requestAnimationFrame(step)
      }),
    seconds * 1_000
  )
  return { frames: framesOf(times), work: workOf(await browser.stopTracing()) }
}

/** What the page holds after a forced collection. */
const held = async (devtools: CDPSession): Promise<Record<Figure, number>> => {
  await devtools.send("HeapProfiler.collectGarbage")
  const { usedSize } = await devtools.send("Runtime.getHeapUsage")
  const { jsEventListeners, nodes } = await devtools.send("Memory.getDOMCounters")
  return { heap_mib: usedSize / MIB, nodes, listeners: jsEventListeners }
}

/** A signed-in trader with a position and an open order: their lines and tables change with the market. */
const signIn = async (page: Page): Promise<void> => {
  await page.locator("#sign-in").click(SLOW)
  await page.locator("#faucet").click(SLOW)
  await page.locator(".money", { hasText: "10,000.00" }).waitFor(SLOW)
  await page.locator("#kind-Market").check(SLOW)
  await page.locator("#qty").fill("0.1", SLOW)
  await page.locator(".submit").click(SLOW)
  await page.locator("#panel-Positions tbody tr").first().waitFor(SLOW)
  await page.locator("#kind-Limit").check(SLOW)
  await page.locator(".rung.bid >> nth=-1").click(SLOW)
  await page.locator("#qty").fill("0.1", SLOW)
  await page.locator(".submit").click(SLOW)
}

/** Watches the page until the time is over, and samples its memory. */
const sampled = async (devtools: CDPSession, { minutes, sample_ms, say }: Options) => {
  const samples = Object.fromEntries(figures.map((figure) => [figure, []])) as unknown as Record<Figure, Array<Sample>>
  const end_ms = performance.now() + minutes * 60_000
  while (samples.nodes.length < SAMPLES_MIN || performance.now() < end_ms) {
    await sleep(sample_ms)
    const values = await held(devtools)
    for (const figure of figures) samples[figure].push({ at_ms: performance.now(), value: values[figure] })
    say(figures.map((figure) => `${figure} ${values[figure].toFixed(figure === "heap_mib" ? 2 : 0)}`).join(", "))
  }
  return samples
}

export const run = async (options: Options): Promise<Outcome> => {
  const { minutes, trace_s, trades_per_s } = options
  const folder = temporaryFolder("rendering")
  const env = { ...UNLIMITED, SIM_TAKERS: "on", FAUCET_DAILY_LIMIT: "1000000000", LOG_LEVEL: "error", DRAIN_MS: "50" }
  const gateway = await startGateway({ dataDir: folder.path, env })
  const browser = await launch()
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    const faults: Array<string> = []
    page.on("pageerror", (error) => faults.push(String(error)))
    const counts = counting(page)
    await page.goto(gateway.url, SLOW)
    await signIn(page)
    const market = await liveMarket(gateway.url, trades_per_s)
    await page.locator("#tape tbody tr >> nth=20").waitFor(SLOW)
    const devtools = await page.context().newCDPSession(page)
    const [begin_ms, before] = [performance.now(), { ...counts }]
    const first = await traced(browser, page, trace_s)
    const samples = await sampled(devtools, options)
    const last = await traced(browser, page, trace_s)
    const seconds = (performance.now() - begin_ms) / 1_000
    const after = { ...counts }
    await market.stop()
    const slopes = Object.fromEntries(
      figures.map((figure) => {
        const all = samples[figure]
        const settled = all.slice(Math.floor(all.length / 4))
        return [figure, { ...slopeOf(settled), first: settled[0]!.value, last: settled.at(-1)!.value }]
      })
    ) as Outcome["slopes"]
    return {
      minutes,
      books_per_s: (after.books - before.books) / seconds,
      trades_per_s: (after.trades - before.trades) / seconds,
      first,
      last,
      samples: samples.nodes.length,
      slopes,
      faults,
      failed: market.orders.failed
    }
  } finally {
    await browser.close()
    await gateway.stop()
    folder.remove()
  }
}

/** What certainly grows faster than its bound, and what the page cannot draw in time. */
export const violations = ({ faults, first, last, slopes }: Outcome): ReadonlyArray<string> => [
  ...figures
    .filter((figure) => slopes[figure].per_hour - slopes[figure].plus_minus > bounds[figure])
    .map((figure) => `${figure} grows by ${slopes[figure].per_hour.toFixed(2)} an hour`),
  ...[first, last].flatMap(({ work }) =>
    work.over > 0.01 ? [`${(work.over * 100).toFixed(1)} % of the frames need more than their time`] : []
  ),
  ...faults
]

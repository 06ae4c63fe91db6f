/**
 * A day of simulated market: `node verification/market-day/main.ts [--hours 24]`. Prints the growth of the journal and the
 * processor time, and throws at a violation.
 */
import { numbers } from "../harness/Arguments.ts"
import { simulateDay } from "./Day.ts"

const { hours } = numbers({ hours: 24 }).values
const day = simulateDay({ hours })
const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`
const ofCore = (ms: number): string => `${(ms / hours / 36_000).toFixed(2)} % of a core`
console.log(`${hours} h: ${day.entries} entries, ${day.events} events, ${day.openOrders} open orders; 0 violations`)
console.log(`${day.trades} trades within the price band, at most ${day.away_bps} bps from the index`)
console.log(`journal ${mebibytes(day.bytes)}, a week ${mebibytes((day.bytes / hours) * 168)}`)
console.log(`engine ${ofCore(day.engine_ms)}, journal ${ofCore(day.journal_ms)}`)

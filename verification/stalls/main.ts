/**
 * `node verification/stalls/main.ts [accounts ...]` prints the longest turn of the engine's thread for each input, in exchanges of
 * 1,000, 10,000 and 100,000 accounts by default.
 */
import { run } from "./Stalls.ts"

const sizes = process.argv.slice(2).map(Number)
for (const size of sizes.length > 0 ? sizes : [1_000, 10_000, 100_000]) {
  console.log(
    `${size} accounts and open orders, ${size / 2} positions; ms of CPU: longest turn, whole input or median of commands`
  )
  for (const { events, name, turn_ms, whole_ms } of run(size))
    console.log(
      `  ${name.padEnd(28)} ${turn_ms.toFixed(2).padStart(9)} ${whole_ms.toFixed(2).padStart(10)}  ${events} events`
    )
}

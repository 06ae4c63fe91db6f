/**
 * Golden journals: a short history under named rules, with the result of each command and state hashes. A text file
 * with one line per entry: time, command, checksum of result and events, and every 20 entries the state hash.
 */
import { join } from "node:path"
import { crc32 } from "node:zlib"
import * as Engine from "../../src/backend/engine/Engine.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { Command, CommandResult, Event } from "../../src/proto/gateway/v1/sequencer.ts"
import { Users } from "../../verification/harness/SimulatedUsers.ts"
import { random } from "../../verification/harness/Random.ts"

export { Engine }

export const goldenDirectory = join(import.meta.dirname, "../../test/backend/journal/golden")
export const goldenFile = (rules: string): string => join(goldenDirectory, `${rules}.txt`)

const HASH_EVERY = 20

/** The state before the first entry. */
export const fresh = () =>
  Engine.initial({
    markets: shippedMarkets.slice(0, 1),
    simMaker: false,
    indexSource: "simulated",
    faucetDailyLimit: "1000",
    openOrdersMax: 1_000_000,
    poolBaseEquity: "1000000",
    epoch: "golden"
  })

const checksum = ({ result, events }: Engine.Step): string => {
  let crc = result === undefined ? 0 : crc32(CommandResult.encode(result).finish())
  for (const event of events) crc = crc32(Event.encode(event).finish(), crc)
  return crc.toString(16)
}

const line = (state: Engine.State, number: number, at_ms: number, command: string, step: Engine.Step): string =>
  [at_ms, command === "" ? "-" : command, checksum(step), number % HASH_EVERY === 0 ? Engine.hash(state) : "-"].join(
    " "
  )

/** The history of some users under the current rules. */
export const golden = (seed: number, entries: number): string => {
  const state = fresh()
  const users = new Users(random(seed), 3)
  const lines: Array<string> = []
  for (let number = 1; number <= entries; number++) {
    const command = number % 5 === 0 ? undefined : users.one()
    const step = Engine.apply(state, { at_ms: users.now, command })
    if (step.result !== undefined) users.received(step.result)
    const text = command === undefined ? "" : Buffer.from(Command.encode(command).finish()).toString("base64")
    lines.push(line(state, number, users.now, text, step))
  }
  return `${lines.join("\n")}\n`
}

/** Numbers of the lines that differ under the current rules. */
export const differences = (text: string): ReadonlyArray<number> => {
  const state = fresh()
  return text
    .trim()
    .split("\n")
    .flatMap((expected, i) => {
      const [at, encoded] = expected.split(" ") as [string, string]
      const command = encoded === "-" ? undefined : Command.decode(Buffer.from(encoded, "base64"))
      const at_ms = Number(at)
      const step = Engine.apply(state, { at_ms, command })
      return line(state, i + 1, at_ms, encoded === "-" ? "" : encoded, step) === expected ? [] : [i + 1]
    })
}

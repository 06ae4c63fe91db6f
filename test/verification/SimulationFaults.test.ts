/** Faults planted through the seams of the simulation: each must be found, or the checks prove nothing. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { State, Step } from "../../src/backend/engine/Engine.ts"
import { NONE } from "../../src/backend/engine/book/OrderBook.ts"
import { Side } from "../../src/proto/gateway/v1/types.ts"
import type { Mutant } from "../../verification/simulation/Mutant.ts"
import type { Faults } from "../../verification/simulation/Simulation.ts"
import { simulate } from "../../verification/simulation/Simulation.ts"

const SEEDS = 20
const COMMANDS = 300

/** What the simulation says about a fault, at the first seed that finds it. */
const found = async (faults: Faults): Promise<string> => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    try {
      await simulate({ seed, commands: COMMANDS, faults })
    } catch (error) {
      return (error as Error).message
    }
  }
  return assert.fail(`the fault stayed unseen for ${SEEDS} seeds`)
}

/**
 * Runs seeds with a line of the source replaced, until the simulation reports the fault as `report` says. A rare fault names
 * the first seed that finds it: where the simulation has changed since, a later one does.
 */
const foundInSource = async (mutant: Mutant, report: RegExp, first = 1): Promise<void> => {
  const folder = join(import.meta.dirname, "../../verification/simulation")
  // in one thread: the sources are loaded once, and most faults are found by the first seed
  const code = `import { simulate } from ${JSON.stringify(join(folder, "Simulation.ts"))}
    for (let seed = ${first}; seed < ${first + 2 * SEEDS}; seed++)
      await simulate({ seed, commands: ${COMMANDS} }).catch(({ message }) => console.error(message))`
  const child = spawn(
    process.execPath,
    ["--import", join(folder, "Mutant.ts"), "--input-type=module", "--eval", code],
    { env: { ...process.env, MUTANT: JSON.stringify(mutant) }, stdio: ["ignore", "ignore", "pipe"] }
  )
  let reported = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    reported += text
    if (report.test(reported)) child.kill("SIGKILL")
  })
  await once(child, "close")
  assert.match(reported, report, `not reported in ${2 * SEEDS} seeds from ${first}`)
}

/** Puts the oldest order of a level behind all others of it; once done, it stays so, hence a replay does the same. */
const reorder = (state: State): void => {
  for (const { book } of state.markets)
    for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const) {
      const first = book.first(side)
      if (first === NONE) continue
      const { leaves, number, ticks } = state.orders.at(first)
      let last = first
      for (let slot = first; slot !== NONE && book.ticksOf(slot) === ticks; slot = book.after(slot)) last = slot
      if (number >= state.orders.at(last).number) continue
      book.remove(first)
      book.add(first, side, ticks, leaves)
    }
}

/** Moves one unit of the last place from the fee account back to who paid, as rounding the other way would. */
const refund = (state: State, step: Step): void => {
  for (const { event } of step.events) {
    if (event?.$case !== "execution_created") continue
    const execution = event.value.execution!
    if (execution.base_fee === "0") continue
    const [whole, fraction = ""] = execution.base_fee.split(".")
    const scaled = BigInt(whole + fraction.padEnd(18, "0")) - 1n
    const text = scaled.toString().padStart(19, "0")
    execution.base_fee = `${text.slice(0, -18)}.${text.slice(-18)}`
    state.accountOf.get(execution.sub_account_address)!.wallet += 1n
    state.wallets += 1n
    state.fees -= 1n
  }
}

describe("a planted fault is found:", () => {
  it("time priority broken", async () => {
    const message = await found({
      machine: (engine) => ({
        ...engine,
        apply: (state, input) => {
          reorder(state)
          return engine.apply(state, input)
        }
      })
    })
    assert.match(message, /seed \d+: priority: .* was filled before/)
    assert.match(message, /again: node verification\/simulation\/main\.ts 1 300 \d+/)
  })

  it("fees rounded the other way", async () => {
    const message = await found({
      machine: (engine) => ({
        ...engine,
        apply: (state, input) => {
          const step = engine.apply(state, input)
          refund(state, step)
          return step
        }
      })
    })
    assert.match(message, /fee .* should be/)
  })

  it("a journal record lost", async () => {
    const message = await found({
      keep: (entries, next) => (next() < 0.02 ? entries.slice(1) : entries)
    })
    assert.match(message, /is not in the journal|not the state of a replay|does not replay|index gives/)
  })

  it("a command applied twice", async () => {
    const message = await found({ forgets: (_id, next) => next() < 0.5 })
    assert.match(message, /is in the journal twice|twice and differently|later refused/)
  })

  it("deleveraging in the wrong order", { timeout: 120_000 }, () =>
    foundInSource(
      {
        module: "/referee/Adl.ts",
        right: "const gap = b.near - a.near",
        wrong: "const gap = a.near - b.near"
      },
      /seed \d+: deleveraging: 0x[0-9a-f]+ came before 0x/,
      22
    )
  )

  it("an account that needs liquidation and gets none", { timeout: 120_000 }, () =>
    foundInSource(
      {
        module: "/referee/LiquidationThresholds.ts",
        right: "BigInt(markTicks)) / weights",
        wrong: "BigInt(markTicks) * 2n) / weights"
      },
      /seed \d+: 0x[0-9a-f]+ was not liquidated/,
      30
    )
  )

  it.each([
    ["too late", "PARTS * valueOf", "valueOf", /has no event although its PnL moved/],
    ["too early", "const PARTS = 100n", "const PARTS = 200n", /the mark reported .* for less than 1 %/],
    [
      "too often",
      "announcedSecond === Math.floor",
      "announcedSecond - 1 === Math.floor",
      /the mark reported .* twice within a second/
    ]
  ])("a mark reported %s", { timeout: 120_000 }, (_, right, wrong, said) =>
    foundInSource({ module: "/events/PositionEvents.ts", right, wrong }, said)
  )

  it.each([
    [
      "the trigger accepted last",
      "/state/TriggerQueues.ts",
      "state.met.first()",
      "state.met.sorted().at(-1)",
      /fired before/,
      1
    ],
    [
      "no trigger whose price has gone back",
      "/Engine.ts",
      "if (order === undefined) return",
      "if (order === undefined || !TriggerQueues.isMet(order.holding.market, order.trigger!)) return",
      /was met and did not fire/,
      6
    ]
  ] as const)("firing %s", { timeout: 120_000 }, (_, module, right, wrong, said, first) =>
    foundInSource({ module, right, wrong }, said, first)
  )

  it.each([
    [
      "what only reduces",
      "/sequencer/Fills.ts",
      "lots - Number(settlement.closedSize)",
      "lots",
      /guard \d+e-18, it has opened/
    ],
    [
      "a whole position at its size of before",
      "/sequencer/TakeProfitStopLoss.ts",
      "exit.lots !== sizeOf(holding)",
      "exit.lots === 0",
      /exit .* has size .*, its position/
    ],
    [
      "a position that is gone",
      "/sequencer/Fills.ts",
      "Math.sign(holding.lots) !== Math.sign(before)",
      "false",
      /has outlived its position/
    ]
  ])("exits that guard %s", { timeout: 120_000 }, (_, module, right, wrong, said) =>
    foundInSource({ module, right, wrong }, said)
  )

  it("money made from nothing", async () => {
    const message = await found({
      machine: (engine) => ({
        ...engine,
        apply: (state, input) => {
          const step = engine.apply(state, input)
          const account = state.accounts[0]
          if (step.events.length > 0 && state.seq > 500 && account !== undefined) {
            account.wallet += 1n
            state.wallets += 1n
            state.deposits += 1n
            if (state.seq % 7 === 0) state.deposits -= 1n
          }
          return step
        }
      })
    })
    assert.match(message, /conserved|balance|moved the wallet/)
  })
})

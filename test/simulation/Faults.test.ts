/** Faults planted through the seams of the simulation: each must be found, or the checks prove nothing. */
import { assert, describe, it } from "@effect/vitest"
import type { State, Step } from "../../src/backend/Engine.ts"
import { Side } from "../../src/proto/gateway/v1/types.ts"
import type { Faults } from "./Simulation.ts"
import { simulate } from "./Simulation.ts"

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

/** Puts the oldest order of a level behind all others of it; once done, it stays so, hence a replay does the same. */
const reorder = (state: State): void => {
  for (const { book } of state.markets)
    for (const side of [Side.SIDE_BUY, Side.SIDE_SELL] as const)
      for (const { head, tail } of book.levels(side, 1)) {
        if (head === undefined || head.number >= tail!.number) continue
        book.remove(head)
        book.add(head)
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
    assert.match(message, /again: node scripts\/simulate\.ts 1 300 \d+/)
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
    assert.match(message, /conserved|balance/)
  })
})

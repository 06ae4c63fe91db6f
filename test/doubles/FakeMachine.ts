/**
 * The smallest engine that can be journalled: one balance. Deposits add, withdrawals take and are refused beyond the
 * balance, a deposit in the asset "NONE" is refused, a deposit in the asset "BUG" breaks an assertion; a Tick of a new second samples no prices.
 */
import { createHash } from "node:crypto"
import type { Machine } from "../../src/backend/engine/Machine.ts"
import type { Reads } from "../../src/backend/server/Running.ts"
import type { Command, CommandAck, Event } from "../../src/proto/gateway/v1/sequencer.ts"

export interface FakeConfig {
  readonly start: number
}

export interface FakeState {
  balance: number
  seq: number
  step: number
  second: number
}

const event = (state: FakeState, at_ms: number, command_id: string | undefined, body: Event["event"]): Event => ({
  seq: ++state.seq,
  ts_ms: at_ms,
  step: state.step,
  command_id,
  event: body
})

/** Each accepted command causes two events of one step, so that a frame could split the step. */
export const fakeMachine: Machine<FakeState, FakeConfig> = {
  rules: "fake-1",
  upgrades: [],
  dump: (state) => Buffer.from(JSON.stringify(state)),
  load: (_config, _epoch, _links, bytes) => JSON.parse(Buffer.from(bytes).toString()) as FakeState,
  initial: (config) => ({ balance: config.start, seq: 0, step: 0, second: 0 }),
  apply: (state, { at_ms, command, silent }) => {
    if (command === undefined) {
      state.second = Math.floor(at_ms / 1000)
      state.step++
      const sampled = event(state, at_ms, undefined, { $case: "prices_sampled", value: { prices: [] } })
      return { result: undefined, events: silent === true ? [] : [sampled] }
    }
    const { command_id } = command
    const body = command.command
    if (body?.$case === "deposit_funds" && body.value.asset === "NONE") {
      const value = {
        command_id,
        code: 3,
        message: "no such asset",
        reason: "InvalidField",
        metadata: { field: "asset" }
      }
      return { result: { outcome: { $case: "status", value } }, events: [] }
    }
    const signed = body?.$case === "deposit_funds" ? 1 : -1
    const amount = body?.$case === "deposit_funds" || body?.$case === "withdraw_funds" ? Number(body.value.amount) : 0
    if (body?.$case === "deposit_funds" && body.value.asset === "BUG") throw new Error("assertion broken")
    if (state.balance + signed * amount < 0) {
      const value = { command_id, code: 9, message: "too little", reason: "InsufficientBalance", metadata: {} }
      return { result: { outcome: { $case: "status", value } }, events: [] }
    }
    state.balance += signed * amount
    state.step++
    const events = [0, 1].map(() =>
      event(state, at_ms, command_id, {
        $case: "liquidation_started",
        value: { symbol: "BTC-USDC", side: 1, size: String(amount), bust_price: String(state.balance) }
      })
    )
    const ack: CommandAck = {
      command_id,
      seq: state.seq,
      accepted_at_ms: at_ms,
      orders: [],
      duplicate: false,
      result: undefined
    }
    return { result: { outcome: { $case: "ack", value: ack } }, events: silent === true ? [] : events }
  },
  hash: (state) => createHash("sha256").update(JSON.stringify(state)).digest("hex"),
  tickMatters: (state, at_ms) => Math.floor(at_ms / 1000) > state.second,
  headSeq: (state) => state.seq
}

export const noReads: Reads = { sequencer: {}, referee: {}, prices: () => [] }

let ids = 0

export const deposit = (amount: number, command_id = `command-${++ids}`, asset = "USDC"): Command => ({
  command_id,
  user_id: "",
  sub_account_address: "",
  issued_at_ms: 1,
  command: { $case: "deposit_funds", value: { deposit_id: "", asset, amount: String(amount), source: "rail" } }
})

export const withdraw = (amount: number, command_id = `command-${++ids}`): Command => ({
  command_id,
  user_id: "",
  sub_account_address: "",
  issued_at_ms: 1,
  command: {
    $case: "withdraw_funds",
    value: { withdrawal_id: "", asset: "USDC", amount: String(amount), destination: "" }
  }
})

/** The backend's writer over a journal, with an engine that only acknowledges, and callers that wait for each acknowledgement. */
import { randomBytes } from "node:crypto"
import type { Machine } from "../src/backend/engine/Machine.ts"
import { EventLog } from "../src/backend/journal/EventLog.ts"
import type { Journal } from "../src/backend/journal/Journal.ts"
import type { Origin } from "../src/backend/journal/JournalSchema.ts"
import { Writer } from "../src/backend/server/Writer.ts"
import { Command } from "../src/proto/gateway/v1/sequencer.ts"
import { OrderType, Side, SmpType, TimeInForce } from "../src/proto/gateway/v1/types.ts"
import { percentile } from "./Harness.ts"

export interface Measured {
  readonly rate: number
  readonly p50_us: number
}

export const measured = (count: number, began: number, latencies: Float64Array): Measured => ({
  rate: (count * 1000) / (performance.now() - began),
  p50_us: percentile(latencies.toSorted(), 50)
})

export const origin = (): Origin => ({
  epoch: "bench",
  rules: "bench",
  config: "{}",
  ids_key: "0001020304050607",
  created_at_ms: 0
})

const machine: Machine<{ seq: number }, object> = {
  rules: "bench",
  upgrades: [],
  initial: () => ({ seq: 0 }),
  dump: () => new Uint8Array(),
  load: () => ({ seq: 0 }),
  apply: (state, { at_ms, command }) => {
    const value = {
      command_id: command!.command_id,
      seq: ++state.seq,
      accepted_at_ms: at_ms,
      orders: [],
      duplicate: false,
      result: undefined
    }
    return { result: { outcome: { $case: "ack", value } }, events: [] }
  },
  hash: () => "",
  tickMatters: () => false,
  headSeq: ({ seq }) => seq
}

const orders = (count: number): ReadonlyArray<{ readonly command: Command; readonly bytes: Uint8Array }> =>
  Array.from({ length: count }, () => {
    const command: Command = {
      command_id: randomBytes(16).toString("base64url"),
      user_id: "0x".padEnd(42, "7"),
      sub_account_address: "0x".padEnd(66, "3"),
      issued_at_ms: 1767225600000,
      command: {
        $case: "place_order",
        value: {
          symbol: "BTC-USDC",
          side: Side.SIDE_BUY,
          order_type: OrderType.ORDER_TYPE_LIMIT,
          qty: "0.125",
          price: "60000.5",
          time_in_force: TimeInForce.TIME_IN_FORCE_GTC,
          smp_type: SmpType.SMP_TYPE_CANCEL_TAKER,
          expire_time_ms: undefined,
          post_only: false,
          reduce_only: false,
          close_on_trigger: false,
          order_link_id: randomBytes(9).toString("base64url"),
          trigger: undefined,
          tpsl: undefined
        }
      }
    }
    return { command, bytes: Command.encode(command).finish() }
  })

/** Keeps its journal for all rounds, so that the indexes are not empty. */
export class JournalSubject {
  private readonly journal: Journal
  private readonly writer: Writer<{ seq: number }, object>
  /** Ends the round: a writer that failed acknowledges nothing more. */
  private onFailure = (cause: unknown): void => {
    throw cause
  }

  constructor(journal: Journal) {
    this.journal = journal
    this.writer = new Writer({
      machine,
      state: machine.initial({}, "bench"),
      journal,
      log: new EventLog("bench"),
      at_ms: 0,
      now: Date.now,
      onEvents: () => {},
      space: () => Number.POSITIVE_INFINITY,
      onSpace: () => {},
      onSettled: () => {},
      onFailure: (cause) => this.onFailure(cause)
    })
  }

  /** One round. Fails unless every record is in the journal. */
  run(callers: number, records: number): Promise<Measured> {
    const { journal, writer } = this
    const given = orders(records)
    const wanted = journal.position + records
    const latencies = new Float64Array(records)
    let next = 0
    let answered = 0
    return new Promise((resolve, reject) => {
      this.onFailure = reject
      const began = performance.now()
      for (let i = 0; i < callers; i++) {
        let start = 0
        const submit = () => {
          const order = given[next++]
          if (order === undefined) return
          start = performance.now()
          writer.submit(caller, order.command, order.bytes)
        }
        const caller = {
          results: [] as Array<Uint8Array>,
          flush: () => {
            caller.results.length = 0
            latencies[answered++] = (performance.now() - start) * 1000
            if (answered < records) submit()
            else if (journal.position === wanted) resolve(measured(records, began, latencies))
            else reject(new Error(`the journal ends at ${journal.position}, not at ${wanted}`))
          }
        }
        submit()
      }
    })
  }

  /** Ends the writer. The journal stays open. */
  async stop(): Promise<void> {
    await this.writer.stop()
  }
}

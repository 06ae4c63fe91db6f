/** A backend in this process, without its server: engine, journal and event log, and the messages that traders send to it. */
import { join } from "node:path"
import type { State } from "../src/backend/engine/Engine.ts"
import * as EngineMachine from "../src/backend/engine/EngineMachine.ts"
import type { Cursor, EventLog } from "../src/backend/journal/EventLog.ts"
import { Journal } from "../src/backend/journal/Journal.ts"
import { recover } from "../src/backend/journal/Recovery.ts"
import { shippedMarkets } from "../src/backend/markets/ShippedMarkets.ts"
import { service } from "../src/backend/server/SequencerServer.ts"
import { Writer } from "../src/backend/server/Writer.ts"
import { rootOfService, subAccountAddress, userIdOf } from "../src/domain/Address.ts"
import { Command, CommandResult } from "../src/proto/gateway/v1/sequencer.ts"
import { OrderType, Side, SmpType, TimeInForce } from "../src/proto/gateway/v1/types.ts"

export type Kind = "rest" | "cancel" | "fill"
export const KINDS: ReadonlyArray<Kind> = ["rest", "cancel", "fill"]

const { machine } = EngineMachine
const SYMBOL = "BTC-USDC"
const START = 1767225600000
const DEPOSIT = "1000000000"

interface Trader {
  readonly user_id: string
  readonly root: string
  readonly address: string
}

const traderOf = (number: number): Trader => {
  const root = rootOfService(`trader-${number}`)
  return { root, user_id: userIdOf(root), address: subAccountAddress(root, 0) }
}

/** Field 2 of SubmitStreamRequest: a command. */
const COMMANDS_TAG = 18

/** A message of the command stream with these commands. */
const messageOf = (commands: ReadonlyArray<Command>): Buffer => {
  const parts: Array<Uint8Array> = []
  for (const command of commands) {
    const bytes = Command.encode(command).finish()
    const length: Array<number> = []
    for (let rest = bytes.length; ; rest >>>= 7) {
      length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest)
      if (rest <= 0x7f) break
    }
    parts.push(Uint8Array.of(COMMANDS_TAG, ...length), bytes)
  }
  return Buffer.concat(parts)
}

export class BackendSubject {
  private readonly log: EventLog
  private cursor: Cursor
  private readonly journal: Journal
  private readonly writer: Writer<State, EngineMachine.Config>
  private readonly traders: ReadonlyArray<Trader>
  private now = START
  private sent = 0

  /** `onFrame` receives the events of each turn as a subscriber does. */
  constructor(directory: string, accounts: number, onFrame: (frame: Buffer) => void = () => {}) {
    this.journal = Journal.open(join(directory, "journal.sqlite"), () => ({
      epoch: "bench",
      rules: machine.rules,
      config: JSON.stringify({
        markets: shippedMarkets,
        simMaker: false,
        indexSource: "manual",
        faucetDailyLimit: DEPOSIT,
        openOrdersMax: 1_000_000,
        poolBaseEquity: "1000000"
      } satisfies EngineMachine.Config),
      ids_key: "0001020304050607",
      created_at_ms: START
    }))
    const limits = { events_kept_max: 100_000, bytes_kept_max: 64 * 1024 * 1024 }
    const { log, openIndex, state } = recover(machine, this.journal, { limits, warn: () => {} })
    openIndex()
    this.log = log
    this.cursor = log.end
    this.writer = new Writer({
      machine,
      state,
      journal: this.journal,
      log,
      at_ms: START,
      now: () => this.now,
      onEvents: () => {
        while (this.cursor < log.end) {
          const { cursor, frame } = log.read(this.cursor)
          this.cursor = cursor
          onFrame(frame)
        }
      },
      space: () => Number.POSITIVE_INFINITY,
      onSpace: () => {},
      onSettled: () => {},
      onFailure: (cause) => {
        throw cause
      }
    })
    this.traders = Array.from({ length: accounts }, (_, i) => traderOf(i))
  }

  /** Seq of the last event. */
  get head(): number {
    return this.log.head
  }
  get users(): ReadonlyArray<string> {
    return this.traders.map(({ user_id }) => user_id)
  }

  /** Sends one message of the command stream; its results, all of which must be acknowledgements. */
  send(message: Buffer): Promise<ReadonlyArray<Uint8Array>> {
    this.now++
    return new Promise((resolve, reject) => {
      const received = service.submitStream.requestDeserialize(message)
      const caller = {
        results: [] as Array<Uint8Array>,
        flush: () => {
          if (caller.results.length === received.length) resolve(caller.results)
          else reject(new Error(`${caller.results.length} results for ${received.length} commands`))
        }
      }
      for (const { bytes, command } of received) this.writer.submit(caller, command, bytes)
    })
  }

  command({ address, user_id }: Trader, command: NonNullable<Command["command"]>): Command {
    return {
      command_id: `c-${++this.sent}`,
      user_id,
      sub_account_address: address,
      issued_at_ms: START,
      command
    }
  }

  async fund(): Promise<void> {
    for (const trader of this.traders) {
      const open = this.command(trader, { $case: "create_sub_account", value: { root_address: trader.root, index: 0 } })
      const deposit = this.command(trader, {
        $case: "deposit_funds",
        value: { deposit_id: `d-${this.sent}`, asset: "USDC", amount: DEPOSIT, source: "rail" }
      })
      await this.send(messageOf([open, deposit]))
    }
  }

  private place(number: number, side: Side, price: string): Command {
    return this.command(this.traders[number % this.traders.length]!, {
      $case: "place_order",
      value: {
        symbol: SYMBOL,
        side,
        order_type: OrderType.ORDER_TYPE_LIMIT,
        qty: "0.01",
        price,
        time_in_force: TimeInForce.TIME_IN_FORCE_GTC,
        smp_type: SmpType.SMP_TYPE_CANCEL_TAKER,
        expire_time_ms: undefined,
        post_only: false,
        reduce_only: false,
        close_on_trigger: false,
        order_link_id: undefined,
        trigger: undefined,
        tpsl: undefined
      }
    })
  }

  /** One batch of each kind; adds the CPU time of each to `cpu_us`. */
  async batch(size: number, cpu_us: Record<Kind, number>): Promise<void> {
    const measured = async (kind: Kind, message: Buffer): Promise<ReadonlyArray<CommandResult>> => {
      const before = process.cpuUsage()
      const results = await this.send(message)
      const { system, user } = process.cpuUsage(before)
      cpu_us[kind] += system + user
      return results.map((bytes) => CommandResult.decode(bytes))
    }
    const far = Array.from({ length: size }, (_, i) => this.place(i, Side.SIDE_BUY, String(58_000 + (i % 100) * 10)))
    const resting = await measured("rest", messageOf(far))
    const cancels = resting.map(({ outcome }, i) => {
      if (outcome?.$case !== "ack") throw new Error(`refused: ${JSON.stringify(outcome)}`)
      const { order_id } = outcome.value.orders[0]!
      return this.command(this.traders[i % this.traders.length]!, {
        $case: "cancel_order",
        value: { symbol: SYMBOL, order: { order_id, order_link_id: undefined } }
      })
    })
    // a buyer's order rests, the next trader's sell order fills it; each trader alternates, so that positions stay small
    const crossing = Array.from({ length: size }, (_, i) =>
      this.place(i + (i >> 1), i % 2 === 0 ? Side.SIDE_BUY : Side.SIDE_SELL, "60000")
    )
    for (const [kind, commands] of [
      ["cancel", cancels],
      ["fill", crossing]
    ] as const)
      for (const { outcome } of await measured(kind, messageOf(commands)))
        if (outcome?.$case !== "ack") throw new Error(`refused: ${JSON.stringify(outcome)}`)
  }

  close(): void {
    this.writer.stop()
    this.journal.close()
  }
}

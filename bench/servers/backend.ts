/** A backend that acknowledges every command at once, unary and streamed: the same work for every variant. */
import * as grpc from "@grpc/grpc-js"
import { RefereeService } from "../../src/proto/gateway/v1/referee.ts"
import {
  type Command,
  type CommandResult,
  type GetHeadResponse,
  SequencerService,
  type StreamEventsResponse
} from "../../src/proto/gateway/v1/sequencer.ts"
import type { Instrument } from "../../src/proto/gateway/v1/types.ts"
import { serve } from "./usage.ts"

const EPOCH = "11111111-1111-4111-8111-111111111111"
let orders = 0

const ack = (command: Command): CommandResult => {
  orders++
  const place = command.command?.$case === "place_order" ? command.command.value : undefined
  const create = command.command?.$case === "create_sub_account" ? command.command.value : undefined
  return {
    outcome: {
      $case: "ack",
      value: {
        command_id: command.command_id,
        // no event follows, and the command counts as shown at once: the event lane is not measured
        seq: 0,
        accepted_at_ms: Date.now(),
        orders:
          place === undefined
            ? []
            : [
                {
                  order_id: `01890000-0000-7000-8000-${String(orders).padStart(12, "0")}`,
                  order_link_id: place.order_link_id
                }
              ],
        duplicate: false,
        version: undefined,
        result:
          create === undefined
            ? undefined
            : {
                $case: "sub_account",
                value: {
                  sub_account_address: command.sub_account_address,
                  user_id: command.user_id,
                  root_address: create.root_address,
                  index: 0,
                  frozen: false,
                  deleted: false,
                  created_time_ms: Date.now()
                }
              }
      }
    }
  }
}

const instrument: Instrument = {
  symbol: "BTC-USDC",
  base_asset: "BTC",
  quote_asset: "USDC",
  settle_asset: "USDC",
  status: 2,
  launch_time_ms: 0,
  funding_interval_minutes: 480,
  tick_size: "0.1",
  min_price: "0.1",
  max_price: "1000000",
  qty_step: "0.001",
  min_order_qty: "0.001",
  max_order_qty: "100",
  max_mkt_order_qty: "30",
  min_notional_value: "5",
  min_leverage: "1",
  max_leverage: "50",
  leverage_step: "0.01",
  price_band: "0.05",
  max_open_orders: 500,
  max_conditional_orders: 20,
  maker_fee_rate: "0.0002",
  taker_fee_rate: "0.00055",
  funding_cap: "0.005"
}

const levels = (from: number, step: number) =>
  Array.from({ length: 20 }, (_, i) => ({ price: (from + i * step).toFixed(1), qty: "0.512" }))
const bids = levels(60_000, -0.1)
const asks = levels(60_000.1, 0.1)

const heartbeat = (): StreamEventsResponse => ({
  epoch: EPOCH,
  fork: "",
  events: [],
  checksums: [],
  heartbeat: { head_seq: 0, server_ts_ms: Date.now(), refusing: [], warnings: [], checksum: undefined }
})

const server = new grpc.Server()
server.addService(SequencerService, {
  submit: (call: grpc.ServerUnaryCall<{ command: Command }, unknown>, callback: grpc.sendUnaryData<unknown>) => {
    const result = ack(call.request.command)
    callback(null, { ack: result.outcome!.value })
  },
  submitStream: (call: grpc.ServerDuplexStream<{ commands: Array<Command> }, unknown>) => {
    call.on("data", (request: { commands: Array<Command> }) => call.write({ results: request.commands.map(ack) }))
    call.on("end", () => call.end())
    call.on("error", () => {})
  },
  streamEvents: (call: grpc.ServerWritableStream<unknown, StreamEventsResponse>) => {
    const beat = () => call.write(heartbeat())
    beat()
    const timer = setInterval(beat, 1_000)
    call.on("close", () => clearInterval(timer))
    call.on("error", () => {})
  },
  getHead: (_: unknown, callback: grpc.sendUnaryData<GetHeadResponse>) =>
    callback(null, {
      epoch: EPOCH,
      fork: "",
      head_seq: 0,
      first_seq: 1,
      checksum: undefined,
      server_ts_ms: Date.now()
    }),
  getOrderBook: (_: unknown, callback: grpc.sendUnaryData<unknown>) =>
    callback(null, { bids, asks, book_seq: 0, mts: 0, as_of_seq: 0 }),
  getOpenOrders: (_: unknown, callback: grpc.sendUnaryData<unknown>) =>
    callback(null, { orders: [], as_of_seq: 0, next_page_token: "" }),
  listInstruments: (_: unknown, callback: grpc.sendUnaryData<unknown>) =>
    callback(null, { instruments: [instrument], as_of_seq: 0 }),
  listSubAccounts: (_: unknown, callback: grpc.sendUnaryData<unknown>) =>
    callback(null, { sub_accounts: [], as_of_seq: 0, next_page_token: "" })
})
server.addService(RefereeService, {
  streamPrices: (call: grpc.ServerWritableStream<unknown, unknown>) => {
    const beat = () => call.write({ prices: [], heartbeat: { applied_seq: 0, server_ts_ms: Date.now() } })
    beat()
    const timer = setInterval(beat, 1_000)
    call.on("close", () => clearInterval(timer))
    call.on("error", () => {})
  }
})
server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  serve(port)
})

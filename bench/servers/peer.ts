/** Shared by the floor and Fastify: the unary call, the HS256 secret, and the construction of the command. */
import * as grpc from "@grpc/grpc-js"
import { createPublicKey, type KeyObject, randomUUID } from "node:crypto"
import { SequencerClient, type SubmitResponse } from "../../src/proto/gateway/v1/sequencer.ts"

export const SECRET = "bench-secret-bench-secret-bench-secret"
export const USER = process.env["BENCH_USER"] ?? "f4d12921-24f9-5d21-bac3-b037fe010f93"
export const SUB_ACCOUNT = `0x${"ab".repeat(32)}`

const SPKI = Buffer.from("302a300506032b6570032100", "hex")
/** Node's representation of a key in hex. */
export const keyOf = (hex: string): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI, Buffer.from(hex, "hex")]), format: "der", type: "spki" })
/** The signed text of a request. */
export const signedText = (method: string, target: string, timestamp_ms: string, nonce: string): string =>
  `SERVICE_API|${method}|${target}|${timestamp_ms}|${nonce}`

export interface Body {
  readonly sub_account_address: string
  readonly symbol: string
  readonly side: string
  readonly order_type: string
  readonly qty: string
  readonly price: string
  readonly time_in_force: string
  readonly post_only: boolean
  readonly reduce_only: boolean
  readonly order_link_id: string
}

let client: InstanceType<typeof SequencerClient> | undefined
export const backend = () =>
  (client ??= new SequencerClient(process.env["BENCH_BACKEND"]!, grpc.credentials.createInsecure()))

export const place = (
  body: Body,
  done: (error: grpc.ServiceError | null, answer: { order_id: string; order_link_id: string }) => void
): void => {
  backend().submit(
    {
      command: {
        command_id: randomUUID(),
        user_id: USER,
        sub_account_address: body.sub_account_address,
        issued_at_ms: Date.now(),
        command: {
          $case: "place_order",
          value: {
            symbol: body.symbol,
            side: body.side === "Buy" ? 1 : 2,
            order_type: body.order_type === "Limit" ? 1 : 2,
            qty: body.qty,
            price: body.price,
            time_in_force: 1,
            expire_time_ms: undefined,
            post_only: body.post_only,
            reduce_only: body.reduce_only,
            close_on_trigger: false,
            order_link_id: body.order_link_id,
            trigger: undefined,
            tpsl: undefined,
            smp_type: 1
          }
        }
      }
    },
    new grpc.Metadata(),
    { deadline: Date.now() + 2_000 },
    (error: grpc.ServiceError | null, response: SubmitResponse) =>
      done(
        error,
        error === null
          ? { order_id: response.ack!.orders[0]!.order_id, order_link_id: body.order_link_id }
          : (undefined as never)
      )
  )
}

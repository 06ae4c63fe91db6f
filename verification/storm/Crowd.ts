/** Load client: many sockets of one process, which reconnect. */
import { type Calls as AnyCalls, serve } from "../harness/LoadProcess.ts"
import { Findings, ReconnectingClient, type Subscription } from "./ReconnectingClient.ts"

export interface Options {
  /** Addresses, in the order in which a socket tries them. */
  readonly gateways: ReadonlyArray<string>
  readonly subscriptions: ReadonlyArray<Subscription>
}
export interface Report {
  readonly live: number
  readonly lost: number
  readonly returned: ReadonlyArray<number>
  readonly refused: number
  readonly recovered: number
  readonly unrecovered: number
  readonly gaps: number
  readonly reasons: Readonly<Record<string, number>>
}
export interface Calls extends AnyCalls {
  /** Begins to open the sockets. */
  readonly open: (options: Options) => Promise<void>
  readonly report: (nothing: null) => Promise<Report>
}

/** Sockets that connect at the same time. */
const OPENING_MAX = 100

const findings = new Findings()
const open = async ({ gateways, subscriptions }: Options): Promise<void> => {
  let begun = 0
  const next = (): void => {
    if (begun === subscriptions.length) return
    let isFirst = true
    new ReconnectingClient(subscriptions[begun++]!, gateways, 0, findings, () => {
      if (isFirst) next()
      isFirst = false
    }).open()
  }
  for (let i = 0; i < OPENING_MAX; i++) next()
}

serve({
  open,
  report: async () => {
    const { reasons, ...counts } = findings
    return { ...counts, reasons: Object.fromEntries(reasons) }
  }
} satisfies Calls)

/** The table of limits, as a page. */
import {
  exceptionOf,
  type LimitName,
  type Transport,
  type TransportLimit,
  transportLimits,
  transports
} from "../../src/domain/TransportLimits.ts"
import { filled } from "./Block.ts"
import { row, table } from "./Table.ts"

const heads: Readonly<Record<Transport, string>> = {
  rest: "REST",
  fast: "fast path",
  "rpc-http": "`POST /rpc`",
  "rpc-ws": "WebSocket `/rpc`",
  ws: "WebSocket `/ws*`"
}
const KIB = 1024
const shown = ({ figure, unit }: TransportLimit): string => {
  if (unit === "bytes") return figure % (KIB * KIB) === 0 ? `${figure / KIB / KIB} MiB` : `${figure / KIB} KiB`
  if (unit === "ms") return `${figure / 1_000} s`
  return `${figure.toLocaleString("en")} ${unit}`
}

const text = (): string => {
  const names = Object.keys(transportLimits) as ReadonlyArray<LimitName>
  const reasons: Array<string> = []
  const rows = names.map((name) => {
    const limit: TransportLimit = transportLimits[name]
    const cells = transports.map((transport) => {
      const reason = exceptionOf(name, transport)
      if (reason === undefined) return "yes"
      if (!reasons.includes(reason)) reasons.push(reason)
      return `– (${reasons.indexOf(reason) + 1})`
    })
    const what = limit.setting === undefined ? limit.what : `${limit.what} (\`${limit.setting}\`)`
    return row(`\`${name}\``, limit.kind, shown(limit), what, ...cells, limit.over)
  })
  const head = ["Limit", "Kind", "Value", "Of", ...transports.map((each) => heads[each]), "Beyond it"]
  return `${table(head, rows)}\n\nWhy a limit does not apply:\n\n${reasons.map((reason, i) => `${i + 1}. ${reason}`).join("\n")}`
}

export const page = (committed: string): string => filled(committed, "src/domain/TransportLimits.ts", text())

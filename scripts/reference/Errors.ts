/** docs/reference/errors.md: every reason with its cause and cure, by HTTP status. */
import { RejectReason } from "../../src/domain/Enumerations.ts"
import { codeOf, httpStatusOf, type Reason, reasons } from "../../src/domain/Reason.ts"
import { closeCodes } from "../../src/ws/api/CloseCodes.ts"
import { cures } from "./Cures.ts"
import { rejects } from "./Rejects.ts"
import { row, table } from "./Table.ts"

const names: Readonly<Record<number, string>> = {
  400: "The request has to change",
  401: "Who is calling is not known",
  403: "Who is calling may not",
  404: "There is no such thing",
  405: "The method does not fit",
  408: "Too slow",
  409: "The state does not allow it",
  413: "Too large",
  415: "Not JSON",
  417: "An expectation",
  426: "Not a WebSocket",
  429: "Too often",
  431: "Headers too large",
  500: "Ours",
  503: "Not now"
}
const statuses = [...new Set(reasons.map(httpStatusOf))].toSorted((a, b) => a - b)

const ofStatus = (status: number): string => {
  const own = reasons.filter((reason) => httpStatusOf(reason) === status)
  const codes = [...new Set(own.map(codeOf))].map((code) => `\`${code}\``).join(", ")
  const line = (reason: Reason) => row(`\`${reason}\``, cures[reason].cause, cures[reason].cure)
  return `## ${status}: ${names[status] ?? "Other"}\n\nCode ${codes}.\n\n${table(["Reason", "Cause", "Cure"], own.map(line))}`
}

const rejected = (): string => {
  const said = RejectReason.literals.flatMap((reason) => {
    const cure = rejects[reason]
    return cure === undefined ? [] : [row(`\`${reason}\``, cure.cause, cure.cure)]
  })
  const silent = RejectReason.literals.filter((reason) => rejects[reason] === undefined)
  return `## Orders that are acknowledged and then refused

What depends on the state at an order's turn is no error: the request is answered 200, and the order's record says
\`Rejected\` or \`Canceled\` with \`reject_reason\` and \`reject_message\`. An amend that is refused leaves the order as it was, with
the reason.

${table(["reject_reason", "Cause", "Cure"], said)}

Kept for other backends: ${silent.map((reason) => `\`${reason}\``).join(", ")}.`
}

const advice = {
  reconnect: "connect again and resume",
  "back-off": "connect again, later each time",
  "log-in": "log in first",
  fix: "mend the client",
  stop: "nothing"
} as const

const closes = (): string =>
  `## Sockets that are closed

${table(
  ["Code", "Said", "Do"],
  Object.values(closeCodes).map((close) => row(String(close.code), close.text, advice[close.advice]))
)}

More of them: [websocket.md](websocket.md#close-codes).`

export const page = (): string => `# Errors

Every refusal has the same body. Programs read \`code\` and \`details.reason\`; texts may change. \`field\` names the offending key by its
path, \`request_id\` is what an operator looks for in the log.

\`\`\`json BadRequest
{
  "code": "BAD_REQUEST",
  "message": "the price is not a multiple of the market's tick_size",
  "details": { "reason": "NotMultipleOfTick", "field": "price", "step": "0.1", "nearest": ["59000", "59000.1"] },
  "request_id": "0b9d6a1c-5c0e-4a55-9f0e-1d2f6a7b8c9d"
}
\`\`\`

Repeat by itself only what is 429, 503 or unanswered, after \`Retry-After\` or with back-off; everything else is the same the next time.
Reasons of credentials are 401, but 400 on \`POST /authorize\`.

${statuses.map(ofStatus).join("\n\n")}

${rejected()}

${closes()}
`

/** docs/reference/errors.md: every reason with its cause and cure, by HTTP status. */
import { RejectReason } from "../../src/domain/Enumerations.ts"
import { type Code, codeOf, httpStatusOf, type Reason, reasons, statusOf } from "../../src/domain/Reason.ts"
import { closeCodes } from "../../src/ws/api/CloseCodes.ts"
import { cures } from "./Cures.ts"
import { rejects } from "./Rejects.ts"
import { row, table } from "./Table.ts"

const headings: Readonly<Record<Code, string>> = {
  BAD_REQUEST: "The request has to change",
  UNAUTHORIZED: "Who is calling is not known",
  FORBIDDEN: "Who is calling may not",
  NOT_FOUND: "There is no such thing",
  CONFLICT: "The state does not allow it",
  RateLimitExceeded: "Too often",
  INTERNAL: "A mistake of ours",
  SERVICE_UNAVAILABLE: "Not now"
}

const codes = Object.keys(headings) as ReadonlyArray<Code>

const isOfHttp = (reason: Reason): boolean => httpStatusOf(reason) !== statusOf[codeOf(reason)]
const cells = (reason: Reason) => [`\`${reason}\``, cures[reason].cause, cures[reason].cure]

const ofCode = (code: Code): string => {
  const own = reasons.filter((reason) => codeOf(reason) === code && !isOfHttp(reason))
  const rows = own.map((reason) => row(...cells(reason)))
  return `## ${headings[code]}: ${statusOf[code]}, ${code}\n\n${table(["Reason", "Cause", "Cure"], rows)}`
}

const ofHttp = (): string => {
  const rows = reasons.filter(isOfHttp).map((reason) => row(...cells(reason), String(httpStatusOf(reason))))
  return `## What HTTP itself refuses: BAD_REQUEST, with a status of its own\n\n${table(["Reason", "Cause", "Cure", "Status"], rows)}`
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

${codes.map(ofCode).join("\n\n")}

${ofHttp()}

${rejected()}

${closes()}
`

/** docs/reference/errors.md: every reason with its cause and cure, by HTTP status. */
import { RejectReason } from "../../src/domain/Enumerations.ts"
import { type Code, codeOf, httpStatusOf, type Reason, reasons, statusOf } from "../../src/domain/Reason.ts"
import { closeCodes } from "../../src/ws/api/CloseCodes.ts"
import { cures } from "./Cures.ts"
import { rejects } from "./Rejects.ts"
import { row, table } from "./Table.ts"

const headings: Readonly<Record<Code, string>> = {
  BAD_REQUEST: "The request is invalid",
  UNAUTHORIZED: "The credentials are missing or invalid",
  FORBIDDEN: "The caller lacks the right",
  NOT_FOUND: "The resource does not exist",
  CONFLICT: "The state does not allow the request",
  RateLimitExceeded: "Too many requests",
  INTERNAL: "A fault of the gateway",
  SERVICE_UNAVAILABLE: "Temporarily unavailable"
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
  return `## Invalid HTTP requests: BAD_REQUEST, each with its own status\n\n${table(["Reason", "Cause", "Cure", "Status"], rows)}`
}

const rejected = (): string => {
  const said = RejectReason.literals.flatMap((reason) => {
    const cure = rejects[reason]
    return cure === undefined ? [] : [row(`\`${reason}\``, cure.cause, cure.cure)]
  })
  const silent = RejectReason.literals.filter((reason) => rejects[reason] === undefined)
  return `## Orders that are rejected after their acknowledgement

A check that depends on the state at the order's turn does not fail the request. The response is 200, and the order record is
\`Rejected\` or \`Canceled\` with \`reject_reason\` and \`reject_message\`. A refused amend leaves the order unchanged, with the reason.

${table(["reject_reason", "Cause", "Cure"], said)}

Reserved for other backends: ${silent.map((reason) => `\`${reason}\``).join(", ")}.`
}

const advice = {
  reconnect: "reconnect and resume",
  "back-off": "reconnect with back-off",
  "log-in": "log in first",
  fix: "fix the client",
  stop: "none needed"
} as const

const closes = (): string =>
  `## Close codes of sockets

${table(
  ["Code", "Reason", "Action"],
  Object.values(closeCodes).map((close) => row(String(close.code), close.text, advice[close.advice]))
)}

Rules: [contract/websocket.md](../contract/websocket.md#close-codes).`

export const page = (): string => `# Errors

Every error has the same body. Programs read \`code\` and \`details.reason\`; messages may change. \`field\` is the path of the refused field. An operator finds
the request in the log by \`request_id\`.

\`\`\`json BadRequest
{
  "code": "BAD_REQUEST",
  "message": "the price is not a multiple of the market's tick_size",
  "details": { "reason": "NotMultipleOfTick", "field": "price", "step": "0.1", "nearest": ["59000", "59000.1"] },
  "request_id": "0b9d6a1c-5c0e-4a55-9f0e-1d2f6a7b8c9d"
}
\`\`\`

A program retries a request only after 429, 503 or a lost response: after \`Retry-After\`, or with back-off. Other errors repeat.
Reasons of credentials are 401, but 400 on \`POST /authorize\`.

${codes.map(ofCode).join("\n\n")}

${ofHttp()}

${rejected()}

${closes()}
`

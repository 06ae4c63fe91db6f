/** Malformed RPC calls, derived from malformed REST requests: the same seed gives the same calls. */
import type { Credentials, Malformed } from "../http/Malformed.ts"
import { malformed } from "../http/Malformed.ts"
import { derived } from "../../src/rpc/api/Operations.ts"

export interface MalformedCall {
  /** Undefined: the line contains no call that could get a result. */
  readonly id: string | undefined
  readonly line: string
}

const tags = derived.map(({ rpc }) => rpc._tag)

const bodyOf = ({ body }: Malformed): unknown => {
  try {
    return JSON.parse(String(body))
  } catch {
    return String(body ?? "")
  }
}

/** An endless sequence of calls. */
export function* malformedCalls(seed: number, credentials: Credentials): Generator<MalformedCall> {
  let no = 0
  for (const request of malformed(seed, credentials)) {
    const id = `m${no++}`
    const tag = no % 17 === 0 ? request.target.slice(0, 300) : tags[(no * 7) % tags.length]!
    // it would end the session of all later calls
    if (tag === "authorize.logout") continue
    const query = Object.fromEntries(new URLSearchParams(request.target.split("?")[1] ?? ""))
    const body = bodyOf(request)
    const params = { root_address: request.target.slice(-40), sub_account_address: request.target.slice(-70), id: "x" }
    const payload = no % 5 === 0 ? body : { params, query, payload: body }
    const headers: unknown =
      no % 23 === 0 ? [["x"], 1] : no % 29 === 0 ? "no" : Object.entries(request.headers).map(([k, v]) => [k, v])
    const call = { _tag: "Request", id, tag, payload, headers, ...(no % 31 === 0 ? { discard: true } : {}) }
    const line = JSON.stringify(call)
    if (no % 13 === 0) yield { id: undefined, line: line.slice(0, (no * 31) % line.length) }
    else if (no % 19 === 0) yield { id: undefined, line: JSON.stringify({ ...call, id: [id] }) }
    else yield { id, line }
  }
}

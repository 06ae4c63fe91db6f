/** The responses of each operation: the reasons of its errors with example bodies, and the headers. */
import { codeOf, httpStatusOf, type Reason, textOf } from "../../domain/Reason.ts"
import { headers, headersOf } from "./Headers.ts"
import {
  mapOperations,
  mapValues,
  nameOf,
  type Operation,
  type Paths,
  type Reference,
  type Response
} from "./OpenApiModel.ts"

/** Reasons of an operation by HTTP status. */
type ReasonsOf = (method: string, path: string) => ReadonlyMap<number, ReadonlyArray<Reason>>

/** Whether an operation answers a reason with 400 although its own status is 401. */
const isBadRequest = (reason: Reason, status: number): boolean => status === 400 && httpStatusOf(reason) === 401

/** The body of an error, by its reason. */
const exampleOf = (reason: Reason, status: number) => ({
  summary: textOf(reason),
  value: {
    code: isBadRequest(reason, status) ? "BAD_REQUEST" : codeOf(reason),
    message: textOf(reason),
    details: { reason },
    request_id: "req-1"
  }
})

const sorted = <A>(values: ReadonlyMap<string, A>): Record<string, A> =>
  Object.fromEntries([...values].toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** The responses of all operations. Error responses that several operations share become components. */
export const withResponses = (paths: Paths, reasonsOf: ReasonsOf) => {
  const examples = new Map<string, object>()
  const responses = new Map<string, Response>()
  const names = new Map<string, string>()

  const withReasons = (response: Response, status: number, reasons: ReadonlyArray<Reason>): Response => ({
    ...response,
    description: `${response.description}: ${reasons.map((reason) => `\`${reason}\``).join(", ")}`,
    "x-reasons": reasons,
    content: mapValues(response.content ?? {}, (media) => ({
      ...media,
      examples: Object.fromEntries(
        reasons.map((reason) => {
          const name = isBadRequest(reason, status) ? `${reason}AsBadRequest` : reason
          examples.set(name, exampleOf(reason, status))
          return [reason, { $ref: `#/components/examples/${name}` }]
        })
      )
    }))
  })

  /** Names equal responses alike: the name of the error, and a number if the name is taken. */
  const shared = (response: Response): Reference => {
    const text = JSON.stringify(response)
    let name = names.get(text)
    if (name === undefined) {
      const base = nameOf(response.content!["application/json"]!.schema)!
      name = base
      for (let i = 2; responses.has(name); i++) name = `${base}${i}`
      names.set(text, name)
      responses.set(name, response)
    }
    return { $ref: `#/components/responses/${name}` }
  }

  const described = mapOperations(paths, (operation: Operation, at) => {
    const reasons = reasonsOf(at.method, at.path)
    return {
      ...operation,
      responses: mapValues(operation.responses, (response, key) => {
        const status = Number(key)
        const own = reasons.get(status)
        const named =
          own !== undefined && status >= 400 && at.path.startsWith("/api/")
            ? withReasons(response, status, own)
            : status < 300
              ? { ...response, description: operation.summary ?? response.description }
              : response
        return { ...named, headers: headersOf({ ...at, status, operation }) }
      })
    }
  })
  const referring = mapValues(described, (methods) =>
    mapValues(methods, (operation) => ({
      ...operation,
      responses: mapValues(operation.responses, (response) =>
        response["x-reasons"] === undefined ? response : shared(response)
      )
    }))
  )
  const used = JSON.stringify([referring, ...responses.values()])
  return {
    paths: referring,
    components: {
      responses: Object.fromEntries(responses),
      examples: sorted(examples),
      headers: Object.fromEntries(
        Object.entries(headers).filter(([name]) => used.includes(`"#/components/headers/${name}"`))
      )
    }
  }
}

/** Every operation of the API, and a request that each takes. */
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { Api } from "../../src/http/api/Api.ts"
import { openApi } from "../../src/http/api/OpenApiDocument.ts"
import { AdminAccess, PublicAccess } from "../../src/http/api/Security.ts"
import { ADMIN, orderId, v1 } from "./Fixture.ts"

// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any
export const document: Json = openApi()

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly op: Json
  readonly endpoint: HttpApiEndpoint.Top
}
export const operations: Array<Operation> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    const path = endpoint.path.replaceAll(/:([a-z_]+)/gu, "{$1}").replace(/(?<=.)\/$/u, "")
    const op = document.paths[path][endpoint.method.toLowerCase()]
    operations.push({ id: op.operationId, method: endpoint.method, path, op, endpoint })
  }
})

/** A request that an operation takes: its example body, the required parameters. */
export const asked = ({ method, path, op, endpoint }: Operation) => {
  const filled = path
    .replace("{root_address}", v1)
    .replace("{sub_account_address}", v1)
    .replace("{api_key_id}", orderId)
    .replace("{reward_id}", orderId)
    .replace("{destination}", "0xf02f270b5613ad97b7ee4fb22defe3261dd7ebff6c17ca0c8be5cc41fac5d9be")
    .replace("{competition_id}", orderId)
    .replace("{code_id}", orderId)
  const query = (op.parameters as ReadonlyArray<Json>)
    .filter((parameter) => parameter.in === "query" && parameter.required)
    .map((parameter) => `${parameter.name}=${parameter.name === "symbol" ? "BTC-USDC" : "1"}`)
    .join("&")
  const written = op.requestBody?.content["application/json"].example
  // the fixture's user has sub-accounts of its own
  const example = written?.sub_account_address === undefined ? written : { ...written, sub_account_address: v1 }
  const authorization = endpoint.middlewares.has(AdminAccess as never)
    ? ADMIN
    : endpoint.middlewares.has(PublicAccess as never)
      ? null
      : "Bearer good"
  return {
    method,
    target: query === "" ? filled : `${filled}?${query}`,
    ask: { authorization, ...(example === undefined ? {} : { body: example }) }
  }
}

/**
 * Responses that rarely change have an entity tag. A request that repeats it in `If-None-Match` receives 304 while it is current.
 * This file adds both to the OpenAPI document, and the operations that return the documents themselves. Source: docs/contract/conventions.md#json-and-http,
 * docs/contract/rest.md#service-endpoints; RFC 9110, 13.1.2.
 */
import type { Operation, Parameter, Paths } from "./OpenApiModel.ts"
import { bounded } from "./SchemaLimits.ts"

/** Path of the OpenAPI document. */
export const OPENAPI_PATH = "/api-docs/openapi.json"
const ASYNCAPI_PATH = "/api-docs/asyncapi.json"

/** Paths whose responses have an entity tag. */
export const taggedPaths: ReadonlySet<string> = new Set([
  "/api/v1/market/instruments-info",
  "/api/v1/market/risk-limit",
  OPENAPI_PATH,
  ASYNCAPI_PATH
])

const ifNoneMatch: Parameter = {
  name: "If-None-Match",
  in: "header",
  required: false,
  schema: bounded({
    type: "string",
    description: "The `ETag` of the answer that you hold: 304 without a body while it is current",
    examples: ['"1f3c"']
  })
}

/** An operation with its condition, and the response if the state of the client is current. */
const conditional = (operation: Operation): Operation => ({
  ...operation,
  parameters: [...operation.parameters, ifNoneMatch],
  responses: {
    ...operation.responses,
    304: { description: "The state that `If-None-Match` names is current: no body" }
  }
})

/** An operation that returns a document. It fails like an operation without credentials and limits. */
const documentOf = (open: Operation, operationId: string, summary: string, example: object): Operation => ({
  tags: open.tags,
  operationId,
  summary,
  description: `${summary}. It stays the same while the process runs.`,
  parameters: [],
  security: [],
  responses: {
    ...open.responses,
    200: { description: summary, content: { "application/json": { schema: { type: "object" }, example } } }
  }
})

/** The paths, those of the documents included. Each tagged path has its condition. */
export const withTags = (paths: Paths): Paths => {
  const open = paths["/health"]!["get"]!
  const all: Record<string, Paths[string]> = {
    ...paths,
    [OPENAPI_PATH]: {
      get: documentOf(open, "getOpenApi", "This document, OpenAPI 3.1", { openapi: "3.1.0" })
    },
    [ASYNCAPI_PATH]: {
      get: documentOf(open, "getAsyncApi", "The WebSocket messages, AsyncAPI 3.0", { asyncapi: "3.0.0" })
    }
  }
  for (const path of taggedPaths) all[path] = { ...all[path], get: conditional(all[path]!["get"]!) }
  return all
}

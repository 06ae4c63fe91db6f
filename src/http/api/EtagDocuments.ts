/**
 * Answers that rarely change carry an entity tag, and who names it in `If-None-Match` is answered 304: what the document
 * tells of both, and of the documents themselves. Source: docs/contract/conventions.md#json-and-http,
 * docs/contract/rest.md#service-endpoints; RFC 9110, 13.1.2.
 */
import { bounded } from "./SchemaLimits.ts"

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** The document of the REST surface, given out by the router itself. */
export const OPENAPI_PATH = "/api-docs/openapi.json"
const ASYNCAPI_PATH = "/api-docs/asyncapi.json"

/** Paths whose answers carry an entity tag. */
export const taggedPaths: ReadonlySet<string> = new Set([
  "/api/v1/market/instruments-info",
  "/api/v1/market/risk-limit",
  OPENAPI_PATH,
  ASYNCAPI_PATH
])

const ifNoneMatch = {
  name: "If-None-Match",
  in: "header",
  required: false,
  schema: bounded({
    type: "string",
    description: "The `ETag` of the answer that you hold: 304 without a body while it is current",
    examples: ['"1f3c"']
  })
}

/** An operation with its condition, and the answer to who holds the newest state. */
const conditional = (op: Json): Json => ({
  ...op,
  parameters: [...op.parameters, ifNoneMatch],
  responses: { ...op.responses, 304: { description: "The state that `If-None-Match` names is current: no body" } }
})

/** An operation that gives out a document. It can fail as one without credentials and limits does. */
const given = (open: Json, operationId: string, summary: string, example: Json): Json => ({
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

/** The paths of a document with those of the documents, each tagged one with its condition. */
export const withTags = (paths: Json): Json => {
  const open = paths["/health"].get
  const all: Json = {
    ...paths,
    [OPENAPI_PATH]: {
      get: given(open, "getOpenApi", "This document, OpenAPI 3.1", { openapi: "3.1.0" })
    },
    [ASYNCAPI_PATH]: {
      get: given(open, "getAsyncApi", "The WebSocket messages, AsyncAPI 3.0", { asyncapi: "3.0.0" })
    }
  }
  for (const path of taggedPaths) all[path] = { ...all[path], get: conditional(all[path].get) }
  return all
}

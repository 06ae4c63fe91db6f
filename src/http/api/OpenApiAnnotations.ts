/** Prose, examples and security of an operation, in the form the OpenAPI document wants them. */
import { Context, Schema } from "effect"
import { OpenApi } from "effect/http-api"
import type { Scope } from "../../domain/Enumerations.ts"
import { RequiredScope } from "./Security.ts"

/**
 * Column Auth of docs/contract/rest.md#access: open, by address rate only; bearer token; Basic; or a scope: token or
 * API key.
 */
export type Access = "open" | "bearer" | "basic" | Scope

/** Names of the security schemes in the document. */
export const securitySchemes = {
  bearer: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description:
      "Token of POST /api/v1/authorize, valid for 7 days; signed and checked as RFC8725 advises: EdDSA only, issuer and audience bound"
  },
  api_key: { type: "apiKey", in: "header", name: "X-API-KEY", description: "Public key of a registered API key" },
  api_signature: {
    type: "apiKey",
    in: "header",
    name: "X-SIGNATURE",
    description:
      "Ed25519 signature over `SERVICE_API|{method}|{uri}|{timestamp_ms}|{nonce}`, with `|{body_sha256}` appended where X-BODY-SHA256 is sent"
  },
  api_timestamp: { type: "apiKey", in: "header", name: "X-TIMESTAMP-MS", description: "Unix ms, ± 30 s" },
  api_nonce: { type: "apiKey", in: "header", name: "X-NONCE", description: "8 to 64 of A-Z, a-z, 0-9, - and _" },
  basic: { type: "http", scheme: "basic", description: "Administrator" }
} as const

const bearer = { bearer: [] }
const apiKey = { api_key: [], api_signature: [], api_timestamp: [], api_nonce: [] }
const requirementsOf = (access: Access) => {
  switch (access) {
    case "open":
      return []
    case "bearer":
      return [bearer]
    case "basic":
      return [{ basic: [] }]
    default:
      return [bearer, apiKey]
  }
}
const scopes: ReadonlySet<string> = new Set(["read", "trade", "account", "transfer", "withdraw"])

// The document is plain JSON here; the library types a transform the same way.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = Record<string, any>

/** Query values travel as text, and are described so; this puts the types back that a reader expects. */
const withQueryTypes = (fields: Record<string, Schema.Top>, parameters: ReadonlyArray<Json>) =>
  parameters.map((parameter) => {
    const field = parameter["in"] === "query" ? fields[parameter["name"]] : undefined
    if (field === undefined) return parameter
    const { schema, definitions } = Schema.toJsonSchemaDocument(Schema.toType(field))
    const name = typeof schema["$ref"] === "string" ? schema["$ref"].split("/").at(-1)! : undefined
    const { type } = (name === undefined ? schema : definitions[name]) as Json
    if (type !== "integer" && type !== "boolean" && type !== "array") return parameter
    const shared = JSON.stringify(schema).replaceAll("#/$defs/", "#/components/schemas/")
    return { ...parameter, schema: JSON.parse(shared) }
  })

const withExample = (content: Json | undefined, example: unknown): Json | undefined =>
  content === undefined
    ? undefined
    : Object.fromEntries(Object.entries(content).map(([type, media]) => [type, { ...media, example }]))

/** Annotates an operation. `request` and `response` are examples; `query` are the schemas of its query parameters. */
export const docs = (operation: {
  /** camelCase, unique: code generators name methods after it. */
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly access: Access
  readonly query?: Record<string, Schema.Top>
  readonly request?: unknown
  readonly response: unknown
}) => {
  const scope = scopes.has(operation.access) ? (operation.access as Scope) : undefined
  return Context.merge(
    OpenApi.annotations({
      identifier: operation.id,
      summary: operation.summary,
      description: operation.description + (scope === undefined ? "" : `\n\nAn API key needs the scope \`${scope}\`.`),
      transform: (op: Json) => ({
        ...op,
        parameters: withQueryTypes(operation.query ?? {}, op["parameters"]),
        security: requirementsOf(operation.access),
        ...(op["requestBody"] === undefined
          ? {}
          : {
              requestBody: { ...op["requestBody"], content: withExample(op["requestBody"].content, operation.request) }
            }),
        responses: Object.fromEntries(
          Object.entries(op["responses"] as Json).map(([status, response]) => [
            status,
            {
              ...response,
              ...(status.startsWith("2") && response.content !== undefined
                ? { content: withExample(response.content, operation.response) }
                : {})
            }
          ])
        )
      })
    }),
    Context.make(RequiredScope, scope)
  )
}

/** Texts, examples and security of an operation, as annotations for the OpenAPI document. */
import { Context } from "effect"
import { OpenApi } from "effect/http-api"
import type { Scope } from "../../domain/Enumerations.ts"
import { type Body, mapValues, type Operation } from "./OpenApiModel.ts"
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

const withExample = <B extends Body>(body: B, example: unknown): B =>
  body.content === undefined ? body : { ...body, content: mapValues(body.content, (media) => ({ ...media, example })) }

/** Annotates an operation. `request` and `response` are examples. */
export const docs = (operation: {
  /** camelCase, unique: code generators name methods after it. */
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly access: Access
  readonly request?: unknown
  readonly response: unknown
}) => {
  const scope = scopes.has(operation.access) ? (operation.access as Scope) : undefined
  return Context.merge(
    OpenApi.annotations({
      identifier: operation.id,
      summary: operation.summary,
      description: operation.description + (scope === undefined ? "" : `\n\nAn API key needs the scope \`${scope}\`.`),
      // the library types every document of a transform as a record
      transform: (document) => {
        const found = document as Operation
        return {
          ...found,
          security: requirementsOf(operation.access),
          ...(found.requestBody === undefined
            ? undefined
            : { requestBody: withExample(found.requestBody, operation.request) }),
          responses: mapValues(found.responses, (response, status) =>
            status.startsWith("2") ? withExample(response, operation.response) : response
          )
        }
      }
    }),
    Context.make(RequiredScope, scope)
  )
}

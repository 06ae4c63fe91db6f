/** docs/reference/rest.md: every operation with its access, its buckets and its own reasons. */
import { Context } from "effect"
import { openApi } from "../../src/http/api/OpenApiDocument.ts"
import { errorsOf, operationOf } from "../../src/http/api/EndpointErrors.ts"
import {
  AdminAccess,
  BearerOnly,
  BearerOrApiKey,
  Counts,
  PublicAccess,
  RateBeside,
  RateInstead,
  RequiredScope
} from "../../src/http/api/Security.ts"
import type { Bucket } from "../../src/domain/RateHeaders.ts"
import { defaultLimits } from "../../src/services/operations/RateLimiter.ts"
import { derived } from "../../src/rpc/api/Operations.ts"
import { row, table } from "./Table.ts"

type Endpoint = (typeof derived)[number]["endpoint"]

const has = ({ middlewares }: Endpoint, tag: { readonly key: string }): boolean =>
  [...middlewares].some(({ key }) => key === tag.key)

const accessOf = (endpoint: Endpoint): string => {
  if (has(endpoint, AdminAccess)) return "administrator"
  if (has(endpoint, BearerOnly)) return "token"
  if (has(endpoint, BearerOrApiKey)) return `token, or key with \`${Context.get(endpoint.annotations, RequiredScope)}\``
  return "public"
}

const bucketOf = (endpoint: Endpoint): string => {
  const isCancel = Context.get(endpoint.annotations, Counts) === "cancels"
  if (has(endpoint, AdminAccess)) return "`basic-failures`"
  if (has(endpoint, BearerOnly)) return "`token`, `user`"
  if (has(endpoint, BearerOrApiKey)) {
    return isCancel ? "`token-cancels`, `user-cancels`; or `api-key-cancels`" : "`token`, `user`; or `api-key`"
  }
  if (!has(endpoint, PublicAccess)) return "nothing"
  if (Context.get(endpoint.annotations, RateInstead) === "authorize-ip") return "`authorize-ip`, `authorize-key`"
  if (Context.get(endpoint.annotations, RateBeside) === "activate-ip") return "`public`, `activate-ip`, `activate-root`"
  return "`public`"
}

/** Meaning of each bucket. */
const counted: Readonly<Record<Bucket, string>> = {
  public: "requests without credentials, by address",
  token: "requests with a token, by token; a batch counts one per 5 orders",
  user: "requests with a token, by user, all tokens together",
  "api-key": "requests with an API key, by key; a batch counts one per 5 orders",
  "token-cancels": "cancels and settings of the dead-man's switch with a token, by token; as large as `token`",
  "user-cancels": "cancels and settings of the dead-man's switch with a token, by user; as large as `user`",
  "api-key-cancels": "cancels and settings of the dead-man's switch with an API key, by key; as large as `api-key`",
  "authorize-ip": "logins, by address",
  "authorize-key": "logins, by key or party, after a valid signature",
  "basic-failures": "failed passwords of the administrator, by address",
  "auth-failures": "failed credentials, by address",
  "activate-ip": "activations, by address",
  "activate-root": "activations, by wallet, after a valid signature"
}
const buckets = (): string =>
  table(
    ["Bucket", "Per minute", "Counts"],
    Object.entries(counted).map(([bucket, what]) => row(`\`${bucket}\``, String(defaultLimits[bucket as Bucket]), what))
  )

interface Listed {
  readonly tag: string
  readonly line: string
}

const methods = ["get", "post", "put", "patch", "delete"] as const

const listed = (): ReadonlyArray<Listed> => {
  const operations = new Map<string, { readonly summary?: string; readonly tags: ReadonlyArray<string> }>(
    Object.entries(openApi().paths).flatMap(([path, item]) =>
      methods.flatMap((method) => {
        const operation = item[method]
        return operation === undefined
          ? []
          : [[operationOf({ method: method.toUpperCase(), path }), operation] as const]
      })
    )
  )
  return derived.map(({ endpoint }) => {
    const key = operationOf(endpoint)
    const operation = operations.get(key)
    if (operation === undefined) throw new Error(`the document has no ${key}`)
    const own = errorsOf(endpoint)
      .own.map(({ reason }) => `\`${reason}\``)
      .join(", ")
    const line = row(`\`${key}\``, operation.summary ?? "", accessOf(endpoint), bucketOf(endpoint), own)
    return { tag: operation.tags[0]!, line }
  })
}

export const page = (): string => {
  const all = listed()
  const { tags } = openApi()
  const sections = tags
    .map(({ description, name }) => ({ description, name, own: all.filter(({ tag }) => tag === name) }))
    .filter(({ own }) => own.length > 0)
    .map(
      ({ description, name, own }) =>
        `## ${name}\n\n${description}.\n\n${table(
          ["Operation", "Effect", "Access", "Buckets", "Own reasons"],
          own.map(({ line }) => line)
        )}`
    )
  return `# REST

${all.length} operations. Their paths are below \`/api/v1\`, except those of the service. [openapi.json](../openapi.json), and \`/swagger-ui\` of a running
gateway, have the fields, units, examples and errors of each. The rules are in [contract/rest.md](../contract/rest.md).

The last column lists the reasons of an operation in addition to the common ones: the shape of the request, credentials, rates, and a lost backend or
database. Causes and cures: [errors.md](errors.md).

${buckets()}

${sections.join("\n\n")}
`
}

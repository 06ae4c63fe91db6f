/** /admin/access-codes: the access codes of a closed launch. Source: docs/contract/rest-access.md#access-codes. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { AccessCode, IssuedAccessCode, MultiplierBps } from "../../domain/AccessCode.ts"
import { field, measure } from "../../domain/Field.ts"
import { Uuid } from "../../domain/Identity.ts"
import { list, page } from "../../domain/Page.ts"
import { Millis } from "../../domain/Time.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { paging, text } from "./Fields.ts"
import { changes, errors, takesBody } from "./OperationErrors.ts"
import { AdminAccess } from "./Security.ts"

/** Codes that one request makes. */
const CODES_MAX = 1000

const OwnCode = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9-]{6,64}$/u, { message: "expected 6 to 64 characters of A-Z, a-z, 0-9 and -" })
)
const Label = field(text(64), "Your label, at most 64 characters; the list has a filter for it", "alpha")

export const IssueBody = Schema.Struct({
  count: Schema.optionalKey(
    measure(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: CODES_MAX })),
      "Number of generated codes; 1 by default. With `codes`: their number, or absent",
      "count",
      1
    )
  ),
  codes: Schema.optionalKey(
    field(
      Schema.Array(OwnCode).check(Schema.isMinLength(1), Schema.isMaxLength(CODES_MAX)),
      "Your codes in plain text, instead of generated ones",
      ["ALPHA-7Q2M-X9KD"]
    )
  ),
  max_uses: Schema.optionalKey(
    measure(
      Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
      "Number of wallets that a code admits; 1 by default",
      "count",
      1
    )
  ),
  expires_time: Schema.optionalKey(field(Millis, "Expiry of a code")),
  badge: Schema.optionalKey(field(Schema.Boolean, "Whether the wallet has the badge of its access code")),
  multiplier_bps: Schema.optionalKey(MultiplierBps),
  label: Schema.optionalKey(Label)
}).annotate({ identifier: "IssueAccessCodesBody" })

const listQuery = { ...paging, label: Schema.optionalKey(Label) }

const code = {
  code_id: "018f3f1e-5d5b-4a00-8000-000000000009",
  code_hash: "3f2a4aeab0fdc190a5031ebd98fd8a767923287824eafd43a4a1c6d2f3f43dd6",
  label: "launch",
  max_uses: 1,
  uses: 0,
  badge: true,
  multiplier_bps: 12500,
  revoked: false,
  created_time: 1767225600000
}

export class AccessCodesApi extends HttpApiGroup.make("accessCodes")
  .add(
    HttpApiEndpoint.post("issue", "/", {
      payload: IssueBody,
      success: list(IssuedAccessCode).annotate({ identifier: "IssuedAccessCodes" }).pipe(HttpApiSchema.status(201)),
      error: errors(...takesBody, ...changes, "CodeExists")
    }).annotateMerge(
      docs({
        id: "issueAccessCodes",
        summary: "Make access codes",
        description:
          "Generates codes (`XXXX-XXXX-XXXX`) or takes your own, all or none. Only their hashes are stored: this answer is the only one that contains the codes.",
        access: "basic",
        request: { codes: ["ALPHA-7Q2M-X9KD"], badge: true, multiplier_bps: 12500, label: "launch" },
        response: { list: [{ ...code, code: "ALPHA-7Q2M-X9KD" }] }
      })
    ),
    HttpApiEndpoint.get("list", "/", {
      query: listQuery,
      success: page(AccessCode),
      error: errors("InvalidCursor")
    }).annotateMerge(
      docs({
        id: "listAccessCodes",
        summary: "List access codes",
        description: "Newest first, by hash; `label` keeps those with exactly this one.",
        access: "basic",
        response: { list: [code], next_page_cursor: "" }
      })
    ),
    HttpApiEndpoint.delete("revoke", "/:code_id", {
      params: { code_id: field(Schema.String, "Access code id", "018f3f1e-5d5b-4a00-8000-000000000009") },
      success: Schema.Struct({
        code_id: field(Uuid, "Access code id"),
        revoked: field(Schema.Literal(true), "Always true")
      }).annotate({
        identifier: "RevokedAccessCode"
      }),
      error: errors(...changes, "AccessCodeNotFound")
    }).annotateMerge(
      docs({
        id: "revokeAccessCode",
        summary: "Revoke an access code",
        description: "Later activations are refused with CodeRevoked; wallets that it admitted stay admitted.",
        access: "basic",
        response: { code_id: code.code_id, revoked: true }
      })
    )
  )
  .prefix("/api/v1/admin/access-codes")
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Access codes", description: "For the administrator" })) {}

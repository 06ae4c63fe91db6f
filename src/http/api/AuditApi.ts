/** /admin/audit: the trail of what administrators do. Source: docs/contract/rest-user.md. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AuditEntry } from "../../domain/Audit.ts"
import { field } from "../../domain/Field.ts"
import { page } from "../../domain/Page.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { paging, span, text } from "./Fields.ts"
import { errors } from "./OperationErrors.ts"
import { AdminAccess } from "./Security.ts"

const auditQuery = {
  actor: Schema.optionalKey(field(text(64), "Username, exactly", "alice")),
  action: Schema.optionalKey(field(text(64), "operationId, exactly", "banWallet")),
  ...span,
  ...paging
}

export class AuditApi extends HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/audit", {
      query: auditQuery,
      success: page(AuditEntry),
      error: errors("InvalidCursor", "OutOfRange")
    })
      .middleware(AdminAccess)
      .annotateMerge(
        docs({
          id: "getAuditTrail",
          summary: "What administrators did",
          description:
            "The latest entry first. An action has two: `requested` is on record before any effect; `done`, `refused` or `failed` follows. An action without an outcome may have happened. Entries are never changed or removed; reads make none.",
          access: "basic",
          response: {
            list: [
              {
                audit_id: "018f3f1e-5d5b-4a00-8000-000000000007",
                time: 1767225600000,
                phase: "done",
                actor: "alice",
                role: "operator",
                action: "banWallet",
                target: "0x63c5215e87770d17b9f4cd47c777e322f4eb152cfd2054c1080fd9d57c48913b",
                request_id: "018f3f1e-5d5b-4a00-8000-000000000008",
                client_ip: "203.0.113.7",
                request: { reason: "stolen keys" },
                before: { banned: false },
                after: { banned: true, reason: "stolen keys" }
              }
            ],
            next_page_cursor: ""
          }
        })
      )
  )
  .prefix("/api/v1/admin")
  .annotateMerge(OpenApi.annotations({ title: "Audit", description: "For administrators" })) {}

/**
 * How the process itself is, outside /api/v1; never rate limited. Source: docs/contract/rest.md#service-endpoints,
 * docs/contract/authentication.md#tokens.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { field, measure } from "../../domain/Field.ts"
import { docs } from "./OpenApiAnnotations.ts"

export const Health = Schema.Struct({
  status: field(Schema.Literal("ok"), "State"),
  version: field(Schema.String, "Version of the API")
}).annotate({
  identifier: "Health"
})

const Link = Schema.Struct({
  connected: field(Schema.Boolean, "Whether the connection is up"),
  lag_events: measure(Schema.Int, "Lag in events", "count", 0),
  lag_ms: measure(Schema.Int, "Lag in time", "ms", 3)
})
const links = {
  reasons: field(
    Schema.Array(Schema.String),
    "Why traffic should go elsewhere; empty when ready. Of the gateway: Starting, Stopping, DatabaseUnavailable, SequencerUnavailable, SequencerLagging, CommandsUnavailable, RefereeUnavailable, RefereeLagging. Of the backend: DiskFull, JournalStopped, or a word of its own"
  ),
  warnings: field(
    Schema.Array(Schema.String),
    "What an operator should look at while the service works. Of the backend: ClockOffset (its time is more than a minute off the wall clock), or a word of its own"
  ),
  sequencer: field(Link, "The backend that orders and matches"),
  referee: field(Link, "The backend that keeps accounts and risk"),
  database: field(
    Schema.Struct({ connected: field(Schema.Boolean, "Whether the connection is up") }),
    "The gateway's own database"
  )
}
export const Ready = Schema.Struct({ status: field(Schema.Literal("ready"), "State"), ...links }).annotate({
  identifier: "Ready"
})
export const NotReady = Schema.Struct({ status: field(Schema.Literal("not_ready"), "State"), ...links }).annotate({
  identifier: "NotReady",
  description:
    "`reasons` says why: a backend has been down or lagging for more than 10 s, it has accepted no command for as long, it refuses every command, the database is lost, or the gateway is starting or stopping"
})

export const Jwks = Schema.Struct({
  keys: field(Schema.Array(Schema.Record(Schema.String, Schema.String)), "JSON Web Keys (RFC 7517, 8037)")
}).annotate({
  identifier: "Jwks"
})

const link = { connected: true, lag_events: 0, lag_ms: 3 }

export class ServiceApi extends HttpApiGroup.make("service")
  .add(
    HttpApiEndpoint.get("health", "/health", { success: Health }).annotateMerge(
      docs({
        id: "getHealth",
        summary: "Is the process alive?",
        description: "Answers as long as the process does, also while it starts.",
        access: "open",
        response: { status: "ok", version: "0.1.1" }
      })
    ),
    HttpApiEndpoint.get("ready", "/ready", {
      success: [Ready, NotReady.pipe(HttpApiSchema.status(503))]
    }).annotateMerge(
      docs({
        id: "getReadiness",
        summary: "Should traffic come here?",
        description:
          "503 while a backend has been down or lagging for more than 10 s, it refuses every command (a full disk, a stopped journal), the database is lost, or the gateway is starting or stopping. `reasons` says which.",
        access: "open",
        response: {
          status: "ready",
          reasons: [],
          warnings: [],
          sequencer: link,
          referee: link,
          database: { connected: true }
        }
      })
    ),
    HttpApiEndpoint.get("jwks", "/.well-known/jwks.json", { success: Jwks }).annotateMerge(
      docs({
        id: "getJwks",
        summary: "Keys that verify tokens",
        description: "JSON Web Key Set (RFC 7517, 8037).",
        access: "open",
        response: {
          keys: [
            {
              kty: "OKP",
              crv: "Ed25519",
              alg: "EdDSA",
              use: "sig",
              kid: "1",
              x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
            }
          ]
        }
      })
    )
  )
  .annotateMerge(OpenApi.annotations({ title: "Service", description: "Health, readiness and keys" })) {}

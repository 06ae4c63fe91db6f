/** /admin: what the administrator may do. Source: docs/contract/rest-user.md. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Address } from "../../domain/Address.ts"
import { Competition } from "../../domain/Competition.ts"
import { Decimal } from "../../domain/Decimal.ts"
import { CompetitionStatus } from "../../domain/Enumerations.ts"
import { field, measure } from "../../domain/Field.ts"
import { Uuid } from "../../domain/Identity.ts"
import { Scoring } from "../../domain/Scoring.ts"
import { Millis } from "../../domain/Time.ts"
import { exampleCompetition } from "./CompetitionApi.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { AnySymbol, text } from "./Fields.ts"
import { changes, errors, takesBody } from "./OperationErrors.ts"
import { AdminAccess, NullCounts } from "./Security.ts"

const price = measure(Schema.NullOr(Decimal), "Index price; null: return to the index source", "quote asset")

/** `price` is the one field of the API where `null` is a value of its own. */
export const IndexPriceBody = Schema.Struct({ symbol: AnySymbol, price }).annotate({ identifier: "IndexPriceBody" })
export const IndexPrice = Schema.Struct({ symbol: AnySymbol, price }).annotate({ identifier: "IndexPrice" })

const competitionFields = {
  slug: field(
    Schema.String.check(
      Schema.isPattern(/^[a-z0-9]+(?:-[a-z0-9]+)*$/u, { message: "expected words of a-z and 0-9, joined by -" }),
      Schema.isMaxLength(64)
    ),
    "Unique; words of a-z and 0-9, joined by -, at most 64 characters",
    "spring-cup"
  ),
  title: field(text(120, 1), "Title", "Spring Cup"),
  description_md: field(text(20_000), "Markdown, at most 20000 characters", "Trade **BTC**."),
  start_time_ms: field(Millis, "Start, inclusive"),
  end_time_ms: field(Millis, "At most 366 days after the start"),
  prize_usdc: measure(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000_000 })),
    "Prize, whole USDC",
    "USDC",
    1000
  ),
  scoring: field(Scoring, "Scoring of the entries")
}
const status = Schema.optionalKey(
  field(CompetitionStatus, "`draft` (the default), `scheduled` publishes it, `cancelled`")
)
const symbol = Schema.optionalKey(AnySymbol)

export const CreateCompetitionBody = Schema.Struct({
  ...competitionFields,
  description_md: Schema.optionalKey(competitionFields.description_md),
  symbol,
  status
}).annotate({ identifier: "CreateCompetitionBody" })
export const ChangeCompetitionBody = Schema.Struct({
  slug: Schema.optionalKey(competitionFields.slug),
  title: Schema.optionalKey(competitionFields.title),
  description_md: Schema.optionalKey(competitionFields.description_md),
  start_time_ms: Schema.optionalKey(competitionFields.start_time_ms),
  end_time_ms: Schema.optionalKey(competitionFields.end_time_ms),
  prize_usdc: Schema.optionalKey(competitionFields.prize_usdc),
  scoring: Schema.optionalKey(field(Scoring, "Scoring of the entries")),
  symbol,
  status
}).annotate({ identifier: "ChangeCompetitionBody" })

export const BanBody = Schema.Struct({
  reason: Schema.optionalKey(field(text(200), "For the administrator's records; at most 200 characters"))
}).annotate({ identifier: "BanBody" })
export const Banned = Schema.Struct({
  root_address: field(Address, "Root address of the wallet"),
  banned: field(Schema.Boolean, "Whether the wallet is banned")
}).annotate({
  identifier: "Banned"
})

/** A wallet as the administrator names it. */
const root = "0x63c5215e87770d17b9f4cd47c777e322f4eb152cfd2054c1080fd9d57c48913b"
const wallet = {
  root_address: field(Schema.String, "Root address in full (64 hex digits, with or without 0x), or a party id", root)
}
const { id: _, ...newCompetition } = { ...exampleCompetition, status: "draft" }

export class AdminApi extends HttpApiGroup.make("admin")
  .add(
    HttpApiEndpoint.put("indexPrice", "/index-price", {
      payload: IndexPriceBody,
      success: IndexPrice,
      error: errors(...takesBody, ...changes, "SymbolNotFound", "ModuleDisabled", "NotMultipleOfTick", "OutOfRange")
    })
      .annotate(NullCounts, true)
      .annotateMerge(
        docs({
          id: "setIndexPrice",
          summary: "Hold an index price",
          description: "Holds the index of a market of the embedded backend until `null` returns it to its source.",
          access: "basic",
          request: { symbol: "BTC-USDC", price: "60000" },
          response: { symbol: "BTC-USDC", price: "60000" }
        })
      ),
    HttpApiEndpoint.post("createCompetition", "/competitions", {
      payload: CreateCompetitionBody,
      success: Competition.pipe(HttpApiSchema.status(201)),
      error: errors(...takesBody, ...changes, "BackendUnavailable", "SymbolNotFound", "SlugTaken")
    }).annotateMerge(
      docs({
        id: "createCompetition",
        summary: "Make a competition",
        description: "A draft, or with `status` `scheduled` a published one, which the clock moves on.",
        access: "basic",
        request: newCompetition,
        response: { ...exampleCompetition, status: "draft" }
      })
    ),
    HttpApiEndpoint.patch("changeCompetition", "/competitions/:competition_id", {
      params: { competition_id: field(Uuid, "Competition id") },
      payload: ChangeCompetitionBody,
      success: Competition,
      error: errors(
        ...takesBody,
        ...changes,
        "BackendUnavailable",
        "CompetitionNotFound",
        "SymbolNotFound",
        "CompetitionStarted",
        "SlugTaken"
      )
    }).annotateMerge(
      docs({
        id: "changeCompetition",
        summary: "Change a competition",
        description:
          "Anything of a draft; of a published one only `description_md`, and `status` `cancelled` until it is finalized.",
        access: "basic",
        request: { status: "scheduled" },
        response: { ...exampleCompetition, status: "scheduled" }
      })
    ),
    HttpApiEndpoint.put("ban", "/bans/:root_address", {
      params: wallet,
      payload: BanBody,
      success: Banned,
      error: errors(...takesBody, ...changes, "WalletNotFound")
    }).annotateMerge(
      docs({
        id: "banWallet",
        summary: "Shut a wallet out",
        description:
          "At once its tokens and API keys are refused (401 RevokedToken), its sockets closed with 4010 and its orders canceled. Repeating it finishes what was broken off.",
        access: "basic",
        request: { reason: "stolen keys" },
        response: { root_address: root, banned: true }
      })
    ),
    HttpApiEndpoint.delete("unban", "/bans/:root_address", {
      params: wallet,
      success: Banned,
      error: errors(...changes, "WalletNotFound")
    }).annotateMerge(
      docs({
        id: "unbanWallet",
        summary: "Let a wallet in again",
        description: "It may log in anew; what was revoked stays revoked.",
        access: "basic",
        response: { root_address: root, banned: false }
      })
    )
  )
  .prefix("/api/v1/admin")
  .middleware(AdminAccess)
  .annotateMerge(OpenApi.annotations({ title: "Admin", description: "For the administrator" })) {}

/** /user: the caller, its portfolio, sub-accounts and API keys. Source: docs/contract/rest-user.md. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Address } from "../../domain/Address.ts"
import { Scope } from "../../domain/Enumerations.ts"
import { field, measure } from "../../domain/Field.ts"
import { Uuid } from "../../domain/Identity.ts"
import { Millis } from "../../domain/Time.ts"
import { ApiKey, Me, SubAccount } from "../../domain/User.ts"
import { list } from "../../domain/Page.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { anyAddress, text } from "./Fields.ts"
import { badRequests, changes, errors, takesBody } from "./OperationErrors.ts"
import { BearerOnly, BearerOrApiKey } from "./Security.ts"

/** Exact decimal text in the answer, a JSON number to readers. Source: specification, Portfolio. */
const Numeral = Schema.Finite

export const PortfolioRecord = Schema.Struct({
  positions: field(
    Schema.Array(
      Schema.Struct({
        epoch: measure(Schema.Int, "Number of funding periods from Unix time 0 to the last settlement", "count"),
        funding_index: measure(
          Numeral,
          "Cumulative funding per unit of the base asset at the last settlement",
          "settlement asset"
        ),
        margin: measure(Numeral, "Initial margin; of an isolated position, its own margin", "settlement asset"),
        price: measure(Numeral, "Average entry price", "quote asset"),
        seq: measure(Schema.Int, "User-stream position of the last event of this position", "position"),
        size: measure(Numeral, "Signed: a short is negative", "base asset"),
        timestamp: field(Millis, "Event time"),
        timestamp_ms: field(Millis, "Time of the signature"),
        market_addr: field(Address, "Address of the market"),
        sid: field(Address, "Sub-account")
      })
    ),
    "Open positions"
  ),
  summary: field(
    Schema.Struct({
      collateral_notional: measure(Numeral, "Sum of the wallet balances", "USDC"),
      maintenance_margin_required: measure(Numeral, "Sum of the maintenance margins", "USDC"),
      total_available_balance: measure(Numeral, "Sum of the available balances", "USDC"),
      total_balance: measure(Numeral, "Sum of the equities", "USDC"),
      total_margin_used: measure(Numeral, "Sum of the initial margins of positions and orders", "USDC"),
      total_positions: measure(Schema.Int, "Open positions", "count"),
      total_vaults: measure(Schema.Int, "Sub-accounts", "count"),
      unrealized_funding_total: measure(Numeral, "Funding at the predicted rate; negative: to pay", "USDC"),
      unrealized_pnl_total: measure(Numeral, "Profit and loss at the mark prices", "USDC")
    }),
    "Sums over all sub-accounts"
  ),
  user_addr: field(Address, "Root address of the wallet"),
  vault_balances: field(
    Schema.Array(
      Schema.Struct({
        asset_addr: field(Address, "Address of the asset"),
        balance: measure(Numeral, "Wallet balance", "asset"),
        id: field(Address, "Sub-account")
      })
    ),
    "Wallet balances by sub-account"
  )
}).annotate({ identifier: "Portfolio" })

const Label = field(text(32), "Your label, at most 32 characters", "alpha")

export const CreateSubAccountBody = Schema.Struct({
  label: Schema.optionalKey(Label)
}).annotate({
  identifier: "CreateSubAccountBody"
})
export const ChangeSubAccountBody = Schema.Struct({
  label: Schema.optionalKey(Label),
  frozen: Schema.optionalKey(field(Schema.Boolean, "Frozen: no new or amended orders; cancels are allowed"))
}).annotate({ identifier: "ChangeSubAccountBody" })

const Scopes = Schema.Array(Scope).check(Schema.isMinLength(1), Schema.isMaxLength(5))
const KeyLabel = field(text(64), "Your label, at most 64 characters", "bot")
const IpAllowlist = Schema.Array(Schema.String)
  .check(Schema.isMaxLength(20))
  .annotate({ description: "CIDR blocks or addresses; empty: any", examples: [["203.0.113.0/24"]] })

const keyLimits = {
  sub_account_addresses: Schema.optionalKey(
    field(
      Schema.Array(anyAddress("Sub-account")).check(Schema.isMinLength(1)),
      "Sub-accounts; absent: all, later ones too"
    )
  ),
  ip_allowlist: Schema.optionalKey(field(IpAllowlist, "CIDR blocks or addresses that may use the key; empty: any")),
  expires_time: Schema.optionalKey(field(Millis, "Expiry; absent: never")),
  require_body_hash: Schema.optionalKey(field(Schema.Boolean, "Whether requests with a body must sign X-BODY-SHA256"))
}

export const CreateApiKeyBody = Schema.Struct({
  public_key: field(Schema.String, "Ed25519 public key; you keep the private key"),
  label: Schema.optionalKey(KeyLabel),
  scopes: field(Scopes, "Permissions of the key"),
  ...keyLimits
}).annotate({ identifier: "CreateApiKeyBody" })
export type CreateApiKeyBody = typeof CreateApiKeyBody.Type

export const ChangeApiKeyBody = Schema.Struct({
  label: Schema.optionalKey(KeyLabel),
  scopes: Schema.optionalKey(field(Scopes, "Permissions of the key")),
  ...keyLimits
}).annotate({ identifier: "ChangeApiKeyBody" })
export type ChangeApiKeyBody = typeof ChangeApiKeyBody.Type

const v1 = "0xf02f270b5613ad97b7ee4fb22defe3261dd7ebff6c17ca0c8be5cc41fac5d9be"
const keyId = "018f3f1e-5d5b-4a00-8000-000000000004"
const subAccount = {
  sub_account_address: v1,
  index: 1,
  label: "alpha",
  frozen: false,
  created_time: 1767225600000
}
const apiKey = {
  api_key_id: keyId,
  public_key: "0x3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  label: "bot",
  scopes: ["read", "trade"],
  ip_allowlist: [],
  require_body_hash: false,
  created_time: 1767225600000
}

export class UserApi extends HttpApiGroup.make("user")
  .add(
    HttpApiEndpoint.get("me", "/me", { success: Me })
      .middleware(BearerOrApiKey)
      .annotateMerge(
        docs({
          id: "getMe",
          summary: "Who am I",
          description: "The user behind the credential, and what the credential may do.",
          access: "read",
          response: {
            user_id: "f4d12921-24f9-5d21-bac3-b037fe010f93",
            root_address: "0x63c5215e87770d17b9f4cd47c777e322f4eb152cfd2054c1080fd9d57c48913b",
            rail: "address",
            whitelisted: false,
            activated: false,
            badge: false,
            multiplier_bps: 10000,
            referral_code: "7Q2MX9KD",
            scopes: ["read", "trade", "account", "transfer", "withdraw"],
            created_time: 1767225600000
          }
        })
      ),
    HttpApiEndpoint.get("portfolio", "/portfolio", { success: PortfolioRecord })
      .middleware(BearerOrApiKey)
      .annotateMerge(
        docs({
          id: "getPortfolio",
          summary: "Portfolio",
          description:
            "Positions, sums and vault balances over all sub-accounts of the credential. Numbers are JSON numbers with exact digits; /position/list and /account/balances carry the same as text.",
          access: "read",
          response: {
            positions: [
              {
                epoch: 61362,
                funding_index: 0,
                margin: 1200,
                price: 60000,
                seq: 42,
                size: 0.2,
                timestamp: 1767225600010,
                timestamp_ms: 1767225600010,
                market_addr: "0xb2a373d8519e821966ae61886e86c0a5cea70096e02b33a62c1f65871baa1209",
                sid: v1
              }
            ],
            summary: {
              collateral_notional: 9993.4,
              maintenance_margin_required: 120,
              total_available_balance: 8793.4,
              total_balance: 9993.4,
              total_margin_used: 1200,
              total_positions: 1,
              total_vaults: 2,
              unrealized_funding_total: 0,
              unrealized_pnl_total: 0
            },
            user_addr: "0x63c5215e87770d17b9f4cd47c777e322f4eb152cfd2054c1080fd9d57c48913b",
            vault_balances: [{ asset_addr: v1, balance: 9993.4, id: v1 }]
          }
        })
      ),
    HttpApiEndpoint.get("subAccounts", "/sub-accounts", {
      success: list(SubAccount).annotate({
        identifier: "SubAccounts"
      })
    })
      .middleware(BearerOrApiKey)
      .annotateMerge(
        docs({
          id: "getSubAccounts",
          summary: "Sub-accounts",
          description: "Sub-accounts that the credential may see, by index.",
          access: "read",
          response: { list: [subAccount] }
        })
      ),
    HttpApiEndpoint.post("createSubAccount", "/sub-accounts", {
      payload: CreateSubAccountBody,
      success: SubAccount.pipe(HttpApiSchema.status(201)),
      error: errors(...takesBody, ...changes, "LimitReached")
    })
      .middleware(BearerOrApiKey)
      .annotateMerge(
        docs({
          id: "createSubAccount",
          summary: "Open a sub-account",
          description: "Its index is the next one; a user has at most 20. A key bound to sub-accounts opens none.",
          access: "account",
          request: { label: "alpha" },
          response: subAccount
        })
      ),
    HttpApiEndpoint.patch("changeSubAccount", "/sub-accounts/:sub_account_address", {
      params: { sub_account_address: anyAddress("Sub-account") },
      payload: ChangeSubAccountBody,
      success: SubAccount,
      error: errors(...takesBody, ...changes, "SubAccountNotFound")
    })
      .middleware(BearerOrApiKey)
      .annotateMerge(
        docs({
          id: "changeSubAccount",
          summary: "Change a sub-account",
          description: "Sets its label, freezes it or thaws it.",
          access: "account",
          request: { frozen: false },
          response: subAccount
        })
      ),
    HttpApiEndpoint.delete("deleteSubAccount", "/sub-accounts/:sub_account_address", {
      params: { sub_account_address: anyAddress("Sub-account") },
      success: Schema.Struct({
        sub_account_address: field(Address, "Sub-account"),
        deleted: field(Schema.Literal(true), "Always true")
      }).annotate({
        identifier: "DeletedSubAccount"
      }),
      error: errors(...changes, "SubAccountNotFound", "NotEmpty", "OpenOrdersExist", "PositionExists")
    })
      .middleware(BearerOrApiKey)
      .annotateMerge(
        docs({
          id: "deleteSubAccount",
          summary: "Delete a sub-account",
          description:
            "Only one without balance, open orders and positions (409 NotEmpty, OpenOrdersExist, PositionExists). Its index and address are never used again; index 0 stays.",
          access: "account",
          response: { sub_account_address: v1, deleted: true }
        })
      ),
    HttpApiEndpoint.get("apiKeys", "/api-keys", {
      success: list(ApiKey).annotate({ identifier: "ApiKeys" })
    })
      .middleware(BearerOnly)
      .annotateMerge(
        docs({
          id: "getApiKeys",
          summary: "API keys",
          description: "Keys that are not revoked, newest first.",
          access: "bearer",
          response: { list: [apiKey] }
        })
      ),
    HttpApiEndpoint.post("createApiKey", "/api-keys", {
      payload: CreateApiKeyBody,
      success: ApiKey.pipe(HttpApiSchema.status(201)),
      error: [
        ...errors(...takesBody, ...changes, "SubAccountNotFound", "KeyAlreadyRegistered", "LimitReached"),
        ...badRequests("InvalidPublicKey")
      ]
    })
      .middleware(BearerOnly)
      .annotateMerge(
        docs({
          id: "createApiKey",
          summary: "Register an API key",
          description: "A public key is registered once, service-wide, for ever; a user has at most 50 keys.",
          access: "bearer",
          request: { public_key: apiKey.public_key, label: "bot", scopes: ["read", "trade"] },
          response: apiKey
        })
      ),
    HttpApiEndpoint.patch("changeApiKey", "/api-keys/:api_key_id", {
      params: { api_key_id: field(Uuid, "API key id") },
      payload: ChangeApiKeyBody,
      success: ApiKey,
      error: errors(...takesBody, ...changes, "ApiKeyNotFound", "SubAccountNotFound")
    })
      .middleware(BearerOnly)
      .annotateMerge(
        docs({
          id: "changeApiKey",
          summary: "Change an API key",
          description: "Only the fields sent change; it takes effect at once.",
          access: "bearer",
          request: { scopes: ["read"] },
          response: { ...apiKey, scopes: ["read"] }
        })
      ),
    HttpApiEndpoint.delete("revokeApiKey", "/api-keys/:api_key_id", {
      params: { api_key_id: field(Uuid, "API key id") },
      success: Schema.Struct({
        api_key_id: field(Schema.String, "API key"),
        revoked: field(Schema.Literal(true), "Always true")
      }).annotate({
        identifier: "RevokedApiKey"
      }),
      error: errors(...changes, "ApiKeyNotFound")
    })
      .middleware(BearerOnly)
      .annotateMerge(
        docs({
          id: "revokeApiKey",
          summary: "Revoke an API key",
          description: "Its WebSocket connections are closed with 4010; the public key cannot be registered again.",
          access: "bearer",
          response: { api_key_id: keyId, revoked: true }
        })
      )
  )
  .prefix("/api/v1/user")
  .annotateMerge(OpenApi.annotations({ title: "User", description: "The caller, its sub-accounts and API keys" })) {}

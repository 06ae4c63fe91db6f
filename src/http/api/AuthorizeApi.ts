/** /authorize: tokens and the whitelist. Source: docs/contract/rest-access.md. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Address } from "../../domain/Address.ts"
import { field, measure } from "../../domain/Field.ts"
import { Uuid } from "../../domain/Identity.ts"
import { Millis } from "../../domain/Time.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { badRequests, changes, errors, takesBody } from "./OperationErrors.ts"
import { AdminAccess, BearerOnly, EndsItself, PublicAccess, RateInstead, Ungated } from "./Security.ts"

export const LoginBody = Schema.Struct({
  public_key: field(
    Schema.String,
    "Ed25519 public key (hex, 0x-hex, base64, base64url), or a party id `<hint>::<fingerprint>`",
    "0xd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
  ),
  signature: field(Schema.String, "Ed25519 signature over `SERVICE_AUTH|LOGIN|{public_key}|{timestamp_ms}|{nonce}`"),
  timestamp_ms: measure(Schema.Int, "Time of the signature, within 60 s of the server's time", "ms"),
  nonce: field(Schema.String, "8 to 64 characters of A-Z, a-z, 0-9, - and _; single use"),
  verifying_key: Schema.optionalKey(
    field(Schema.String, "Key of a party, at its first login; ignored on the address rail", `0x${"fc".repeat(32)}`)
  )
}).annotate({ identifier: "LoginBody" })

export const Login = Schema.Struct({
  token: field(Schema.String, "JWT, valid for 7 days"),
  user_id: field(Uuid, "User; derived from the root address, permanent"),
  expires_at_ms: field(Millis, "Expiry of the token"),
  root_address: field(Address, "Root address of the wallet")
}).annotate({ identifier: "Login" })

export const Whitelisting = Schema.Struct({
  root_address: field(Address, "Root address of the wallet"),
  whitelisted: field(Schema.Boolean, "Whether the wallet is admitted")
}).annotate({
  identifier: "Whitelisting"
})

const wallet = {
  root_address: field(
    Schema.String,
    "Root address, canonical or short, or a party id",
    "0x63c5215e87770d17b9f4cd47c777e322f4eb152cfd2054c1080fd9d57c48913b"
  )
}
const root = "0x63c5215e87770d17b9f4cd47c777e322f4eb152cfd2054c1080fd9d57c48913b"

export class AuthorizeApi extends HttpApiGroup.make("authorize")
  .add(
    HttpApiEndpoint.post("login", "/", {
      payload: LoginBody,
      success: Login,
      error: [
        ...errors(...takesBody),
        ...badRequests(
          "InvalidSignature",
          "InvalidPublicKey",
          "UnknownPartyKey",
          "StaleTimestamp",
          "InvalidNonce",
          "NonceReused"
        )
      ]
    })
      .middleware(PublicAccess)
      .annotate(RateInstead, "authorize-ip")
      .annotateMerge(
        docs({
          id: "login",
          summary: "Log in",
          description:
            "Issues a token to the holder of a wallet's key, who signs with it. The first login creates the user and its first sub-account. A failed check is 400, a lost database or backend 500.",
          access: "open",
          request: {
            public_key: "0xd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            signature:
              "0x65ba054e367cd4b105b852f8670fe1b07c2579fc974bf25fbaf81d9aab5ab1415090606a1a0482af42e9cdaabb245574b608158d24fd854d34992a6840cd640b",
            timestamp_ms: 1767225600000,
            nonce: "bG9naW4tbm9uY2UtMDAwMQ"
          },
          response: {
            token: "eyJhbGciOiJFZERTQSJ9.e30.AA",
            user_id: "f4d12921-24f9-5d21-bac3-b037fe010f93",
            expires_at_ms: 1767830400000,
            root_address: root
          }
        })
      ),
    HttpApiEndpoint.post("logout", "/logout", {
      success: Schema.Struct({ revoked: field(Schema.Literal(true), "Always true") }).annotate({
        identifier: "LoggedOut"
      }),
      error: errors(...changes)
    })
      .middleware(BearerOnly)
      .annotate(Ungated, true)
      .annotate(EndsItself, true)
      .annotateMerge(
        docs({
          id: "logout",
          summary: "Log out",
          description:
            "Ends the token: once this is answered, no request of it has an effect any more. Its WebSocket connections are closed with 4010.",
          access: "bearer",
          response: { revoked: true }
        })
      ),
    HttpApiEndpoint.put("whitelist", "/whitelist/:root_address", {
      params: wallet,
      success: Whitelisting,
      error: errors(...changes)
    })
      .middleware(AdminAccess)
      .annotateMerge(
        docs({
          id: "whitelistWallet",
          summary: "Admit a wallet",
          description:
            "Puts a wallet on the whitelist. The wallet need not have logged in; repeating it changes nothing.",
          access: "basic",
          response: { root_address: root, whitelisted: true }
        })
      ),
    HttpApiEndpoint.get("whitelisting", "/whitelist/:root_address", { params: wallet, success: Whitelisting })
      .middleware(AdminAccess)
      .annotateMerge(
        docs({
          id: "getWhitelisting",
          summary: "Is a wallet admitted?",
          description: "`whitelisted` is false for a wallet that is not on the whitelist.",
          access: "basic",
          response: { root_address: root, whitelisted: true }
        })
      ),
    HttpApiEndpoint.delete("unwhitelist", "/whitelist/:root_address", {
      params: wallet,
      success: Whitelisting,
      error: errors(...changes)
    })
      .middleware(AdminAccess)
      .annotateMerge(
        docs({
          id: "unwhitelistWallet",
          summary: "Take a wallet off the whitelist",
          description: "Repeating it changes nothing.",
          access: "basic",
          response: { root_address: root, whitelisted: false }
        })
      )
  )
  .prefix("/api/v1/authorize")
  .annotateMerge(OpenApi.annotations({ title: "Authorize", description: "Tokens and the whitelist" })) {}

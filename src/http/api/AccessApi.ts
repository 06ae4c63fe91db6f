/**
 * /access: activation of an access code. Source: specification, /access/activate;
 * docs/contract/rest-access.md#activate, docs/contract/authentication.md#activation.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { MultiplierBps } from "../../domain/AccessCode.ts"
import { field, measure } from "../../domain/Field.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { changes, errors, reads, takesBody } from "./OperationErrors.ts"
import { AccessModule, PublicAccess, RateBeside } from "./Security.ts"

export const ActivateBody = Schema.Struct({
  code: field(
    Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(256)),
    "Access code; case and surrounding white space are ignored",
    "ALPHA-7Q2M-X9KD"
  ),
  public_key: field(Schema.String, "Ed25519 public key: hex, 0x-hex, base64 or base64url"),
  signature: field(
    Schema.String,
    "Ed25519 signature over `service-stage1-activate:{sha256(normalized code)}:{root_address}:{signed_at}`, on the party rail with `:{nonce}` appended"
  ),
  signed_at: measure(Schema.Int, "Unix time of the signature, within 300 s of the server's time", "s"),
  nonce: Schema.optionalKey(
    field(
      Schema.NullOr(Schema.String),
      "Required on the party rail: 8 to 64 characters of A-Z, a-z, 0-9, - and _; ignored on the other"
    )
  ),
  party_id: Schema.optionalKey(
    field(Schema.NullOr(Schema.String), "`<hint>::<fingerprint>`; absent or null: the address rail")
  )
}).annotate({ identifier: "ActivateBody" })

export const ActivationResult = Schema.Struct({
  activated: field(Schema.Literal(true), "Whether the wallet has activated an access code"),
  badge: field(Schema.Boolean, "Whether the wallet has the badge of its access code"),
  multiplier_bps: MultiplierBps
}).annotate({ identifier: "ActivationResult" })

export class AccessApi extends HttpApiGroup.make("access")
  .add(
    HttpApiEndpoint.post("activate", "/activate", {
      payload: ActivateBody,
      success: ActivationResult,
      error: errors(
        ...takesBody,
        ...reads,
        ...changes,
        "InvalidPublicKey",
        "InvalidSignature",
        "StaleTimestamp",
        "InvalidNonce",
        "NonceReused",
        "WalletAlreadyActivated",
        "InvalidCode",
        "CodeExpired",
        "CodeRevoked",
        "CodeAlreadyUsed"
      )
    })
      .middleware(PublicAccess)
      .middleware(AccessModule)
      .annotate(RateBeside, "activate-ip")
      .annotateMerge(
        docs({
          id: "activate",
          summary: "Activate an access code",
          description:
            "Admits the wallet that signs, with an access code. The wallet need not have logged in. The signature is checked before the code is looked at.",
          access: "open",
          request: {
            code: "ALPHA-7Q2M-X9KD",
            public_key: "0xd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            signature:
              "0x0234c6fc2c22f23bf9bc0e00f68f70d7cb91e994f7fb2d2b5588f3030fc4294def5c54aacf6a37d27eb4bad9bec5fcc5b3f65fb7f3bbdd42391fd3d75b4af208",
            signed_at: 1767225600,
            nonce: null,
            party_id: null
          },
          response: { activated: true, badge: true, multiplier_bps: 12500 }
        })
      )
  )
  .prefix("/api/v1/access")
  .annotateMerge(OpenApi.annotations({ title: "Access", description: "Access codes of a closed launch" })) {}

/** The vectors that the tests of access codes use. */
import { Schema } from "effect"
import { vectors as read } from "../vectors.ts"

const Body = Schema.Struct({
  code: Schema.String,
  public_key: Schema.String,
  signature: Schema.String,
  signed_at: Schema.Int,
  nonce: Schema.NullOr(Schema.String),
  party_id: Schema.NullOr(Schema.String)
})
const Vectors = Schema.Struct({
  server_time_ms: Schema.Int,
  keys: Schema.Struct({
    wallet: Schema.Struct({ seed: Schema.String, public_key: Schema.Struct({ hex_0x: Schema.String }) })
  }),
  activation: Schema.NonEmptyArray(
    Schema.Struct({
      name: Schema.String,
      body: Body,
      signature: Schema.Record(Schema.String, Schema.String),
      expect: Schema.Struct({ status: Schema.Int, root_address: Schema.String })
    })
  ),
  login: Schema.Array(
    Schema.Struct({
      body: Schema.Struct({
        public_key: Schema.String,
        signature: Schema.String,
        timestamp_ms: Schema.Int,
        nonce: Schema.String,
        verifying_key: Schema.optionalKey(Schema.String)
      })
    })
  ),
  negatives: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      mechanism: Schema.String,
      body: Schema.optionalKey(Schema.Unknown),
      expect: Schema.Struct({ status: Schema.optionalKey(Schema.Int), code: Schema.optionalKey(Schema.String) })
    })
  )
})
export const vectors = Schema.decodeUnknownSync(Vectors)(read("auth.json"))

/**
 * /account/withdrawal-addresses: where withdrawals may go to. Source: docs/contract/rest-account.md,
 * docs/contract/conventions.md#addresses.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { field } from "../../domain/Field.ts"
import { Millis } from "../../domain/Time.ts"
import { WithdrawalAddress } from "../../domain/WithdrawalAddress.ts"
import { docs } from "./OpenApiAnnotations.ts"
import { text } from "./Fields.ts"
import { changes, errors, takesBody } from "./OperationErrors.ts"
import { BearerOrApiKey } from "./Security.ts"

const v1 = "0xf02f270b5613ad97b7ee4fb22defe3261dd7ebff6c17ca0c8be5cc41fac5d9be"
const destination = Schema.String.annotate({
  description:
    "In full: 64 hex digits, with or without 0x, on the address rail; a party id on the party rail. Short addresses are refused",
  examples: [v1]
})
const only_listed = Schema.Boolean.annotate({ description: "Whether withdrawals go to listed destinations only" })

export const WithdrawalAddresses = Schema.Struct({
  only_listed,
  loosens_time: Schema.optionalKey(field(Millis, "End of `only_listed`; absent: none is set")),
  list: field(Schema.Array(WithdrawalAddress), "Rows")
}).annotate({ identifier: "WithdrawalAddresses" })

export const AddWithdrawalAddressBody = Schema.Struct({
  destination,
  label: Schema.optionalKey(field(text(64), "At most 64 characters"))
}).annotate({ identifier: "AddWithdrawalAddressBody" })

export const RestrictWithdrawalsBody = Schema.Struct({ only_listed }).annotate({
  identifier: "RestrictWithdrawalsBody"
})

export const RemovedWithdrawalAddress = Schema.Struct({
  destination: field(Schema.String, "Address or party id that receives the money"),
  deleted: field(Schema.Literal(true), "Always true")
}).annotate({ identifier: "RemovedWithdrawalAddress" })

const listed = {
  destination: v1,
  label: "cold wallet",
  created_time: 1767225600000,
  effective_time: 1767312000000
}

export class WithdrawalAddressApi extends HttpApiGroup.make("withdrawal_address")
  .add(
    HttpApiEndpoint.get("addresses", "/withdrawal-addresses", { success: WithdrawalAddresses }).annotateMerge(
      docs({
        id: "getWithdrawalAddresses",
        summary: "Withdrawal addresses",
        description: "Listed destinations, by the time of their addition, and whether withdrawals go to those only.",
        access: "read",
        response: { only_listed: true, list: [listed] }
      })
    ),
    HttpApiEndpoint.post("add", "/withdrawal-addresses", {
      payload: AddWithdrawalAddressBody,
      success: WithdrawalAddress.pipe(HttpApiSchema.status(201)),
      error: errors(...takesBody, ...changes, "LimitReached")
    }).annotateMerge(
      docs({
        id: "addWithdrawalAddress",
        summary: "List a destination",
        description:
          "Withdrawals may go there from `effective_time` on, 24 hours later unless the exchange sets another delay. One that is listed already keeps its times. At most 50.",
        access: "withdraw",
        request: { destination: v1, label: "cold wallet" },
        response: listed
      })
    ),
    HttpApiEndpoint.put("restrict", "/withdrawal-addresses", {
      payload: RestrictWithdrawalsBody,
      success: WithdrawalAddresses,
      error: errors(...takesBody, ...changes)
    }).annotateMerge(
      docs({
        id: "restrictWithdrawals",
        summary: "Withdraw to listed destinations only",
        description:
          "`true` takes effect before the answer, and calls off an end that waits. `false` takes effect at `loosens_time`, after the same delay as an addition.",
        access: "withdraw",
        request: { only_listed: true },
        response: { only_listed: true, list: [listed] }
      })
    ),
    HttpApiEndpoint.delete("remove", "/withdrawal-addresses/:destination", {
      params: { destination },
      success: RemovedWithdrawalAddress,
      error: errors(...changes, "DestinationNotFound")
    }).annotateMerge(
      docs({
        id: "removeWithdrawalAddress",
        summary: "Remove a destination",
        description: "Takes effect before the answer: no withdrawal that was checked before is still on its way.",
        access: "withdraw",
        response: { destination: v1, deleted: true }
      })
    )
  )
  .middleware(BearerOrApiKey)
  .prefix("/api/v1/account")
  .annotateMerge(OpenApi.annotations({ title: "Withdrawal addresses", description: "Where withdrawals may go to" })) {}

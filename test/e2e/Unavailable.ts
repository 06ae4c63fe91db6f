/** What a 503 says of a request: certainly not sequenced, or unknown. */
import { assert } from "vitest"
import type { Answer } from "../../verification/harness/RestClient.ts"

export const UNSENT = ["SERVICE_UNAVAILABLE", "BackendUnavailable", undefined]
export const UNKNOWN = ["SERVICE_UNAVAILABLE", "DeadlineExceeded", "unknown"]
export const whatOf = ({ body }: Answer) => [body.code, body.details?.reason, body.details?.outcome]
/** Asserts a 503 that states one of both, with Retry-After. */
export const isUnavailable = (answer: Answer): void => {
  assert.strictEqual(answer.status, 503, JSON.stringify(answer.body))
  assert.deepInclude([UNSENT, UNKNOWN], whatOf(answer))
  assert.strictEqual(answer.headers.get("retry-after"), "1")
}

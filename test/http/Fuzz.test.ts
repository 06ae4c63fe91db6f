/**
 * Malformed requests on every route: none may break the surface. A bounded count runs always, all 10,000 and more with
 * `FUZZ=10000`; the seed is in the failure text.
 */
import { afterAll, assert, describe, it } from "vitest"
import { ADMIN, gateway } from "./Fixture.ts"
import { isErrorBody, isMaterialThere, malformed } from "./Malformed.ts"

const COUNT = Number(process.env["FUZZ"] ?? 600)
const SEED = Number(process.env["SEED"] ?? 20_260_101)

describe.skipIf(!isMaterialThere)(`${COUNT} malformed requests`, () => {
  const { fetch, dispose } = gateway()
  afterAll(dispose)

  it("never break a route, and are answered in the one form", async () => {
    for (const { body, headers, method, target, text } of malformed(SEED, COUNT, {
      bearer: "Bearer good",
      basic: ADMIN
    })) {
      const { authorization, ...others } = headers
      const response = await fetch(method, target, {
        authorization: authorization ?? null,
        ...(body === undefined ? {} : { raw: body }),
        headers: others
      })
      const answer = await response.text()
      const where = `${text} -> ${response.status} ${answer}`
      assert.isBelow(response.status, 500, where)
      if (response.status >= 400) assert.isTrue(isErrorBody(answer), where)
    }
  }, 300_000)
})

/** The limit of commands in flight follows the setting. Source: docs/contract/boundary.md#overload. */
import { assert, describe, it } from "vitest"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { create, funded, type Session } from "../../verification/harness/RestClient.ts"
import { UNLIMITED } from "../../verification/harness/Settings.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { limits } from "../../src/services/trading/CommandAdmission.ts"

const started = async (COMMAND_TARGET_MS: string): Promise<readonly [Exchange, Session]> => {
  const exchange = await startExchange({ env: { ...UNLIMITED, COMMAND_TARGET_MS } })
  return [exchange, await funded(exchange)]
}

/** The limit after another order. */
const limitAfterOrder = async (exchange: Exchange, user: Session, order_link_id: string): Promise<number> => {
  const { body, status } = await create(exchange, user, order_link_id)
  assert.strictEqual(status, 200, JSON.stringify(body))
  const text = await (await fetch(`${exchange.url}/metrics`)).text()
  return Number(/^gateway_commands_limit (\d+)$/mu.exec(text)?.[1])
}

describe("COMMAND_TARGET_MS", () => {
  it("is the mean delay above which fewer commands are in flight", async () => {
    // an order takes more than a millisecond
    const [near, impatient] = await started("1")
    let orders = 0
    await eventually(
      "a lower limit",
      () => limitAfterOrder(near, impatient, `order-${++orders}`),
      (limit) => limit < limits.initial
    )
    await near.close()

    const [distant, patient] = await started("2000")
    for (let n = 1; n <= orders; n++)
      assert.strictEqual(await limitAfterOrder(distant, patient, `order-${n}`), limits.initial)
    await distant.close()
  })
})

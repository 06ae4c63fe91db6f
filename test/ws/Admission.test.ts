/** Which connections are accepted, by their endpoint and what the gateway can serve. */
import { assert, describe, it } from "vitest"
import type { LinkState } from "../../src/services/operations/BackendHealth.ts"
import { Admission } from "../../src/ws/Admission.ts"
import type { ConnectionRegistry } from "../../src/ws/ConnectionRegistry.ts"
import { defaults } from "../../src/ws/Limits.ts"

/** An admission where all is well, but for what the test changes. */
const setting = () => {
  const state = { isFull: false, isServed: true, unhealthy_for_ms: 0, referee_for_ms: 0, overdue_ms: 0 }
  const link = (unhealthy_for_ms: number) => ({ unhealthy_for_ms }) as LinkState
  const admission = new Admission(
    { isFull: () => state.isFull } as unknown as ConnectionRegistry,
    defaults,
    {
      health: { sequencer: () => link(state.unhealthy_for_ms), referee: () => link(state.referee_for_ms) },
      lease: { overdue_ms: () => state.overdue_ms }
    },
    { isServed: () => state.isServed } as never
  )
  const refusals = () =>
    (["general", "public", "private", "rpc"] as const).map((endpoint) => admission.refusalOf(endpoint, "192.0.2.1"))
  return { admission, state, refusals }
}

describe("a connection", () => {
  it("of feeds is refused while their backend is lost; one of calls is not, because each call reports it", () => {
    const { refusals, state } = setting()
    assert.deepStrictEqual(refusals(), [undefined, undefined, undefined, undefined])
    state.unhealthy_for_ms = defaults.backend_lost_private_ms + 1
    assert.deepStrictEqual(refusals(), [undefined, undefined, "BackendUnavailable", undefined])
    state.unhealthy_for_ms = defaults.backend_lost_public_ms + 1
    const lost = "BackendUnavailable"
    assert.deepStrictEqual(refusals(), [lost, lost, lost, undefined])
  })

  it.each(["referee_for_ms", "overdue_ms"] as const)(
    "of private feeds is refused while the referee is lost or changes of credentials cannot be read: %s",
    (name) => {
      const { refusals, state } = setting()
      state[name] = defaults.backend_lost_private_ms
      assert.deepStrictEqual(refusals(), [undefined, undefined, undefined, undefined])
      state[name] = Infinity
      assert.deepStrictEqual(refusals(), [undefined, undefined, "BackendUnavailable", undefined])
    }
  )

  it("of calls is refused before their server runs", () => {
    const { refusals, state } = setting()
    state.isServed = false
    assert.deepStrictEqual(refusals(), [undefined, undefined, undefined, "ShuttingDown"])
  })

  it("is refused at a shutdown before anything else, and over the limit of its address", () => {
    const { admission, refusals, state } = setting()
    state.isFull = true
    assert.deepStrictEqual([...new Set(refusals())], ["RateLimitExceeded"])
    admission.isOpen = false
    state.unhealthy_for_ms = Infinity
    assert.deepStrictEqual([...new Set(refusals())], ["ShuttingDown"])
  })
})

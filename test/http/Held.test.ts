/** Requests whose credential ends while they are under way. Source: docs/contract/authentication.md#revocation. */
import { Deferred, Effect } from "effect"
import { assert, describe, it } from "vitest"
import { Grant } from "../../src/domain/Grant.ts"
import { until } from "../../verification/harness/Wait.ts"
import { ManualLease } from "../doubles/ManualLease.ts"
import { type Doubles, gateway, tokenCaller } from "./Fixture.ts"

/** A gateway whose store stops at a call, with the grant of its one caller. */
const world = (stopping: (wait: Effect.Effect<void>) => Doubles) => {
  const lease = new ManualLease()
  const grant = new Grant("jti-1", tokenCaller.user_id, lease)
  const [reached, go] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
  const wait = Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(go))
  const caller = { ...tokenCaller, grant }
  const { dispose, fetch } = gateway({
    authenticator: { bearer: () => Effect.succeed(caller) },
    ...stopping(wait)
  })
  return {
    grant,
    lease,
    fetch,
    dispose,
    reached: Effect.runPromise(Deferred.await(reached)),
    go: () => Deferred.doneUnsafe(go, Effect.void)
  }
}
const reasonOf = async (response: Response) =>
  ((await response.json()) as { readonly details?: { readonly reason?: string; readonly cause?: string } }).details

describe("Amendment 18: a request under way", () => {
  it("holds its credential while it may write, so that a change waits for it", async () => {
    const { dispose, fetch, go, grant, reached } = world((wait) => ({
      accounts: { setLabel: () => wait }
    }))
    const answer = fetch("POST", "/api/v1/user/sub-accounts", { body: { label: "desk" } })
    await reached
    assert.isTrue(grant.isHeld)
    let idle = false
    grant.end("revoked")
    grant.whenIdle(() => (idle = true))
    assert.isFalse(idle)
    go()
    // it had its effect before the change was answered, and says so
    assert.strictEqual((await answer).status, 201)
    assert.isTrue(idle)
    const after = await fetch("POST", "/api/v1/user/sub-accounts", { body: { label: "desk" } })
    assert.strictEqual(after.status, 401)
    assert.deepInclude(await reasonOf(after), { reason: "RevokedToken", cause: "revoked" })
    await dispose()
  })

  it("shows nothing that it read for a credential which ended meanwhile, and holds up no change", async () => {
    const { dispose, fetch, go, grant, reached } = world((wait) => ({
      accounts: { labels: () => Effect.as(wait, new Map()) }
    }))
    const answer = fetch("GET", "/api/v1/user/sub-accounts")
    await reached
    assert.isFalse(grant.isHeld)
    grant.end("banned")
    go()
    const refused = await answer
    assert.strictEqual(refused.status, 401)
    assert.deepInclude(await reasonOf(refused), { reason: "RevokedToken", cause: "banned" })
    await dispose()
  })

  it("may end its own credential", async () => {
    const grant = new Grant("jti-1", tokenCaller.user_id)
    let heldMeanwhile = true
    const { dispose, fetch } = gateway({
      authenticator: {
        bearer: () => Effect.succeed({ ...tokenCaller, grant }),
        logout: () =>
          Effect.sync(() => {
            grant.end("revoked")
            heldMeanwhile = grant.isHeld
          })
      }
    })
    assert.strictEqual((await fetch("POST", "/api/v1/authorize/logout")).status, 200)
    assert.isFalse(heldMeanwhile)
    await dispose()
  })
})

describe("Amendment 18: a request of a gateway that cannot read changes of credentials", () => {
  it("does not write before they are read", async () => {
    let writes = 0
    const { dispose, fetch, grant, lease } = world(() => ({
      accounts: { setLabel: () => Effect.sync(() => void writes++) }
    }))
    lease.end()
    const ask = () => fetch("POST", "/api/v1/user/sub-accounts", { body: { label: "desk" } })
    const answer = ask()
    await until("the request is held", () => lease.waiters === 1)
    assert.strictEqual(writes, 0)
    lease.renew()
    assert.strictEqual((await answer).status, 201)
    assert.strictEqual(writes, 1)
    lease.end()
    const revoked = ask()
    await until("the request is held", () => lease.waiters === 1)
    grant.end("revoked")
    lease.renew()
    assert.strictEqual((await revoked).status, 401)
    assert.strictEqual(writes, 1)
    await dispose()
  })

  it("receives nothing that it read before they are read, and 503 after 1.5 s", async () => {
    const { dispose, fetch, go, grant, lease, reached } = world((wait) => ({
      accounts: { labels: () => Effect.as(wait, new Map()) }
    }))
    go()
    const answer = fetch("GET", "/api/v1/user/sub-accounts")
    lease.end()
    await reached
    grant.end("banned")
    lease.renew()
    assert.strictEqual((await answer).status, 401)
    await dispose()

    const late = world(() => ({}))
    late.lease.end()
    const began = performance.now()
    const refused = await late.fetch("GET", "/api/v1/user/sub-accounts")
    assert.isAtLeast(performance.now() - began, 1_400)
    assert.strictEqual(refused.status, 503)
    assert.deepInclude(await reasonOf(refused), { reason: "DatabaseUnavailable" })
    await late.dispose()
  })
})

/** Requests whose credential ends while they are under way. Source: docs/contract/authentication.md#revocation. */
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { Grant } from "../../src/domain/Grant.ts"
import { overloaded } from "../../src/services/Sequencer.ts"
import { until } from "../../verification/harness/Wait.ts"
import { ManualLease } from "../doubles/ManualLease.ts"
import { Stop } from "../doubles/Stop.ts"
import { type Doubles, gateway, orderId, tokenCaller, v1 } from "./Fixture.ts"

const SUB_ACCOUNTS = "/api/v1/user/sub-accounts"

/** A gateway whose store stops at a call, with the grant of its one caller. */
const world = (stopping: (wait: Effect.Effect<void>) => Doubles) => {
  const lease = new ManualLease()
  const grant = new Grant("jti-1", tokenCaller.user_id, lease)
  const stop = new Stop()
  const caller = { ...tokenCaller, grant }
  const { dispose, fetch } = gateway({
    authenticator: { bearer: () => Effect.succeed(caller) },
    ...stopping(stop.here)
  })
  return {
    grant,
    lease,
    fetch,
    dispose,
    reached: Effect.runPromise(stop.reached),
    go: () => Effect.runSync(stop.release)
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

  it("holds its credential while it deletes or changes something", async () => {
    const key = `/api/v1/user/api-keys/${orderId}`
    const requests = [
      ["DELETE", key, undefined],
      ["PATCH", key, { label: "bot" }]
    ] as const
    for (const [method, path, body] of requests) {
      let held: boolean | undefined
      const { dispose, fetch, grant } = world(() => {
        const look = Effect.sync(() => void (held = grant.isHeld))
        return {
          apiKeys: { revoke: () => look, update: () => Effect.andThen(look, Effect.die("looked")) }
        }
      })
      await fetch(method, path, body === undefined ? {} : { body })
      assert.isTrue(held, `${method} ${path}`)
      assert.isFalse(grant.isHeld, `${method} ${path}`)
      await dispose()
    }
  })

  it("releases its credential where it fails or its caller disconnects", async () => {
    const failing = world(() => ({ accounts: { setLabel: () => Effect.die("broken") } }))
    assert.strictEqual((await failing.fetch("POST", SUB_ACCOUNTS, { body: { label: "desk" } })).status, 500)
    assert.isFalse(failing.grant.isHeld)
    await failing.dispose()

    const { dispose, fetch, grant, reached } = world((wait) => ({ accounts: { setLabel: () => wait } }))
    const caller = new AbortController()
    const answer = fetch("POST", SUB_ACCOUNTS, { body: { label: "desk" }, signal: caller.signal })
    await reached
    assert.isTrue(grant.isHeld)
    const idle = new Promise<void>((resolve) => grant.whenIdle(resolve))
    caller.abort()
    await idle
    assert.isFalse(grant.isHeld)
    await answer.catch(() => undefined)
    await dispose()
  })

  it("does not hold its credential for a command: the sequencer checks the grant when it sends the command", async () => {
    const name = { sub_account_address: v1, symbol: "BTC-USDC", order_id: orderId }
    const order = { ...name, order_id: undefined, side: "Buy", order_type: "Limit", qty: "0.5", price: "60000" }
    const requests = {
      create: order,
      amend: { ...name, qty: "0.4" },
      cancel: name,
      "cancel-all": { sub_account_address: v1 },
      "create-batch": { orders: [order] },
      "cancel-batch": { orders: [name] }
    }
    for (const [command, body] of Object.entries(requests)) {
      const held: Array<boolean> = []
      const { dispose, fetch, grant, lease } = world(() => ({
        sequencer: {
          submit: () =>
            Effect.suspend(() => {
              held.push(grant.isHeld)
              return Effect.fail(overloaded)
            })
        }
      }))
      lease.end()
      await fetch("POST", `/api/v1/order/${command}`, { body })
      assert.deepStrictEqual(held, [false], command)
      await dispose()
    }
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

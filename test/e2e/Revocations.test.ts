/**
 * docs/contract/authentication.md#revocation: checks made before a credential was revoked, narrowed or banned have no effect
 * after the response to that change. The first tests pause a request at a named point, make the change and resume the
 * request; the last one races them.
 */
import { Effect, Layer } from "effect"
import { Agent } from "node:http"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { orderOf } from "../../verification/fleet/Orders.ts"
import { kinds, run, Subject, violationsOf } from "../../verification/revocations/Races.ts"
import { connection, connectionTransports, order, orderTransports } from "../../verification/revocations/Uses.ts"
import { NonceStore } from "../../src/services/identity/NonceStore.ts"
import { Signatures } from "../../src/services/identity/Signatures.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { ADMIN } from "../../verification/harness/Settings.ts"

const points = ["its signature is checked", "its nonce is claimed", "its nonce is spent"] as const
type Point = (typeof points)[number]

/** Pauses the first request that reaches a point, until it is released. */
class Stop {
  private armed: Point | undefined
  private arrive = () => {}
  private leave = () => {}
  private gate = Promise.resolve()

  /** Resolves when the next request is at the point. */
  arm(point: Point): Promise<void> {
    this.armed = point
    this.gate = new Promise((resolve) => (this.leave = resolve))
    return new Promise((resolve) => (this.arrive = resolve))
  }
  go(): void {
    this.leave()
  }
  /** The effect that a double runs at a point. */
  at(point: Point): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.armed !== point) return Effect.void
      this.armed = undefined
      this.arrive()
      return Effect.promise(() => this.gate)
    })
  }
}

const around = (stop: Stop) =>
  Layer.mergeAll(
    Layer.effect(
      NonceStore,
      Effect.map(NonceStore, (real) =>
        NonceStore.of({
          ...real,
          claim: (...asked) =>
            stop
              .at("its nonce is claimed")
              .pipe(Effect.andThen(real.claim(...asked)), Effect.andThen(stop.at("its nonce is spent")))
        })
      )
    ),
    Layer.effect(
      Signatures,
      Effect.map(Signatures, (real) =>
        Signatures.of({
          ...real,
          verify: (...asked) => Effect.tap(real.verify(...asked), () => stop.at("its signature is checked"))
        })
      )
    )
  )

describe("Amendment 18: a request that is paused while its credential ends", { timeout: 60_000 }, () => {
  const stop = new Stop()
  const agent = new Agent({ keepAlive: true })
  let exchange: Exchange
  let subject: Subject
  let bearer: string
  let count = 0
  const ask = async (method: string, path: string, authorization: string, body?: object) => {
    const headers = { authorization, ...(body === undefined ? {} : { "content-type": "application/json" }) }
    const answer = await fetch(`${exchange.url}/api/v1${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    assert.isBelow(answer.status, 300, await answer.clone().text())
    return (await answer.json()) as { readonly list?: ReadonlyArray<{ readonly order_link_id?: string }> }
  }
  const basic = `Basic ${btoa(`${ADMIN.username}:${ADMIN.password}`)}`

  beforeAll(async () => {
    exchange = await startExchange({ around: around(stop), env: { FAUCET_DAILY_LIMIT: "1000000" } })
    subject = new Subject({ urls: [exchange.url], admin: ADMIN, grace_ms: 0 })
    await subject.enlist()
  }, 60_000)
  afterAll(async () => {
    agent.destroy()
    await exchange?.close()
  })

  /** Ends a key, and prepares the next test. */
  const changes: Record<string, (api_key_id: string) => Promise<() => Promise<unknown>>> = {
    "is deleted": async (id) => {
      await ask("DELETE", `/user/api-keys/${id}`, bearer)
      return async () => {}
    },
    ...Object.fromEntries(
      Object.entries({
        "loses its scopes": { scopes: ["account"] },
        "is bound to other addresses": { ip_allowlist: ["203.0.113.0/24"] },
        "expires earlier": { expires_time: Date.now() + 3_600_000 },
        "must sign bodies": { require_body_hash: true }
      }).map(([name, change]) => [
        name,
        async (id: string) => {
          await ask("PATCH", `/user/api-keys/${id}`, bearer, change)
          return () => ask("DELETE", `/user/api-keys/${id}`, bearer)
        }
      ])
    ),
    "is banned with its user": async () => {
      await ask("PUT", `/admin/bans/${subject.root}`, basic, {})
      return () => ask("DELETE", `/admin/bans/${subject.root}`, basic)
    }
  }

  for (const [name, change] of Object.entries(changes)) {
    for (const point of points) {
      it(`has no effect over any transport: a key that ${name} while ${point}`, async () => {
        bearer = `Bearer ${await subject.login()}`
        for (const transport of orderTransports) {
          const { api_key_id, key } = await subject.newKey()
          const link = `stopped-${count++}`
          const send = await order(transport, agent, exchange.url, { key }, orderOf(subject.vault, link))
          const reached = stop.arm(point)
          const answer = send()
          await reached
          const restore = await change(api_key_id)
          stop.go()
          assert.match(await answer, /^40[01] RevokedToken$/u, transport)
          await restore()
          bearer = `Bearer ${await subject.login()}`
          const { list } = await ask("GET", `/order/history?sub_account_address=${subject.vault}`, bearer)
          assert.isFalse(list!.some(({ order_link_id }) => order_link_id === link))
        }
        for (const transport of connectionTransports) {
          const { api_key_id, key } = await subject.newKey()
          const { answered, authenticate, close, wasIn } = await connection(transport, exchange.url, { key })
          const reached = stop.arm(point)
          authenticate()
          await reached
          const restore = await change(api_key_id)
          stop.go()
          await answered
          assert.isFalse(wasIn(), transport)
          close()
          await restore()
          bearer = `Bearer ${await subject.login()}`
        }
      })
    }
  }

  it("states that a banned wallet is banned, and that a new login does not help", async () => {
    const token = await subject.login()
    await ask("PUT", `/admin/bans/${subject.root}`, basic, {})
    for (const one of [token, await subject.login()]) {
      const answer = await fetch(`${exchange.url}/api/v1/user/me`, { headers: { authorization: `Bearer ${one}` } })
      assert.strictEqual(answer.status, 401)
      assert.deepInclude(await answer.json(), {
        message: "this wallet is banned; a new login does not help; ask the operator of the exchange",
        details: { reason: "RevokedToken", cause: "banned" }
      })
    }
    await ask("DELETE", `/admin/bans/${subject.root}`, basic)
    const after = await fetch(`${exchange.url}/api/v1/user/me`, { headers: { authorization: `Bearer ${token}` } })
    assert.deepInclude(await after.json(), {
      message: "the token or API key was revoked; log in again",
      details: { reason: "RevokedToken", cause: "revoked" }
    })
  })

  it("Amendment 18: changes that race with authentications and orders leave no effect behind", async () => {
    const stand = { urls: [exchange.url], admin: ADMIN, grace_ms: 0 }
    const options = { changes: 8 * kinds.length, uses: 8, lanes: 4, seed: 7 }
    const report = await run(stand, options)
    assert.deepStrictEqual(violationsOf(report, options), [], JSON.stringify(report))
    const accepted = Object.values(report.byKind).reduce((sum, tally) => sum + tally.accepted, 0)
    assert.isAbove(accepted, 0, "no order was in time for its race")
  })
})

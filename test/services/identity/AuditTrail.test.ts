/** Every action of an administrator is on record before it has an effect. */
import { assert, describe, it } from "@effect/vitest"
import { HttpApi } from "effect/http-api"
import { Effect, Layer } from "effect"
import type { AuditEntry } from "../../../src/domain/Audit.ts"
import type { Ticker } from "../../../src/domain/Market.ts"
import { administered, nameOf, roleFor } from "../../../src/http/api/AdminRoles.ts"
import { Api } from "../../../src/http/api/Api.ts"
import { openApi } from "../../../src/http/api/OpenApiDocument.ts"
import { AdminAccess } from "../../../src/http/api/Security.ts"
import { AccountsUnavailable } from "../../../src/services/identity/Accounts.ts"
import { AuditStore } from "../../../src/services/identity/AuditStore.ts"
import { AuditTrail } from "../../../src/services/identity/AuditTrail.ts"
import type { Ban } from "../../../src/services/identity/BanStore.ts"
import { Cursors } from "../../../src/services/operations/Cursors.ts"
import { Ids } from "../../../src/services/operations/Ids.ts"
import { CommandRefused, OutcomeUnknown, SequencerUnavailable } from "../../../src/services/Sequencer.ts"
import { entry } from "../../contracts/AuditStoreContract.ts"
import * as SqliteStores from "../../doubles/SqliteStores.ts"
import { signingKeys } from "../../doubles/Wallets.ts"
import { ADMIN, btc, type Doubles, draft, gateway, v1 } from "../../http/Fixture.ts"

const basic = (username: string) => `Basic ${btoa(`${username}:secret`)}`

/** Endpoints behind Basic. */
const endpoints: Array<{ readonly method: string; readonly path: string }> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => {
    if (endpoint.middlewares.has(AdminAccess as never)) endpoints.push(endpoint)
  }
})

const bodies: Record<string, unknown> = {
  "PUT /api/v1/admin/index-price": { symbol: btc.symbol, price: "60000" },
  "POST /api/v1/admin/access-codes": { codes: ["ALPHA-7Q2M-X9KD"] },
  "PUT /api/v1/admin/bans/:root_address": { reason: "stolen keys" },
  "PATCH /api/v1/admin/competitions/:competition_id": { title: "Other" },
  "POST /api/v1/admin/competitions": {
    slug: "autumn",
    title: "Autumn",
    start_time_ms: draft.start_time_ms,
    end_time_ms: draft.end_time_ms,
    prize_usdc: 1,
    scoring: draft.scoring
  }
}
const pathOf = ({ path }: { readonly path: string }): string =>
  path
    .replace(":root_address", v1)
    .replace(/:(competition_id|code_id)/u, draft.id)
    .replace(/\/$/u, "")

const world = (doubles: Doubles = {}) => {
  const entries: Array<AuditEntry> = []
  const lines: Array<string> = []
  const gate = gateway({
    ...doubles,
    logged: (line) => lines.push(line),
    audit: { append: (entry) => Effect.sync(() => void entries.push(entry)), ...doubles.audit }
  })
  const ask = async (endpoint: { readonly method: string; readonly path: string }, authorization = ADMIN) => {
    const body = bodies[nameOf(endpoint)]
    const response = await gate.fetch(endpoint.method, pathOf(endpoint), {
      authorization,
      headers: { "x-request-id": "audited" },
      ...(body === undefined ? {} : { body })
    })
    return { status: response.status, body: (await response.json()) as Record<string, never> }
  }
  return { entries, lines, gate, ask }
}
const actions = endpoints.filter(({ method }) => method !== "GET")

const listing = AuditTrail.layer.pipe(
  Layer.provideMerge(SqliteStores.audit),
  Layer.provide([Layer.provide(Cursors.layer, signingKeys(1)), Layer.mock(Ids)({})])
)

describe("the audit trail", () => {
  it("has two entries per action: actor, action, before, after, request id and time", async () => {
    const { ask, entries, gate, lines } = world()
    assert.isAbove(actions.length, 8)
    for (const endpoint of actions) {
      entries.splice(0)
      lines.splice(0)
      const { status } = await ask(endpoint)
      assert.isBelow(status, 300, nameOf(endpoint))
      const [requested, done] = entries
      assert.deepStrictEqual([requested?.phase, done?.phase], ["requested", "done"], nameOf(endpoint))
      const same = { actor: "admin", role: "admin", request_id: "audited", audit_id: requested!.audit_id } as const
      for (const entry of entries) assert.deepInclude(entry, same)
      assert.isDefined(done!.after)
      assert.isAtLeast(done!.time, requested!.time)
      assert.lengthOf(
        lines.filter((line) => line.includes("administrator action") && line.includes("audited")),
        2,
        nameOf(endpoint)
      )
      assert.notInclude(JSON.stringify(entries) + lines.join(), "7Q2M", "an access code is a secret")
    }
    await gate.dispose()
  })

  it("shows the states before and after", async () => {
    const { ask, entries, gate } = world()
    await ask({ method: "PUT", path: "/api/v1/admin/bans/:root_address" })
    assert.deepInclude(entries[1], {
      action: "banWallet",
      target: v1,
      request: { reason: "stolen keys" },
      before: { banned: false },
      after: { banned: true, reason: "stolen keys" }
    })
    await gate.dispose()
  })

  it("names each action by its operation, with its target, its request and both states", async () => {
    let whitelisted = false
    let ban: Ban | undefined
    const { ask, entries, gate } = world({
      accounts: {
        isWhitelisted: () => Effect.sync(() => whitelisted),
        setWhitelisted: (_, now) => Effect.sync(() => void (whitelisted = now))
      },
      bans: { stored: () => Effect.sync(() => ban), put: (next) => Effect.sync(() => void (ban = next)) },
      markets: { ticker: () => ({ index_price: "59000" }) as Ticker }
    })
    const wallet = "/api/v1/authorize/whitelist/:root_address"
    const banned = "/api/v1/admin/bans/:root_address"
    const competition = "/api/v1/admin/competitions/:competition_id"
    const reason = "stolen keys"
    const draftFields = { slug: draft.slug, title: draft.title }
    type Expected = Partial<Omit<AuditEntry, "before" | "after">> & {
      readonly before?: object | undefined
      readonly after: object
    }
    const table: ReadonlyArray<readonly [method: string, path: string, expected: Expected]> = [
      [
        "PUT",
        wallet,
        { action: "whitelistWallet", target: v1, before: { whitelisted: false }, after: { whitelisted: true } }
      ],
      [
        "DELETE",
        wallet,
        { action: "unwhitelistWallet", target: v1, before: { whitelisted: true }, after: { whitelisted: false } }
      ],
      [
        "PUT",
        banned,
        {
          action: "banWallet",
          target: v1,
          request: { reason },
          before: { banned: false },
          after: { banned: true, reason }
        }
      ],
      [
        "DELETE",
        banned,
        { action: "unbanWallet", target: v1, before: { banned: true, reason }, after: { banned: false } }
      ],
      [
        "PUT",
        "/api/v1/admin/index-price",
        {
          action: "setIndexPrice",
          target: btc.symbol,
          request: { price: "60000" },
          before: { index_price: "59000" },
          after: { price: "60000" }
        }
      ],
      [
        "POST",
        "/api/v1/admin/access-codes",
        { action: "issueAccessCodes", target: "", request: { count: 1 }, before: undefined, after: {} }
      ],
      [
        "DELETE",
        "/api/v1/admin/access-codes/:code_id",
        { action: "revokeAccessCode", target: draft.id, before: { revoked: false }, after: { revoked: true } }
      ],
      [
        "POST",
        "/api/v1/admin/competitions",
        {
          action: "createCompetition",
          target: "autumn",
          before: undefined,
          after: { slug: "autumn", title: "Autumn", prize_usdc: 1 }
        }
      ],
      [
        "PATCH",
        competition,
        {
          action: "changeCompetition",
          target: draft.id,
          request: { title: "Other" },
          before: draftFields,
          after: { ...draftFields, title: "Other" }
        }
      ]
    ]
    assert.sameMembers(
      table.map(([method, path]) => `${method} ${path}`),
      actions.map(nameOf)
    )
    const { paths } = openApi()
    for (const [method, path, { after, before, ...same }] of table) {
      entries.splice(0)
      await ask({ method, path })
      const [requested, done] = entries
      const named = paths[path.replaceAll(/:(\w+)/gu, "{$1}")]?.[method.toLowerCase() as "get"]
      assert.strictEqual(requested!.action, named?.operationId, path)
      for (const entry of entries) {
        assert.deepInclude(entry, same as object, path)
        if (before === undefined) assert.isUndefined(entry.before, path)
        else assert.deepInclude(entry.before, before, path)
      }
      assert.deepInclude(done!.after, after, path)
      assert.isUndefined(requested!.after, path)
    }
    await gate.dispose()
  })

  it("has the reason of what is refused, and of what failed", async () => {
    const { ask, entries, gate } = world({
      competitions: { get: () => Effect.undefined },
      sequencer: { submit: () => Effect.fail(new SequencerUnavailable({})) }
    })
    await ask({ method: "PATCH", path: "/api/v1/admin/competitions/:competition_id" })
    // what does not exist has no state before: nothing was begun
    assert.deepStrictEqual(entries, [])
    await ask({ method: "PUT", path: "/api/v1/admin/index-price" })
    assert.deepInclude(entries[1], { phase: "failed", reason: "SequencerUnavailable" })
    await gate.dispose()
  })

  it("distinguishes what changed nothing from what may have happened", async () => {
    const unknownMarket = new CommandRefused({ reason: "SymbolNotFound", message: "", details: {} })
    for (const [doubles, outcome] of [
      [{ embedded: false }, { phase: "refused", reason: "ModuleDisabled" }],
      [{ sequencer: { submit: () => Effect.fail(unknownMarket) } }, { phase: "refused", reason: "SymbolNotFound" }],
      [
        { sequencer: { submit: () => Effect.fail(new OutcomeUnknown()) } },
        { phase: "failed", reason: "OutcomeUnknown" }
      ]
    ] as const) {
      const { ask, entries, gate } = world(doubles)
      await ask({ method: "PUT", path: "/api/v1/admin/index-price" })
      assert.deepInclude(entries[1], outcome)
      await gate.dispose()
    }
  })

  it("has an outcome though the administrator leaves meanwhile", async () => {
    const [begun, outcome] = [Promise.withResolvers<void>(), Promise.withResolvers<AuditEntry>()]
    const { gate } = world({
      accounts: { setWhitelisted: () => Effect.andThen(Effect.sync(begun.resolve), Effect.never) },
      audit: {
        append: (entry) => Effect.sync(() => (entry.phase === "requested" ? undefined : outcome.resolve(entry)))
      }
    })
    const administrator = new AbortController()
    const { signal } = administrator
    const answer = gate.fetch("PUT", `/api/v1/authorize/whitelist/${v1}`, { authorization: ADMIN, signal })
    await begun.promise
    administrator.abort()
    assert.strictEqual((await outcome.promise).phase, "failed")
    await answer.catch(() => undefined)
    await gate.dispose()
  })

  it("counts the codes that were given", async () => {
    const { entries, gate } = world()
    const body = { codes: ["ALPHA-7Q2M-X9KD", "BRAVO-7Q2M-X9KD"] }
    await gate.fetch("POST", "/api/v1/admin/access-codes", { authorization: ADMIN, body })
    assert.deepStrictEqual(entries[0]!.request, { count: 2 })
    await gate.dispose()
  })

  it("is written first: an unrecorded action has no effect, an unrecorded outcome does not undo it", async () => {
    for (const failsAt of ["requested", "done"]) {
      let effects = 0
      const { ask, gate, lines } = world({
        accounts: { setWhitelisted: () => Effect.sync(() => void effects++) },
        audit: {
          append: ({ phase }) =>
            phase === failsAt ? Effect.fail(new AccountsUnavailable({ cause: "disk" })) : Effect.void
        }
      })
      const { status } = await ask({ method: "PUT", path: "/api/v1/authorize/whitelist/:root_address" })
      assert.deepStrictEqual([status, effects], failsAt === "requested" ? [503, 0] : [200, 1])
      assert.strictEqual(lines.join().includes("the outcome of an action was not recorded"), failsAt === "done")
      await gate.dispose()
    }
  })

  it.effect("refuses a span that starts after its end", () =>
    Effect.gen(function* () {
      const trail = yield* AuditTrail
      for (const span of [{ start_time: 2, end_time: 1 }, { start_time: 1e15 }])
        assert.deepInclude(yield* Effect.flip(trail.list(span)), { reason: "OutOfRange" })
      assert.deepStrictEqual((yield* trail.list({ start_time: 1, end_time: 1 })).list, [])
    }).pipe(Effect.provide(listing))
  )

  it.effect("returns both entries of each action once, whichever of them ends a page", () =>
    Effect.gen(function* () {
      const store = yield* AuditStore
      const trail = yield* AuditTrail
      const expected = [3, 2, 1].flatMap((n) => [entry(n, { time: 7 }), entry(n, { time: 7, phase: "requested" })])
      for (const each of expected) yield* store.append(each)
      // pages of one end with every entry, pages of two with requests
      for (const limit of [1, 2]) {
        const list: Array<AuditEntry> = []
        let cursor = ""
        do {
          const page = yield* trail.list({ limit, action: "banWallet", ...(cursor !== "" && { cursor }) })
          list.push(...page.list)
          cursor = page.next_page_cursor
        } while (cursor !== "")
        assert.deepStrictEqual(list, expected, `pages of ${limit}`)
      }
    }).pipe(Effect.provide(listing))
  )
})

describe("the roles of administrators", () => {
  it("are given for every endpoint behind Basic, and for no other", () => {
    assert.sameMembers([...administered], endpoints.map(nameOf))
    for (const endpoint of endpoints)
      assert.strictEqual(roleFor(endpoint) === "reader", endpoint.method === "GET", nameOf(endpoint))
  })

  it("leave competitions and index prices, which pay and move money, to the role admin", () => {
    for (const endpoint of actions) {
      const isAdmins = /\/admin\/(?:competitions|index-price)/u.test(endpoint.path)
      assert.strictEqual(roleFor(endpoint), isAdmins ? "admin" : "operator", nameOf(endpoint))
    }
  })

  it("allow each role its own endpoints and those of lower roles only", async () => {
    const { ask, entries, gate } = world()
    const allowed = { reader: ["reader"], operator: ["reader", "operator"], admin: ["reader", "operator", "admin"] }
    for (const role of ["reader", "operator", "admin"] as const) {
      for (const endpoint of endpoints) {
        entries.splice(0)
        const required = roleFor(endpoint)
        const { body, status } = await ask(endpoint, basic(role))
        const what = `${role} ${nameOf(endpoint)}`
        if (allowed[role].includes(required)) assert.isBelow(status, 300, what)
        else {
          assert.strictEqual(status, 403, what)
          assert.deepStrictEqual(body["details"], { reason: "InsufficientRole", required, role }, what)
          assert.deepStrictEqual(entries, [], what)
        }
      }
    }
    await gate.dispose()
  })
})

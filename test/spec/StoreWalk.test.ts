/**
 * Walks by cursor through lists outside of the history, in their own stores: each of 10,000 rows is returned once while 1,000
 * arrive. Source: docs/contract/conventions.md#paging, docs/contract/rest-access.md, docs/contract/rest-user.md.
 */
import { Context, Effect, Layer, ManagedRuntime } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { hashOfCode } from "../../src/domain/AccessCode.ts"
import * as NodeSqlite from "../../src/layers/sql/NodeSqlite.ts"
import * as SqlAccessCodes from "../../src/layers/sql/SqlAccessCodes.ts"
import * as SqlAccounts from "../../src/layers/sql/SqlAccounts.ts"
import * as SqlAuditStore from "../../src/layers/sql/SqlAuditStore.ts"
import * as SqlCompetitionStore from "../../src/layers/sql/SqlCompetitionStore.ts"
import * as SqlRewardStore from "../../src/layers/sql/SqlRewardStore.ts"
import { AccessCodes } from "../../src/services/identity/AccessCodes.ts"
import { AuditStore } from "../../src/services/identity/AuditStore.ts"
import { CompetitionStore } from "../../src/services/rewards/CompetitionStore.ts"
import { RewardStore } from "../../src/services/rewards/RewardStore.ts"
import { entry as auditEntry } from "../contracts/AuditStoreContract.ts"
import { fromTheFirst } from "../contracts/CompetitionStoreContract.ts"
import { START, uuid } from "../../verification/harness/Records.ts"
import { ADMIN, draft, type Gateway, gateway, tokenCaller, userId } from "../http/Fixture.ts"

const ROWS = 10_000
const ARRIVING = 1_000
/** Rows with the same time, so that a page ends between equal times. */
const PER_MS = 7
const time = (n: number): number => START + Math.floor(n / PER_MS)

type Stores = AccessCodes | AuditStore | CompetitionStore | RewardStore

interface Walk {
  readonly path: string
  readonly limit: number
  /** Rows of a page whose request has no limit. */
  readonly size: number
  readonly authorization: string
  /** Inserts the rows with these numbers; the greatest number is the first of the list. */
  readonly put: (numbers: ReadonlyArray<number>) => Effect.Effect<unknown, unknown, Stores>
  /** The rows of a response, the field that identifies a row, and its value in the n-th row. */
  readonly rows: "list" | "data"
  readonly id: string
  readonly known: (n: number) => string
  /** Lists and filters that the cursor is invalid for. */
  readonly foreign: ReadonlyArray<{ readonly path?: string; readonly filter?: string; readonly authorization?: string }>
}

const competition = { ...draft, id: uuid(1_000_000), slug: "walk" }
/** Of two equal scores the smaller address is first. */
const addressOf = (n: number): string => `0x${(2 ** 32 - n).toString(16).padStart(64, "0")}`
const leaderboard = (id: string): string => `/api/v1/user/competitions/${id}/leaderboard`

const accessCodes: Walk = {
  path: "/api/v1/admin/access-codes",
  limit: 200,
  size: 50,
  authorization: ADMIN,
  put: (numbers) =>
    AccessCodes.use((store) =>
      store.create(
        numbers.map((n) => ({
          code_id: uuid(n),
          code_hash: hashOfCode(`CODE-${n}`),
          label: "walk",
          max_uses: 1,
          uses: 0,
          badge: false,
          multiplier_bps: 10_000,
          revoked: false,
          created_time: time(n)
        }))
      )
    ),
  rows: "list",
  id: "code_id",
  known: uuid,
  foreign: [{ filter: "&label=walk" }]
}
const trail: Walk = {
  path: "/api/v1/admin/audit",
  limit: 200,
  size: 50,
  authorization: ADMIN,
  put: (numbers) =>
    AuditStore.use((store) =>
      Effect.forEach(numbers, (n) => store.append(auditEntry(n, { audit_id: uuid(n), time: time(n) })))
    ),
  rows: "list",
  id: "audit_id",
  known: uuid,
  foreign: [
    { filter: "&actor=alice" },
    { filter: "&action=banWallet" },
    { filter: "&start_time=0" },
    { filter: "&end_time=9000000000000" }
  ]
}
const rewards: Walk = {
  path: "/api/v1/user/rewards",
  limit: 200,
  size: 50,
  authorization: "Bearer good",
  put: (numbers) =>
    RewardStore.use((store) =>
      store.grant(
        numbers.map((n) => ({
          reward_id: uuid(n),
          user_id: userId,
          kind: "referral",
          asset: "USDC",
          amount: "0.66",
          source_id: `walk-${n}`,
          created_time: time(n),
          due_time: time(n)
        }))
      )
    ),
  rows: "list",
  id: "reward_id",
  known: uuid,
  foreign: [{ filter: "&status=claimable" }, { authorization: "Bearer other" }]
}
const competitions: Walk = {
  path: "/api/v1/user/competitions",
  limit: 200,
  size: 50,
  authorization: "Bearer good",
  put: (numbers) =>
    CompetitionStore.use((store) =>
      Effect.forEach(numbers, (n) =>
        store.create(
          {
            ...draft,
            id: uuid(n),
            slug: `slug-${n}`,
            state: "published",
            start_time_ms: time(n),
            end_time_ms: time(n) + 1
          },
          fromTheFirst
        )
      )
    ),
  rows: "list",
  id: "id",
  known: uuid,
  foreign: [{ filter: "&status=ended" }]
}
const ranks: Walk = {
  path: leaderboard(competition.id),
  limit: 100,
  size: 20,
  authorization: "Bearer good",
  put: (numbers) =>
    Effect.gen(function* () {
      const store = yield* CompetitionStore
      if (numbers[0] === 0) yield* store.create(competition, fromTheFirst)
      const tally = yield* store.tally(competition.id)
      yield* store.advance(
        competition.id,
        { ...tally, revision: tally.revision + 1 },
        numbers.map((n) => ({
          sub_account_address: addressOf(n),
          user_id: userId,
          days: [],
          last_time: START,
          active_days: 1,
          metric_value: String(Math.floor(n / PER_MS)),
          score: String(Math.floor(n / PER_MS)),
          ineligible_reason: undefined,
          multiplier_bps: undefined
        }))
      )
    }),
  rows: "data",
  id: "sub_account_address",
  known: addressOf,
  foreign: [{ path: leaderboard(uuid(1)) }]
}

const suite = <E>(name: string, layer: Layer.Layer<Stores, E>) =>
  describe.each([accessCodes, trail, rewards, competitions, ranks])(`a walk of $path on ${name}`, (walk) => {
    const runtime = ManagedRuntime.make(layer)
    let gate: Gateway
    let made = 0
    const arrive = async (count: number): Promise<void> => {
      await runtime.runPromise(walk.put(Array.from({ length: count }, (_, i) => made + i)))
      made += count
    }
    beforeAll(async () => {
      const stores = await runtime.context()
      gate = gateway({
        accessCodes: Context.get(stores, AccessCodes),
        audit: Context.get(stores, AuditStore),
        competitions: Context.get(stores, CompetitionStore),
        rewards: Context.get(stores, RewardStore),
        authenticator: {
          bearer: (token) => Effect.succeed(token === "good" ? tokenCaller : { ...tokenCaller, user_id: uuid(5) })
        }
      })
      for (let i = 0; i < ROWS; i += 1_000) await arrive(1_000)
    }, 60_000)
    afterAll(async () => {
      await gate?.dispose()
      await runtime.dispose()
    })
    const ask = (cursor: string, { authorization = walk.authorization, filter = "", path = walk.path } = {}) =>
      gate.fetch("GET", `${path}?limit=${walk.limit}${filter}${cursor === "" ? "" : `&cursor=${cursor}`}`, {
        authorization
      })
    const pageAfter = async (cursor: string, answered = ask(cursor)) => {
      const response = await answered
      assert.strictEqual(response.status, 200, cursor)
      return (await response.json()) as {
        readonly [rows in "list" | "data"]: ReadonlyArray<Record<string, string>>
      } & { readonly next_page_cursor: string }
    }

    it(
      `returns each of ${ROWS} rows once while ${ARRIVING} arrive, the greatest first`,
      { timeout: 60_000 },
      async () => {
        const met: Array<string> = []
        let cursor = ""
        do {
          const page = await pageAfter(cursor)
          met.push(...page[walk.rows].map((each) => each[walk.id]!))
          cursor = page.next_page_cursor
          if (made < ROWS + ARRIVING) await arrive(ARRIVING / (ROWS / walk.limit))
        } while (cursor !== "")
        assert.strictEqual(made, ROWS + ARRIVING)
        assert.deepStrictEqual(
          met,
          Array.from({ length: ROWS }, (_, i) => walk.known(ROWS - 1 - i))
        )
      }
    )

    it(`returns ${walk.size} rows where a request has no limit`, async () => {
      const page = await pageAfter("", gate.fetch("GET", walk.path, { authorization: walk.authorization }))
      assert.lengthOf(page[walk.rows], walk.size)
    })

    it("refuses a cursor that was altered, or belongs to another list or user", async () => {
      const { next_page_cursor: cursor } = await pageAfter("")
      const altered = `${cursor.slice(0, -6)}${cursor.at(-6) === "A" ? "B" : "A"}${cursor.slice(-5)}`
      for (const [each, where] of [[altered, {}] as const, ...walk.foreign.map((where) => [cursor, where] as const)]) {
        const response = await ask(each, where)
        const { details } = (await response.json()) as { readonly details?: { readonly reason: string } }
        assert.deepStrictEqual([response.status, details?.reason], [400, "InvalidCursor"], JSON.stringify(where))
      }
    })
  })

suite(
  "SQLite",
  Layer.mergeAll(SqlAccessCodes.layer, SqlAuditStore.layer, SqlCompetitionStore.layer, SqlRewardStore.layer).pipe(
    Layer.provide(SqlAccounts.layer),
    Layer.provide(Layer.fresh(NodeSqlite.layer({ filename: ":memory:", synchronous: "NORMAL" })))
  )
)

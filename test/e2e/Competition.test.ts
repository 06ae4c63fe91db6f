/**
 * docs/contract/stories.md#competition over real sockets with exact numbers: three days of trading, and the resulting
 * ranking.
 */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { DAY_MS } from "../../src/domain/Time.ts"
import { startClocked } from "../../verification/harness/ClockedBackend.ts"
import { type Exchange } from "../../verification/harness/Exchange.ts"
import { type Answer, call, funded, keysOfSeed, login, type Session } from "../../verification/harness/RestClient.ts"
import { basic } from "../../verification/harness/Settings.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import { movableClock } from "../../verification/harness/Clocks.ts"

/** The wallet of the contract's stories (RFC 8032, 7.1, test 1), and its second sub-account. */
const WALLET = keysOfSeed(
  "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
  "0xd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
)
const V1 = "0xf02f270b5613ad97b7ee4fb22defe3261dd7ebff6c17ca0c8be5cc41fac5d9be"
/** Longest wait for a score, or for a backend that was asleep for a day, in ms. */
const LIMIT_MS = 30_000

const clock = movableClock({ passes: true })
let exchange: Exchange
beforeAll(async () => {
  exchange = await startClocked(clock.layer, { FAUCET_DAILY_LIMIT: "1000000" })
})
afterAll(() => exchange?.close())

const ok = (answer: Answer, status = 200): Answer["body"] => {
  assert.strictEqual(answer.status, status, JSON.stringify(answer.body))
  return answer.body
}
const admin = (method: string, path: string, body: unknown) =>
  call(exchange, method, `/api/v1/admin${path}`, { headers: basic, body })
const get = ({ token }: Session, path: string) => call(exchange, "GET", `/api/v1${path}`, { token })
const post = ({ token }: Session, path: string, body: unknown) =>
  call(exchange, "POST", `/api/v1${path}`, { token, body })

/** Places an order at 62500, within the band of the fixed index; retries while the gateway catches up after a clock change. */
const order = (session: Session, side: string, qty: string, order_link_id: string) =>
  eventually(
    `${side} ${qty}`,
    () =>
      post(session, "/order/create", {
        sub_account_address: session.vault,
        symbol: "BTC-USDC",
        side,
        order_type: "Limit",
        qty,
        price: "62500",
        order_link_id
      }),
    ({ body, status }) => status === 200 || body.details.reason === "DuplicateOrderLinkId",
    LIMIT_MS
  )

const scoring = {
  metric: "volume",
  start_weight_bps: 10000,
  end_weight_bps: 5000,
  max_daily_contribution_bps: 3500,
  min_active_days: 2,
  min_daily_activity_units: 500,
  consistency_max_bonus_bps: 2000,
  consistency_target_days: 5,
  use_consistency_multiplier: true
}

describe("a competition", () => {
  it("matches the numbers of the contract's story", { timeout: 180_000 }, async () => {
    const wallet = await login(exchange, WALLET, clock.now())
    assert.strictEqual(ok(await post(wallet, "/user/sub-accounts", { label: "alpha" }), 201).sub_account_address, V1)
    const user = { ...wallet, vault: V1 }
    ok(await post(user, "/account/faucet", { sub_account_address: V1, asset: "USDC", amount: "100000" }))

    const start_time_ms = clock.now()
    const fields = {
      slug: "winter",
      title: "Winter",
      description_md: "…",
      start_time_ms,
      end_time_ms: start_time_ms + 3 * DAY_MS,
      prize_usdc: 10000,
      symbol: "BTC-USDC",
      scoring
    }
    const { id } = ok(await admin("POST", "/competitions", { ...fields, status: "scheduled" }), 201)
    const placement = async (session: Session) => ok(await get(session, `/user/competitions/${id}/placement`))
    const competition = { id, ...fields, status: "active" }
    assert.deepStrictEqual(await placement(user), { competition, data: [] })

    // 1000, 2000 and 3000 USDC on three days; each day's maker trades on that day only, so no maker is eligible
    const makers: Array<Session> = []
    for (const [day, qty] of ["0.016", "0.032", "0.048"].entries()) {
      if (day > 0) clock.skip(DAY_MS)
      const maker = await eventually(
        "a maker",
        () => funded(exchange, "100000", clock.now()).catch((error: unknown) => String(error)),
        (session) => typeof session !== "string",
        LIMIT_MS
      )
      if (typeof maker === "string") throw new Error(maker)
      makers.push(maker)
      await order(maker, "Sell", qty, `maker-${day}`)
      await order(user, "Buy", qty, `user-${day}`)
    }
    const { data } = await eventually(
      "three days counted",
      () => placement(user),
      (seen) => seen.data[0]?.active_days === 3,
      LIMIT_MS
    )

    const scored = {
      active_days: 3,
      eligible: true,
      metric_value: "6000",
      projected_xp: "1000000",
      score: "4256",
      sub_account_address: V1,
      rank: 1
    }
    assert.deepStrictEqual(data, [scored])
    assert.deepStrictEqual((await placement(user)).competition, competition)
    assert.deepStrictEqual(ok(await get(user, `/user/competitions/${id}/leaderboard`)), {
      competition,
      data: [scored],
      next_page_cursor: ""
    })
    // one active day of two: shown to its owner only
    const [{ rank, ...theirs }] = (await placement(makers[0]!)).data
    assert.isUndefined(rank)
    assert.deepInclude(theirs, {
      active_days: 1,
      eligible: false,
      ineligible_reason: "min_active_days",
      metric_value: "1000",
      projected_xp: "0"
    })
  })
})

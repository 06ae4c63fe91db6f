/**
 * Rows of admission, referrals, rewards, competitions and bans. Source: docs/contract/rest-access.md,
 * docs/contract/rest-user.md, docs/contract/authentication.md#activation.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto"
import { basic } from "../../verification/harness/Settings.ts"
import { call, type Keys, login, newKeys } from "../../verification/harness/RestClient.ts"
import { type Ask, refuses, type Row } from "./Row.ts"
import type { World } from "./World.ts"

const NOBODY = "018f3f1e-5d5b-7a00-8000-00000000ffff"
const admin = async (world: World, method: string, path: string, body: unknown) =>
  (await call(world.exchange, method, `/api/v1${path}`, { headers: basic, body })).body

const codeOf = async (world: World, fields: object = {}): Promise<{ code: string; code_id: string }> =>
  (await admin(world, "POST", "/admin/access-codes", { count: 1, ...fields })).list[0]

/** An activation signed by a wallet that has logged in once, so that its root address is known. */
const activation = async (
  world: World,
  code: string,
  over: Record<string, unknown> = {},
  keys: Keys = newKeys()
): Promise<Ask> => {
  const { root_address } = await login(world.exchange, keys)
  const signed_at = Math.floor(Date.now() / 1_000)
  const hash = createHash("sha256").update(code.trim().toUpperCase()).digest("hex")
  const signature = keys.sign(`service-stage1-activate:${hash}:${root_address}:${signed_at}`)
  return { body: { code, public_key: keys.publicKey, signature, signed_at, ...over } }
}

const competition = (): Record<string, unknown> => ({
  slug: `cup-${randomBytes(4).toString("hex")}`,
  title: "Cup",
  description_md: "Trade.",
  start_time_ms: Date.now() + 3_600_000,
  end_time_ms: Date.now() + 90_000_000,
  prize_usdc: 1000,
  status: "draft",
  symbol: "BTC-USDC",
  scoring: {
    metric: "volume",
    start_weight_bps: 10000,
    end_weight_bps: 10000,
    max_daily_contribution_bps: 0,
    min_active_days: 1,
    min_daily_activity_units: 0,
    consistency_max_bonus_bps: 0,
    consistency_target_days: 0,
    use_consistency_multiplier: false
  }
})
const competitionId = async (world: World): Promise<string> =>
  (await admin(world, "POST", "/admin/competitions", competition())).id
const ofCompetition = async (world: World): Promise<Ask> => ({ path: { competition_id: await competitionId(world) } })
const noCompetition = refuses(404, "CompetitionNotFound", () => ({ path: { competition_id: NOBODY } }))
const aboutCompetition: Row = { access: "read", ok: ofCompetition, refuses: [noCompetition] }

const referralOf = async (world: World): Promise<string> =>
  (await world.ask(world.bob, "GET", "/user/me")).body.referral_code
const fresh = async (world: World) => (await login(world.exchange, newKeys())).token

/** A wallet that has logged in, and one that never has. */
const walletIn = async (world: World): Promise<Ask> => ({
  path: { root_address: (await login(world.exchange, newKeys())).root_address }
})
const nobodysWallet = (): Ask => ({ path: { root_address: `0x${randomBytes(32).toString("hex")}` } })

const claim = (world: World, reward_id: string, sub_account_address = world.alice.vault): Ask => ({
  path: { reward_id },
  body: { sub_account_address }
})

export const admissionRows: Record<string, Row> = {
  "POST /access/activate": {
    access: "none",
    ok: async (world) => activation(world, (await codeOf(world)).code),
    refuses: [
      refuses(400, "InvalidCode", (world) => activation(world, "NO-SUCH-CODE")),
      refuses(401, "InvalidSignature", (world) => activation(world, "NO-SUCH-CODE", { signature: "00".repeat(64) })),
      refuses(401, "StaleTimestamp", (world) => activation(world, "NO-SUCH-CODE", { signed_at: 1 })),
      refuses(401, "InvalidPublicKey", (world) => activation(world, "NO-SUCH-CODE", { public_key: "00".repeat(32) })),
      refuses(400, "CodeRevoked", async (world) => {
        const { code, code_id } = await codeOf(world)
        await admin(world, "DELETE", `/admin/access-codes/${code_id}`, undefined)
        return activation(world, code)
      }),
      refuses(409, "CodeAlreadyUsed", async (world) => {
        const { code } = await codeOf(world)
        await world.ask(world.bob, "POST", "/access/activate", (await activation(world, code)).body)
        return activation(world, code)
      }),
      refuses(409, "WalletAlreadyActivated", async (world) => {
        const keys = newKeys()
        const first = await activation(world, (await codeOf(world)).code, {}, keys)
        await world.ask(world.bob, "POST", "/access/activate", first.body)
        return activation(world, (await codeOf(world)).code, {}, keys)
      })
    ]
  },
  "POST /admin/access-codes": {
    access: "basic",
    status: 201,
    ok: () => ({ body: { count: 2, label: "spec" } }),
    refuses: [refuses(409, "CodeExists", async (world) => ({ body: { codes: [(await codeOf(world)).code] } }))]
  },
  "GET /admin/access-codes": { access: "basic", ok: () => ({}) },
  "DELETE /admin/access-codes/{code_id}": {
    access: "basic",
    ok: async (world) => ({ path: { code_id: (await codeOf(world)).code_id } }),
    refuses: [refuses(404, "AccessCodeNotFound", () => ({ path: { code_id: randomUUID() } }))]
  },

  "POST /user/referral": {
    access: "bearer",
    ok: async (world) => ({ token: await fresh(world), body: { referral_code: await referralOf(world) } }),
    refuses: [
      refuses(400, "SelfReferral", async (world) => {
        const { body } = await world.ask(world.alice, "GET", "/user/me")
        return { body: { referral_code: body.referral_code } }
      }),
      refuses(409, "ReferrerAlreadySet", async (world) => {
        const token = await fresh(world)
        const referral_code = await referralOf(world)
        await call(world.exchange, "POST", "/api/v1/user/referral", { token, body: { referral_code } })
        const { body } = await world.ask(world.alice, "GET", "/user/me")
        return { token, body: { referral_code: body.referral_code } }
      }),
      refuses(404, "ReferralCodeNotFound", async (world) => ({
        token: await fresh(world),
        body: { referral_code: "ZZZZZZZZ" }
      }))
    ]
  },
  "GET /user/rewards": { access: "read", ok: () => ({}) },
  "POST /user/rewards/{reward_id}/claim": {
    access: "bearer",
    ok: async (world) => claim(world, await world.granted("claimable")),
    refuses: [
      refuses(404, "RewardNotFound", (world) => claim(world, NOBODY)),
      refuses(404, "SubAccountNotFound", async (world) =>
        claim(world, await world.granted("claimable"), world.bob.vault)
      ),
      refuses(400, "RewardPending", async (world) => claim(world, await world.granted("pending"))),
      refuses(409, "AlreadyClaimed", async (world) => {
        const reward = await world.granted("claimable")
        await world.ask(world.alice, "POST", `/user/rewards/${reward}/claim`, claim(world, reward).body)
        return claim(world, reward)
      })
    ]
  },
  "GET /user/competitions": {
    access: "read",
    ok: () => ({}),
    refuses: [refuses(404, "SymbolNotFound", () => ({ query: { symbol: "NO-SUCH" } }))]
  },
  "GET /user/competitions/{competition_id}": aboutCompetition,
  "GET /user/competitions/{competition_id}/placement": aboutCompetition,
  "GET /user/competitions/{competition_id}/leaderboard": aboutCompetition,
  "POST /admin/competitions": {
    access: "basic",
    status: 201,
    ok: () => ({ body: competition() }),
    refuses: [
      refuses(409, "SlugTaken", async (world) => {
        const body = competition()
        await admin(world, "POST", "/admin/competitions", body)
        return { body }
      }),
      refuses(404, "SymbolNotFound", () => ({ body: { ...competition(), symbol: "NO-SUCH" } }))
    ]
  },
  "PATCH /admin/competitions/{competition_id}": {
    access: "basic",
    ok: async (world) => ({ ...(await ofCompetition(world)), body: { title: "Other" } }),
    refuses: [
      refuses(404, "CompetitionNotFound", () => ({ path: { competition_id: NOBODY }, body: { title: "Other" } })),
      refuses(404, "SymbolNotFound", async (world) => ({
        ...(await ofCompetition(world)),
        body: { symbol: "NO-SUCH" }
      })),
      refuses(409, "SlugTaken", async (world) => {
        const other = competition()
        await admin(world, "POST", "/admin/competitions", other)
        return { ...(await ofCompetition(world)), body: { slug: other["slug"] } }
      }),
      refuses(409, "CompetitionStarted", async (world) => {
        const ask = await ofCompetition(world)
        await admin(world, "PATCH", `/admin/competitions/${ask.path!["competition_id"]}`, { status: "scheduled" })
        return { ...ask, body: { title: "Other" } }
      })
    ]
  },
  "PUT /admin/bans/{root_address}": {
    access: "basic",
    ok: async (world) => ({ ...(await walletIn(world)), body: { reason: "spec" } }),
    refuses: [
      refuses(404, "WalletNotFound", () => ({ ...nobodysWallet(), body: { reason: "spec" } })),
      refuses(400, "InvalidField", () => ({ path: { root_address: "~" }, body: { reason: "spec" } }))
    ]
  },
  "DELETE /admin/bans/{root_address}": {
    access: "basic",
    ok: walletIn,
    refuses: [
      refuses(404, "WalletNotFound", nobodysWallet),
      refuses(400, "InvalidField", () => ({ path: { root_address: "~" } }))
    ]
  }
}

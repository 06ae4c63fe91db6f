/** Three gateways behind the balancer that is deployed: little of what `node verification/fleet/main.ts` does with thousands. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { cut, cutViolations, raced, racedViolations } from "../../verification/fleet/Repetitions.ts"
import { Fleet, isWholeFleetInstalled } from "../../verification/harness/Fleet.ts"
import { UNLIMITED } from "../../verification/harness/Settings.ts"
import { underLoad, violations } from "../../verification/fleet/UnderLoad.ts"

/** Refusals that mean no more than that this machine has other things to do. */
const BUSY = /: (?:GET|POST) 503 (?:BackendLagging|BackendUnavailable|DeadlineExceeded)(?:,|$)/u

describe.skipIf(!isWholeFleetInstalled)("a fleet behind its balancer", { timeout: 240_000 }, () => {
  let fleet: Fleet
  const said: Array<string> = []
  beforeAll(async () => {
    const env = { ...UNLIMITED, TRUSTED_PROXIES: "1", DRAIN_MS: "2000", LOG_LEVEL: "warn" }
    fleet = await Fleet.start({ gateways: 3, nats: true, balanced: true, env, say: (line) => said.push(line) })
  }, 240_000)
  afterAll(() => fleet?.close())

  it("takes each of many signed orders once, whichever two gateways it is sent to", async () => {
    const report = await raced(fleet, { races: 200, users: 2, callers: 8 })
    assert.deepStrictEqual(racedViolations(report, 200), [], JSON.stringify(report))
  })

  it("makes one order of each that is cut off and sent to another gateway", async () => {
    const report = await cut(fleet, { calls: 300, users: 2, callers: 8, seed: 1 })
    assert.deepStrictEqual(cutViolations(report, 300), [], JSON.stringify(report))
    assert.isAbove(report.existed, 0)
  })

  it("misses no answer and no event when a gateway is restarted, and only unfinished requests when it is killed", async () => {
    const outcome = await underLoad(fleet, {
      sockets: 60,
      books: 6,
      users: 3,
      pace: 40,
      restarts: 1,
      kills: 1,
      calm_ms: 300,
      seed: 1,
      say: () => {}
    })
    const wrong = violations(outcome).filter((what) => !BUSY.test(what))
    assert.deepStrictEqual(wrong, [], [JSON.stringify(outcome), ...said].join("\n"))
    assert.isAbove(outcome.sessions.recovered, 0)
  })
})

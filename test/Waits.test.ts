/** Rules for waiting in tests: an event, a Deferred or the virtual clock ends a wait, not a pause of real time. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { tracked } from "./docs/Pages.ts"

const root = join(import.meta.dirname, "..")

const POLL = "polls a state that reports no event, with a time limit"
const LOAD = "spreads load over real time"
const RATE = "tests a rate, an interval or a deadline of real sockets"
const NOTHING = "shows that nothing happens"
const VIRTUAL = "pauses on a virtual clock"

/** Files that pause, each with the reason. Remove a file as soon as it does not. */
const PAUSES: Readonly<Record<string, string>> = {
  "test/backend/journal/shared/Lease.test.ts": VIRTUAL,
  "test/backend/journal/shared/Standby.test.ts": NOTHING,
  "test/backend/server/BackendMetrics.test.ts": RATE,
  "test/backend/server/Serve.test.ts": RATE,
  "test/client/Feed.test.ts": LOAD,
  "test/contracts/NoticesContract.ts": POLL,
  "test/doubles/FrontProxies.ts": POLL,
  "test/doubles/claim-nonces.ts": LOAD,
  "test/e2e/Backend.test.ts": LOAD,
  "test/e2e/ClockReplicas.test.ts": POLL,
  "test/e2e/Commands.test.ts": NOTHING,
  "test/e2e/Fleet.test.ts": LOAD,
  "test/e2e/Nats.test.ts": POLL,
  "test/e2e/Restart.test.ts": LOAD,
  "test/e2e/Shutdown.test.ts": LOAD,
  "test/e2e/Start.test.ts": LOAD,
  "test/layers/grpc/CommandStream.test.ts": POLL,
  "test/layers/grpc/GrpcFeed.test.ts": LOAD,
  "test/layers/grpc/Hostile.test.ts": POLL,
  "test/layers/grpc/Silence.test.ts": POLL,
  "test/layers/nats/NatsFeed.test.ts": POLL,
  "test/layers/node/HttpServer.test.ts": NOTHING,
  "test/layers/node/NodeServer.test.ts": POLL,
  "test/layers/redis/RedisOutages.test.ts": POLL,
  "test/layers/sql/NodePostgres.test.ts": POLL,
  "test/layers/sql/PostgresMigrations.test.ts": RATE,
  "test/page/Page.test.ts": NOTHING,
  "test/page/Pictures.ts": LOAD,
  "test/sdk/Feed.test.ts": VIRTUAL,
  "test/sdk/World.ts": VIRTUAL,
  "test/services/EventLane.test.ts": POLL,
  "test/services/identity/CredentialChanges.test.ts": VIRTUAL,
  "test/services/operations/BackendHealth.test.ts": RATE,
  "test/services/read-model/PortfolioQueries.test.ts": VIRTUAL,
  "test/services/read-model/Projector.test.ts": VIRTUAL,
  "test/ws/RawSocket.ts": POLL,
  "test/ws/Resets.test.ts": POLL,
  "test/ws/Session.test.ts": RATE,
  "test/ws/SlowConsumer.test.ts": LOAD,
  "test/ws/Topics.test.ts": RATE
}

/** Tests that have a second try, by file, each with the reason. A test whose result depends on chance belongs mended, not here. */
const SECOND_TRIES: Readonly<Record<string, string>> = {}

const PAUSE = /setTimeout\((?:resolve|r|\(\) => resolve)\b|Effect\.sleep\(|\bawait sleep\(/u
const SECOND_TRY = /\b(?:retry|repeats): [0-9]/u

/** The files of tests with a match. */
const withMatch = (pattern: RegExp): ReadonlyArray<string> =>
  tracked
    .filter((path) => path.startsWith("test/") && path.endsWith(".ts") && path !== "test/Waits.test.ts")
    .filter((path) => pattern.test(readFileSync(join(root, path), "utf8")))

const compare = (pattern: RegExp, listed: Readonly<Record<string, string>>): void => {
  const found = withMatch(pattern)
  assert.deepStrictEqual({ unlisted: found.filter((path) => listed[path] === undefined) }, { unlisted: [] })
  assert.deepStrictEqual({ stale: Object.keys(listed).filter((path) => !found.includes(path)) }, { stale: [] })
}

describe("the tests", () => {
  it("pause only where this file gives a reason", () => compare(PAUSE, PAUSES))

  it("have a second try only where this file gives a reason", () => compare(SECOND_TRY, SECOND_TRIES))
})

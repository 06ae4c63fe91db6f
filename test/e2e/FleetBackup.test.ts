/** The commands of docs/operations/backup.md that back up and restore the database of a fleet. */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { freePort } from "../../verification/harness/Programs.ts"
import { create, funded, listAll, type Session } from "../../verification/harness/RestClient.ts"
import { eventually } from "../../verification/harness/Wait.ts"
import * as Postgres from "../doubles/Postgres.ts"
import { binaries } from "../../verification/harness/PostgresBinaries.ts"
import { type BackendProcess, startBackend } from "../../verification/harness/BackendProcess.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"

const PATIENCE_MS = 30_000
const SECRET = "between-gateways-and-backend"
const server = Postgres.throwaway()

describe.skipIf(!Postgres.isThere)("a fleet's database", { timeout: 4 * PATIENCE_MS }, () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-e2e-"))
  const dump = join(folder, "gateway.dump")
  let backend: BackendProcess
  let port: number

  const during = async <A>(what: (exchange: Exchange) => Promise<A>): Promise<A> => {
    const env = {
      BACKEND: "grpc",
      SEQUENCER_URL: `127.0.0.1:${port}`,
      BACKEND_SECRET: SECRET,
      DATABASE_URL: server.url("public"),
      JWT_SIGNING_KEY: "5a".repeat(32)
    }
    const exchange = await startExchange({ dataDir: join(folder, "gateway"), env })
    return what(exchange).finally(exchange.close)
  }
  const program = (name: string, ...args: ReadonlyArray<string>) =>
    execFileSync(join(binaries()!, name), [...args, "-d", `postgres://gateway@127.0.0.1:${server.port()}/postgres`], {
      stdio: ["ignore", "ignore", "pipe"]
    })
  const place = (exchange: Exchange, user: Session, link: string) =>
    eventually(
      `order ${link}`,
      () => create(exchange, user, link),
      ({ body, status }) => status === 200 || body.details?.reason === "DuplicateOrderLinkId",
      PATIENCE_MS
    )
  /** Waits until the history contains these orders, each once. */
  const history = (exchange: Exchange, user: Session, links: ReadonlyArray<string>) =>
    eventually(
      `a history of ${links.join()}`,
      () =>
        listAll(exchange, `/api/v1/order/history?sub_account_address=${user.vault}`, user.token).then(
          (list) => list.map(({ order_link_id }) => order_link_id).toSorted(),
          () => []
        ),
      (found) => found.join() === links.join(),
      PATIENCE_MS
    )

  beforeAll(async () => {
    port = await freePort()
    const env = { BACKEND_SECRET: SECRET }
    backend = await startBackend({ dataDir: join(folder, "backend"), port, env })
  })
  afterAll(async () => {
    await backend?.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  it("is backed up in use; after a restore users continue, and later events are read from the backend again", async () => {
    const user = await during(async (exchange) => {
      const found = await eventually(
        "a user",
        () => funded(exchange).catch(() => undefined),
        (session) => session !== undefined,
        PATIENCE_MS
      )
      await place(exchange, found!, "before")
      await history(exchange, found!, ["before"])
      program("pg_dump", "-Fc", "-f", dump)
      await place(exchange, found!, "later")
      await history(exchange, found!, ["before", "later"])
      return found!
    })
    program("pg_restore", "--clean", "--if-exists", dump)
    await during(async (exchange) => {
      const found = await history(exchange, user, ["before", "later"])
      assert.deepStrictEqual(found, ["before", "later"])
    })
  })
})

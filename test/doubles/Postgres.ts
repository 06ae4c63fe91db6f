/**
 * A throwaway PostgreSQL for the tests of one file: its own data directory, a free port on the loopback, ended with the file.
 * Durability is off: what these tests ask is what statements mean, not what a disk keeps.
 */
import { execFileSync, spawn } from "node:child_process"
import { chownSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Clock, Effect, Layer, Redacted } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { afterAll, beforeAll } from "vitest"
import { freePort } from "../../scripts/GatewayProcess.ts"
import * as NodePostgres from "../../src/layers/sql/NodePostgres.ts"
import { binaries } from "./PostgresBinaries.ts"

/** Time a start may take on a busy machine, in ms. */
const START_MS = 60_000
/** A port that was free a moment ago may be taken: how often another is tried. */
const TRIES_MAX = 5

const folder = binaries()
/** PostgreSQL refuses to run as root: then it is the user whom the package made. */
const owner = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }))
  return { uid: id("-u"), gid: id("-g") }
}

export const isThere = folder !== undefined

interface Running {
  readonly port: number
  readonly stop: () => Promise<void>
}

/** Serves a data directory on a port; `undefined`: the port was taken. */
const serve = async (data: string, port: number): Promise<Running | undefined> => {
  const child = spawn(
    join(folder!, "postgres"),
    ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", "", "-F"].concat(
      ["full_page_writes=off", "shared_buffers=16MB", "max_connections=100", "autovacuum=off"].flatMap((setting) => [
        "-c",
        setting
      ])
    ),
    { ...owner(), stdio: ["ignore", "ignore", "pipe"], cwd: "/" }
  )
  // were this process ended before the file is over
  const end = () => void child.kill("SIGKILL")
  process.once("exit", end)
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  let said = ""
  const serves = await new Promise<boolean>((resolve, reject) => {
    const timer = setTimeout(() => {
      end()
      reject(new Error(`PostgreSQL did not start in ${START_MS} ms:\n${said}`))
    }, START_MS)
    const settle = (serves: boolean) => {
      clearTimeout(timer)
      resolve(serves)
    }
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text
      if (said.includes("ready to accept connections")) settle(true)
    })
    child.once("exit", () => settle(false))
  })
  const stop = async () => {
    process.off("exit", end)
    // ends at once, and takes its children along
    child.kill("SIGQUIT")
    await ended
  }
  if (serves) return { port, stop }
  process.off("exit", end)
  if (/Address already in use/u.test(said)) return undefined
  throw new Error(`PostgreSQL did not start:\n${said}`)
}

const start = async (): Promise<{ readonly port: number; readonly stop: () => Promise<void> }> => {
  const data = mkdtempSync(join(tmpdir(), "postgres-"))
  const user = owner()
  if (user !== undefined) chownSync(data, user.uid, user.gid)
  execFileSync(
    join(folder!, "initdb"),
    ["-D", data, "-U", "gateway", "-A", "trust", "-E", "UTF8", "-N", "--no-locale"],
    {
      ...user,
      stdio: "ignore",
      cwd: "/"
    }
  )
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    const running = await serve(data, await freePort())
    if (running === undefined) continue
    const stop = async () => {
      await running.stop()
      rmSync(data, { recursive: true, force: true })
    }
    return { port: running.port, stop }
  }
  throw new Error("no free port for PostgreSQL")
}

/** Deletes every row of a schema but what tells which tables there are. */
const EMPTY = `DO $$ DECLARE name TEXT; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT LIKE '%migrations%' LOOP
    EXECUTE 'DELETE FROM ' || quote_ident(name);
  END LOOP; END $$`

export interface Throwaway {
  readonly port: () => number
  /** Address of a schema, which is as empty as a database of its own once it is made. */
  readonly url: (schema: string, port?: number) => string
  /** A client of a schema, which is made. */
  readonly client: (schema: string) => Layer.Layer<SqlClient.SqlClient, SqlError.SqlError>
  /** A client of an empty schema for each that is built. */
  readonly fresh: Layer.Layer<SqlClient.SqlClient, SqlError.SqlError>
}

/** Runs a server for the tests of this file. */
export const throwaway = (): Throwaway => {
  let running: Running | undefined
  if (isThere) {
    beforeAll(async () => {
      running = await start()
    }, START_MS)
    afterAll(() => running?.stop())
  }
  const port = () => running!.port
  const url: Throwaway["url"] = (schema, at = port()) =>
    `postgres://gateway@127.0.0.1:${at}/postgres?options=${encodeURIComponent(`-csearch_path=${schema}`)}`
  const client: Throwaway["client"] = (schema) =>
    Layer.unwrap(
      Effect.sync(() =>
        Layer.effectDiscard(
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`CREATE SCHEMA IF NOT EXISTS ${schema}`))
        ).pipe(
          Layer.provideMerge(NodePostgres.layer({ url: Redacted.make(url(schema)) })),
          // connections live in the time of the machine, whatever the test does to its own
          Layer.provide(Layer.succeed(Clock.Clock, Clock.Clock.defaultValue()))
        )
      )
    )
  // making tables takes far longer than what most tests do with them: who is done leaves its schema to the next, empty
  const free: Array<string> = []
  let schemas = 0
  const lent = (schema: string) =>
    Layer.effectDiscard(
      Effect.acquireRelease(SqlClient.SqlClient, (sql) =>
        sql.unsafe(EMPTY).pipe(Effect.andThen(Effect.sync(() => void free.push(schema))), Effect.ignore)
      )
    ).pipe(Layer.provideMerge(client(schema)))
  const fresh = Layer.unwrap(Effect.sync(() => lent(free.pop() ?? `fresh_${++schemas}`)))
  return { port, url, client, fresh }
}

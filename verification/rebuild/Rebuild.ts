/**
 * A read model that is lost and built again from the events of the backend, whose memory holds only the newest of them: the
 * rows before and after, table by table.
 */
import { readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type GatewayProcess, startGateway } from "../harness/GatewayProcess.ts"
import { startLoad } from "../harness/LoadProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { sleep } from "../harness/Wait.ts"
import { fundedUsers, LOAD_ENV } from "../overload/Overload.ts"
import type { Calls } from "../overload/Plan.ts"

export interface Options {
  /** Events of the history, at least. */
  readonly events: number
  readonly callers: number
  /** Length of a load; loads follow until there are enough events. */
  readonly seconds: number
}
export interface Outcome {
  readonly events: number
  /** Rows of each table. */
  readonly rows: Readonly<Record<string, number>>
  /** Rows that are missing, and rows that are new or changed, as text. */
  readonly differences: ReadonlyArray<string>
  /** Time from the start without a read model until the gateway is ready. */
  readonly rebuilt_ms: number
}

/** The file of the histories in the data directory, and the least number of events that a backend keeps. */
const HISTORY = "history.sqlite"
const EVENTS_KEPT = "10000"
const USERS = 8
const MINUTE_MS = 60_000
/** A slow rebuild. */
const EVENTS_PER_MS = 25
/** Longest rebuild. */
const REBUILT_MS = 600_000
/** Differences of a table that are listed. */
const LISTED_MAX = 5

/** The last event of the backend. */
export const headOf = async ({ url }: GatewayProcess): Promise<number> =>
  Number(/^backend_head_seq (\d+)/mu.exec(await (await fetch(`${url}/metrics`)).text())?.[1])

type Row = Readonly<Record<string, unknown>>
type Tables = ReadonlyMap<string, ReadonlyArray<Row>>

/** Tables of the file itself: its migrations, and how far it is. */
const UNCOMPARED = ["history_migrations", "history_position"]
/** Read from the backend at each start, and written with the next event, of which there may be none: compared where both have rows. */
const WRITTEN_LATER = ["instruments"]
/**
 * Tables that keep the newest rows of each group. When older ones are deleted depends on the size of a batch, so the comparison
 * begins where both have rows.
 */
const BOUNDED: Readonly<Record<string, { readonly group: string; readonly order: string }>> = {
  trades: { group: "symbol", order: "id" },
  user_events: { group: "user_id", order: "seq" }
}

const tablesOf = (path: string): Tables => {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all()
    return new Map(names.map(({ name }) => [name as string, db.prepare(`SELECT * FROM "${name as string}"`).all()]))
  } finally {
    db.close()
  }
}

/** What a row holds without the marks of the batch that it was written in: a row of user events is a batch. */
const singles = (table: string, row: Row): ReadonlyArray<Row> => {
  if (table === "trades") return [{ ...row, n: undefined }]
  if (table !== "user_events") return [row]
  const lines = (row["events"] as string).split("\n")
  const first = (row["seq"] as number) - lines.length + 1
  return lines.map((line, i) => ({ user_id: row["user_id"], seq: first + i, line }))
}

/** The oldest row of each group. */
const oldestOf = (
  rows: ReadonlyArray<Row>,
  { group, order }: (typeof BOUNDED)[string]
): ReadonlyMap<unknown, number> => {
  const oldest = new Map<unknown, number>()
  for (const row of rows) oldest.set(row[group], Math.min(oldest.get(row[group]) ?? Infinity, row[order] as number))
  return oldest
}

/** The rows of a table that both read models keep. */
const compared = (table: string, rows: ReadonlyArray<Row>, others: ReadonlyArray<Row>): ReadonlySet<string> => {
  const bounds = BOUNDED[table]
  const oldest = bounds && oldestOf(others, bounds)
  const isKept = (row: Row) =>
    !oldest?.has(row[bounds!.group]) || (row[bounds!.order] as number) >= oldest.get(row[bounds!.group])!
  return new Set(rows.filter(isKept).map((row) => JSON.stringify(row)))
}

/** Rows that only one of two read models has. */
export const differencesOf = (before: Tables, after: Tables): ReadonlyArray<string> =>
  [...new Set([...before.keys(), ...after.keys()])]
    .filter((table) => !UNCOMPARED.includes(table))
    .flatMap((table) => {
      const [rows, others] = [before, after].map((tables) =>
        (tables.get(table) ?? []).flatMap((row) => singles(table, row))
      )
      if (WRITTEN_LATER.includes(table) && (rows!.length === 0 || others!.length === 0)) return []
      const [expected, found] = [compared(table, rows!, others!), compared(table, others!, rows!)]
      const missing = [...expected].filter((row) => !found.has(row)).map((row) => `${table} lacks ${row}`)
      const added = [...found].filter((row) => !expected.has(row)).map((row) => `${table} has ${row}`)
      return [...missing.slice(0, LISTED_MAX), ...added.slice(0, LISTED_MAX)]
    })

/** Attempts to rebuild within a minute; a slow machine needs longer than expected. */
const ATTEMPTS = 5

/** Runs `f` within one minute of the clock, and again where it took longer: at the end of a minute candles and pools get rows. */
const withinMinute = async <A>(expected_ms: number, f: () => Promise<A>): Promise<A> => {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const left = MINUTE_MS - (Date.now() % MINUTE_MS)
    if (left < expected_ms) await sleep(left)
    const minute = Math.floor(Date.now() / MINUTE_MS)
    const result = await f()
    if (Math.floor(Date.now() / MINUTE_MS) === minute) return result
  }
  throw new Error(`no rebuild fitted into a minute in ${ATTEMPTS} attempts`)
}

/** Deletes the read model of an exchange that has ended, lets a gateway build it again, and compares. */
export const rebuild = async (
  dataDir: string,
  env: Readonly<Record<string, string>>,
  events: number
): Promise<Outcome> => {
  const start = () => startGateway({ dataDir, env, ready_ms: REBUILT_MS })
  const once = async () => {
    // its memory has only the newest events now
    let gateway = await start()
    try {
      const head = await headOf(gateway)
      await gateway.stop()
      const before = tablesOf(join(dataDir, HISTORY))
      for (const name of readdirSync(dataDir)) if (name.startsWith(HISTORY)) rmSync(join(dataDir, name))
      const began = performance.now()
      gateway = await start()
      const rebuilt_ms = performance.now() - began
      await gateway.stop()
      return { head, before, after: tablesOf(join(dataDir, HISTORY)), rebuilt_ms }
    } finally {
      await gateway.kill()
    }
  }
  const { after, before, head, rebuilt_ms } = await withinMinute(5_000 + events / EVENTS_PER_MS, once)
  return {
    events: head,
    rows: Object.fromEntries([...before].map(([table, rows]) => [table, rows.length])),
    differences: differencesOf(before, after),
    rebuilt_ms
  }
}

/** Trades, deletes the read model, starts again, and compares. */
export const run = async ({ callers, events, seconds }: Options): Promise<Outcome> => {
  const folder = temporaryFolder("rebuild")
  const env = { ...LOAD_ENV, EVENTS_KEPT }
  const load = startLoad<Calls>(join(import.meta.dirname, "../overload/Load.ts"))
  const gateway = await startGateway({ dataDir: folder.path, env })
  try {
    const users = await fundedUsers(gateway.url, USERS)
    while ((await headOf(gateway)) < events)
      await load.call("run", { pid: gateway.pid, port: gateway.port, users, callers, seconds })
    await gateway.stop()
    return await rebuild(folder.path, env, events)
  } finally {
    await load.stop()
    await gateway.kill()
    folder.remove()
  }
}

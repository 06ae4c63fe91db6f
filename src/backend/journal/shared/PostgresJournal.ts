/**
 * The journal in PostgreSQL.
 *
 * A commit is durable when PostgreSQL says so: with `synchronous_commit = on` and a quorum of synchronous standbys, when
 * one of them has it. No statement has a time limit at the server, because a commit that is cancelled may still happen.
 *
 * Tables:
 * - `journal_origin`: the origin, as JSON.
 * - `journal_lease`: one row with the term, its holder and the end of the journal. Its lock orders appends and terms.
 * - `journal`: one row per turn, the entries in the format of a block of the file. The server compresses them with LZ4 where
 *   it was built with it: its log, the table and the standbys get a fraction of the bytes.
 * - `journal_forks`: the histories that restores began.
 *
 * The session's lock is an advisory one. The server ends a session that is idle for {@link IDLE_MS}: the lock of a
 * suspended or disconnected leader is free then.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Effect, Fiber, Redacted, Result, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import type { Turn } from "../Journal.ts"
import type { Fork } from "../Forks.ts"
import type { Origin } from "../JournalSchema.ts"
import { type JournalDatabase, type JournalSession, SessionLost } from "./JournalDatabase.ts"
import { partsOf } from "./JournalUrl.ts"

/** Time without a statement after which the server ends a session, in ms. */
export const IDLE_MS = 1500
/** Longest wait for a connection, in ms. */
const CONNECT_MS = 1000
/** Longest wait for the response to a read, in ms. */
const RESPONSE_MS = 2000
/** Longest wait for a commit that no caller limits, in ms: it needs the quorum of the database. */
const COMMIT_MS = 30_000
/** Turns of one read. */
const TURNS_MAX = 64
/** Largest row that is read: a turn of the largest commands is far smaller. */
const ROW_BYTES_MAX = 256 * 1024 * 1024

const TABLES = `
  CREATE TABLE IF NOT EXISTS journal_origin (one INT PRIMARY KEY CHECK (one = 1), origin TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS journal_lease (
    one INT PRIMARY KEY CHECK (one = 1), term BIGINT NOT NULL, holder TEXT NOT NULL, position BIGINT NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE IF NOT EXISTS journal (
    position BIGINT PRIMARY KEY, first BIGINT NOT NULL, term BIGINT NOT NULL, entries BYTEA NOT NULL, checksum BIGINT NOT NULL
  );
  ALTER TABLE journal ALTER COLUMN entries SET STORAGE EXTERNAL;
  ALTER TABLE journal_lease ADD COLUMN IF NOT EXISTS seen_seq BIGINT NOT NULL DEFAULT 0;
  CREATE TABLE IF NOT EXISTS journal_forks (
    position BIGINT PRIMARY KEY, fork TEXT NOT NULL, head_seq BIGINT NOT NULL, made_at_ms BIGINT NOT NULL
  );
  INSERT INTO journal_lease (one, term, holder, position) VALUES (1, 0, '', 0) ON CONFLICT DO NOTHING`

/** Whether the server is a standby, has the tables, and could compress new entries though it does not. */
const SERVER = `
  SELECT pg_is_in_recovery() AS standby, to_regclass('journal_forks') IS NOT NULL AS made,
    EXISTS (SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals))
      AND NOT EXISTS (
        SELECT FROM pg_attribute
        WHERE attrelid = to_regclass('journal') AND attname = 'entries' AND attstorage = 'm' AND attcompression = 'l'
      ) AS compressible`
/**
 * Compresses the entries of new rows. It locks the table, and appends would wait behind that: where a backup or another
 * reader holds it, the next session tries again.
 */
const COMPRESS = `
  DO $$ BEGIN
    SET LOCAL lock_timeout = 100;
    ALTER TABLE journal ALTER COLUMN entries SET STORAGE MAIN, ALTER COLUMN entries SET COMPRESSION lz4;
  EXCEPTION WHEN lock_not_available OR insufficient_privilege THEN NULL;
  END $$`

const ORIGIN = "SELECT origin FROM journal_origin WHERE one = 1"
const INSERT_ORIGIN = "INSERT INTO journal_origin (one, origin) VALUES (1, $1) ON CONFLICT DO NOTHING"
const LOCK = "SELECT pg_try_advisory_lock(hashtextextended(current_schema() || ' journal', 0)) AS mine"
const RAISE = "UPDATE journal_lease SET term = term + 1, holder = $1 WHERE one = 1 RETURNING term, position"
/** Fences and appends: where term or position differ, nothing is updated, so nothing is inserted. */
const APPEND = `
  WITH fence AS (
    UPDATE journal_lease SET position = $3 WHERE one = 1 AND term = $1 AND position = $2 RETURNING term
  )
  INSERT INTO journal (position, first, term, entries, checksum) SELECT $3, $2 + 1, term, $4, $5 FROM fence`
/** A write, so that its commit waits until everything before it is durable. */
const CONFIRM = "UPDATE journal_lease SET holder = holder WHERE one = 1 AND term = $1 RETURNING position"
const TURNS = `SELECT position, first, entries, checksum FROM journal WHERE position > $1 ORDER BY position LIMIT ${TURNS_MAX}`
const CHECKSUM = "SELECT checksum FROM journal WHERE position = $1"
const HISTORY = `
  SELECT seen_seq, fork, f.position, head_seq, made_at_ms FROM journal_lease LEFT JOIN journal_forks f ON TRUE ORDER BY f.position`
/** A second fork at a position replaces the first: nothing belongs to that. */
const FORK = `
  WITH fence AS (
    UPDATE journal_lease SET seen_seq = 0 WHERE one = 1 AND term = $1 AND position = $2 RETURNING position
  )
  INSERT INTO journal_forks (position, fork, head_seq, made_at_ms) SELECT position, $3, $4, $5 FROM fence
  ON CONFLICT (position) DO UPDATE SET fork = EXCLUDED.fork, made_at_ms = EXCLUDED.made_at_ms`
/** A leader that was replaced lacks what its successors appended: nothing is lost. */
const DEMAND = "UPDATE journal_lease SET seen_seq = GREATEST(seen_seq, $2) WHERE one = 1 AND term = $1"

/** BIGINT is a number here; a value beyond the safe integers is an error, never a rounded number. */
const types = PgTypes.makeRegistry()
types.register<number | bigint>(PgTypes.OID.int8, {
  encode: (value) => PgTypes.encode(BigInt(value), PgTypes.OID.int8),
  decode: (bytes) => {
    const value = Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigInt64(0))
    return Number.isSafeInteger(value)
      ? Result.succeed(value)
      : Result.fail(new PgTypes.CodecError({ message: "the integer exceeds 2^53" }))
  }
})

const lost = (cause: SqlError.SqlError): SessionLost => new SessionLost({ message: cause.message, cause })

/** The single addresses of a URL with several hosts: {@link partsOf}. */
export const addressesOf = (url: Redacted.Redacted<string>): ReadonlyArray<Redacted.Redacted<string>> =>
  partsOf(Redacted.value(url)).map((address) => Redacted.make(address))

const within = <A>(ms: number, call: Effect.Effect<A, SessionLost>): Effect.Effect<A, SessionLost> =>
  Effect.timeoutOrElse(call, {
    duration: ms,
    orElse: () => Effect.fail(new SessionLost({ message: "the database does not respond" }))
  })

/** Runs a call in a fiber of its own: the driver cancels the statement of an interrupted one, and a cancelled commit may happen. */
const detached = <A>(call: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SessionLost> =>
  Effect.flatMap(Effect.forkDetach(Effect.mapError(call, lost)), Fiber.join)

const sessionOf = (connection: PgConnection.PgConnection): JournalSession => {
  const query = (sql: string, params: ReadonlyArray<unknown> = []) => detached(connection.query(sql, params))
  const read = (sql: string, params?: ReadonlyArray<unknown>) => within(RESPONSE_MS, query(sql, params))
  return {
    origin: Effect.fnUntraced(function* (made) {
      const [found] = (yield* read(ORIGIN)).rows
      if (found !== undefined) return JSON.parse(found["origin"] as string) as Origin
      yield* within(COMMIT_MS, query(INSERT_ORIGIN, [JSON.stringify(made())]))
      return JSON.parse((yield* read(ORIGIN)).rows[0]!["origin"] as string) as Origin
    }),
    lock: Effect.map(read(LOCK), ({ rows }) => rows[0]!["mine"] === true),
    raise: (holder) =>
      Effect.map(within(COMMIT_MS, query(RAISE, [holder])), ({ rows }) => ({
        term: rows[0]!["term"] as number,
        position: rows[0]!["position"] as number
      })),
    append: (term, { checksum, entries, first, position }) =>
      Effect.map(
        query(APPEND, [BigInt(term), BigInt(first - 1), BigInt(position), entries, BigInt(checksum)]),
        ({ rowCount }) => rowCount === 1
      ),
    confirm: (term) =>
      Effect.map(query(CONFIRM, [BigInt(term)]), ({ rows }) => rows[0]?.["position"] as number | undefined),
    turns: (after) => Effect.map(read(TURNS, [BigInt(after)]), ({ rows }) => rows as unknown as ReadonlyArray<Turn>),
    checksumAt: (position) =>
      position === 0
        ? Effect.succeed(0)
        : Effect.map(read(CHECKSUM, [BigInt(position)]), ({ rows }) => rows[0]?.["checksum"] as number | undefined),
    history: Effect.map(read(HISTORY), ({ rows }) => ({
      forks: rows.filter(({ fork }) => fork !== null) as unknown as ReadonlyArray<Fork>,
      seen_seq: rows[0]!["seen_seq"] as number
    })),
    beginFork: (term, { fork, head_seq, made_at_ms, position }) =>
      Effect.map(
        query(FORK, [BigInt(term), BigInt(position), fork, BigInt(head_seq), BigInt(made_at_ms)]),
        ({ rowCount }) => rowCount === 1
      ),
    demand: (term, seen_seq) => Effect.asVoid(query(DEMAND, [BigInt(term), BigInt(seen_seq)]))
  }
}

/** Opens a session with a server that accepts writes, and creates the tables where they are missing. */
const connect = Effect.fnUntraced(function* (
  url: Redacted.Redacted<string>
): Effect.fn.Return<JournalSession, SessionLost, Scope.Scope> {
  const connection = yield* PgConnection.make({
    url,
    types,
    connectTimeout: CONNECT_MS,
    maxMessageSize: ROW_BYTES_MAX,
    applicationName: "trading-backend journal",
    startupParameters: { idle_session_timeout: String(IDLE_MS), statement_timeout: "0", lock_timeout: "0" }
  }).pipe(Effect.mapError(lost))
  const run = (statement: string, limit_ms = COMMIT_MS) =>
    within(limit_ms, detached(connection.query(statement, [], false)))
  const [server] = (yield* run(SERVER, RESPONSE_MS)).rows
  if (server!["standby"] === true) return yield* new SessionLost({ message: "the server is a standby of PostgreSQL" })
  if (server!["made"] !== true) for (const statement of TABLES.split(";")) yield* run(statement)
  if (server!["compressible"] === true) yield* run(COMPRESS)
  return sessionOf(connection)
})

/** The journal of a database and schema. */
export const make = (url: Redacted.Redacted<string>): JournalDatabase => {
  const [first, ...others] = addressesOf(url).map(connect)
  return { open: others.reduce((tried, next) => Effect.catch(tried, () => next), first!) }
}

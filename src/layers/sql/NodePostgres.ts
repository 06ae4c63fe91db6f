/**
 * `SqlClient` over PostgreSQL, in which nothing waits for ever: a pool of few connections, and a bound on every wait for
 * one, for an answer, and for the server's work.
 *
 * The server gives a statement up after {@link STATEMENT_MS}. Where it does not even say that, the statement fails after
 * {@link ANSWER_MS}, and its connection is not used again; where it answers nobody (it is frozen, or the way to it is), as soon as
 * {@link PostgresLivenessProbe} has found that out. A lost server costs every caller an error and no more: the next statement after
 * its return opens a new connection.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import type { Config } from "@effect/sql-pg/PgConnection"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Effect, Layer, type Redacted, Result } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, type SqlError } from "effect/sql"
import { TakesLong } from "./Dialect.ts"
import { type SilenceSignal, withTimeout } from "../../services/operations/Timeout.ts"
import * as PostgresLivenessProbe from "./PostgresLivenessProbe.ts"
import { lost, unanswered } from "./DatabaseTimeout.ts"

/** Connections of one gateway. */
const CONNECTIONS_MAX = 10
/** Prepared statements kept by each. */
const STATEMENTS_MAX = 256
/** Longest wait for a free connection, and for a new one. */
const CONNECTION_MS = 5_000
/** Longest work of the server on one statement, locks included. */
const STATEMENT_MS = 4_000
/** Longest wait for the answer to one. */
const ANSWER_MS = 5_000

export interface Options {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq. */
  readonly url: Redacted.Redacted<string>
  /** Silence after which the server counts as gone, in ms. Default 750. */
  readonly silence_ms?: number
}

/** Whole numbers come as those of JavaScript; one that it cannot hold is an error, never another number. */
const types = PgTypes.makeRegistry()
types.register<number | bigint>(PgTypes.OID.int8, {
  encode: (value) => PgTypes.encode(BigInt(value), PgTypes.OID.int8),
  decode: (bytes) => {
    const value = Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigInt64(0))
    return Number.isSafeInteger(value)
      ? Result.succeed(value)
      : Result.fail(new PgTypes.CodecError({ message: "a number beyond 2^53" }))
  }
})

/** How a connection is made, for the pool and for who needs one of its own. */
export const configOf = ({ url }: Options, application: string): Config & { readonly applicationName: string } => ({
  url,
  types,
  connectTimeout: CONNECTION_MS,
  applicationName: application,
  startupParameters: {
    statement_timeout: String(STATEMENT_MS),
    // a gateway that died in a transaction holds up nobody
    idle_in_transaction_session_timeout: String(ANSWER_MS),
    tcp_keepalives_idle: "5",
    tcp_keepalives_interval: "2",
    tcp_keepalives_count: "3"
  }
})

/** A connection that answers in time or is lost. */
class Bounded implements SqlConnection.Connection {
  private readonly inner: SqlConnection.Connection
  private readonly silence: SilenceSignal
  private isLost = false
  constructor(inner: SqlConnection.Connection, silence: SilenceSignal) {
    this.inner = inner
    this.silence = silence
  }
  private ask<A>(effect: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SqlError.SqlError> {
    const late = () => {
      this.isLost = true
      return unanswered()
    }
    return Effect.flatMap(TakesLong, (takesLong) =>
      this.isLost ? Effect.fail(late()) : withTimeout(takesLong ? Infinity : ANSWER_MS, effect, late, this.silence)
    )
  }
  readonly execute: SqlConnection.Connection["execute"] = (sql, params, transform) =>
    this.ask(this.inner.execute(sql, params, transform))
  readonly executeUnprepared: SqlConnection.Connection["executeUnprepared"] = (sql, params, transform) =>
    this.ask(this.inner.executeUnprepared(sql, params, transform))
  readonly executeRaw: SqlConnection.Connection["executeRaw"] = (sql, params) =>
    this.ask(this.inner.executeRaw(sql, params))
  readonly executeValues: SqlConnection.Connection["executeValues"] = (sql, params) =>
    this.ask(this.inner.executeValues(sql, params))
  readonly executeValuesUnprepared: SqlConnection.Connection["executeValuesUnprepared"] = (sql, params) =>
    this.ask(this.inner.executeValuesUnprepared(sql, params))
  /** Rows as they come: whoever streams bounds the wait for the next one. */
  readonly executeStream: SqlConnection.Connection["executeStream"] = (sql, params, transform) =>
    this.inner.executeStream(sql, params, transform)
}

/** PostgreSQL answers the COMMIT of a transaction in which something failed with ROLLBACK. */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) =>
    (result as { readonly command: string }).command === "COMMIT"
      ? Effect.void
      : Effect.fail(lost("the transaction was rolled back", "commit"))
  )

const make = Effect.fnUntraced(function* (options: Options) {
  const client = yield* PgClient.make({
    ...configOf(options, "trading-gateway"),
    maxConnections: CONNECTIONS_MAX,
    preparedStatementCacheSize: STATEMENTS_MAX
  })
  const pulse = configOf(options, "trading-gateway pulse")
  const silence = yield* PostgresLivenessProbe.make(pulse, options.silence_ms)
  const none = () => lost("PostgreSQL has no free connection", "connect")
  const acquirer = Effect.map(
    withTimeout(CONNECTION_MS, client.reserve, none, silence),
    (connection) => new Bounded(connection, silence)
  )
  return yield* SqlClient.make({
    driver: client.driver,
    acquirer,
    transactionAcquirer: acquirer,
    compiler: PgClient.makeCompiler(),
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]]
  })
})

/** Connects when first asked: a server that is not there fails who asks, not who builds. */
export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(options)).pipe(Layer.provide(Reactivity.layer))

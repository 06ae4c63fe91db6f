/**
 * `SqlClient` over PostgreSQL with a time limit on every wait: for a connection of the pool, for a result, and for the work
 * of the server.
 *
 * A server that accepts no writes gets no session. The server aborts a statement after {@link STATEMENT_MS}. Without any
 * response the statement fails after {@link RESULT_MS}, and its connection is not used again. When the server is frozen or
 * unreachable, statements fail as soon as {@link PostgresLivenessProbe} detects it. After an outage the next statement opens
 * a new connection.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import type { Config } from "@effect/sql-pg/PgConnection"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Effect, Layer, type Redacted, Result } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, type SqlError } from "effect/sql"
import { NoTimeLimit } from "./Dialect.ts"
import { type SilenceSignal, withTimeout } from "../../services/operations/Timeout.ts"
import * as PostgresLivenessProbe from "./PostgresLivenessProbe.ts"
import { lost, timedOut } from "./DatabaseTimeout.ts"

/** Connections of the pool for the statements of requests and of the projector. */
const CONNECTIONS_MAX = 10
/** Prepared statements per connection. */
const STATEMENTS_MAX = 256
/** Longest wait for a free connection, and for a new one, in ms. */
const CONNECTION_MS = 5_000
/** Longest work of the server on one statement, locks included, in ms. */
const STATEMENT_MS = 4_000
/** Longest wait for the result of a statement, in ms. */
const RESULT_MS = 5_000

export interface Options {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq. */
  readonly url: Redacted.Redacted<string>
  /** Most connections of the pool. Default 10. */
  readonly connections?: number
  /** Time without a response after which the server counts as silent, in ms. Default 750. */
  readonly silence_ms?: number
}

/** BIGINT decodes to a JavaScript number; a value beyond the safe integers is an error, never a rounded number. */
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

/** Connection settings, for the pool and for components with their own connection. */
export const configOf = ({ url }: Options, application: string): Config & { readonly applicationName: string } => ({
  url,
  types,
  connectTimeout: CONNECTION_MS,
  applicationName: application,
  startupParameters: {
    // a server that accepts no writes refuses the session
    transaction_read_only: "off",
    statement_timeout: String(STATEMENT_MS),
    // bounds the locks of a gateway that died in a transaction
    idle_in_transaction_session_timeout: String(RESULT_MS),
    tcp_keepalives_idle: "5",
    tcp_keepalives_interval: "2",
    tcp_keepalives_count: "3"
  }
})

/** SQLSTATE with which a server that accepts no writes refuses `transaction_read_only`. */
const NOT_WRITABLE = "25001"

/**
 * Names a server that accepts no writes. After a failover the address may lead to a standby for a while: a session there would
 * read outdated rows, and stay in the pool when the address leads to the primary again.
 */
const refusal = (error: SqlError.SqlError): SqlError.SqlError => {
  const { cause, operation } = error.reason
  return operation === "connect" && cause instanceof Error && "code" in cause && cause.code === NOT_WRITABLE
    ? lost("PostgreSQL is a standby, or read-only", "connect")
    : error
}

/**
 * The client turns the error of a transaction into a defect where these fail. They fail with the connection alone: then
 * the server ends the transaction, and a later COMMIT fails.
 */
const CLEANUP = /^(?:ROLLBACK|RELEASE SAVEPOINT)\b/u

/** A connection with a time limit for each statement; after the first timeout it is not used again. */
class BoundedConnection implements SqlConnection.Connection {
  private readonly inner: SqlConnection.Connection
  private readonly silence: SilenceSignal
  private isLost = false
  constructor(inner: SqlConnection.Connection, silence: SilenceSignal) {
    this.inner = inner
    this.silence = silence
  }
  private bounded<A>(effect: Effect.Effect<A, SqlError.SqlError>): Effect.Effect<A, SqlError.SqlError> {
    const onTimeout = () => {
      this.isLost = true
      return timedOut()
    }
    return Effect.flatMap(NoTimeLimit, (noTimeLimit) =>
      this.isLost
        ? Effect.fail(onTimeout())
        : withTimeout(noTimeLimit ? Infinity : RESULT_MS, effect, onTimeout, this.silence)
    )
  }
  readonly execute: SqlConnection.Connection["execute"] = (sql, params, transform) => {
    const result = this.bounded(this.inner.execute(sql, params, transform))
    return CLEANUP.test(sql) ? Effect.catch(result, () => Effect.succeed([])) : result
  }
  readonly executeUnprepared: SqlConnection.Connection["executeUnprepared"] = (sql, params, transform) =>
    this.bounded(this.inner.executeUnprepared(sql, params, transform))
  readonly executeRaw: SqlConnection.Connection["executeRaw"] = (sql, params) =>
    this.bounded(this.inner.executeRaw(sql, params))
  readonly executeValues: SqlConnection.Connection["executeValues"] = (sql, params) =>
    this.bounded(this.inner.executeValues(sql, params))
  readonly executeValuesUnprepared: SqlConnection.Connection["executeValuesUnprepared"] = (sql, params) =>
    this.bounded(this.inner.executeValuesUnprepared(sql, params))
  /** Streams have no time limit here: the reader bounds the wait for the next row. */
  readonly executeStream: SqlConnection.Connection["executeStream"] = (sql, params, transform) =>
    this.inner.executeStream(sql, params, transform)
}

/** PostgreSQL replies ROLLBACK to the COMMIT of a transaction in which a statement failed. */
const commit = (connection: SqlConnection.Connection): Effect.Effect<void, SqlError.SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) =>
    (result as { readonly command: string }).command === "COMMIT"
      ? Effect.void
      : Effect.fail(lost("the transaction was rolled back", "commit"))
  )

const make = Effect.fnUntraced(function* (options: Options) {
  const client = yield* PgClient.make({
    ...configOf(options, "trading-gateway"),
    maxConnections: options.connections ?? CONNECTIONS_MAX,
    preparedStatementCacheSize: STATEMENTS_MAX
  })
  const probe = configOf(options, "trading-gateway liveness")
  const silence = yield* PostgresLivenessProbe.make(probe, options.silence_ms)
  const noConnection = () => lost("PostgreSQL has no free connection", "connect")
  const acquirer = Effect.map(
    withTimeout(CONNECTION_MS, Effect.mapError(client.reserve, refusal), noConnection, silence),
    (connection) => new BoundedConnection(connection, silence)
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

/** Connects on the first statement: an unreachable server fails that statement, not the construction of the layer. */
export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(options)).pipe(Layer.provide(Reactivity.layer))

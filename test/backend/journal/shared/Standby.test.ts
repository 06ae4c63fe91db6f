/** Backends that share a journal in PostgreSQL: one leads, the others follow and take over. */
import { copyFileSync, existsSync, rmSync, writeFileSync } from "node:fs"
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { credentials } from "@grpc/grpc-js"
import { Effect, Fiber, Redacted, Schedule, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { backup } from "../../../../src/backend/journal/Backup.ts"
import { Journal } from "../../../../src/backend/journal/Journal.ts"
import * as Snapshots from "../../../../src/backend/journal/Snapshots.ts"
import { type JournalDatabase, SessionLost } from "../../../../src/backend/journal/shared/JournalDatabase.ts"
import * as PostgresJournal from "../../../../src/backend/journal/shared/PostgresJournal.ts"
import * as SharedRestore from "../../../../src/backend/SharedRestore.ts"
import * as Channel from "../../../../src/layers/grpc/Channel.ts"
import * as GrpcFeed from "../../../../src/layers/grpc/GrpcFeed.ts"
import * as GrpcSequencer from "../../../../src/layers/grpc/GrpcSequencer.ts"
import { RefereeClient } from "../../../../src/proto/gateway/v1/referee.ts"
import { type CommandResult, SequencerClient } from "../../../../src/proto/gateway/v1/sequencer.ts"
import { FaultProxy } from "../../../../verification/harness/FaultProxy.ts"
import { until } from "../../../../verification/harness/Wait.ts"
import { follow, type Running, start, submitAll, temporary } from "../../../doubles/FakeBackend.ts"
import { deposit, fakeMachine } from "../../../doubles/FakeMachine.ts"
import * as Postgres from "../../../doubles/Postgres.ts"

const server = Postgres.throwaway()
const machine = { ...fakeMachine, tickMatters: () => false }

let schema = ""
let schemas = 0
const places: Array<ReturnType<typeof temporary>> = []
const running = new Set<Running>()
const proxies: Array<FaultProxy> = []

const place = (): string => {
  const made = temporary()
  places.push(made)
  return made.directory
}
const backend = async (
  holder: string,
  directory = place(),
  port = server.port(),
  standbyReads = false,
  altered: (database: JournalDatabase) => JournalDatabase = (database) => database,
  rules = machine
): Promise<Running> => {
  const database = altered(PostgresJournal.make(Redacted.make(server.url(schema, port))))
  const reads = (state: { readonly balance: number; readonly seq: number }) => ({
    sequencer: {
      getOrderBook: () => ({ bids: [], asks: [], book_seq: 0, mts: state.balance, as_of_seq: state.seq })
    },
    referee: { listPositions: () => ({ positions: [], as_of_seq: state.seq, next_page_token: "" }) },
    prices: () => []
  })
  const started = await start(directory, { machine: rules, reads, shared: { database, holder, standbyReads } })
  running.add(started)
  return started
}
const stop = async (one: Running) => {
  running.delete(one)
  await one.stop()
}
const proxy = async () => {
  const made = await FaultProxy.start(server.port())
  proxies.push(made)
  return made
}
const head = ({ client }: Pick<Running, "client">) =>
  new Promise<number | undefined>((resolve) =>
    client.getHead({}, (error, response) => resolve(error === null ? response.head_seq : undefined))
  )
const balance = ({ client }: Pick<Running, "client">) =>
  new Promise<number | undefined>((resolve) =>
    client.getOrderBook({ symbol: "", depth: 0 }, (error, response) =>
      resolve(error === null ? response.mts : undefined)
    )
  )
/** The position of a read of the Referee; undefined where the backend refuses it. */
const positionsAt = async ({ port }: Running): Promise<number | undefined> => {
  const client = new RefereeClient(`127.0.0.1:${port}`, credentials.createInsecure())
  const seq = await new Promise<number | undefined>((resolve) =>
    client.listPositions({ user_id: "", page_token: "" }, (error, response) =>
      resolve(error === null ? response.as_of_seq : undefined)
    )
  )
  client.close()
  return seq
}
const execute = (statement: string) =>
  Effect.runPromise(
    Effect.flatMap(SqlClient.SqlClient, (client) => client.unsafe(statement)).pipe(
      Effect.provide(server.client(schema))
    )
  )
/** Takes every turn after a position out of the database, as a restored backup or a standby that lacks them does. */
const rewind = async (position: number) => {
  await execute(`DELETE FROM journal WHERE position > ${position}`)
  await execute(`UPDATE journal_lease SET position = ${position}`)
}
const restored = (directory: string) =>
  Effect.runPromise(SharedRestore.restore(machine, PostgresJournal.make(Redacted.make(server.url(schema))), directory))
const journalOf = (directory: string) => join(directory, "backend", "journal.sqlite")
const leads = (one: Running) => until("the lead", async () => (await head(one)) !== undefined)
const ended = (one: Running) => Effect.runPromise(Effect.flip(one.failed))
const commands = (name: string, count: number) => Array.from({ length: count }, (_, i) => deposit(1, `${name}-${i}`))
const seqsOf = (results: ReadonlyMap<string, CommandResult>) =>
  [...results.values()].map(({ outcome }) => (outcome?.$case === "ack" ? outcome.value.seq : undefined))

describe.skipIf(!Postgres.isThere)("a shared journal", () => {
  beforeEach(async () => {
    schema = `journal_${++schemas}`
    await Effect.runPromise(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1`).pipe(Effect.provide(server.client(schema)))
    )
  })
  afterEach(async () => {
    for (const one of running) await stop(one)
    for (const one of proxies.splice(0)) await one.close()
    for (const one of places.splice(0)) one.remove()
  })

  it("has one leader; a standby takes over with the same state and the same answers", async () => {
    const first = await backend("first")
    await leads(first)
    const answers = await submitAll(first.client, [commands("a", 50)])
    // this one has read nothing yet
    const second = await backend("second")
    const more = await submitAll(first.client, [commands("b", 50)])
    assert.isUndefined(await head(second), "a standby does not serve")

    await stop(first)
    await leads(second)
    assert.deepStrictEqual([await head(second), await balance(second)], [200, 100])
    const again = await submitAll(second.client, [commands("a", 50), commands("b", 50)])
    assert.deepStrictEqual(seqsOf(again), [...seqsOf(answers), ...seqsOf(more)])
    assert.strictEqual(await head(second), 200, "nothing was applied twice")
  })

  it("compresses entries, also those of a journal that was made without, and waits for no reader of it", async () => {
    const sql = <A>(run: (sql: SqlClient.SqlClient) => Effect.Effect<A, unknown>) =>
      Effect.runPromise(Effect.flatMap(SqlClient.SqlClient, run).pipe(Effect.provide(server.client(schema))))
    const isCompressed = async () => {
      const [row] = await sql(
        (sql) =>
          sql<{ found: string }>`SELECT attstorage::text || attcompression::text AS found FROM pg_attribute
            WHERE attrelid = to_regclass('journal') AND attname = 'entries'`
      )
      return row!.found === "ml"
    }
    const first = await backend("first")
    await leads(first)
    assert.isTrue(await isCompressed())
    await sql((sql) =>
      sql.unsafe("ALTER TABLE journal ALTER entries SET STORAGE EXTERNAL, ALTER entries SET COMPRESSION default")
    )
    await submitAll(first.client, [commands("a", 50)])
    await stop(first)

    // a backup that reads the table for long
    const second = await sql((sql) =>
      sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT count(*) FROM journal`
          const started = yield* Effect.promise(() => backend("second"))
          yield* Effect.promise(() => leads(started))
          return started
        })
      )
    )
    assert.isFalse(await isCompressed())
    assert.strictEqual(await head(second), 100)
    await stop(second)

    const third = await backend("third")
    await leads(third)
    assert.isTrue(await isCompressed())
    await submitAll(third.client, [commands("b", 50)])
    await stop(third)
    const fourth = await backend("fourth")
    await leads(fourth)
    assert.strictEqual(await head(fourth), 200, "rows of both kinds are read")
  })

  it("serves reads of the Referee at a standby that is asked to, with its position", async () => {
    const first = await backend("first")
    await leads(first)
    const silent = await backend("silent")
    const reading = await backend("reading", place(), server.port(), true)
    await submitAll(first.client, [commands("a", 20)])
    await until("the position of the standby", async () => (await positionsAt(reading)) === 40)
    assert.strictEqual(await positionsAt(first), 40)
    assert.isUndefined(await positionsAt(silent))
    assert.isUndefined(await balance(reading), "the sequencer's reads are the leader's")
  })

  it("answers commands and reads only when the database has committed them", async () => {
    const way = await proxy()
    const first = await backend("first", place(), way.port)
    await leads(first)
    await submitAll(first.client, [commands("a", 1)])
    way.stall()
    const answered: Array<string> = []
    const sent = submitAll(first.client, [commands("b", 1)]).then(() => answered.push("command"))
    // the read is sent until it has seen the command, which is applied and not committed
    const read = (async () => {
      while ((await balance(first)) !== 2);
      answered.push("read")
    })()
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.deepStrictEqual(answered, [])
    assert.strictEqual(await head(first), 2, "nor are its events published")
    way.open()
    await Promise.all([sent, read])
    assert.deepStrictEqual(answered.toSorted(), ["command", "read"])
    assert.strictEqual(await head(first), 4)
  })

  it("decides a commit whose connection was lost: the command is in the journal once", async () => {
    const way = await proxy()
    const first = await backend("first", place(), way.port)
    await leads(first)
    for (let i = 0; i < 20; i++) {
      const sent = submitAll(first.client, [commands(`cut-${i}`, 1)])
      setImmediate(() => way.cut())
      assert.strictEqual((await sent).size, 1)
    }
    // without its lock, a leader serves no reads
    await until("the lock", async () => (await balance(first)) !== undefined)
    assert.strictEqual(await balance(first), 20)
  })

  it("ends a leader that is cut off, serves no reads meanwhile, and refuses what it still sends", async () => {
    const way = await proxy()
    const first = await backend("first", place(), way.port)
    await leads(first)
    const second = await backend("second")
    await submitAll(first.client, [commands("a", 10)])
    way.swallow()
    const left = ended(first)
    await leads(second)
    assert.isUndefined(await balance(first), "a leader that may be replaced serves no reads")
    await submitAll(second.client, [commands("b", 10)])
    assert.strictEqual(await balance(second), 20)
    const { message } = await left
    assert.match(message, /nothing could be committed for 3000 ms|another backend leads now/u)
  })

  it("hands over when its leader stops: a gateway that has both addresses loses no command and no event", async () => {
    const first = await backend("first")
    await leads(first)
    const second = await backend("second")
    const address = `127.0.0.1:${first.port},127.0.0.1:${second.port}`
    const endpoint = { address, secret: undefined, tls: undefined }
    const total = 400
    const { failed, seqs } = await Effect.runPromise(
      Effect.gen(function* () {
        const channel = yield* Channel.make(endpoint, "sequencer")
        const sequencer = yield* GrpcSequencer.make(channel)
        const seqs: Array<number> = []
        yield* GrpcFeed.make(channel)
          .follow(undefined)
          .pipe(
            Stream.runForEach((frame) =>
              Effect.sync(() => {
                if (frame.type === "events") for (const { seq } of frame.events) seqs.push(seq)
              })
            ),
            Effect.forkScoped
          )
        const failed: Array<unknown> = []
        const one = (i: number) =>
          sequencer
            .submit({
              command_id: `c-${i}`,
              user_id: "",
              sub_account_address: "",
              body: { type: "deposit", deposit_id: "", asset: "USDC", amount: "1", source: "rail" }
            })
            .pipe(
              // calls fail fast until the other backend leads: their caller repeats them, under the same command_id
              Effect.retry({
                times: 100,
                schedule: Schedule.spaced(100),
                while: ({ _tag }) => _tag === "OutcomeUnknown" || _tag === "SequencerUnavailable"
              }),
              Effect.catch((error) => Effect.sync(() => void failed.push(error)))
            )
        let i = 0
        const worker = Effect.suspend(() => one(++i)).pipe(
          Effect.andThen(Effect.sleep(5)),
          Effect.repeat({ while: () => i < total })
        )
        const workers = yield* Effect.forkScoped(
          Effect.all(
            Array.from({ length: 8 }, () => worker),
            { concurrency: 8 }
          )
        )
        yield* Effect.sleep(100)
        yield* Effect.promise(() => stop(first))
        yield* Fiber.join(workers)
        if (failed.length === 0) yield* Effect.promise(() => until("the last event", () => seqs.at(-1) === 2 * i))
        return { failed, seqs }
      }).pipe(Effect.scoped)
    )
    assert.deepStrictEqual(failed, [])
    assert.deepStrictEqual(
      seqs,
      Array.from({ length: seqs.length }, (_, i) => i + 1)
    )
  })

  it("answers commands on the streams that are open while its leader stops, until their clients end them", async () => {
    const first = await backend("first")
    await leads(first)
    const second = await backend("second")
    const client = new SequencerClient(`127.0.0.1:${first.port}`, credentials.createInsecure())
    const stream = client.submitStream()
    const results: Array<CommandResult> = []
    let end: string | undefined
    stream.on("data", (response) => results.push(...response.results))
    stream.on("error", ({ message }) => (end = message))
    stream.on("end", () => (end ??= "ended by its client"))
    const answers = (count: number) => until("the answer", () => results.length === count || end !== undefined)
    stream.write({ batch_id: 1, commands: commands("before", 1) })
    await answers(1)
    const stopped = stop(first)
    await leads(second)
    stream.write({ batch_id: 2, commands: commands("after", 1) })
    await answers(2)
    const [, refused] = results
    assert.strictEqual(refused?.outcome?.$case === "status" && refused.outcome.value.reason, "BackendStopping", end)
    stream.end()
    await until("the end", () => end !== undefined)
    await stopped
    client.close()
    assert.deepStrictEqual([end, await balance(second)], ["ended by its client", 1])
  })

  it("is led on, though a subscriber was ahead of a leader that was replaced", async () => {
    const first = await backend("first")
    await leads(first)
    const second = await backend("second")
    await submitAll(first.client, [commands("a", 1)])
    // a gateway whose command stream is open: the leader waits for it when it stops
    const client = new SequencerClient(`127.0.0.1:${first.port}`, credentials.createInsecure())
    const stream = client.submitStream()
    stream.on("error", () => {})
    stream.on("data", () => {})
    await head({ client })
    const stopped = stop(first)
    await leads(second)
    await submitAll(second.client, [commands("b", 1)])
    assert.isUndefined(await balance({ client }), "a leader that hands over serves no reads")
    const { epoch } = second
    const { error } = await follow(client, 5, 1, epoch, undefined, { fork: epoch, checksum: undefined })
    assert.deepStrictEqual(error?.metadata.get("error-reason"), ["Forked"])
    client.close()
    await stopped
    await stop(second)

    const third = await backend("third")
    const outcome = await Promise.race([ended(third).then(({ message }) => message), leads(third).then(() => "leads")])
    assert.strictEqual(outcome, "leads")
    assert.strictEqual(await balance(third), 2)
  })

  describe("at a server that accepts a session and leaves statements unanswered", () => {
    const sockets = new Set<Socket>()
    /** Addresses of a server that does not receive what contains a text, and of the server itself. */
    const hungAt = async (text: string) => {
      const hung = createServer((near) => {
        const far = createConnection(server.port(), "127.0.0.1")
        for (const socket of [near, far]) sockets.add(socket.on("error", () => {}))
        near.on("data", (bytes) => bytes.includes(text) || far.write(bytes))
        far.on("data", (bytes) => near.write(bytes))
      })
      await new Promise<void>((resolve) => hung.listen(0, "127.0.0.1", resolve))
      hung.unref()
      const { port } = hung.address() as AddressInfo
      return Redacted.make(server.url(schema).replace("127.0.0.1:", `127.0.0.1:${port},127.0.0.1:`))
    }
    const read = async (text: string) => {
      const { open } = PostgresJournal.make(await hungAt(text))
      return Effect.runPromise(
        Effect.scoped(Effect.flatMap(open, (session) => session.turns(0))).pipe(
          Effect.map(({ length }) => length),
          Effect.catch(({ message }) => Effect.succeed(message))
        )
      )
    }
    afterEach(() => {
      for (const socket of sockets) socket.destroy()
      sockets.clear()
    })

    it("is opened at the next address", async () => {
      assert.strictEqual(await read("pg_is_in_recovery"), 0)
    })

    it("has a limit for each read", async () => {
      assert.strictEqual(await read("FROM journal WHERE position"), "the database does not respond")
    })
  })

  it("ends a backend whose lead has a defect", async () => {
    const broken = ({ open }: JournalDatabase): JournalDatabase => ({
      open: Effect.map(open, (session) => ({ ...session, raise: () => Effect.die(new Error("no row")) }))
    })
    const first = await backend("first", place(), server.port(), false, broken)
    assert.strictEqual((await ended(first)).message, "the lead of the journal failed: no row")
  })

  it("is not led by a backend that has another fork than the database, though as many", async () => {
    const fork = (id: string) => ({ fork: id, position: 0, head_seq: 0, made_at_ms: 1 })
    let forks = [fork("one")]
    const restored = ({ open }: JournalDatabase): JournalDatabase => ({
      open: Effect.map(open, (session) => ({
        ...session,
        history: Effect.suspend(() => Effect.succeed({ forks, seen_seq: 0 }))
      }))
    })
    const first = await backend("first")
    await leads(first)
    const second = await backend("second", place(), server.port(), false, restored)
    forks = [fork("two")]
    await stop(first)
    assert.strictEqual(
      (await ended(second)).message,
      "a restore has begun a fork of the journal: start this backend again"
    )
  })

  it("refuses to replace a journal in a file by an empty database", async () => {
    const directory = place()
    const alone = await start(directory, { machine })
    await submitAll(alone.client, [commands("a", 3)])
    await alone.stop()
    const message = await backend("first", directory).then(() => "started", String)
    assert.match(message, /has 3 entries and the database of JOURNAL_URL has none/u)
    const path = join(directory, "backend", "journal.sqlite")
    assert.strictEqual(Journal.witnessed(path)?.position, 3, "it keeps the witness of its last commit")
    rmSync(`${path}-wal`, { force: true })
    writeFileSync(path, "")
    const damaged = await backend("first", directory).then(() => "started", String)
    assert.match(damaged, /is empty, but entries were committed/u)
  })

  describe("whose copy lost its last entries, because only its snapshots are synced", () => {
    /** A leader that ends with a snapshot at position 10, in a directory whose copy ends at position 5. */
    const powerLoss = async (directory: string) => {
      const path = journalOf(directory)
      const first = await backend("first", directory)
      await leads(first)
      await submitAll(first.client, [commands("a", 5)])
      await stop(first)
      const kept = join(place(), "kept.sqlite")
      copyFileSync(path, kept)
      const again = await backend("first", directory)
      await leads(again)
      await submitAll(again.client, [commands("b", 2)])
      await submitAll(again.client, [commands("c", 3)])
      await stop(again)
      for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true })
      copyFileSync(kept, path)
    }

    it("starts, and reads them from the database", async () => {
      const directory = place()
      await powerLoss(directory)
      const again = await backend("first", directory)
      await leads(again)
      assert.strictEqual(await balance(again), 10)
      await stop(again)

      // the whole copy
      rmSync(journalOf(directory))
      const anew = await backend("first", directory)
      await leads(anew)
      assert.strictEqual(await balance(anew), 10)
    })

    it("refuses a database that has lost them too, until a restore begins a fork", async () => {
      const directory = place()
      await powerLoss(directory)
      await rewind(7)
      const refused = await backend("first", directory).then(() => "started", String)
      assert.match(refused, /has a snapshot at position 10 that the database of JOURNAL_URL does not have/u)
      const { entries, replaced } = await restored(directory)
      assert.strictEqual(entries, 7)
      assert.deepStrictEqual(Snapshots.list(join(replaced!, "snapshots")), [10, 5])
      const again = await backend("first", directory)
      await leads(again)
      assert.strictEqual(await balance(again), 7)
    })
  })

  describe("that was restored to an earlier point", () => {
    const positionOf = async () => {
      const [row] = (await execute("SELECT position FROM journal_lease")) as ReadonlyArray<{
        readonly position: unknown
      }>
      return Number(row!.position)
    }
    /** A leader acknowledges two commands, and two more that the database loses. */
    const lose = async (directory: string) => {
      const first = await backend("first", directory)
      await leads(first)
      await submitAll(first.client, [commands("kept", 2)])
      const position = await positionOf()
      await submitAll(first.client, [commands("lost", 2)])
      return { first, position }
    }
    it("is refused by a backend whose copy has the lost entries, until a restore begins a fork", async () => {
      const directory = place()
      const { first, position } = await lose(directory)
      await stop(first)
      await rewind(position)
      const refused = await backend("first", directory).then(() => "started", String)
      assert.match(refused, /has entries up to position 4 that the database of JOURNAL_URL does not have/u)
      assert.match(refused, /npm run backend -- restore/u)

      const { epoch, fork, head_seq, lost, replaced } = await restored(directory)
      assert.notStrictEqual(fork, epoch)
      assert.deepInclude(lost, { entries: 2, commands: 2 })
      assert.isTrue(existsSync(replaced!))
      // before the next start reads the forks of the database, the commands that read the copy name this one too
      const copy = Journal.read(journalOf(directory))
      assert.strictEqual(copy.fork, fork)
      copy.close()
      const again = await backend("first", directory)
      await leads(again)
      assert.strictEqual(await balance(again), 2)
      assert.match(again.metrics(), /^backend_forks 1$/mu)
      await submitAll(again.client, [commands("new", 2)])

      const from = (seq: number) =>
        follow(again.client, seq + 1, 1, epoch, undefined, { fork: epoch, checksum: undefined })
      assert.strictEqual((await from(head_seq)).frames.at(-1)?.fork, fork, "an event before the fork leads to it")
      assert.match((await from(head_seq + 4)).error?.message ?? "", /is not on the history of fork/u)
      // another backend takes the fork over with the journal
      const second = await backend("second")
      await stop(again)
      await leads(second)
      assert.match(second.metrics(), /^backend_forks 1$/mu)
      const known = await follow(second.client, head_seq + 1, 1, epoch, undefined, { fork, checksum: undefined })
      assert.strictEqual(known.frames.at(-1)?.fork, fork)
    })

    it("is followed by the other backends after a restore at one, though their copies have lost entries", async () => {
      const [directory, other] = [place(), place()]
      const { first, position } = await lose(directory)
      const standby = await backend("second", other)
      await until("the lost entries", () => Promise.resolve(/^backend_journal_position 4$/mu.test(standby.metrics())))
      await stop(standby)
      await stop(first)
      await rewind(position)
      await restored(directory)
      const again = await backend("first", directory)
      await leads(again)
      // beyond the lost position, so that only the checksum differs
      await submitAll(again.client, [commands("new", 4)])
      const second = await backend("second", other)
      assert.isTrue(existsSync(join(other, "backend.4.aside", "journal.sqlite")))
      await stop(again)
      await leads(second)
      assert.strictEqual(await balance(second), 6)
      await stop(second)

      // a loss that no restore has accepted
      await rewind(3)
      const refused = await backend("second", other).then(() => "started", String)
      assert.match(refused, /has entries up to position 6 that the database of JOURNAL_URL does not have/u)
    })

    it("is refused when a gateway has seen lost events, though no copy has them", async () => {
      const { first, position } = await lose(place())
      await stop(first)
      await rewind(position)
      const second = await backend("second")
      await leads(second)
      const left = ended(second)
      const { error } = await follow(second.client, 9, 1, second.epoch, undefined, {
        fork: second.epoch,
        checksum: undefined
      })
      assert.deepStrictEqual(error?.metadata.get("error-reason"), ["Forked"])
      assert.match((await left).message, /ends at event 4, but a gateway has seen event 8/u)
      await stop(second)
      const third = await backend("third")
      assert.match((await ended(third)).message, /ends at event 4, but a gateway has seen event 8/u)
      assert.isUndefined(await head(third))
      await stop(third)

      await restored(place())
      const fourth = await backend("fourth")
      await leads(fourth)
      assert.strictEqual(await balance(fourth), 2)
    })

    it("is refused when a gateway has seen its first event, though no copy has one", async () => {
      const first = await backend("first")
      await leads(first)
      const left = ended(first)
      const { epoch } = first
      const { error } = await follow(first.client, 2, 1, epoch, undefined, { fork: epoch, checksum: undefined })
      assert.deepStrictEqual(error?.metadata.get("error-reason"), ["Forked"])
      assert.match((await left).message, /ends at event 0, but a gateway has seen event 1/u)
      await stop(first)
      const second = await backend("second")
      assert.match((await ended(second)).message, /ends at event 0, but a gateway has seen event 1/u)
    })

    it("ends the leader that had written the lost entries, also without commands", async () => {
      const way = await proxy()
      const directory = place()
      const first = await backend("first", directory, way.port)
      await leads(first)
      await submitAll(first.client, [commands("kept", 2)])
      const position = await positionOf()
      await submitAll(first.client, [commands("lost", 2)])
      const left = ended(first)
      way.refuse()
      await rewind(position)
      way.open()
      assert.match((await left).message, /the journal ends at position 2, not at position 4/u)
    })

    it("is not restored while a backend leads, nor where there is no journal", async () => {
      const first = await backend("first")
      await leads(first)
      await submitAll(first.client, [commands("a", 1)])
      assert.match(await restored(place()).then(() => "restored", String), /a backend leads the journal/u)
      await stop(first)
      const failure = (database: JournalDatabase) =>
        Effect.runPromise(Effect.flip(SharedRestore.restore(machine, database, place())))
      const real = PostgresJournal.make(Redacted.make(server.url(schema)))
      const outrun = {
        open: Effect.map(real.open, (session) => ({ ...session, beginFork: () => Effect.succeed(false) }))
      }
      assert.strictEqual((await failure(outrun)).message, "another backend leads now: stop all backends")
      await execute("DELETE FROM journal")
      assert.match(await restored(place()).then(() => "restored", String), /has no journal/u)
      const away = { open: Effect.fail(new SessionLost({ message: "no connection" })) }
      assert.strictEqual((await failure(away)).message, "the restore failed: no connection")
    })
  })

  it("continues under newer rules at the backend that led last; another one needs a backup of its directory", async () => {
    const newer = { ...machine, rules: "fake-2", upgrades: [machine.rules] }
    const upgraded = (holder: string, directory: string) =>
      backend(holder, directory, server.port(), false, undefined, newer)
    const refused = (holder: string, directory = place()) => upgraded(holder, directory).then(() => "started", String)
    const [one, two, backups] = [place(), place(), place()]
    const second = await backend("second", two)
    await leads(second)
    await submitAll(second.client, [commands("a", 20)])
    await backend("first", one).then(stop)
    assert.match(await refused("first", one), /only the backend that led last/u, "another backend leads")
    const first = await backend("first", one)
    await stop(second)
    await leads(first)
    await submitAll(first.client, [commands("b", 20)])
    await stop(first)
    assert.match(await refused("second", two), /only the backend that led last/u, "its copy lacks entries")
    assert.match(await refused("third"), /only the backend that led last/u, "it has no copy")

    const next = await upgraded("first", one)
    await leads(next)
    assert.strictEqual(await balance(next), 40)
    await submitAll(next.client, [commands("c", 20)])
    assert.match(await refused("second", two), /only the backend that led last/u, "it lacks the closing snapshot")
    const copy = join(backups, "copy")
    await Effect.runPromise(backup(one, copy))
    const standby = await upgraded("second", copy)
    await stop(next)
    await leads(standby)
    assert.strictEqual(await balance(standby), 60)
    const again = await submitAll(standby.client, [commands("a", 20), commands("c", 20)])
    assert.strictEqual(await balance(standby), 60, "an id of either rules is known")
    assert.strictEqual(again.size, 40)
  })

  it("refuses a copy of another journal, and builds an empty one again", async () => {
    const directory = place()
    const own = await start(directory, { machine })
    await own.stop()
    const other = place()
    const used = await start(other, { machine })
    await submitAll(used.client, [commands("a", 1)])
    await used.stop()
    const first = await backend("first")
    await leads(first)
    await submitAll(first.client, [commands("a", 1)])
    const refused = await backend("second", other).catch((error: unknown) => error)
    assert.match(String(refused), /is a copy of another journal than that of JOURNAL_URL/u)
    assert.strictEqual((await backend("second", directory)).epoch, first.epoch)
  })
})

describe("the addresses of a journal", () => {
  const of = (url: string) => PostgresJournal.addressesOf(Redacted.make(url)).map(Redacted.value)
  it("are those of each host", () => {
    assert.deepStrictEqual(of("postgres://user:p%40ss@a:5432,b:5433/journal?sslmode=require"), [
      "postgres://user:p%40ss@a:5432/journal?sslmode=require",
      "postgres://user:p%40ss@b:5433/journal?sslmode=require"
    ])
    assert.deepStrictEqual(of("postgres://a/journal"), ["postgres://a/journal"])
  })
})

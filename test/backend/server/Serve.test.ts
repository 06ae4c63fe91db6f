import { renameSync } from "node:fs"
import { dirname, join } from "node:path"
import { type ServiceError, status } from "@grpc/grpc-js"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { type Block, FRAME_BYTES } from "../../../src/backend/journal/EventBlocks.ts"
import { replayEvents } from "../../../src/backend/journal/EventReplay.ts"
import { Journal } from "../../../src/backend/journal/Journal.ts"
import { replay } from "../../../src/backend/journal/Replay.ts"
import * as PostgresJournal from "../../../src/backend/journal/shared/PostgresJournal.ts"
import { journalPath, type SharedOptions } from "../../../src/backend/server/Running.ts"
import type { Replay } from "../../../src/backend/server/EventStream.ts"
import { CLOCK_MS } from "../../../src/backend/server/SequencerServer.ts"
import type {
  CommandAck,
  CommandResult,
  CommandStatus,
  GetHeadResponse,
  SequencerClient
} from "../../../src/proto/gateway/v1/sequencer.ts"
import { SPACE_MS } from "../../../src/backend/server/Writer.ts"
import { sleep, until } from "../../../verification/harness/Wait.ts"
import { bearer, follow, type Running, start, submitAll, temporary } from "../../doubles/FakeBackend.ts"
import { deposit, fakeMachine, type FakeState, noReads, withdraw } from "../../doubles/FakeMachine.ts"
import * as Postgres from "../../doubles/Postgres.ts"

const server = Postgres.throwaway()
let place: ReturnType<typeof temporary>
let running: Running | undefined
/** Where the journal is; in a file unless set. */
let shared: SharedOptions | undefined
let schemas = 0
beforeEach(() => {
  place = temporary()
  shared = undefined
})
afterEach(async () => {
  await running?.stop()
  running = undefined
  place.remove()
})

const headOf = (client: SequencerClient, secret = "") =>
  new Promise<GetHeadResponse>((resolve, reject) =>
    client.getHead({}, bearer(secret), (error, response) => (error ? reject(error) : resolve(response)))
  )
const boot = async (options?: Parameters<typeof start>[1]) => {
  const { client } = (running = await start(place.directory, { ...options, shared }))
  if (shared !== undefined)
    await until("the lead", () =>
      headOf(client, options?.secret).then(
        () => true,
        () => false
      )
    )
  return running
}
const reboot = async (options?: Parameters<typeof start>[1]) => {
  await running?.stop()
  running = undefined
  return boot(options)
}

const ack = (result: CommandResult | undefined): CommandAck => {
  if (result?.outcome?.$case !== "ack") assert.fail(`not an ack: ${JSON.stringify(result)}`)
  return result.outcome.value
}
const refusal = (result: CommandResult | undefined): CommandStatus => {
  if (result?.outcome?.$case !== "status") assert.fail(`not a status: ${JSON.stringify(result)}`)
  return result.outcome.value
}
/** The state of the journal on disk. */
const stored = () => {
  const journal = Journal.read(journalPath(place.directory))
  try {
    return replay(fakeMachine, journal, { results: true })
  } finally {
    journal.close()
  }
}
/** A clock without Ticks: only commands enter the journal. */
const still = { machine: { ...fakeMachine, tickMatters: () => false } }

/** The same contract wherever the journal is. */
const contract = () => {
  describe("SubmitStream", () => {
    it("answers every command once, with ack or refusal, after it is durable", async () => {
      const { client } = await boot(still)
      const commands = Array.from({ length: 500 }, (_, i) => (i % 5 === 4 ? withdraw(1000) : deposit(1)))
      const answers = await submitAll(client, [commands.slice(0, 1), commands.slice(1, 300), commands.slice(300)])
      assert.strictEqual(answers.size, 500)
      const refused = [...answers.values()].filter((result) => result.outcome?.$case === "status")
      assert.strictEqual(refused.length, 100)
      assert.strictEqual(refusal(refused[0]).reason, "InsufficientBalance")
      const { state, entries } = stored()
      assert.strictEqual(state.balance, 400)
      assert.strictEqual(entries, 400)
    })

    it("refuses commands while the directory of the journal is gone: its open file would end with the process", async () => {
      const { client } = await boot(still)
      ack((await submitAll(client, [[deposit(1, "a")]])).get("a"))
      const [backend, elsewhere] = [dirname(journalPath(place.directory)), join(place.directory, "elsewhere")]
      renameSync(backend, elsewhere)
      await sleep(SPACE_MS)
      const refused = refusal((await submitAll(client, [[deposit(2, "b")]])).get("b"))
      assert.deepStrictEqual([refused.code, refused.reason], [status.UNAVAILABLE, "BackendUnavailable"])
      renameSync(elsewhere, backend)
      await sleep(SPACE_MS)
      ack((await submitAll(client, [[deposit(2, "b")]])).get("b"))
      assert.strictEqual(stored().state.balance, 3)
    })

    it("answers a repeated command_id with the first ack, now and after a restart, and refuses other content", async () => {
      const first = await boot(still)
      const one = ack((await submitAll(first.client, [[deposit(1, "a")]])).get("a"))
      const again = ack((await submitAll(first.client, [[{ ...deposit(1, "a"), issued_at_ms: 77 }]])).get("a"))
      assert.deepStrictEqual(again, { ...one, duplicate: true })

      const second = await reboot(still)
      const restarted = ack((await submitAll(second.client, [[deposit(1, "a")]])).get("a"))
      assert.deepStrictEqual(restarted, { ...one, duplicate: true })
      const other = refusal((await submitAll(second.client, [[deposit(2, "a")]])).get("a"))
      assert.strictEqual(other.code, status.ALREADY_EXISTS)
      assert.strictEqual(other.reason, "DuplicateRequestId")
      assert.strictEqual(stored().state.balance, 1)
    })

    it("sends the stream's clock at once, with each result, and every second", async () => {
      const { client } = await boot(still)
      const call = client.submitStream()
      const clocks: Array<number | undefined> = []
      await new Promise<void>((resolve) => {
        call.on("data", ({ clock_ms, results }) => {
          clocks.push(clock_ms)
          if (clocks.length === 1) call.write({ batch_id: 1, commands: [deposit(1, "one")] })
          if (clocks.length === 2) assert.strictEqual(results.length, 1)
          if (clocks.length === 3) call.end()
        })
        call.on("end", resolve)
      })
      assert.deepStrictEqual(
        clocks,
        clocks.toSorted((a, b) => a! - b!)
      )
      assert.isBelow(clocks[0]!, CLOCK_MS)
      assert.isAtLeast(clocks[2]!, 0.9 * CLOCK_MS)
    })

    it("refuses a command whose turn begins after not_after_ms; the limit is not part of its content", async () => {
      const { client } = await boot(still)
      const call = client.submitStream()
      const results: Array<CommandResult> = []
      await new Promise<void>((resolve) => {
        call.on("data", (response) => {
          results.push(...response.results)
          if (response.results.length === 0 && results.length === 0) {
            const late = { ...deposit(1, "limited"), not_after_ms: -1 }
            call.write({
              batch_id: 1,
              commands: [late, { ...late, not_after_ms: 60_000 }, { ...late, not_after_ms: 50_000 }]
            })
          }
          if (results.length === 3) call.end()
        })
        call.on("end", resolve)
      })
      assert.deepInclude(refusal(results[0]), { code: status.UNAVAILABLE, reason: "Overloaded" })
      assert.deepStrictEqual([ack(results[1]).duplicate, ack(results[2]).duplicate], [false, true])
      assert.strictEqual(stored().state.balance, 1)
    })

    it("answers a command repeated within one turn as a duplicate", async () => {
      const { client } = await boot(still)
      const call = client.submitStream()
      const results: Array<CommandResult> = []
      await new Promise<void>((resolve) => {
        call.on("data", (response) => {
          results.push(...response.results)
          if (results.length === 2) call.end()
        })
        call.on("end", resolve)
        call.write({ batch_id: 1, commands: [deposit(3, "twin"), deposit(3, "twin")] })
      })
      assert.deepStrictEqual(
        results.map((result) => ack(result).duplicate),
        [false, true]
      )
      assert.strictEqual(stored().state.balance, 3)
    })

    it("refuses a command without id or without content", async () => {
      const { client } = await boot(still)
      const answers = await submitAll(client, [[deposit(1, ""), { ...deposit(1, "empty"), command: undefined }]])
      assert.strictEqual(refusal(answers.get("")).metadata["field"], "command_id")
      assert.strictEqual(refusal(answers.get("empty")).metadata["field"], "command")
    })

    it("refuses the turn in which the engine breaks an assertion, discards its changes, and reports the failure", async () => {
      const backend = await boot(still)
      await submitAll(backend.client, [[deposit(5)]])
      const answers = await submitAll(backend.client, [
        [deposit(1, "before"), deposit(1, "bug", "BUG"), deposit(1, "after")]
      ])
      for (const id of ["before", "bug", "after"]) assert.strictEqual(refusal(answers.get(id)).code, status.UNAVAILABLE)
      const failure = await Effect.runPromise(Effect.flip(backend.failed))
      assert.match(failure.message, /assertion broken/)
      // a stream that was open gets a refusal, a new one of a backend that does not lead none
      const late = await submitAll(backend.client, [[deposit(1, "late")]]).then(
        (given) => refusal(given.get("late")).code,
        ({ code }: ServiceError) => code
      )
      assert.strictEqual(late, status.UNAVAILABLE)
      assert.strictEqual(stored().state.balance, 5)
      const next = await reboot(still)
      assert.isFalse(ack((await submitAll(next.client, [[deposit(1, "before")]])).get("before")).duplicate)
    })
  })

  describe("Submit and SubmitBatch", () => {
    it("answer like the stream; a refusal carries its reason in the trailing metadata", async () => {
      const { client } = await boot(still)
      const one = await new Promise<CommandAck | undefined>((resolve, reject) =>
        client.submit({ command: deposit(2, "u") }, (error, response) =>
          error ? reject(error) : resolve(response.ack)
        )
      )
      assert.strictEqual(one?.command_id, "u")
      const error = await new Promise<ServiceError | null>((resolve) =>
        client.submit({ command: withdraw(9) }, (error) => resolve(error))
      )
      assert.strictEqual(error?.code, status.FAILED_PRECONDITION)
      assert.deepStrictEqual(error?.metadata.get("error-reason"), ["InsufficientBalance"])
      const results = await new Promise<Array<CommandResult>>((resolve, reject) =>
        client.submitBatch({ commands: [deposit(1, "b1"), withdraw(99, "b2")] }, (error, response) =>
          error ? reject(error) : resolve(response.results)
        )
      )
      assert.strictEqual(ack(results[0]).command_id, "b1")
      assert.strictEqual(refusal(results[1]).command_id, "b2")
    })
  })

  describe("StreamEvents", () => {
    it("resumes at any seq without a gap or a repetition, whole steps a frame, across a restart", async () => {
      const first = await boot(still)
      await submitAll(first.client, [Array.from({ length: 50 }, () => deposit(1))])
      const epoch = first.epoch
      const second = await reboot(still)
      assert.strictEqual(second.epoch, epoch)
      await submitAll(second.client, [Array.from({ length: 50 }, () => deposit(1))])
      for (const from of [1, 2, 37, 100, 101, 200]) {
        const { frames, error } = await follow(second.client, from, 201 - from, epoch)
        assert.isUndefined(error)
        const seqs = frames.flatMap((frame) => frame.events.map((event) => event.seq))
        assert.deepStrictEqual(
          seqs,
          Array.from({ length: 201 - from }, (_, i) => from + i)
        )
        assert.strictEqual(frames[0]?.heartbeat?.head_seq, 200)
        assert.isTrue(frames.every((frame) => frame.epoch === epoch))
        for (const frame of frames) assert.strictEqual((frame.events.at(-1)?.seq ?? 0) % 2, 0)
      }
    })

    it("sends new events to all subscribers", async () => {
      const { client } = await boot(still)
      const followers = [1, 2, 3].map(() => follow(client, 1, 400))
      await submitAll(client, [Array.from({ length: 200 }, () => deposit(1))])
      for (const { frames } of await Promise.all(followers)) {
        const seqs = frames.flatMap((frame) => frame.events.map((event) => event.seq))
        assert.deepStrictEqual(
          seqs,
          Array.from({ length: 400 }, (_, i) => i + 1)
        )
      }
    })

    it("sends a heartbeat every second", async () => {
      const { client } = await boot(still)
      const call = client.streamEvents({ epoch: "", from_seq: 1, fork: "", checksum: undefined })
      call.on("error", () => {})
      const beats: Array<number> = []
      await new Promise<void>((resolve) =>
        call.on("data", (frame) => beats.push(frame.heartbeat!.head_seq) === 3 && resolve())
      )
      call.cancel()
      assert.deepStrictEqual(beats, [0, 0, 0])
    })

    it("refuses a dropped or future seq, and another epoch", async () => {
      const { client } = await boot({ ...still, limits: { events_kept_max: 10, bytes_kept_max: 1 << 20 } })
      for (let i = 0; i < 20; i++) await submitAll(client, [[deposit(1)]])
      assert.strictEqual((await follow(client, 1, 1)).error?.code, status.OUT_OF_RANGE)
      assert.strictEqual((await follow(client, 42, 1)).error?.code, status.OUT_OF_RANGE)
      assert.strictEqual((await follow(client, 1, 1, "another")).error?.code, status.FAILED_PRECONDITION)
      assert.isUndefined((await follow(client, 35, 6)).error)
    })

    it("replays what memory no longer has: events of any age, across restarts, of the same history only", async () => {
      const options = {
        ...still,
        limits: { events_kept_max: 10, bytes_kept_max: 1 << 20 },
        // in this thread, and without a bound
        replays:
          (path: string): Replay =>
          (from, { onBlock, onEnd }) => {
            let isEnded = false
            setImmediate(() => {
              const send = (blocks: ReadonlyArray<Block>) => {
                for (const block of blocks) if (!isEnded) onBlock(block, () => {})
              }
              const isSame = replayEvents(still.machine, path, from, send)
              if (!isEnded) onEnd(isSame ? "AtHead" : "Forked")
            })
            return () => void (isEnded = true)
          }
      }
      const thousands = (count: number) =>
        Array.from({ length: count }, () => Array.from({ length: 1_000 }, () => deposit(1)))
      const first = await boot(options)
      await submitAll(first.client, thousands(3))
      const second = await reboot(options)
      await submitAll(second.client, thousands(3))
      const { client, epoch } = await reboot(options)
      await submitAll(client, [Array.from({ length: 50 }, () => deposit(1))])
      const head = await headOf(client)
      assert.deepInclude(head, { head_seq: 12_100, first_seq: 1 })
      let checksum: number | undefined
      for (const from of [1, 2, 5_999, 6_000, 6_001, 12_000, 12_080]) {
        const { error, frames } = await follow(client, from, 12_101 - from, epoch)
        assert.isUndefined(error, `from ${from}`)
        const seqs = frames.flatMap(({ events }) => events.map(({ seq }) => seq))
        assert.deepStrictEqual(
          seqs,
          Array.from({ length: 12_101 - from }, (_, i) => from + i)
        )
        const checksums = frames.flatMap((frame) => frame.checksums)
        assert.strictEqual(checksums.length, seqs.length)
        assert.strictEqual(checksums.at(-1), head.checksum)
        if (from === 1) checksum = checksums[5_999]
        if (from === 6_001) assert.notStrictEqual(checksums[0], checksum)
      }
      const at = (value: number) => follow(client, 6_001, 1, epoch, undefined, { fork: epoch, checksum: value })
      assert.isUndefined((await at(checksum!)).error)
      assert.strictEqual((await at(checksum! + 1)).error?.metadata.get("error-reason")[0], "Forked")
    }, 30_000)

    it("ends a subscriber that stops reading once the log has moved past it, without a queue for it", async () => {
      const { client } = await boot({ ...still, limits: { events_kept_max: 1000, bytes_kept_max: 8 * FRAME_BYTES } })
      const call = client.streamEvents({ epoch: "", from_seq: 1, fork: "", checksum: undefined })
      const ended = new Promise<number>((resolve) => call.on("error", (error: ServiceError) => resolve(error.code)))
      call.pause()
      const id = "x".repeat(60)
      for (let i = 0; i < 40; i++) {
        await submitAll(client, [Array.from({ length: 1000 }, (_, k) => deposit(1, `${id.slice(0, 50)}${i}-${k}`))])
      }
      let events = 0
      call.on("data", (frame) => (events += frame.events.length))
      call.resume()
      assert.strictEqual(await ended, status.RESOURCE_EXHAUSTED)
      assert.isBelow(events, 80_000)
    }, 20_000)
  })

  describe("the shared secret", () => {
    it("is required by every call, unary or stream", async () => {
      const { client } = await boot({ ...still, secret: "sesame" })
      const head = (metadata: ReturnType<typeof bearer>) =>
        new Promise<number>((resolve) => client.getHead({}, metadata, (error) => resolve(error?.code ?? 0)))
      assert.strictEqual(await head(bearer("sesam")), status.UNAUTHENTICATED)
      assert.strictEqual(await head(bearer("sesame")), 0)
      assert.strictEqual((await follow(client, 1, 1)).error?.code, status.UNAUTHENTICATED)
      const stream = client.submitStream()
      const code = await new Promise((resolve) =>
        stream.on("error", (error: ServiceError) => resolve(error.code)).on("data", () => {})
      )
      assert.strictEqual(code, status.UNAUTHENTICATED)
    })
  })

  describe("Serve", () => {
    it("writes a checkpoint when it stops, and journals only Ticks that change something", async () => {
      const { client } = await boot()
      await submitAll(client, [[deposit(1)]])
      await new Promise((resolve) => setTimeout(resolve, 1300))
      await running!.stop()
      running = undefined
      const journal = Journal.read(journalPath(place.directory))
      const ticks = [...journal.entries()].filter((entry) => entry.command === undefined).length
      assert.isAtLeast(ticks, 1)
      assert.isAtMost(ticks, 3)
      assert.strictEqual(journal.checkpoints().length, 1)
      assert.strictEqual(replay(fakeMachine, journal).state.balance, 1)
      journal.close()
    })

    it("reports what it has applied, its lead and its money in its metrics", async () => {
      const { client, metrics } = await boot({ ...still, reads: () => ({ ...noReads, feeAccount: () => 12.5 }) })
      const values = () =>
        ["journal_position", "head_seq", "queue_commands", "leads", "forks", "failed", "disk_full", "fee_account"].map(
          (name) => Number(new RegExp(`^backend_${name} (\\S+)$`, "mu").exec(metrics())?.[1])
        )
      assert.deepStrictEqual(values(), [0, 0, 0, 1, 0, 0, 0, 12.5])
      await submitAll(client, [[deposit(1), deposit(2)]])
      assert.deepStrictEqual(values(), [2, 4, 0, 1, 0, 0, 0, 12.5])
      const term = Number(/^backend_term (\d+)$/mu.exec(metrics())?.[1])
      assert.strictEqual(term > 0, shared !== undefined)
    })

    it("uses the configuration of the journal when the settings differ", async () => {
      await boot({ ...still, config: { start: 10 } })
      const logged: Array<string> = []
      const second = await reboot({ ...still, config: { start: 500 }, logged })
      assert.match(logged.join("\n"), /^the settings start differ from those of .*; the journal's settings apply/mu)
      await submitAll(second.client, [[deposit(1)]])
      assert.strictEqual(stored().state.balance, 11)
    })

    it("responds with UNIMPLEMENTED to an rpc without a handler", async () => {
      const { client } = await boot(still)
      const code = await new Promise((resolve) =>
        client.getOrderBook({ symbol: "BTC-USDC", depth: 0 }, (error) => resolve(error?.code))
      )
      assert.strictEqual(code, status.UNIMPLEMENTED)
    })
  })
}

describe("a backend with a journal in a file", contract)

describe.skipIf(!Postgres.isThere)("a backend with a journal in PostgreSQL", () => {
  beforeEach(async () => {
    const schema = `serve_${++schemas}`
    await Effect.runPromise(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT 1`).pipe(Effect.provide(server.client(schema)))
    )
    const database = PostgresJournal.make(Redacted.make(server.url(schema)))
    shared = { database, holder: "one", standbyReads: false }
  })
  contract()

  it("responds to a read only when what it shows is durable", async () => {
    let state: FakeState | undefined
    const reads = (of: FakeState) => {
      state = of
      const getOrderBook = () => ({ bids: [], asks: [], book_seq: 0, mts: 0, as_of_seq: of.seq })
      return { ...noReads, sequencer: { getOrderBook } }
    }
    const { client } = await boot({ ...still, reads })
    const shownSeq = () =>
      new Promise<number>((resolve, reject) =>
        client.getOrderBook({ symbol: "BTC-USDC", depth: 0 }, (error, response) =>
          error ? reject(error) : resolve(response.as_of_seq)
        )
      )
    // another session locks the table of the journal, so that no commit ends
    const [locked, unlock] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const lock = Effect.runPromise(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql.withTransaction(
          Effect.andThen(
            sql`LOCK TABLE journal IN SHARE MODE`,
            Effect.promise(() => (locked.resolve(), unlock.promise))
          )
        )
      ).pipe(Effect.provide(server.client(`serve_${schemas}`)))
    )
    await locked.promise
    const responses: Array<string> = []
    const commands = submitAll(client, [[deposit(1)]]).then(() => responses.push("command"))
    await until("the command is applied", () => state?.balance === 1)
    const read = shownSeq().then((seq) => responses.push(`read ${seq}`))
    // a later call of the same connection has its response
    await headOf(client)
    const early = [...responses]
    unlock.resolve()
    await Promise.all([lock, commands, read])
    assert.deepStrictEqual(early, [])
    assert.sameMembers(responses, ["command", "read 2"])
  })
})

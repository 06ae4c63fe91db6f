/**
 * An event at a gateway: its frame is decoded, projected, shown to readers and private connections, and, where the gateway
 * leads, written to SQLite by the commit thread. The frames are those of a backend that executes resting orders, their
 * cancels and fills in equal parts.
 *
 * `leader` writes and has a private connection of every user. `follower` does not lead and nobody is connected to it.
 * Figure: CPU time of all threads for each event. Left out: gRPC, sockets.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Context, Effect, Layer, Queue, Stream } from "effect"
import type { ModelPosition } from "../src/domain/Projection.ts"
import { decodeFrame, Reader } from "../src/layers/grpc/GrpcFeed.ts"
import * as NodeSqlite from "../src/layers/sql/NodeSqlite.ts"
import * as SqlHistory from "../src/layers/sql/SqlHistory.ts"
import * as SqliteCommits from "../src/layers/sql/SqliteCommits.ts"
import { Feed, type FeedFrame } from "../src/services/Feed.ts"
import { History } from "../src/services/History.ts"
import { BackendHealth } from "../src/services/operations/BackendHealth.ts"
import { Leadership } from "../src/services/operations/Leadership.ts"
import { HistoryWriter } from "../src/services/read-model/HistoryWriter.ts"
import { Projector } from "../src/services/read-model/Projector.ts"
import { UserStreams } from "../src/services/read-model/UserStreams.ts"
import { Referee } from "../src/services/Referee.ts"
import { Sequencer } from "../src/services/Sequencer.ts"
import { UserMessage } from "../src/ws/PrivateFeed.ts"
import { BackendSubject } from "./BackendSubject.ts"
import { header, type Summary, summary } from "./Harness.ts"

export interface Options {
  readonly rounds: number
  /** Commands that the backend executes in one turn; their events arrive in one frame. */
  readonly turn: number
  /** Turns of each kind of command in a round. */
  readonly turns: number
  readonly accounts: number
}

export type Role = "leader" | "follower"
export const ROLES: ReadonlyArray<Role> = ["leader", "follower"]

/** The frames of one round. */
interface Recorded {
  readonly frames: ReadonlyArray<Buffer>
  /** Seq of its last event. */
  readonly head: number
}
interface Recording {
  readonly users: ReadonlyArray<string>
  /** The first one has the accounts and deposits. */
  readonly rounds: ReadonlyArray<Recorded>
}

/** Runs the backend; one more round than is measured warms up. */
const record = async (directory: string, { accounts, rounds, turn, turns }: Options): Promise<Recording> => {
  let frames: Array<Buffer> = []
  const subject = new BackendSubject(directory, accounts, (frame) => frames.push(frame))
  const recorded: Array<Recorded> = []
  const take = (): void => {
    recorded.push({ frames, head: subject.head })
    frames = []
  }
  try {
    await subject.fund()
    take()
    for (let round = 0; round <= rounds; round++) {
      for (let i = 0; i < turns; i++) await subject.batch(turn, { rest: 0, cancel: 0, fill: 0 })
      take()
    }
    return { users: subject.users, rounds: recorded }
  } finally {
    subject.close()
  }
}

/** The history of a gateway that does not lead: the leader has written it up to `at`. */
const ledBy = (at: () => ModelPosition | undefined) =>
  Layer.effect(
    History,
    Effect.map(History, (history) => ({ ...history, position: Effect.sync(at) }))
  )

/** The event lane of a gateway behind frames. */
const lane = (
  directory: string,
  role: Role,
  frames: Stream.Stream<FeedFrame>,
  written: () => ModelPosition | undefined
) => {
  const options = { filename: join(directory, `${role}.sqlite`), synchronous: "NORMAL" as const }
  return Projector.layer().pipe(
    Layer.provideMerge(HistoryWriter.layer()),
    Layer.provide(role === "leader" ? Layer.empty : ledBy(written)),
    Layer.provide(SqlHistory.layer),
    Layer.provide(SqliteCommits.layer(options)),
    Layer.provide(NodeSqlite.layer(options)),
    Layer.provide(Layer.succeed(Leadership, { term: () => (role === "leader" ? 1 : undefined), resign: Effect.void })),
    Layer.provide(BackendHealth.layer),
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(Feed, Feed.of({ follow: () => frames })),
        Layer.mock(Sequencer)({
          instruments: Effect.succeed([]),
          orderBook: () => Effect.never,
          commands_down_ms: () => 0
        }),
        Layer.mock(Referee)({ prices: () => Effect.succeed([]) })
      )
    )
  )
}

/** CPU us for each event of one role, round by round. */
const measure = (directory: string, role: Role, { rounds, users }: Recording): Promise<ReadonlyArray<number>> =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<FeedFrame>()
    let written: ModelPosition | undefined
    const services = yield* Layer.build(lane(directory, role, Stream.fromQueue(queue), () => written))
    const projector = Context.get(services, Projector)
    projector.onMoved((position) => (written = position))
    const writer = Context.get(services, HistoryWriter)
    const streams = Context.get(services, UserStreams)
    let sent = 0
    if (role === "leader")
      for (const user of users)
        streams.follow(user, (events) => {
          for (const event of events) sent += new UserMessage(event, "bench", 0).frame(undefined).length
        })
    const reader = new Reader(undefined)
    const seen: Array<number> = []
    let before = 0
    for (const { frames, head } of rounds) {
      const usage = process.cpuUsage()
      for (const frame of frames) {
        Queue.offerAllUnsafe(queue, reader.read(decodeFrame(frame)))
        yield* Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))
      }
      while ((projector.position()?.seq ?? 0) < head) yield* projector.reached(head)
      if (role === "leader") yield* writer.settle
      const { system, user } = process.cpuUsage(usage)
      seen.push((system + user) / (head - before))
      before = head
    }
    if (role === "leader" && sent === 0) throw new Error("no event reached a private connection")
    // without the accounts and the round that warms up
    return seen.slice(2)
  }).pipe(Effect.scoped, Effect.runPromise)

/** CPU microseconds for each event. */
export type Report = Readonly<Record<Role, Summary>>

export const run = async (options: Options): Promise<Report> => {
  const directory = mkdtempSync(join(tmpdir(), "bench-event-"))
  try {
    const recording = await record(directory, options)
    return {
      leader: summary(await measure(directory, "leader", recording)),
      follower: summary(await measure(directory, "follower", recording))
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

export const main = async (): Promise<void> => {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      rounds: { type: "string", default: "5" },
      turn: { type: "string", default: "16" },
      turns: { type: "string", default: "64" },
      accounts: { type: "string", default: "8" }
    }
  })
  const rounds = Number(values.rounds)
  console.log(JSON.stringify(header("npm run bench -- event", rounds, "gRPC, sockets")))
  const report = await run({
    rounds,
    turn: Number(values.turn),
    turns: Number(values.turns),
    accounts: Number(values.accounts)
  })
  for (const role of ROLES) {
    const { max, median, min } = report[role]
    console.log(`${role.padEnd(8)} ${median.toFixed(1)} us [${min.toFixed(1)}-${max.toFixed(1)}]`)
  }
}

import { status } from "@grpc/grpc-js"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { Journal } from "../../../src/backend/journal/Journal.ts"
import { replay } from "../../../src/backend/journal/Replay.ts"
import { EventLog } from "../../../src/backend/server/EventLog.ts"
import { journalPath } from "../../../src/backend/server/Serve.ts"
import {
  CHECKPOINT_ENTRIES,
  QUEUE_COMMANDS_MAX,
  SPACE_BYTES_MIN,
  SPACE_MS,
  TURN_COMMANDS_MAX,
  Writer
} from "../../../src/backend/server/Writer.ts"
import { Command, CommandResult } from "../../../src/proto/gateway/v1/sequencer.ts"
import { temporary } from "../../doubles/FakeBackend.ts"
import { deposit, type FakeConfig, fakeMachine, type FakeState } from "../../doubles/FakeMachine.ts"

const machine = { ...fakeMachine, tickMatters: () => false }

let place: ReturnType<typeof temporary>
let journal: Journal
let writer: Writer<FakeState, FakeConfig>
let state: FakeState
let log: EventLog
let now: number
let commits: number
let space: number
const spaces: Array<boolean> = []
const failures: Array<unknown> = []

const open = () => {
  journal = Journal.open(journalPath(place.directory), () => ({
    epoch: "e",
    rules: machine.rules,
    config: `{"start":0}`,
    ids_key: "0001020304050607",
    created_at_ms: 0
  }))
  const commit = journal.commit.bind(journal)
  journal.commit = () => {
    commits++
    commit()
  }
  const replayed = replay(machine, journal)
  state = replayed.state
  log = new EventLog("e")
  log.skipTo(machine.headSeq(state))
  writer = new Writer({
    machine,
    state,
    journal,
    log,
    at_ms: replayed.at_ms,
    now: () => now,
    onEvents: () => {},
    onSnapshotDue: () => {},
    space: () => space,
    onSpace: (full) => spaces.push(full),
    onFailure: (cause) => failures.push(cause)
  })
}

beforeEach(() => {
  place = temporary()
  now = 1000
  commits = 0
  space = Number.POSITIVE_INFINITY
  spaces.length = 0
  failures.length = 0
  open()
})
afterEach(() => {
  writer.stop()
  journal.close()
  place.remove()
})

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms + 5))
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A caller that keeps its results. */
const caller = () => {
  const told: Array<CommandResult> = []
  const self = {
    results: [] as Array<Uint8Array>,
    flush: () => {
      for (const bytes of self.results.splice(0)) told.push(CommandResult.decode(bytes))
    },
    told
  }
  return self
}
const submit = (to: ReturnType<typeof caller>, command: Command) =>
  writer.submit(to, command, Command.encode(command).finish())
const codes = (told: ReadonlyArray<CommandResult>) =>
  told.map(({ outcome }) => (outcome?.$case === "status" ? outcome.value.code : 0))

describe("Writer", () => {
  it("puts the commands of a turn, of all callers, into one transaction, and answers only then", async () => {
    const [one, two] = [caller(), caller()]
    for (let i = 0; i < 100; i++) {
      submit(one, deposit(1))
      submit(two, deposit(1))
    }
    assert.strictEqual(one.told.length, 0)
    assert.strictEqual(log.head, 0)
    await turn()
    assert.strictEqual(commits, 1)
    assert.deepStrictEqual([one.told.length, two.told.length], [100, 100])
    assert.strictEqual(log.head, 400)
    assert.strictEqual(journal.position, 200)
  })

  it("bounds a turn and the queue; what exceeds the queue is refused at once", async () => {
    const many = caller()
    for (let i = 0; i < QUEUE_COMMANDS_MAX + 1; i++) submit(many, deposit(1, `q-${i}`))
    assert.deepStrictEqual(codes(many.told), [status.RESOURCE_EXHAUSTED])
    await turn()
    assert.strictEqual(many.told.length, TURN_COMMANDS_MAX + 1)
    while (writer.waiting > 0) await turn()
    assert.strictEqual(state.balance, QUEUE_COMMANDS_MAX)
    assert.strictEqual(commits, QUEUE_COMMANDS_MAX / TURN_COMMANDS_MAX)
    assert.strictEqual(
      journal.checkpoints().length,
      Math.floor(QUEUE_COMMANDS_MAX / (TURN_COMMANDS_MAX * Math.ceil(CHECKPOINT_ENTRIES / TURN_COMMANDS_MAX)))
    )
  })

  it("never acknowledges what a full disk did not take, and stops", async () => {
    const before = caller()
    submit(before, deposit(1, "kept"))
    await turn()
    assert.deepStrictEqual(codes(before.told), [0])
    const { page_count } = journal["db"].prepare("PRAGMA page_count").get() as { page_count: number }
    journal["db"].exec(`PRAGMA max_page_count = ${page_count}`)

    const full = caller()
    for (let i = 0; i < 500; i++) submit(full, deposit(1, `lost-${i}`))
    await turn()
    assert.deepStrictEqual(new Set(codes(full.told)), new Set([status.UNAVAILABLE]))
    assert.strictEqual(full.told.length, 500)
    assert.strictEqual(failures.length, 1)
    assert.match(String(failures[0]), /full/)
    const late = caller()
    submit(late, deposit(1, "late"))
    assert.deepStrictEqual(codes(late.told), [status.UNAVAILABLE])

    journal.close()
    open()
    assert.strictEqual(state.balance, 1)
  })

  it("takes nothing while the disk is nearly full, and goes on when there is space again", async () => {
    const one = caller()
    submit(one, deposit(1))
    await turn()
    space = SPACE_BYTES_MIN - 1
    await sleep(SPACE_MS)
    for (let i = 0; i < 10; i++) submit(one, deposit(1, `full-${i}`))
    await turn()
    assert.deepStrictEqual(codes(one.told), [0, ...Array.from({ length: 10 }, () => status.UNAVAILABLE)])
    assert.strictEqual(journal.position, 1)
    assert.strictEqual(state.balance, 1)
    space = SPACE_BYTES_MIN
    await sleep(SPACE_MS)
    submit(one, deposit(1, "full-0"))
    await turn()
    assert.strictEqual(codes(one.told).at(-1), 0)
    assert.strictEqual(state.balance, 2)
    assert.deepStrictEqual(spaces, [true, false])
    assert.strictEqual(failures.length, 0)
  })

  it("goes on without a checkpoint that could not be written", async () => {
    journal.checkpoint = () => {
      throw Object.assign(new Error("database or disk is full"), { errcode: 13 })
    }
    const many = caller()
    for (let i = 0; i < CHECKPOINT_ENTRIES + TURN_COMMANDS_MAX; i++) submit(many, deposit(1, `k-${i}`))
    while (writer.waiting > 0) await turn()
    writer.stop()
    assert.deepStrictEqual(new Set(codes(many.told)), new Set([0]))
    assert.strictEqual(failures.length, 0)
  })

  it("leaves a turn unanswered whose commit failed in a way that may have reached the disk", async () => {
    journal.commit = () => {
      throw Object.assign(new Error("disk I/O error"), { errcode: 1034 })
    }
    const unsure = caller()
    submit(unsure, deposit(1))
    await turn()
    assert.deepStrictEqual(unsure.told, [])
    assert.strictEqual(failures.length, 1)
  })

  it("answers a repetition for a day, then takes the id as new", async () => {
    const first = caller()
    submit(first, deposit(1, "daily"))
    await turn()
    now += 24 * 60 * 60 * 1000 - 1
    submit(first, deposit(1, "daily"))
    await turn()
    assert.strictEqual(state.balance, 1)
    now += 1
    submit(first, deposit(1, "daily"))
    await turn()
    assert.strictEqual(state.balance, 2)
    const duplicates = first.told.map(({ outcome }) => outcome?.$case === "ack" && outcome.value.duplicate)
    assert.deepStrictEqual(duplicates, [false, true, false])
  })

  it("never lets engine time fall when the clock does, over a restart too", async () => {
    const times: Array<number> = []
    const one = caller()
    for (const at of [5000, 4000, 6000]) {
      now = at
      submit(one, deposit(1))
      await turn()
    }
    for (const { outcome } of one.told) if (outcome?.$case === "ack") times.push(outcome.value.accepted_at_ms)
    assert.deepStrictEqual(times, [5000, 5000, 6000])
    writer.stop()
    journal.close()
    open()
    now = 1000
    const after = caller()
    submit(after, deposit(1))
    await turn()
    const [result] = after.told
    assert.strictEqual(result?.outcome?.$case === "ack" && result.outcome.value.accepted_at_ms, 6000)
  })
})

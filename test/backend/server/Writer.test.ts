import { status } from "@grpc/grpc-js"
import { afterEach, assert, beforeEach, describe, it, onTestFinished, vi } from "vitest"
import { type Machine, SLICE_MS } from "../../../src/backend/engine/Machine.ts"
import { EventLog } from "../../../src/backend/journal/EventLog.ts"
import { Journal, type OpenOptions, type Turn } from "../../../src/backend/journal/Journal.ts"
import { replay } from "../../../src/backend/journal/Replay.ts"
import { journalPath } from "../../../src/backend/server/Running.ts"
import {
  CHECKPOINT_ENTRIES,
  COMMAND_ID_CHARS_MAX,
  QUEUE_COMMANDS_MAX,
  SPACE_BYTES_MIN,
  SPACE_MS,
  SETTLE_MS,
  SHARED_TURN_COMMANDS_MAX,
  TICK_MS,
  TURN_COMMANDS_MAX,
  Writer
} from "../../../src/backend/server/Writer.ts"
import {
  Command,
  CommandResult,
  type CommandStatus,
  DeleteSubAccount,
  PlaceOrder,
  TransferFunds
} from "../../../src/proto/gateway/v1/sequencer.ts"
import { temporary } from "../../doubles/FakeBackend.ts"
import { deposit, type FakeConfig, fakeMachine, type FakeState, withdraw } from "../../doubles/FakeMachine.ts"

const machine = { ...fakeMachine, tickMatters: () => false }

let place: ReturnType<typeof temporary>
let journal: Journal
let writer: Writer<FakeState, FakeConfig>
let state: FakeState
let log: EventLog
let now: number
let monotonic: number
let commits: number
let space: number
let onEvents: () => void = () => {}
const spaces: Array<boolean> = []
const failures: Array<unknown> = []

const open = (of: Machine<FakeState, FakeConfig> = machine, options: OpenOptions = {}) => {
  const origin = () => ({
    epoch: "e",
    rules: machine.rules,
    config: `{"start":0}`,
    ids_key: "0001020304050607",
    created_at_ms: 0
  })
  journal = Journal.open(journalPath(place.directory), origin, options)
  const commit = journal.commit.bind(journal)
  journal.commit = () => {
    commits++
    return commit()
  }
  const replayed = replay(machine, journal)
  state = replayed.state
  log = new EventLog("e")
  log.skipTo(machine.headSeq(state))
  writer = new Writer({
    machine: of,
    state,
    journal,
    log,
    at_ms: replayed.at_ms,
    now: () => now,
    monotonic: () => monotonic,
    onEvents: () => onEvents(),
    onSettled: () => {},
    space: () => space,
    onSpace: (full) => spaces.push(full),
    onFailure: (cause) => failures.push(cause)
  })
}

beforeEach(() => {
  place = temporary()
  now = 1000
  monotonic = 0
  commits = 0
  space = Number.POSITIVE_INFINITY
  onEvents = () => {}
  spaces.length = 0
  failures.length = 0
  open()
})
afterEach(() => {
  writer.stop()
  journal.close()
  place.remove()
})

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A caller that collects its results. */
const caller = () => {
  const decoded: Array<CommandResult> = []
  const self = {
    results: [] as Array<Uint8Array>,
    flush: () => {
      for (const bytes of self.results.splice(0)) decoded.push(CommandResult.decode(bytes))
    },
    decoded
  }
  return self
}
const submit = (to: ReturnType<typeof caller>, command: Command, not_after_ms?: number) =>
  writer.submit(to, command, Command.encode(command).finish(), not_after_ms)
const codes = (decoded: ReadonlyArray<CommandResult>) =>
  decoded.map(({ outcome }) => (outcome?.$case === "status" ? outcome.value.code : 0))

describe("Writer", () => {
  it("commits the commands of a turn, of all callers, in one transaction before it responds", async () => {
    const [one, two] = [caller(), caller()]
    for (let i = 0; i < 100; i++) {
      submit(one, deposit(1))
      submit(two, deposit(1))
    }
    assert.strictEqual(one.decoded.length, 0)
    assert.strictEqual(log.head, 0)
    await turn()
    assert.strictEqual(commits, 1)
    assert.deepStrictEqual([one.decoded.length, two.decoded.length], [100, 100])
    assert.strictEqual(log.head, 400)
    assert.strictEqual(journal.position, 200)
  })

  it("applies the next part of a long queue while a database makes the first part durable", async () => {
    await writer.stop()
    journal.close()
    open(machine, { copy: true })
    const [appended, acknowledge]: [Array<Turn>, Array<() => void>] = [[], []]
    journal.share((turn) => {
      appended.push(turn)
      return new Promise((resolve) => acknowledge.push(resolve))
    })
    const one = caller()
    submit(one, deposit(1))
    await turn()
    acknowledge[0]!()
    await turn()
    const count = 2 * SHARED_TURN_COMMANDS_MAX
    for (let i = 0; i < count; i++) submit(one, deposit(1, `d-${i}`))
    await turn()
    await turn()
    assert.deepStrictEqual([state.balance, appended.length, one.decoded.length], [1 + count, 2, 1])
    acknowledge[1]!()
    await turn()
    assert.deepStrictEqual([appended.length, one.decoded.length], [3, 1 + count / 2])
    acknowledge[2]!()
    await turn()
    assert.strictEqual(one.decoded.length, 1 + count)
    assert.deepStrictEqual(
      appended.map(({ first, position }) => [first, position]),
      [
        [1, 1],
        [2, 1 + count / 2],
        [2 + count / 2, 1 + count]
      ]
    )
  })

  describe("while a database makes a turn durable", () => {
    let appends: Array<{ readonly acknowledge: () => void; readonly reject: (cause: Error) => void }>
    beforeEach(async () => {
      await writer.stop()
      journal.close()
      open(machine, { copy: true })
      appends = []
      journal.share(
        () => new Promise((resolve, reject) => appends.push({ acknowledge: resolve, reject: (cause) => reject(cause) }))
      )
      // settles, so that the next turn is prepared at once
      const one = caller()
      submit(one, deposit(1, "settled"))
      await turn()
      appends[0]!.acknowledge()
      await turn()
      assert.lengthOf(one.decoded, 1)
    })
    /** One command in flight, one prepared, and one in the queue. */
    const three = async () => {
      const callers = [caller(), caller(), caller()] as const
      for (const [i, one] of callers.entries()) {
        submit(one, deposit(1, `c-${i}`))
        await turn()
      }
      assert.deepStrictEqual([state.balance, appends.length, writer.queued], [3, 2, 1])
      return callers
    }

    it("answers reads when everything that they have seen is durable", async () => {
      const read: Array<string> = []
      writer.whenDurable(() => read.push("idle"))
      const one = caller()
      submit(one, deposit(1))
      await turn()
      writer.whenDurable(() => read.push("in flight"))
      submit(one, deposit(1))
      await turn()
      writer.whenDurable(() => read.push("prepared"))
      assert.deepStrictEqual([state.balance, read], [3, ["idle"]])
      appends[1]!.acknowledge()
      await turn()
      assert.deepStrictEqual(read, ["idle", "in flight"])
      appends[2]!.acknowledge()
      await turn()
      assert.deepStrictEqual(read, ["idle", "in flight", "prepared"])
    })

    it("answers a turn of refusals after that turn, and sends nothing of it to the database", async () => {
      const [first, second] = [caller(), caller()]
      submit(first, deposit(1))
      await turn()
      submit(second, withdraw(9, "too much"))
      await turn()
      assert.deepStrictEqual([first.decoded, second.decoded, writer.queued], [[], [], 0])
      appends[1]!.acknowledge()
      await turn()
      assert.deepStrictEqual(
        [first, second].map(({ decoded }) => codes(decoded)),
        [[0], [status.FAILED_PRECONDITION]]
      )
      assert.lengthOf(appends, 2)
    })

    it("leaves that turn unanswered when the database fails, and refuses what is certainly not stored", async () => {
      const callers = await three()
      appends[1]!.reject(new Error("lost"))
      await turn()
      assert.deepStrictEqual(
        callers.map(({ decoded }) => codes(decoded)),
        [[], [status.UNAVAILABLE], [status.UNAVAILABLE]]
      )
      assert.deepStrictEqual([failures.length, writer.refusing], [1, ["JournalStopped"]])
      assert.strictEqual(log.head, 2)
    })

    it("publishes nothing of it once another backend may lead", async () => {
      const callers = await three()
      for (const why of ["the lead is lost", "again"]) writer.abandon(new Error(why))
      appends[1]!.acknowledge()
      await turn()
      assert.deepStrictEqual(
        callers.map(({ decoded }) => codes(decoded)),
        [[], [status.UNAVAILABLE], [status.UNAVAILABLE]]
      )
      assert.deepStrictEqual([log.head, failures.map(String), writer.queued], [2, ["Error: the lead is lost"], 0])
    })

    it("refuses further commands of a stop, which ends when all turns are durable and the copy is committed", async () => {
      const callers = await three()
      let isStopped = false
      const stopped = writer.stop()!.then(() => (isStopped = true))
      const late = caller()
      submit(late, deposit(1, "late"))
      assert.deepStrictEqual(
        late.decoded.map(({ outcome }) => outcome?.$case === "status" && outcome.value.reason),
        ["BackendStopping"]
      )
      for (let i = 1; i <= 3; i++) {
        assert.isFalse(isStopped)
        appends[i]!.acknowledge()
        await turn()
        await turn()
      }
      await stopped
      assert.deepStrictEqual(
        callers.map(({ decoded }) => codes(decoded)),
        [[0], [0], [0]]
      )
      const copy = Journal.read(journalPath(place.directory))
      assert.strictEqual(copy.position, 4)
      assert.deepStrictEqual(
        copy.checkpoints().map(({ position }) => position),
        [4]
      )
      copy.close()
    })

    it("a stop ends too when the database fails meanwhile", async () => {
      await three()
      const stopped = writer.stop()
      appends[1]!.reject(new Error("lost"))
      await stopped
      assert.strictEqual(failures.length, 1)
    })

    it("prepares no turn once the copy was not committed for a while", async () => {
      const one = caller()
      const balance = async () => {
        submit(one, deposit(1))
        await turn()
        return state.balance
      }
      const acknowledge = async () => {
        appends.at(-1)!.acknowledge()
        await turn()
      }
      assert.strictEqual(await balance(), 2)
      monotonic += SETTLE_MS
      assert.strictEqual(await balance(), 3)
      await acknowledge()
      monotonic += 1
      assert.strictEqual(await balance(), 3)
      await acknowledge()
      await turn()
      assert.strictEqual(state.balance, 4)
      assert.strictEqual(await balance(), 5)
    })
  })

  it("publishes the events of a turn, which are durable, before it sends the results", async () => {
    const one = caller()
    const seen: Array<string> = []
    onEvents = () => seen.push(`commits ${commits}, head ${log.head}, results ${one.decoded.length}`)
    submit(one, deposit(1))
    await turn()
    assert.deepStrictEqual(seen, ["commits 1, head 2, results 0"])
    assert.strictEqual(one.decoded.length, 1)
  })

  it("limits a turn and the queue; commands beyond the queue are refused immediately", async () => {
    const many = caller()
    for (let i = 0; i < QUEUE_COMMANDS_MAX + 1; i++) submit(many, deposit(1, `q-${i}`))
    assert.deepStrictEqual(codes(many.decoded), [status.RESOURCE_EXHAUSTED])
    await turn()
    assert.strictEqual(many.decoded.length, TURN_COMMANDS_MAX + 1)
    while (writer.queued > 0) await turn()
    assert.strictEqual(state.balance, QUEUE_COMMANDS_MAX)
    assert.strictEqual(commits, QUEUE_COMMANDS_MAX / TURN_COMMANDS_MAX)
    assert.strictEqual(
      journal.checkpoints().length,
      Math.floor(QUEUE_COMMANDS_MAX / (TURN_COMMANDS_MAX * Math.ceil(CHECKPOINT_ENTRIES / TURN_COMMANDS_MAX)))
    )
  })

  it("never acknowledges a command that a full disk did not store, and stops", async () => {
    const before = caller()
    submit(before, deposit(1, "kept"))
    await turn()
    assert.deepStrictEqual(codes(before.decoded), [0])
    const { page_count } = journal["db"].prepare("PRAGMA page_count").get() as { page_count: number }
    journal["db"].exec(`PRAGMA max_page_count = ${page_count}`)

    const full = caller()
    for (let i = 0; i < 500; i++) submit(full, deposit(1, `lost-${i}`))
    await turn()
    assert.deepStrictEqual(new Set(codes(full.decoded)), new Set([status.UNAVAILABLE]))
    assert.strictEqual(full.decoded.length, 500)
    assert.strictEqual(failures.length, 1)
    assert.match(String(failures[0]), /full/)
    const late = caller()
    submit(late, deposit(1, "late"))
    assert.deepStrictEqual(codes(late.decoded), [status.UNAVAILABLE])

    journal.close()
    open()
    assert.strictEqual(state.balance, 1)
  })

  it("refuses commands while the disk is nearly full, and resumes when space is free", async () => {
    const one = caller()
    submit(one, deposit(1))
    await turn()
    space = SPACE_BYTES_MIN - 1
    monotonic += SPACE_MS
    for (let i = 0; i < 10; i++) submit(one, deposit(1, `full-${i}`))
    await turn()
    assert.deepStrictEqual(codes(one.decoded), [0, ...Array.from({ length: 10 }, () => status.UNAVAILABLE)])
    assert.strictEqual(journal.position, 1)
    assert.strictEqual(state.balance, 1)
    space = SPACE_BYTES_MIN
    monotonic += SPACE_MS
    submit(one, deposit(1, "full-0"))
    await turn()
    assert.strictEqual(codes(one.decoded).at(-1), 0)
    assert.strictEqual(state.balance, 2)
    assert.deepStrictEqual(spaces, [true, false])
    assert.strictEqual(failures.length, 0)
  })

  it("ends with a checkpoint where entries follow the newest one", async () => {
    const one = caller()
    const checkpoints = () => journal.checkpoints().map(({ position }) => position)
    const again = () => {
      writer.stop()
      const found = checkpoints()
      journal.close()
      open()
      return found
    }
    assert.deepStrictEqual(again(), [])
    for (const position of [1, 2]) {
      submit(one, deposit(1))
      await turn()
      assert.strictEqual(again().at(-1), position)
    }
    assert.deepStrictEqual(
      [again(), again()],
      [
        [1, 2],
        [1, 2]
      ]
    )
    // its hash is not computed again either
    let repeated = 0
    journal.checkpoint = () => void repeated++
    writer.stop()
    assert.strictEqual(repeated, 0)
  })

  it("spends at most a twentieth of the time of its turns on checkpoints", async () => {
    writer.stop()
    journal.close()
    monotonic = 1_000_000
    const hash = (of: FakeState) => {
      monotonic += 10
      return machine.hash(of)
    }
    open({ ...machine, hash })
    const commit = journal.commit
    journal.commit = () => {
      monotonic++
      return commit()
    }
    const many = caller()
    let sent = 0
    const turns = async (count: number, commands: number) => {
      for (let i = 0; i < count; i++) {
        for (let j = 0; j < commands; j++) submit(many, deposit(1, `t-${sent++}`))
        await turn()
      }
      // a checkpoint is a turn of its own
      await turn()
      return journal.checkpoints().length
    }
    const full = Math.ceil(CHECKPOINT_ENTRIES / TURN_COMMANDS_MAX)
    assert.strictEqual(await turns(full, TURN_COMMANDS_MAX), 1)
    // enough entries, and too little time
    assert.strictEqual(await turns(full, TURN_COMMANDS_MAX), 1)
    assert.strictEqual(await turns(199 - full, 1), 1)
    assert.strictEqual(await turns(1, 1), 2)
  })

  it("continues after a failed checkpoint", async () => {
    journal.checkpoint = () => {
      throw Object.assign(new Error("database or disk is full"), { errcode: 13 })
    }
    const many = caller()
    for (let i = 0; i < CHECKPOINT_ENTRIES + TURN_COMMANDS_MAX; i++) submit(many, deposit(1, `k-${i}`))
    while (writer.queued > 0) await turn()
    writer.stop()
    assert.deepStrictEqual(new Set(codes(many.decoded)), new Set([0]))
    assert.strictEqual(failures.length, 0)
  })

  it("leaves a turn unanswered when its failed commit may be on disk", async () => {
    journal.commit = () => {
      throw Object.assign(new Error("disk I/O error"), { errcode: 1034 })
    }
    const unsure = caller()
    submit(unsure, deposit(1))
    await turn()
    assert.deepStrictEqual(unsure.decoded, [])
    assert.strictEqual(failures.length, 1)
  })

  it("answers a repeated command_id for a day, then treats the id as new", async () => {
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
    const duplicates = first.decoded.map(({ outcome }) => outcome?.$case === "ack" && outcome.value.duplicate)
    assert.deepStrictEqual(duplicates, [false, true, false])
  })

  it("Amendment 18: refuses a command whose turn begins after its time limit, also while the clock is set back", async () => {
    const one = caller()
    submit(one, deposit(1, "known"), 100)
    await turn()
    submit(one, deposit(1, "in time"), 100)
    submit(one, deposit(1, "late"), 99)
    submit(one, deposit(1, "known"), 99)
    submit(one, deposit(1, "unlimited"))
    monotonic = 100
    now = 0
    await turn()
    assert.deepStrictEqual(codes(one.decoded), [0, 0, status.UNAVAILABLE, 0, 0])
    const { outcome } = one.decoded[2]!
    assert.deepInclude(outcome!.value, { command_id: "late", reason: "Overloaded" })
    // the repetition of a sequenced command has no effect, so it gets its acknowledgement
    const known = one.decoded[3]!.outcome
    assert.isTrue(known?.$case === "ack" && known.value.duplicate)
    assert.strictEqual(state.balance, 3)
    assert.strictEqual(journal.position, 3)
  })

  it("reveals nothing of a command to another user who sends its command_id", async () => {
    const [owner, stranger] = [caller(), caller()]
    submit(owner, deposit(1, "shared"))
    await turn()
    // the same content, and other content
    submit(stranger, { ...deposit(1, "shared"), user_id: "stranger" })
    submit(stranger, { ...deposit(5, "shared"), user_id: "another" })
    await turn()
    const acks = stranger.decoded.map(({ outcome }) => outcome?.$case === "ack" && outcome.value.duplicate)
    assert.deepStrictEqual(acks, [false, false])
    assert.strictEqual(state.balance, 7)
  })

  it("never decreases engine time when the clock is set back, across a restart too", async () => {
    const times: Array<number> = []
    const one = caller()
    for (const at of [5000, 4000, 6000]) {
      now = at
      submit(one, deposit(1))
      await turn()
    }
    for (const { outcome } of one.decoded) if (outcome?.$case === "ack") times.push(outcome.value.accepted_at_ms)
    assert.deepStrictEqual(times, [5000, 5000, 6000])
    writer.stop()
    journal.close()
    open()
    now = 1000
    const after = caller()
    submit(after, deposit(1))
    await turn()
    const [result] = after.decoded
    assert.strictEqual(result?.outcome?.$case === "ack" && result.outcome.value.accepted_at_ms, 6000)
  })

  it("journals a Tick when one is due and matters, before the commands of its turn", async () => {
    writer.stop()
    journal.close()
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    onTestFinished(() => void vi.useRealTimers())
    let matters = true
    open({ ...machine, tickMatters: () => matters })
    const one = caller()
    const entries = async () => {
      submit(one, deposit(1))
      await turn()
      return [...journal.entries()].map(({ command }) => (command === undefined ? "tick" : "command"))
    }
    assert.deepStrictEqual(await entries(), ["command"])
    vi.advanceTimersByTime(TICK_MS)
    assert.deepStrictEqual(await entries(), ["command", "tick", "command"])
    assert.deepStrictEqual((await entries()).slice(3), ["command"])
    matters = false
    vi.advanceTimersByTime(TICK_MS)
    assert.deepStrictEqual((await entries()).slice(4), ["command"])
    writer.stop()
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it(`takes command_ids of 1 to ${COMMAND_ID_CHARS_MAX} characters`, async () => {
    const one = caller()
    for (const length of [0, 1, COMMAND_ID_CHARS_MAX, COMMAND_ID_CHARS_MAX + 1])
      submit(one, deposit(1, "x".repeat(length)))
    await turn()
    assert.deepStrictEqual(codes(one.decoded), [status.INVALID_ARGUMENT, 0, 0, status.INVALID_ARGUMENT])
  })

  it("stores a refusal with events and an acknowledgement without, and repeats them without their effects", async () => {
    writer.stop()
    journal.close()
    open({
      ...machine,
      apply: (of, input) => {
        const { events, result } = machine.apply(of, input)
        if (input.command?.command_id !== "refused") return { events: [], result }
        const value: CommandStatus = { command_id: "refused", code: 9, message: "", reason: "R", metadata: {} }
        return { events, result: { outcome: { $case: "status", value } } }
      }
    })
    const one = caller()
    for (const id of ["refused", "silent", "refused", "silent"]) {
      submit(one, deposit(1, id))
      await turn()
    }
    assert.strictEqual(state.balance, 2)
    assert.strictEqual(journal.position, 2)
    const [first, ack, again, repeated] = one.decoded
    assert.deepStrictEqual(again, first)
    assert.deepStrictEqual(codes(one.decoded), [9, 0, 9, 0])
    assert.deepStrictEqual(
      [ack, repeated].map((result) => result?.outcome?.$case === "ack" && result.outcome.value.duplicate),
      [false, true]
    )
  })

  it("names what was used before with other content; the times of an attempt are not content", async () => {
    writer.stop()
    journal.close()
    const orders = [{ order_id: "o-1", order_link_id: "l-1" }]
    open({
      ...machine,
      apply: (of, input) => {
        const step = machine.apply(of, input)
        const outcome = step.result?.outcome
        return outcome?.$case === "ack"
          ? { ...step, result: { outcome: { ...outcome, value: { ...outcome.value, orders } } } }
          : step
      }
    })
    const one = caller()
    const of = (command_id: string, command: Command["command"], more: Partial<Command> = {}): Command => ({
      ...deposit(1, command_id),
      command,
      ...more
    })
    const none = new Uint8Array()
    const place = (qty: string) => ({ $case: "place_order", value: { ...PlaceOrder.decode(none), qty } }) as const
    const transfer = (amount: string) =>
      ({ $case: "transfer_funds", value: { ...TransferFunds.decode(none), amount } }) as const
    for (const command of [
      of("p", place("1")),
      of("p", place("2")),
      of("p", place("1"), { issued_at_ms: 99, not_after_ms: 5 }),
      of("t", transfer("1")),
      of("t", transfer("2")),
      deposit(1, "d"),
      deposit(2, "d"),
      of("c", { $case: "delete_sub_account", value: DeleteSubAccount.decode(none) }),
      deposit(2, "c")
    ])
      submit(one, Command.decode(Command.encode(command).finish()))
    await turn()
    const seen = one.decoded.map(({ outcome }) =>
      outcome?.$case === "status"
        ? [outcome.value.code, outcome.value.reason, outcome.value.metadata]
        : outcome?.value.duplicate
    )
    const taken = status.ALREADY_EXISTS
    assert.deepStrictEqual(seen, [
      false,
      [taken, "DuplicateOrderLinkId", { order_id: "o-1" }],
      true,
      false,
      [taken, "DuplicateRequestId", { field: "transfer_id" }],
      false,
      [taken, "DuplicateRequestId", { field: "deposit_id" }],
      false,
      [taken, "DuplicateRequestId", { field: "deposit_id" }]
    ])
  })

  it("refuses all that is queued while the disk is full, and reports why", async () => {
    space = 0
    const many = caller()
    for (let i = 0; i <= TURN_COMMANDS_MAX; i++) submit(many, deposit(1, `f-${i}`))
    assert.deepStrictEqual(writer.refusing, [])
    await turn()
    await turn()
    assert.deepStrictEqual(new Set(codes(many.decoded)), new Set([status.UNAVAILABLE]))
    assert.deepStrictEqual(
      [many.decoded.length, writer.queued, writer.refusing],
      [TURN_COMMANDS_MAX + 1, 0, ["DiskFull"]]
    )
  })

  it("writes a checkpoint for entries that a killed process left, and none for refused commands", async () => {
    const one = caller()
    submit(one, deposit(1))
    await turn()
    writer.abandon(new Error("killed"))
    journal.close()
    open()
    writer.stop()
    assert.deepStrictEqual(
      journal.checkpoints().map(({ position }) => position),
      [1]
    )
    journal.close()
    open()
    for (let i = 0; i < CHECKPOINT_ENTRIES; i++) submit(one, withdraw(9, `w-${i}`))
    while (writer.queued > 0) await turn()
    await turn()
    writer.stop()
    assert.lengthOf(journal.checkpoints(), 1)
  })

  describe("with inputs that take several slices", () => {
    const SLICES = 3
    /** Fails in its last slice where a command says so. */
    const slow: Machine<FakeState, FakeConfig> = {
      ...machine,
      *start(state, input) {
        for (let i = 0; i < SLICES; i++) {
          monotonic += SLICE_MS
          yield
        }
        return machine.apply(state, input)
      }
    }
    const bug = { ...deposit(1), command: { $case: "deposit_funds", value: { asset: "BUG" } } } as Command

    beforeEach(() => {
      writer.stop()
      journal.close()
      open(slow)
    })

    it("returns to the event loop, keeps the order, and commits the turn as a whole", async () => {
      const one = caller()
      submit(one, deposit(1, "first"))
      submit(one, deposit(1, "second"))
      let reads = 0
      const seen: Array<number> = []
      for (let i = 1; i < 2 * SLICES; i++) {
        await turn()
        submit(one, deposit(1, `later-${i}`))
        writer.whenConsistent(() => {
          reads++
          seen.push(state.balance)
        })
        assert.deepStrictEqual([commits, one.decoded.length, log.head, reads], [0, 0, 0, 0])
      }
      await turn()
      await turn()
      // the commands that arrived meanwhile are in the next turn
      assert.deepStrictEqual([commits, one.decoded.length, log.head], [1, 2, 4])
      assert.deepStrictEqual(
        seen,
        Array.from({ length: 2 * SLICES - 1 }, () => 2)
      )
      while (writer.queued > 0) await turn()
      writer.stop()
      assert.strictEqual(state.balance, 2 + 2 * SLICES - 1)
    })

    it("ends the turn when it is stopped", async () => {
      const one = caller()
      submit(one, deposit(1))
      await turn()
      writer.stop()
      assert.deepStrictEqual(codes(one.decoded), [0])
      assert.strictEqual(commits, 1)
    })

    it("refuses the turn when a later slice fails, and lets waiting reads go on", async () => {
      const one = caller()
      submit(one, deposit(1))
      submit(one, bug)
      let hasRead = false
      await turn()
      writer.whenConsistent(() => (hasRead = true))
      for (let i = 0; i < 2 * SLICES; i++) await turn()
      assert.deepStrictEqual(codes(one.decoded), [status.UNAVAILABLE, status.UNAVAILABLE])
      assert.isTrue(hasRead)
      assert.isTrue(writer.failed)
      assert.strictEqual(journal.position, 0)
      writer.whenConsistent(() => (hasRead = false))
      assert.isFalse(hasRead)
    })
  })
})

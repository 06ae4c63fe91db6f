/** The journal's file after damage: truncated, altered, restored, or taken over by other rules. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import * as Engine from "../../../src/backend/engine/Engine.ts"
import { type Config, machine } from "../../../src/backend/engine/EngineMachine.ts"
import { drain, type Machine } from "../../../src/backend/engine/Machine.ts"
import { backup } from "../../../src/backend/journal/Backup.ts"
import * as ClosingSnapshots from "../../../src/backend/journal/ClosingSnapshots.ts"
import { defaultLimits, EventLog } from "../../../src/backend/journal/EventLog.ts"
import { Journal } from "../../../src/backend/journal/Journal.ts"
import { JournalError } from "../../../src/backend/journal/JournalError.ts"
import { NewestEvents } from "../../../src/backend/journal/NewestEvents.ts"
import { Follower } from "../../../src/backend/journal/Follower.ts"
import {
  endOf,
  recover,
  type Recovered,
  snapshot,
  type SnapshotPoint,
  takeSnapshot
} from "../../../src/backend/journal/Recovery.ts"
import { firstOfNewest, replay } from "../../../src/backend/journal/Replay.ts"
import { replayIndexOf } from "../../../src/backend/journal/ReplayIndex.ts"
import * as Snapshots from "../../../src/backend/journal/Snapshots.ts"
import { inThisThread } from "../../../src/backend/server/SnapshotSchedule.ts"
import { Command, CommandResult } from "../../../src/proto/gateway/v1/sequencer.ts"
import { Transfer } from "../../../src/proto/gateway/v1/types.ts"
import { START, Users } from "../../../verification/harness/SimulatedUsers.ts"
import { config } from "../Bench.ts"
import { random } from "../../../verification/harness/Random.ts"

let directory: string
let path: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "recover-"))
  path = join(directory, "backend", "journal.sqlite")
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const { epoch: _, ...plainConfig } = config()
const warnings: Array<string> = []
const options = { limits: defaultLimits, warn: (message: string) => void warnings.push(message) }
const open = () =>
  Journal.open(path, () => ({
    epoch: "e",
    rules: machine.rules,
    config: JSON.stringify(plainConfig),
    ids_key: "0001020304050607",
    created_at_ms: START
  }))

/** A writer without a network: each command is one transaction. */
class Playing {
  readonly journal = open()
  readonly recovered: Recovered<Engine.State>
  readonly users: Users
  readonly machine: Machine<Engine.State, Config>
  constructor(users = new Users(random(1)), rules = machine) {
    this.users = users
    this.machine = rules
    warnings.length = 0
    this.recovered = recover(rules, this.journal, options)
    this.recovered.openIndex()
  }
  get state(): Engine.State {
    return this.recovered.state
  }
  play(entries: number, onResult: (command: Command, result: CommandResult) => void = () => {}): void {
    const { journal } = this
    const end = journal.position + entries
    while (journal.position < end) {
      journal.begin()
      const { command, result } = this.one()
      journal.commit()
      onResult(command, result)
    }
  }
  /** Many commands in one transaction. */
  turn(commands: number): void {
    this.journal.begin()
    for (let i = 0; i < commands; i++) this.one()
    this.journal.commit()
  }
  private one(): { readonly command: Command; readonly result: CommandResult } {
    const { journal, recovered, users } = this
    const command = users.one()
    const step = machine.apply(recovered.state, { at_ms: users.now, command })
    const result = step.result!
    users.received(result)
    if (result.outcome?.$case === "ack" || step.events.length > 0) {
      journal.append(
        users.now,
        command.command_id,
        Command.encode(command).finish(),
        CommandResult.encode(result).finish()
      )
      drain(recovered.log.encoder.addAll(step.events, journal.checksum))
      recovered.log.add(recovered.log.encoder.take())
    }
    return { command, result }
  }
  checkpoint(): void {
    this.journal.checkpoint(machine.headSeq(this.state), machine.hash(this.state))
  }
  point(): SnapshotPoint {
    return endOf(this.journal, this.recovered.log)
  }
  snapshot(): void {
    snapshot(this.machine, this.journal, this.point(), { state: this.state, at_ms: this.users.now })
  }
}

const refused = (f: () => unknown): string => {
  try {
    f()
  } catch (error) {
    assert.instanceOf(error, JournalError)
    return error.message
  }
  return assert.fail("nothing was thrown")
}

const transferOf = ({ outcome }: CommandResult) => {
  const result = outcome?.$case === "ack" ? outcome.value.result : undefined
  return result?.$case === "transfer" ? Transfer.encode(result.value).finish() : assert.fail("no transfer was answered")
}

/** Opens, recovers, closes. */
const recovering = (with_: Machine<Engine.State, Config> = machine, upgrade = false) => {
  warnings.length = 0
  const journal = open()
  try {
    return recover(with_, journal, { ...options, upgrade })
  } finally {
    journal.close()
  }
}

const snapshotFile = (position: number) => join(Snapshots.directoryOf(path), Snapshots.nameOf(position))

const flip = (file: string, at: number): void => {
  const bytes = readFileSync(file)
  bytes[at]! ^= 0x40
  writeFileSync(file, bytes)
}

describe("a start", () => {
  it.each([
    ["a snapshot", true],
    ["the first entry", false]
  ])("from %s builds the same requestable events as before, and only counts older ones", (_, snapshots) => {
    const max = 60
    const playing = new Playing()
    playing.play(100)
    if (snapshots) playing.snapshot()
    playing.play(300)
    // one turn of many entries; a replay cannot start inside it
    playing.turn(120)
    playing.journal.close()
    const journal = open()
    try {
      const newest = new NewestEvents(max)
      const { state } = replay(machine, journal, { onEvents: (events, checksum) => newest.add(events, checksum) })
      const limits = { ...defaultLimits, events_kept_max: max }
      const expected = new EventLog("e", limits)
      newest.into(expected, undefined)
      const { log, snapshot: begin, state: recovered } = recover(machine, journal, { ...options, limits })
      assert.strictEqual(begin, snapshots ? 100 : 0)
      assert.isAbove(firstOfNewest(journal, begin, max), begin + 100)
      assert.deepStrictEqual(log.tail(max), expected.tail(max))
      assert.strictEqual(machine.hash(recovered), machine.hash(state))
      // fewer entries than that: none is skipped
      assert.strictEqual(firstOfNewest(journal, begin, 1_000_000), begin + 1)
    } finally {
      journal.close()
    }
  })
})

describe("the newest events of a replay", () => {
  it("take no more memory the longer the replay is", () => {
    const newest = new NewestEvents(10)
    const event = { seq: 1, ts_ms: 0, step: 1, command_id: "c", event: undefined }
    const sizes = Array.from({ length: 2_000 }, () => {
      newest.add([event], 0)
      return JSON.stringify(newest).length
    })
    assert.isAtMost(Math.max(...sizes.slice(1_000)), Math.max(...sizes.slice(0, 100)))
  })
})

describe("a start from a snapshot", () => {
  it("reaches the state of a full replay, and serves the same events", () => {
    const first = new Playing()
    first.play(300)
    first.checkpoint()
    first.snapshot()
    first.play(100)
    first.checkpoint()
    const hash = machine.hash(first.state)
    first.journal.close()

    const second = new Playing(first.users)
    assert.strictEqual(second.recovered.snapshot, 300)
    assert.strictEqual(second.recovered.entries, 100)
    assert.strictEqual(machine.hash(second.state), hash)
    assert.strictEqual(machine.hash(replay(machine, second.journal, { results: true }).state), hash)
    const [before, after] = [first.recovered.log, second.recovered.log]
    assert.strictEqual(after.head, before.head)
    assert.strictEqual(after.oldest, 1)
    for (const seq of [1, 2, 500, after.head]) {
      const frames = [before, after].map((log) => {
        const from = log.seek(seq)!
        const parts = from.frame === undefined ? [] : [from.frame]
        for (let cursor = from.cursor; cursor < log.end;) {
          const next = log.read(cursor)
          parts.push(next.frame)
          cursor = next.cursor
        }
        return parts
      })
      // blocks may be split differently, but the events are the same
      const eventsOf = (parts: ReadonlyArray<Buffer>) =>
        Buffer.concat(parts).toString("latin1").replaceAll("\x0a\x01e", "")
      assert.strictEqual(eventsOf(frames[1]!), eventsOf(frames[0]!))
    }
    assert.deepStrictEqual(warnings, [])
    second.play(50)
    second.journal.close()
  })

  it("answers a repeated deposit of an entry before the snapshot with the first result", () => {
    const playing = new Playing()
    const deposits: Array<readonly [Command, CommandResult]> = []
    playing.play(200, (command, result) => {
      if (command.command?.$case === "deposit_funds" && result.outcome?.$case === "ack")
        deposits.push([command, result])
    })
    playing.snapshot()
    playing.journal.close()
    assert.isAbove(deposits.length, 6)
    const { users } = playing
    const again = new Playing(users)
    assert.strictEqual(again.recovered.entries, 0)
    for (const [command, result] of deposits) {
      const repeated = { ...command, command_id: `again-${command.command_id}` }
      const { events, result: answer } = machine.apply(again.state, { at_ms: users.now, command: repeated })
      assert.deepStrictEqual(events, [])
      assert.deepStrictEqual(transferOf(answer!), transferOf(result))
    }
    again.journal.close()
  })

  it("recognizes command ids and links of entries before the snapshot", () => {
    const first = new Playing()
    const ids: Array<string> = []
    const links: Array<readonly [account: string, link: string, id: string]> = []
    first.play(200, (command, result) => {
      if (result.outcome?.$case !== "ack") return
      ids.push(command.command_id)
      const [order] = result.outcome.value.orders
      if (command.command?.$case === "place_order" && order?.order_link_id !== undefined)
        links.push([command.sub_account_address, order.order_link_id, order.order_id])
    })
    first.snapshot()
    first.journal.close()
    assert.isAbove(links.length, 20)
    const second = new Playing(first.users)
    assert.strictEqual(second.recovered.entries, 0)
    for (const id of ids) assert.isDefined(second.journal.find(id), id)
    for (const [address, link, id] of links) {
      const { index } = second.state.accountOf.get(address)!
      assert.strictEqual(second.state.links.find(index, link), id)
    }
    second.journal.close()
  })

  it("keeps the last two snapshots, and takes one while the writer runs", () => {
    const playing = new Playing()
    for (const position of [100, 200, 300]) {
      playing.play(100)
      assert.strictEqual(takeSnapshot(machine, path)?.position, position)
    }
    assert.isUndefined(takeSnapshot(machine, path))
    assert.deepStrictEqual(Snapshots.list(Snapshots.directoryOf(path)), [300, 200])
    const hash = machine.hash(playing.state)
    playing.journal.close()
    assert.strictEqual(machine.hash(recovering().state), hash)
  })

  it("of a journal whose writer runs, restores all its newest events", () => {
    const playing = new Playing()
    playing.play(100)
    const { position } = takeSnapshot(machine, path)!
    const { events } = Snapshots.read(Snapshots.directoryOf(path), position)
    assert.deepStrictEqual(events.blocks, playing.point().events.blocks)
    playing.journal.close()
  })

  it("that is taken in the writer's thread, is written after the current turn and then reported", async () => {
    const playing = new Playing()
    playing.play(50)
    const snapshotter = inThisThread(machine)(path)
    const written = () => Snapshots.list(Snapshots.directoryOf(path))
    const taking = snapshotter.take(playing.point())
    assert.deepStrictEqual(written(), [])
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepStrictEqual(written(), [50])
    assert.strictEqual((await taking).head.state_hash, machine.hash(playing.state))
    snapshotter.stop()
    playing.journal.close()
  })

  it("follows the journal with one engine, whose snapshots equal those of a start", () => {
    const playing = new Playing()
    const follower = new Follower(machine, path)
    for (const commands of [200, 300, 2000]) {
      playing.turn(commands)
      const { position } = playing.journal
      const point = playing.point()
      // the journal goes on while the follower reads it
      playing.turn(10)
      assert.strictEqual(follower.take(point).head.position, position)
      const followed = Snapshots.read(Snapshots.directoryOf(path), position)
      rmSync(snapshotFile(position))
      const started = new Follower(machine, path)
      started.take(point)
      started.close()
      assert.deepStrictEqual(Snapshots.read(Snapshots.directoryOf(path), position), followed)
    }
    const { position } = playing.journal
    const hash = machine.hash(playing.state)
    follower.take(playing.point())
    follower.close()
    playing.journal.close()
    const recovered = recovering()
    assert.strictEqual(recovered.snapshot, position)
    assert.strictEqual(machine.hash(recovered.state), hash)
    assert.strictEqual(recovered.log.head, playing.recovered.log.head)
  })

  it("does not follow a journal that does not replay, and follows it again when it does", () => {
    const playing = new Playing()
    const broken = { now: false }
    const apply: typeof machine.apply = (state, input) => {
      if (broken.now) throw new Error("an assertion of the engine")
      return machine.apply(state, input)
    }
    const follower = new Follower({ ...machine, apply }, path)
    playing.play(50)
    assert.strictEqual(follower.take(playing.point()).head.position, 50)
    broken.now = true
    playing.play(50)
    assert.match(
      refused(() => follower.take(playing.point())),
      /at position 51.*an assertion of the engine/u
    )
    assert.deepStrictEqual(Snapshots.list(Snapshots.directoryOf(path)), [50])
    broken.now = false
    assert.strictEqual(follower.take(playing.point()).head.state_hash, machine.hash(playing.state))
    follower.close()
    playing.journal.close()
  })

  it("skips a damaged snapshot with a warning, whichever byte is damaged", () => {
    const playing = new Playing()
    playing.play(100)
    playing.snapshot()
    playing.play(100)
    playing.snapshot()
    playing.journal.close()
    const hash = machine.hash(playing.state)
    const file = snapshotFile(200)
    const whole = readFileSync(file)
    const next = random(3)
    for (let i = 0; i < 20; i++) {
      flip(file, Math.floor(next() * whole.length))
      const recovered = recovering()
      assert.strictEqual(recovered.snapshot, 100)
      assert.strictEqual(machine.hash(recovered.state), hash)
      assert.match(warnings.join(), /position 200 .* is not used: its checksum/)
      writeFileSync(file, whole)
    }
    truncateSync(file, Math.floor(whole.length / 2))
    truncateSync(snapshotFile(100), 0)
    const recovered = recovering()
    assert.strictEqual(recovered.snapshot, 0)
    assert.strictEqual(machine.hash(recovered.state), hash)
    assert.strictEqual(warnings.length, 2)
  })

  it("skips a snapshot of another journal, and refuses a journal that ends before its snapshot", () => {
    const playing = new Playing()
    playing.play(50)
    playing.snapshot()
    playing.journal.close()
    const other = readFileSync(snapshotFile(50))
    rmSync(directory, { recursive: true })
    const next = new Playing(new Users(random(2)))
    next.play(60)
    next.journal.close()
    takeSnapshot(machine, path)
    writeFileSync(snapshotFile(50), other)
    rmSync(snapshotFile(60))
    assert.strictEqual(recovering().snapshot, 0)
    assert.match(warnings.join(), /another journal/)
    writeFileSync(snapshotFile(61), other)
    assert.match(refused(recovering), /ends at position 60, but there is a snapshot at 61: entries are lost/)
  })
})

describe("a torn tail", () => {
  it(
    "is refused, wherever the write-ahead log ends or changes; without a witness it is truncated to a whole transaction",
    { timeout: 60_000 },
    () => {
      const playing = new Playing()
      const hashes = [machine.hash(playing.state)]
      for (let i = 0; i < 60; i++) {
        playing.play(1)
        hashes.push(machine.hash(playing.state))
      }
      // the write-ahead log after a power loss: the writer never closed it
      const copy = join(directory, "copy")
      cpSync(join(directory, "backend"), copy, { recursive: true })
      playing.journal.close()
      const wal = readFileSync(join(copy, "journal.sqlite-wal"))
      assert.isAbove(wal.length, 100_000)
      const next = random(4)
      const ends = new Set<number>()
      for (let i = 0; i < 60; i++) {
        const target = join(directory, `torn-${i}`, "backend")
        cpSync(copy, target, { recursive: true })
        rmSync(join(target, "journal.sqlite-shm"), { force: true })
        path = join(target, "journal.sqlite")
        const file = `${path}-wal`
        const at = Math.floor(next() * wal.length)
        if (i % 3 === 0) flip(file, at)
        else truncateSync(file, at)
        if (i % 3 === 2) appendFileSync(file, Buffer.alloc(5000, i))
        assert.match(refused(recovering), /entries are lost|holds no journal|another history|is damaged|Restore/)
        // as after a power loss that lost the unsynced witness
        rmSync(`${path}.head`)
        let recovered: Recovered<Engine.State>
        try {
          recovered = recovering()
        } catch (error) {
          // truncated before the tables existed: an empty file, which becomes a new journal
          assert.instanceOf(error, JournalError)
          continue
        }
        assert.strictEqual(machine.hash(recovered.state), hashes[recovered.entries], `cut at ${at}`)
        ends.add(recovered.entries)
      }
      assert.isAbove(ends.size, 15)
    }
  )
})

describe("a damaged middle", () => {
  const played = (): string => {
    const playing = new Playing()
    playing.play(400)
    const hash = machine.hash(playing.state)
    playing.journal.close()
    return hash
  }

  it("is refused at its position: an entry altered, a time moved, a result changed, an entry lost, two swapped", () => {
    const hash = played()
    const whole = readFileSync(path)
    const damages = [
      [
        "UPDATE blocks SET entries = CAST(substr(entries, 1, 40) || x'ff' || substr(entries, 42) AS BLOB) WHERE position = 200",
        200
      ],
      // the lowest byte of a time in ms is 0
      ["UPDATE blocks SET entries = CAST(x'01' || substr(entries, 2) AS BLOB) WHERE position = 200", 200],
      ["UPDATE blocks SET entries = substr(entries, 1, length(entries) - 1) WHERE position = 200", 200],
      ["DELETE FROM blocks WHERE position = 199", 198],
      [
        `UPDATE blocks SET position = -1, first = -1 WHERE position = 200; UPDATE blocks SET position = 200, first = 200 WHERE position = 201;
        UPDATE blocks SET position = 201, first = 201 WHERE position = -1`,
        200
      ],
      // two entries that look like one
      ["DELETE FROM blocks WHERE position = 199; UPDATE blocks SET first = 199 WHERE position = 200", 199]
    ] as const
    for (const [sql, position] of damages) {
      writeFileSync(path, whole)
      const db = new DatabaseSync(path)
      db.exec(sql)
      db.close()
      const message = refused(recovering)
      assert.match(message, new RegExp(`is damaged: .*position ${position}`, "u"), sql)
      assert.match(message, /A damaged journal/)
    }
    writeFileSync(path, whole)
    assert.strictEqual(machine.hash(recovering().state), hash)
  })

  it("is refused within a turn of many entries too, for any byte", () => {
    const journal = open()
    const users = new Users(random(6))
    journal.begin()
    for (let i = 0; i < 50; i++) {
      const command = users.one()
      journal.append(users.now, command.command_id, Command.encode(command).finish(), new Uint8Array([i]))
    }
    journal.commit()
    journal.close()
    const read = (): number => {
      const journal = Journal.read(path)
      try {
        return [...journal.entries()].length
      } finally {
        journal.close()
      }
    }
    assert.strictEqual(read(), 50)
    const db = new DatabaseSync(path)
    const { entries } = db.prepare("SELECT entries FROM blocks").get() as { entries: Uint8Array }
    const update = db.prepare("UPDATE blocks SET entries = ?")
    const next = random(7)
    for (let i = 0; i < 100; i++) {
      const bytes = new Uint8Array(entries)
      bytes[Math.floor(next() * bytes.length)]! ^= 1 << Math.floor(next() * 8)
      update.run(bytes)
      assert.match(refused(read), /from position 1 to position 50 does not match/)
    }
    db.close()
  })

  it("never serves a different state, for any changed bytes of the file", () => {
    const hash = played()
    const whole = readFileSync(path)
    const next = random(5)
    let refusals = 0
    for (let i = 0; i < 60; i++) {
      const bytes = Buffer.from(whole)
      const at = 100 + Math.floor(next() * (whole.length - 500))
      for (let k = 0; k < 400; k++) bytes[at + k] = Math.floor(next() * 256)
      writeFileSync(path, bytes)
      try {
        assert.strictEqual(machine.hash(recovering().state), hash)
      } catch (error) {
        if (!(error instanceof JournalError)) throw error
        refusals++
      }
    }
    assert.isAbove(refusals, 20)
  })

  it("of the index of links is refused too", () => {
    const playing = new Playing()
    playing.play(200)
    playing.journal.close()
    const db = new DatabaseSync(path)
    db.exec("DELETE FROM links WHERE link = (SELECT min(link) FROM links WHERE account >= 0)")
    db.close()
    assert.match(refused(recovering), /the index of order_link_ids does not match its checksum/)
  })

  it("of the index of transfers is refused too, as is another configuration", () => {
    const playing = new Playing()
    playing.play(200)
    playing.journal.close()
    const whole = readFileSync(path)
    const first = "(SELECT seq FROM transfers ORDER BY seq LIMIT 1)"
    for (const [sql, message] of [
      [`DELETE FROM transfers WHERE seq = ${first}`, /its index gives nothing for transfer/],
      [
        `UPDATE transfers SET seq = seq - 1 WHERE seq = ${first}`,
        /transfer .* in its index does not match its checksum/
      ],
      [`UPDATE transfers SET transfer = replace(transfer, 'USDC', 'USDT') WHERE seq = ${first}`, /does not match/],
      [
        "UPDATE meta SET value = replace(value, '60000', '60001') WHERE key = 'config'",
        /the checksum of its origin does not match/
      ]
    ] as const) {
      writeFileSync(path, whole)
      const db = new DatabaseSync(path)
      db.exec(sql)
      db.close()
      assert.match(refused(recovering), message, sql)
    }
  })
})

describe("other rules", () => {
  const newer: Machine<Engine.State, Config> = { ...machine, rules: "next", upgrades: [machine.rules] }

  it("are refused with advice, unless they can read a snapshot of the last entry", () => {
    const playing = new Playing()
    playing.play(100)
    playing.snapshot()
    playing.play(1)
    playing.checkpoint()
    playing.journal.close()
    assert.match(
      refused(() => recovering({ ...machine, rules: "next" }, true)),
      /run the program that wrote it/
    )
    assert.match(
      refused(() => recovering(newer, false)),
      /run the program that wrote it/
    )
    assert.match(
      refused(() => recovering(newer, true)),
      /leaves a snapshot of its last entry/
    )

    takeSnapshot(machine, path)
    const hash = machine.hash(playing.state)
    const taken = recovering(newer, true)
    assert.strictEqual(taken.snapshot, 101)
    assert.strictEqual(machine.hash(taken.state), hash)
    // from now on it belongs to the newer program
    assert.strictEqual(machine.hash(recovering(newer, true).state), hash)
    assert.match(refused(recovering), /under rules "next"/)
    rmSync(Snapshots.directoryOf(path), { recursive: true })
    assert.strictEqual(machine.hash(recovering(newer, true).state), hash, "from the closing snapshot")
    rmSync(ClosingSnapshots.directoryOf(path), { recursive: true })
    assert.match(
      refused(() => recovering(newer, true)),
      /no snapshot/
    )
  })

  /** A journal of 101 entries of the older rules, and 50 of the newer ones. */
  const upgraded = () => {
    const playing = new Playing()
    playing.play(101)
    playing.checkpoint()
    playing.snapshot()
    playing.journal.close()
    recovering(newer, true)
    const later = new Playing(playing.users, newer)
    later.play(50)
    later.checkpoint()
    later.journal.close()
    return newer.hash(later.state)
  }

  it("prove the entries before them by a closing snapshot, and replay the others from it", async () => {
    const hash = upgraded()
    const stretches: ReadonlyArray<ClosingSnapshots.Stretch> = [
      { rules: machine.rules, first: 1, last: 101, proof: "closing snapshot" },
      { rules: "next", first: 102, last: 151, proof: "replay" }
    ]
    const verified = () => {
      const journal = Journal.read(path)
      try {
        const proven = ClosingSnapshots.prove(journal)
        const links = replayIndexOf(journal)
        const start = ClosingSnapshots.startOf(newer, journal, links)!
        const { entries, state } = replay(newer, journal, { from: { start, links }, results: true })
        return { proven, entries, hash: newer.hash(state) }
      } finally {
        journal.close()
      }
    }
    assert.deepStrictEqual(verified(), { proven: stretches, entries: 50, hash })
    // a backup has the proof
    const target = join(directory, "copy")
    await Effect.runPromise(backup(directory, target))
    const original = path
    path = join(target, "backend", "journal.sqlite")
    assert.deepStrictEqual(verified(), { proven: stretches, entries: 50, hash })

    path = original
    const closing = join(ClosingSnapshots.directoryOf(path), Snapshots.nameOf(101))
    const bytes = readFileSync(closing)
    bytes[bytes.length >> 1]! ^= 1
    writeFileSync(closing, bytes)
    assert.match(refused(verified), /closing snapshot at position 101 .* its checksum does not match/)
    rmSync(closing)
    assert.match(refused(verified), /closing snapshot at position 101/)
  })

  it("leave no altered entry of the older ones unnoticed", () => {
    upgraded()
    const db = new DatabaseSync(path)
    const [row] = db.prepare("SELECT position, entries FROM blocks ORDER BY position LIMIT 1").all()
    const entries = row!["entries"] as Uint8Array
    entries[entries.length >> 1]! ^= 1
    db.prepare("UPDATE blocks SET entries = ? WHERE position = ?").run(entries, row!["position"] as number)
    db.close()
    const journal = Journal.read(path)
    try {
      assert.match(
        refused(() => ClosingSnapshots.prove(journal)),
        /is damaged/
      )
    } finally {
      journal.close()
    }
  })
})

describe("a backup of a directory in use", () => {
  it("is consistent, and starts", async () => {
    writeFileSync(join(directory, "jwt-key.json"), "{}")
    const gateway = new DatabaseSync(join(directory, "accounts.sqlite"))
    gateway.exec("PRAGMA journal_mode = WAL; CREATE TABLE users (id TEXT); INSERT INTO users VALUES ('u')")
    const playing = new Playing()
    playing.play(200)
    playing.snapshot()
    playing.play(20)
    const hash = machine.hash(playing.state)
    const target = join(directory, "copies", "one")
    const copying = Effect.runPromise(backup(directory, target))
    playing.play(30)
    const made = await copying
    assert.deepStrictEqual(made.files, [
      "accounts.sqlite",
      "jwt-key.json",
      join("backend", "snapshots", Snapshots.nameOf(200)),
      join("backend", "journal.sqlite")
    ])
    assert.isFalse(existsSync(`${target}.partial`))
    const again = await Effect.runPromise(Effect.flip(backup(directory, target)))
    assert.match(again.message, /already exists/)
    playing.journal.close()
    gateway.close()

    path = join(target, "backend", "journal.sqlite")
    const restored = recovering()
    assert.strictEqual(restored.snapshot, 200)
    assert.isAtLeast(restored.entries, 20)
    if (restored.entries === 20) assert.strictEqual(machine.hash(restored.state), hash)
    const users = new DatabaseSync(join(target, "accounts.sqlite"))
    assert.deepStrictEqual({ ...users.prepare("SELECT id FROM users").get() }, { id: "u" })
    users.close()
  })

  it("is verified and restored where nothing can be written beside it, as on a read-only file system", async () => {
    const playing = new Playing()
    playing.play(100)
    playing.journal.close()
    const gateway = new DatabaseSync(join(directory, "accounts.sqlite"))
    gateway.exec("PRAGMA journal_mode = WAL; CREATE TABLE users (id TEXT)")
    gateway.close()
    const target = join(directory, "copies", "one")
    await Effect.runPromise(backup(directory, target))
    // SQLite cannot make its files, also where the tests run as root
    for (const name of ["accounts.sqlite", join("backend", "journal.sqlite")]) mkdirSync(join(target, `${name}-shm`))
    const journal = Journal.read(join(target, "backend", "journal.sqlite"))
    assert.strictEqual(journal.position, 100)
    journal.close()
    const { files } = await Effect.runPromise(backup(target, join(directory, "copies", "two")))
    assert.includeMembers([...files], ["accounts.sqlite", join("backend", "journal.sqlite")])
  })
})

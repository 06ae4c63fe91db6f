import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { Block, BLOCK_BYTES } from "../../../src/backend/journal/Block.ts"
import { PORTION } from "../../../src/backend/journal/CommandIds.ts"
import { Journal, type OpenOptions } from "../../../src/backend/journal/Journal.ts"
import { JournalError } from "../../../src/backend/journal/JournalError.ts"
import { LAYOUT } from "../../../src/backend/journal/JournalSchema.ts"
import { replay } from "../../../src/backend/journal/Replay.ts"
import { Command, CommandResult } from "../../../src/proto/gateway/v1/sequencer.ts"
import { deposit, fakeMachine, type FakeState } from "../../doubles/FakeMachine.ts"

let directory: string
let path: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "journal-"))
  path = join(directory, "journal.db")
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const open = (config = { start: 5 }, options: OpenOptions = {}) =>
  Journal.open(
    path,
    () => ({
      epoch: "e-1",
      rules: fakeMachine.rules,
      config: JSON.stringify(config),
      ids_key: "0001020304050607",
      created_at_ms: 1000
    }),
    options
  )

/** Applies commands to a fresh state like the writer, one transaction each; returns the state. */
const fill = (journal: Journal, amounts: ReadonlyArray<number>): FakeState => {
  const state = fakeMachine.initial(JSON.parse(journal.origin.config), journal.origin.epoch)
  amounts.forEach((amount, i) => {
    const command = deposit(amount, `c-${i}`)
    const step = fakeMachine.apply(state, { at_ms: 1000 + i, command })
    journal.begin()
    journal.append(
      1000 + i,
      command.command_id,
      Command.encode(command).finish(),
      CommandResult.encode(step.result!).finish()
    )
    journal.commit()
  })
  return state
}

const LINKS = ["1 b", "2 a", "2 b", "2 c", "10 b"].map((key) => [key, `order ${key}`])
/** Adds the links in another order than that of their keys, after a look-up as an order does it, and without one. */
const addLinks = (journal: Journal): void => {
  journal.begin()
  for (const [i, key] of ["2 b", "10 b", "1 b", "2 c", "2 a"].entries()) {
    const [account, link] = key.split(" ") as [string, string]
    if (i % 2 === 0) assert.isUndefined(journal.findLink(Number(account), link))
    journal.addLink(Number(account), link, `order ${key}`)
  }
  journal.commit()
}
const foundLinks = (journal: Journal) =>
  LINKS.map(([key]) => {
    const [account, link] = key!.split(" ") as [string, string]
    return [key, journal.findLink(Number(account), link)]
  })

const refused = (f: () => unknown): string => {
  try {
    f()
  } catch (error) {
    assert.instanceOf(error, JournalError)
    return error.message
  }
  return assert.fail("nothing was thrown")
}

describe("Journal", () => {
  it("is readable only by its owner, also where it was open to others", () => {
    open().close()
    const files = [path, `${path}.lock`]
    for (const file of files) chmodSync(file, 0o644)
    open().close()
    assert.deepStrictEqual(
      files.map((file) => statSync(file).mode & 0o777),
      [0o600, 0o600]
    )
  })

  it("replays to the writer's state after it is closed and reopened", () => {
    const first = open()
    const state = fill(first, [1, 2, 3])
    first.checkpoint(fakeMachine.headSeq(state), fakeMachine.hash(state))
    first.close()

    const second = open({ start: 99 })
    assert.strictEqual(second.origin.config, `{"start":5}`)
    const replayed = replay(fakeMachine, second, { results: true })
    assert.strictEqual(replayed.entries, 3)
    assert.strictEqual(replayed.at_ms, 1002)
    assert.strictEqual(fakeMachine.hash(replayed.state), fakeMachine.hash(state))
    assert.strictEqual(replayed.state.balance, 11)
    second.close()
  })

  it("finds the last entry of a command_id, also inside the open transaction, and drops rolled-back entries", () => {
    const journal = open()
    const command = Command.encode(deposit(1, "a")).finish()
    journal.begin()
    journal.append(1, "a", command, new Uint8Array([2]))
    const found = journal.find("a")
    journal.append(2, "a", command, new Uint8Array([3]))
    assert.deepStrictEqual(journal.find("a")?.result, new Uint8Array([3]))
    assert.deepStrictEqual(found?.result, new Uint8Array([2]))
    journal.rollback()
    assert.isUndefined(journal.find("a"))
    journal.begin()
    journal.append(3, "a", command, new Uint8Array([4]))
    journal.commit()
    assert.deepInclude(journal.find("a"), { position: 1, at_ms: 3, result: new Uint8Array([4]) })
    journal.close()
  })

  it("stores turns of any size: many entries, one entry above the block size, none", () => {
    const journal = open()
    const sizes = [10, 3 * BLOCK_BYTES, 0, 200, 40_000, 40_000, ...Array.from({ length: 2000 }, () => 250)]
    const commands = sizes.map((size, i) => Command.encode(deposit(i, `c-${i}`.padEnd(size, "."))).finish())
    journal.begin()
    commands.forEach((command, i) => {
      journal.append(i, `c-${i}`.padEnd(sizes[i]!, "."), command, i % 3 === 0 ? null : new Uint8Array([i % 256]))
    })
    journal.append(sizes.length, null, null, null)
    journal.commit()
    journal.begin()
    journal.commit()
    const check = (journal: Journal) => {
      const entries = [...journal.entries()]
      assert.strictEqual(entries.length, sizes.length + 1)
      assert.deepInclude(entries.at(-1), { at_ms: sizes.length, command: undefined, result: undefined })
      assert.strictEqual(entries.at(-1)!.chain, journal.chainAt(journal.position))
      for (const [i, command] of commands.entries()) {
        const result = i % 3 === 0 ? undefined : new Uint8Array([i % 256])
        const expected = { position: i + 1, at_ms: i, command, result }
        assert.deepInclude(entries[i], expected)
        if (i % 50 < 6) assert.deepStrictEqual(journal.find(`c-${i}`.padEnd(sizes[i]!, ".")), expected)
      }
    }
    check(journal)
    journal.close()
    const again = open()
    check(again)
    again.close()
    // entries share rows, none of which is larger than a block, unless one entry alone is
    const db = new DatabaseSync(path, { readOnly: true })
    const rows = db.prepare("SELECT position - first AS others, length(entries) AS bytes FROM blocks").all()
    db.close()
    assert.isBelow(rows.length, 20)
    for (const { bytes, others } of rows) if (others !== 0) assert.isAtMost(Number(bytes), BLOCK_BYTES)
  })

  it("finds ids across portions, restarts and a damaged index, and drops them after 24 h", { timeout: 60_000 }, () => {
    const journal = open()
    const last = 2 * PORTION + 1000
    const day = 24 * 60 * 60 * 1000
    // the first portion ends a day before the last entry
    const timeOf = (position: number) => (position < PORTION ? position : day + position)
    for (let position = 1; position <= last;) {
      journal.begin()
      for (let i = 0; i < 4096 && position <= last; i++, position++) {
        const command = Command.encode(deposit(1, `id-${position}`)).finish()
        journal.append(timeOf(position), `id-${position}`, command, null)
      }
      journal.commit()
    }
    const check = (journal: Journal) => {
      for (const position of [PORTION, PORTION + 1, 2 * PORTION - 1, 2 * PORTION, last])
        assert.strictEqual(journal.find(`id-${position}`)?.position, position)
      for (const position of [1, 2, PORTION - 1]) assert.isUndefined(journal.find(`id-${position}`))
      for (const id of ["id-0", `id-${last + 1}`, "another"]) assert.isUndefined(journal.find(id))
    }
    check(journal)
    journal.close()
    for (const damage of ["SELECT 1", "UPDATE command_ids SET ids = zeroblob(524288)", "DELETE FROM command_ids"]) {
      const db = new DatabaseSync(path)
      db.exec(damage)
      db.close()
      const again = open()
      check(again)
      again.close()
    }
  })

  it("refuses a journal whose state hash differs at a checkpoint", () => {
    const journal = open()
    const state = fill(journal, [1, 2])
    journal.checkpoint(fakeMachine.headSeq(state), "another hash")
    assert.match(
      refused(() => replay(fakeMachine, journal)),
      /does not replay: at position 2/
    )
    journal.close()
  })

  it("refuses a row that names another number of entries than it holds", () => {
    const journal = open()
    fill(journal, [1, 2, 3])
    journal.close()
    const db = new DatabaseSync(path)
    db.exec("UPDATE blocks SET position = 4 WHERE position = 3")
    db.close()
    // without its witness, which names the third entry
    rmSync(`${path}.head`)
    const longer = Journal.read(path)
    assert.match(
      refused(() => replay(fakeMachine, longer)),
      /the checksum from position 3 to position 4 does not match/
    )
    longer.close()
  })

  it("refuses a journal that lost entries before or at its end", () => {
    const journal = open()
    const state = fill(journal, [1, 2, 3])
    journal.checkpoint(fakeMachine.headSeq(state), fakeMachine.hash(state))
    journal.close()
    const db = new DatabaseSync(path)
    db.exec("DELETE FROM blocks WHERE position = 3")
    for (const open of [() => Journal.read(path), () => Journal.existing(path)])
      assert.match(refused(open), /ends at position 2, but position 3 was committed: 1 entries are lost/)
    // without its witness, the checkpoint shows the loss
    rmSync(`${path}.head`)
    const short = Journal.read(path)
    assert.match(
      refused(() => replay(fakeMachine, short)),
      /entries are lost/
    )
    short.close()
    db.exec("DELETE FROM blocks WHERE position = 1")
    db.close()
    const gap = Journal.read(path)
    assert.match(
      refused(() => replay(fakeMachine, gap)),
      /entries are missing after position 0/
    )
    gap.close()
  })

  it("refuses a journal with another entry at the position that was committed last", () => {
    const journal = open()
    fill(journal, [1, 2, 3])
    const { checksum } = journal
    journal.close()
    const db = new DatabaseSync(path)
    db.prepare("UPDATE blocks SET chain = ? WHERE position = 3").run((checksum + 1) % 2 ** 32)
    db.close()
    assert.match(
      refused(() => Journal.existing(path)),
      /another history at position 3/
    )
  })

  it("is not made anew where its witness is there", () => {
    const journal = open()
    fill(journal, [1, 2])
    journal.close()
    rmSync(path)
    for (const start of [() => open(), () => Journal.read(path)])
      assert.match(
        refused(start),
        /there is no journal at .*, but entries were committed\. Nothing was started\. Restore/
      )
    assert.isFalse(existsSync(path))
  })

  it("survives a witness that is torn, damaged or missing", () => {
    const journal = open()
    fill(journal, [1, 2, 3])
    journal.close()
    const whole = readFileSync(`${path}.head`)
    for (const bytes of [whole.fill(7, 0, 20), whole.subarray(0, 4_100), Buffer.alloc(0)]) {
      writeFileSync(`${path}.head`, bytes)
      const reopened = Journal.existing(path)
      assert.strictEqual(reopened.position, 3)
      reopened.close()
    }
  })

  it("has a hint for a file that is damaged or no database, and none for one that is missing", () => {
    const journal = open()
    fill(journal, [1, 2, 3])
    journal.close()
    const whole = readFileSync(path)
    // the header of the file, and the table of its tables
    for (const at of [3, 103]) {
      const bytes = Buffer.from(whole)
      bytes[at]! ^= 0x80
      writeFileSync(path, bytes)
      assert.match(
        refused(() => Journal.existing(path)),
        /Restore the last backup/
      )
    }
    rmSync(path)
    assert.notMatch(
      refused(() => Journal.existing(path)),
      /Restore the last backup/
    )
  })

  it("refuses the loss of entries after a fork, and has none to reach of the former fork", () => {
    const journal = open()
    fill(journal, [1, 2])
    journal.demand(99)
    assert.strictEqual(journal.seenSeq, 99)
    journal.beginFork("fork-2", 4, 5)
    assert.strictEqual(journal.seenSeq, 0)
    assert.deepStrictEqual(Journal.witnessed(path), { position: 2, checksum: journal.checksum, seen_seq: 0 })
    journal.close()
    const db = new DatabaseSync(path)
    db.exec("DELETE FROM blocks WHERE position = 2")
    db.close()
    assert.match(
      refused(() => Journal.existing(path)),
      /ends at position 1, but position 2 was committed/
    )
  })

  it("keeps the forks of its database in a copy, and no others", () => {
    const copy = open(undefined, { copy: true })
    const fork = (position: number) => ({ fork: `fork-${position}`, position, head_seq: 2 * position, made_at_ms: 1 })
    copy.adoptForks([fork(1), fork(2)])
    copy.adoptForks([fork(2), fork(3)])
    assert.deepStrictEqual(copy.forks().slice(1), [fork(2), fork(3)])
    copy.close()
  })

  it("forgets a turn of a copy that is rolled back, and goes on after the turns that were settled", () => {
    const copy = open(undefined, { copy: true })
    const turn = (amounts: ReadonlyArray<number>) => {
      copy.begin()
      for (const amount of amounts)
        copy.append(amount, `c-${amount}`, Command.encode(deposit(amount, `c-${amount}`)).finish(), null)
    }
    turn([1])
    assert.deepInclude(copy.seal(), { first: 1, position: 1 })
    copy.settle()
    const { checksum } = copy
    // one sealed turn, and one whose first block is full
    turn([2, 3])
    assert.deepInclude(copy.seal(), { first: 2, position: 3 })
    copy.begin()
    for (const id of ["large-1", "large-2"])
      copy.append(4, id, Command.encode(deposit(1, id.padEnd(BLOCK_BYTES, "."))).finish(), null)
    copy.rollback()
    assert.deepStrictEqual([copy.position, copy.checksum], [1, checksum])
    assert.isUndefined(copy.seal())
    turn([5])
    const again = copy.seal()
    assert.deepInclude(again, { first: 2, position: 2, checksum: copy.checksum })
    copy.settle()
    copy.close()
    const reopened = Journal.read(path)
    assert.deepStrictEqual(
      [...reopened.entries()].map(({ at_ms, position }) => [position, at_ms]),
      [
        [1, 1],
        [2, 5]
      ]
    )
    reopened.close()
  })

  it("finds the latest version of a transfer before an event, of the same user only", () => {
    const journal = open()
    journal.begin()
    for (const seq of [3, 7]) journal.addTransfer("alice", "t", seq, `version ${seq}`)
    journal.addTransfer("bob", "t", 5, "of bob")
    journal.commit()
    const found = (user_id: string, seq: number) => journal.findTransfer(user_id, "t", seq)
    assert.deepStrictEqual(
      [3, 4, 7, 8, 100].map((seq) => found("alice", seq)?.seq),
      [undefined, 3, 3, 7, 7]
    )
    assert.deepStrictEqual(found("bob", 100), { seq: 5, transfer: "of bob" })
    assert.isUndefined(found("carol", 100))
    journal.close()
  })

  it("keeps the first checkpoint of a position", () => {
    const journal = open()
    fill(journal, [1])
    journal.checkpoint(2, "first")
    journal.checkpoint(2, "second")
    assert.deepStrictEqual(journal.checkpoints(), [{ position: 1, head_seq: 2, state_hash: "first" }])
    journal.close()
  })

  it("can be opened again after an opening that failed", () => {
    open().close()
    const layout = (value: string) => {
      const db = new DatabaseSync(path)
      db.prepare("UPDATE meta SET value = ? WHERE key = 'layout'").run(value)
      db.close()
    }
    layout("0")
    assert.match(refused(open), /layout 0/)
    layout(LAYOUT)
    open().close()
  })

  it("keeps its forks, the epoch first, and refuses one that was altered", () => {
    const journal = open()
    fill(journal, [1, 2])
    assert.strictEqual(journal.fork, journal.origin.epoch)
    journal.beginFork("fork-2", 7, 5)
    assert.deepStrictEqual(journal.forks().slice(1), [{ fork: "fork-2", position: 2, head_seq: 7, made_at_ms: 5 }])
    journal.close()
    const reopened = Journal.existing(path)
    assert.strictEqual(reopened.fork, "fork-2")
    reopened.close()
    const db = new DatabaseSync(path)
    db.exec("UPDATE forks SET head_seq = 8")
    db.close()
    assert.match(
      refused(() => Journal.existing(path)),
      /checksum of its fork at position 2/
    )
  })

  it("opens a journal of layout 6, which has no forks and no checksums of order_link_ids", () => {
    const journal = open()
    fill(journal, [1])
    addLinks(journal)
    journal.close()
    const db = new DatabaseSync(path)
    db.exec("DROP TABLE forks; DELETE FROM links WHERE account < 0; ALTER TABLE links DROP COLUMN checksum")
    db.exec("UPDATE meta SET value = '6' WHERE key = 'layout'")
    db.close()
    const old = Journal.read(path)
    assert.strictEqual(old.fork, old.origin.epoch)
    assert.deepStrictEqual(foundLinks(old), LINKS)
    assert.isUndefined(old.findLink(2, "other"))
    old.close()
    const migrated = Journal.existing(path)
    migrated.beginFork("fork-2", 1, 1)
    assert.strictEqual(migrated.fork, "fork-2")
    assert.deepStrictEqual(foundLinks(migrated), LINKS)
    migrated.begin()
    migrated.addLink(2, "later", "order 2 later")
    migrated.commit()
    migrated.close()
    const again = Journal.existing(path)
    assert.strictEqual(again.findLink(2, "later"), "order 2 later")
    assert.isUndefined(again.findLink(2, "lates"))
    again.close()
  })

  it("refuses command_ids of damaged rows, in a start and in a look-up, instead of forgetting them", () => {
    const damages = [
      "UPDATE blocks SET first = 4 WHERE position = 3",
      "UPDATE blocks SET first = 2 WHERE position = 3",
      "UPDATE blocks SET first = 3 + 65536 WHERE position = 3",
      "UPDATE blocks SET first = first + 65536 WHERE position >= 3",
      "UPDATE blocks SET position = 70000 WHERE position = 3",
      "UPDATE blocks SET chain = chain + 1 WHERE position = 3",
      "UPDATE blocks SET entries = CAST(x'01' || substr(entries, 2) AS BLOB) WHERE position = 3",
      "DELETE FROM blocks WHERE position = 3"
    ]
    for (const [i, damage] of damages.entries()) {
      path = join(directory, `ids-${i}`, "journal.sqlite")
      const journal = open()
      fill(journal, [1, 2, 3, 4, 5])
      journal.close()
      const running = Journal.existing(path)
      assert.strictEqual(running.find("c-2")?.position, 3)
      const db = new DatabaseSync(path)
      db.exec(damage)
      db.close()
      assert.throws(() => running.find("c-2"), /is damaged: .* Restore the last backup/u, `look-up: ${damage}`)
      running.close()
      const started = Journal.existing(path)
      assert.throws(() => started.readIds(), /is damaged: .* Restore the last backup/u, `start: ${damage}`)
      started.close()
    }
  })

  it("refuses a look-up of an order_link_id at a damaged row, and at each row that is missing", () => {
    const damages = [
      "UPDATE links SET order_id = 'other' WHERE account = 2 AND link = 'b'",
      "UPDATE links SET link = 'bb' WHERE account = 2 AND link = 'b'",
      "UPDATE links SET link = 'A' WHERE account = 2 AND link = 'b'",
      "UPDATE links SET account = 9 WHERE account = 2 AND link = 'b'",
      "DELETE FROM links WHERE account = 2 AND link = 'b'",
      "DELETE FROM links"
    ]
    for (const [i, damage] of damages.entries()) {
      path = join(directory, `damaged-${i}`, "journal.sqlite")
      const journal = open()
      addLinks(journal)
      journal.close()
      const db = new DatabaseSync(path)
      db.exec(damage)
      db.close()
      const damaged = Journal.existing(path)
      assert.throws(() => damaged.findLink(2, "b"), /index of order_link_ids .* Restore the last backup/u, damage)
      damaged.close()
    }
  })

  it("keeps the index of order_link_ids through a rollback", () => {
    const journal = open()
    addLinks(journal)
    journal.begin()
    journal.addLink(2, "bb", "gone")
    journal.rollback()
    assert.deepStrictEqual(foundLinks(journal), LINKS)
    assert.isUndefined(journal.findLink(2, "bb"))
    journal.begin()
    journal.addLink(2, "bb", "kept")
    journal.commit()
    journal.close()
    const again = Journal.existing(path)
    assert.strictEqual(again.findLink(2, "bb"), "kept")
    assert.deepStrictEqual(foundLinks(again), LINKS)
    again.close()
  })

  it("refuses other rules, another layout, a second writer and a missing file", () => {
    const journal = open()
    assert.match(
      refused(() => replay({ ...fakeMachine, rules: "fake-2" }, journal)),
      /"fake-1".*"fake-2"/
    )
    assert.match(
      refused(() => open()),
      /another backend is using/
    )
    journal.close()
    const db = new DatabaseSync(path)
    db.exec("UPDATE meta SET value = '0' WHERE key = 'layout'")
    db.close()
    assert.match(
      refused(() => open()),
      /layout 0/
    )
    assert.match(
      refused(() => Journal.read(join(directory, "none.db"))),
      /there is no journal at .*none\.db$/
    )
  })

  it("shows a reader what its writer committed since, also after a read that stopped early", () => {
    const journal = open()
    fill(journal, [1, 2])
    const reader = Journal.read(path)
    for (const { position } of reader.entries()) {
      assert.strictEqual(position, 1)
      break
    }
    journal.begin()
    journal.append(3, null, null, null)
    journal.commit()
    assert.strictEqual(reader.position, 2)
    reader.refresh()
    assert.deepStrictEqual([reader.position, reader.checksum], [3, journal.checksum])
    assert.deepStrictEqual(
      [...reader.entries()].map(({ position }) => position),
      [1, 2, 3]
    )
    reader.close()
    journal.close()
  })

  it("can be read while its writer runs", () => {
    const journal = open()
    fill(journal, [7])
    const reader = Journal.read(path)
    assert.strictEqual(replay(fakeMachine, reader, { results: true }).state.balance, 12)
    reader.close()
    journal.close()
    const after = Journal.read(path)
    assert.strictEqual(after.position, 1)
    after.close()
  })

  it("detects a different result with the option `results`", () => {
    const journal = open()
    fill(journal, [1])
    const lying = {
      ...fakeMachine,
      apply: (state: FakeState) => ({ ...fakeMachine.apply(state, { at_ms: 1, command: deposit(1, "x") }) })
    }
    assert.match(
      refused(() => replay(lying, journal, { results: true })),
      /another result/
    )
    journal.close()
  })
})

describe("a block", () => {
  it("is full for an entry whose head, command and result exceed its size, unless the entry is the only one", () => {
    const block = new Block()
    assert.isFalse(block.isFullFor(new Uint8Array(BLOCK_BYTES), null))
    block.add(0, 0, null, null)
    // the entry in it is only a head
    const room = BLOCK_BYTES - 2 * block.bytes.length
    const [fits, exceeds] = [new Uint8Array(room), new Uint8Array(room + 1)]
    assert.deepStrictEqual([block.isFullFor(fits, null), block.isFullFor(exceeds, null)], [false, true])
    assert.deepStrictEqual([block.isFullFor(null, fits), block.isFullFor(null, exceeds)], [false, true])
    assert.isTrue(block.isFullFor(fits, new Uint8Array(1)))
  })
})

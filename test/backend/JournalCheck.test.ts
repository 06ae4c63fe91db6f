import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Journal } from "../../src/backend/journal/Journal.ts"
import { JournalError } from "../../src/backend/journal/JournalError.ts"
import * as Snapshots from "../../src/backend/journal/Snapshots.ts"
import { machine } from "../../src/backend/engine/EngineMachine.ts"
import { rebuild, verify } from "../../src/backend/JournalCheck.ts"
import { journalPath } from "../../src/backend/server/Running.ts"
import type { Settings } from "../../src/backend/Settings.ts"
import { Command, CommandResult } from "../../src/proto/gateway/v1/sequencer.ts"
import { temporary } from "../doubles/FakeBackend.ts"
import { config, trader } from "./Bench.ts"

/** The settings of a data directory whose journal has these entries, each with its result. */
const journalOf = (entries: ReadonlyArray<readonly [command: Uint8Array, result: Uint8Array | null]>) =>
  Effect.gen(function* () {
    const { directory } = yield* Effect.acquireRelease(Effect.sync(temporary), ({ remove }) => Effect.sync(remove))
    const journal = Journal.open(journalPath(directory), () => ({
      epoch: "e-1",
      rules: machine.rules,
      config: JSON.stringify(config()),
      ids_key: "0001020304050607",
      created_at_ms: 1000
    }))
    journal.begin()
    entries.forEach(([command, result], i) => journal.append(1000, `c-${i}`, command, result))
    journal.commit()
    journal.close()
    return { dataDir: directory } as Settings
  })

it.effect("names the journal whose entry is no command", () =>
  Effect.gen(function* () {
    // a field whose length is beyond the end
    const settings = yield* journalOf([[new Uint8Array([0x0a, 0x7f]), null]])
    const error = yield* Effect.flip(verify(settings))
    assert.instanceOf(error, JournalError)
    assert.match(error.message, /backend\/journal\.sqlite does not replay: /u)
    assert.instanceOf(error.cause, RangeError)
  })
)

/** An entry of a new sub-account. */
const created = (): readonly [command: Uint8Array, result: Uint8Array] => {
  const { address, root, user_id } = trader("alice")
  const command: Command = {
    command_id: "c-0",
    user_id,
    sub_account_address: address,
    issued_at_ms: 1000,
    command: { $case: "create_sub_account", value: { root_address: root, index: 0 } }
  }
  const { result } = machine.apply(machine.initial(config(), "e-1"), { at_ms: 1000, command })
  return [Command.encode(command).finish(), CommandResult.encode(result!).finish()]
}

it.effect("refuses an entry whose command has another result than the journal, also to rebuild the snapshots", () =>
  Effect.gen(function* () {
    const [command, result] = created()
    const right = yield* journalOf([[command, result]])
    assert.strictEqual((yield* verify(right)).entries, 1)
    assert.strictEqual((yield* rebuild(right)).entries, 1)

    const other = yield* journalOf([[command, CommandResult.encode({ outcome: undefined }).finish()]])
    for (const check of [verify, rebuild]) {
      const { message } = yield* Effect.flip(check(other))
      assert.match(message, /backend\/journal\.sqlite does not replay: position 1 has another result/u)
    }
  })
)

it.effect("refuses a snapshot of another journal, ignores one beyond the end, and replaces all by a new one", () =>
  Effect.gen(function* () {
    const settings = yield* journalOf([created()])
    const directory = Snapshots.directoryOf(journalPath(settings.dataDir))
    assert.deepStrictEqual((yield* rebuild(settings)).snapshots, [1])
    const own = Snapshots.read(directory, 1)
    for (const changed of [{ chain: own.head.chain + 1 }, { state_hash: "of another journal" }]) {
      Snapshots.write(directory, { ...own, head: { ...own.head, ...changed } })
      const { message } = yield* Effect.flip(verify(settings))
      assert.match(message, /the snapshot at position 1 in .* cannot be used: it belongs to another journal/u)
    }
    Snapshots.write(directory, own)
    Snapshots.write(directory, { ...own, head: { ...own.head, position: 2 } })
    assert.deepStrictEqual((yield* verify(settings)).snapshots, [1])
    assert.deepStrictEqual(Snapshots.list(directory), [2, 1])
    assert.deepStrictEqual((yield* rebuild(settings)).snapshots, [1])
    assert.deepStrictEqual(Snapshots.list(directory), [1])
  })
)

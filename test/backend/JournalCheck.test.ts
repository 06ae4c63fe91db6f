import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { Journal } from "../../src/backend/journal/Journal.ts"
import { JournalError } from "../../src/backend/journal/JournalError.ts"
import { machine } from "../../src/backend/engine/EngineMachine.ts"
import { verify } from "../../src/backend/JournalCheck.ts"
import { journalPath } from "../../src/backend/server/Running.ts"
import { temporary } from "../doubles/FakeBackend.ts"
import { config } from "./Bench.ts"

it.effect("names the journal whose entry is no command", () =>
  Effect.gen(function* () {
    const { directory } = yield* Effect.acquireRelease(Effect.sync(temporary), ({ remove }) => Effect.sync(remove))
    const path = journalPath(directory)
    const journal = Journal.open(path, () => ({
      epoch: "e-1",
      rules: machine.rules,
      config: JSON.stringify(config()),
      ids_key: "0001020304050607",
      created_at_ms: 1000
    }))
    journal.begin()
    // a field whose length is beyond the end
    journal.append(1000, "c-1", new Uint8Array([0x0a, 0x7f]), null)
    journal.commit()
    journal.close()
    const error = yield* Effect.flip(verify({ dataDir: directory } as Parameters<typeof verify>[0]))
    assert.instanceOf(error, JournalError)
    assert.match(error.message, /backend\/journal\.sqlite does not replay: /u)
    assert.instanceOf(error.cause, RangeError)
  })
)

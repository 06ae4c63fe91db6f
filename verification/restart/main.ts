/**
 * Measures the start of a backend: `node verification/restart/main.ts [commands = 1000000]` writes a journal of simulated
 * commands, with snapshots, and starts the backend on it three times. The newest snapshot is as old as it can be: the interval
 * between two snapshots, and the entries that arrive while one is taken.
 */
import { machine } from "../../src/backend/engine/EngineMachine.ts"
import { Journal } from "../../src/backend/journal/Journal.ts"
import { recover, takeSnapshot } from "../../src/backend/journal/Recovery.ts"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { defaultLimits } from "../../src/backend/journal/EventLog.ts"
import { journalPath } from "../../src/backend/server/Running.ts"
import { SNAPSHOT_ENTRIES } from "../../src/backend/server/SnapshotSchedule.ts"
import { CHECKPOINT_ENTRIES } from "../../src/backend/server/Writer.ts"
import { Command, CommandResult } from "../../src/proto/gateway/v1/sequencer.ts"
import { START, Users } from "../harness/SimulatedUsers.ts"
import { startBackend } from "../harness/BackendProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { random } from "../harness/Random.ts"

const commands = Number(process.argv[2] ?? 1_000_000)
/** Entries that arrive while a snapshot is taken, which replays as many as there are between two. */
const MEANWHILE = SNAPSHOT_ENTRIES
const USERS = 1000

const folder = temporaryFolder("restart")
const path = journalPath(folder.path)
process.once("exit", folder.remove)

const say = (line: string) => process.stdout.write(`${line}\n`)

const fill = (): void => {
  const config = {
    markets: shippedMarkets,
    simMaker: false,
    indexSource: "manual" as const,
    faucetDailyLimit: "100000",
    openOrdersMax: 1_000_000,
    poolBaseEquity: "1000000"
  }
  const journal = Journal.open(path, () => ({
    epoch: "restart",
    rules: machine.rules,
    config: JSON.stringify(config),
    ids_key: "0001020304050607",
    created_at_ms: START
  }))
  const { state, openIndex } = recover(machine, journal, { limits: defaultLimits, warn: say })
  openIndex()
  const users = new Users(random(1), USERS)
  let engine_ms = 0
  let checkpointed = 0
  let snapshots = -1
  while (journal.position < commands) {
    journal.begin()
    for (let i = 0; i < 500 && journal.position < commands; i++) {
      const command = users.one()
      const began = performance.now()
      const step = machine.apply(state, { at_ms: users.now, command })
      engine_ms += performance.now() - began
      users.received(step.result!)
      if (step.result!.outcome?.$case !== "ack" && step.events.length === 0) continue
      const result = CommandResult.encode(step.result!).finish()
      journal.append(users.now, command.command_id, Command.encode(command).finish(), result)
    }
    journal.commit()
    if (journal.position - checkpointed >= CHECKPOINT_ENTRIES) {
      checkpointed = journal.position
      journal.checkpoint(machine.headSeq(state), machine.hash(state))
    }
    // a running backend takes snapshots far more often, but only the newest counts
    const last = commands - SNAPSHOT_ENTRIES - MEANWHILE
    if (
      journal.position >= (snapshots < 0 ? Math.min(100_000, last) : Math.min(snapshots + 100_000, last)) &&
      snapshots < last
    ) {
      snapshots = journal.position
      const began = performance.now()
      const head = takeSnapshot(machine, path)
      say(
        `snapshot at ${head?.position}: ${Math.round(performance.now() - began)} ms; ${state.orders.size()} open orders`
      )
    }
  }
  say(
    `${journal.position} entries, ${state.accounts.length} accounts; engine ${((engine_ms * 1000) / commands).toFixed(1)} µs a command`
  )
  journal.close()
}

/** The time from the spawn to the log line that the backend serves, in ms. */
const start = async (): Promise<number> => {
  const began = performance.now()
  let took = 0
  const backend = await startBackend({
    dataDir: folder.path,
    onLine: (line) => {
      if (line.includes("journal replayed")) say(line)
      if (line.includes("backend serves")) took = performance.now() - began
    }
  })
  await backend.kill()
  return took
}

fill()
for (let i = 0; i < 3; i++) say(`start ${i + 1}: ready after ${Math.round(await start())} ms`)

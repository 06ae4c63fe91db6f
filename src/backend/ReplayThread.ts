/** The thread that replays old events for one subscriber. It pauses while the subscriber has not taken what was sent. */
import { existsSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { machine } from "./engine/EngineMachine.ts"
import type { Block } from "./journal/EventBlocks.ts"
import { type ReplayFrom, replayEvents } from "./journal/EventReplay.ts"
import { isPassing } from "./journal/JournalError.ts"

export interface ReplayRequest {
  readonly path: string
  readonly from: ReplayFrom
  /** One Int32: the number of blocks that the subscriber has taken. */
  readonly taken: SharedArrayBuffer
}
/** `lost`: the reason says nothing of the journal, so that another replay may succeed. */
export type ReplayMessage =
  | { readonly block: Block }
  | { readonly ended: "AtHead" | "Forked" }
  | { readonly error: string }
  | { readonly lost: string }

/** Blocks that are sent and not taken. */
const BLOCKS_AHEAD_MAX = 16

const { from, path, taken } = workerData as ReplayRequest
const counter = new Int32Array(taken)
const send = (message: ReplayMessage, moved: ReadonlyArray<ArrayBuffer> = []) =>
  parentPort!.postMessage(message, [...moved])

let sent = 0
const sendBlocks = (blocks: ReadonlyArray<Block>) => {
  for (const block of blocks) {
    for (let count = Atomics.load(counter, 0); sent - count >= BLOCKS_AHEAD_MAX; count = Atomics.load(counter, 0))
      Atomics.wait(counter, 0, count)
    sent++
    send({ block }, [block.bytes.buffer as ArrayBuffer])
  }
}

try {
  send({ ended: replayEvents(machine, path, from, sendBlocks) ? "AtHead" : "Forked" })
} catch (cause) {
  const { message } = cause as Error
  // the writer has the file open: it is there, or was moved
  send(isPassing(cause) || !existsSync(path) ? { lost: message } : { error: message })
}
